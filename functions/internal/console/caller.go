package console

import (
	"net/http"

	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// callerView is what the playground needs to know of the key that it uses.
type callerView struct {
	ID       string                    `json:"id"`
	UserPath string                    `json:"user_path"`
	Models   []modelView               `json:"models"`
	Prices   map[string]*catalog.Price `json:"prices"` // by deployment; null: unknown
}

// modelView is a model or a group that the key may use.
type modelView struct {
	Name        string   `json:"name"`
	Group       bool     `json:"group"`
	Endpoints   []string `json:"endpoints"`
	Deployments []string `json:"deployments"`
}

// caller tells those who are signed in what an API key may do. The key is in
// the body: it stays out of addresses and logs.
func (c *Console) caller(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		refuse(w, wire.Refuse(wire.MethodNotAllowed))
		return
	}
	if _, in := c.read(r); !in {
		refuse(w, wire.Refuse(wire.InvalidAPIKey).Saying("You are not signed in, or no longer. Sign in and try again."))
		return
	}
	key, p := c.credential(w, r)
	if p != nil {
		refuse(w, p)
		return
	}
	found, known, p := c.Callers.Caller(r.Context(), key)
	if p != nil {
		c.failed(r, p)
		refuse(w, p)
		return
	}
	answer(w, describe(found, known))
}

// describe lists what a caller may use.
func describe(caller *catalog.Caller, known *catalog.Catalog) callerView {
	v := callerView{ID: caller.ID, UserPath: caller.UserPath, Models: []modelView{}, Prices: map[string]*catalog.Price{}}
	for _, pool := range known.Models(caller) {
		one := modelView{Name: pool.Name, Group: pool.Group(), Endpoints: []string{}, Deployments: []string{}}
		served := map[string]bool{}
		for _, target := range pool.Deployments {
			v.Prices[target.ID] = target.Price
			one.Deployments = append(one.Deployments, target.ID)
			for _, endpoint := range target.Endpoints() {
				served[endpoint] = true
			}
		}
		for _, endpoint := range []string{wire.EndpointChat, wire.EndpointResponses, wire.EndpointMessages} {
			if served[endpoint] {
				one.Endpoints = append(one.Endpoints, endpoint)
			}
		}
		v.Models = append(v.Models, one)
	}
	return v
}
