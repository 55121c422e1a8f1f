package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// modelPath is where one model is described; names may hold slashes.
const modelPath = "/models/"

// openAIModel and anthropicModel are a model in the two forms that clients read.
type openAIModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

type anthropicModel struct {
	Type        string    `json:"type"`
	ID          string    `json:"id"`
	DisplayName string    `json:"display_name"`
	CreatedAt   time.Time `json:"created_at"`
}

// models lists the models and groups that the caller may use.
func (a *api) models(w http.ResponseWriter, r *http.Request) {
	snapshot, principal, p := a.enter(r)
	if p != nil {
		refuse(w, r, p)
		return
	}
	if fresh, _ := a.Configuration.Refresh(r.Context()); fresh != snapshot { // a list is asked for rarely, and believed long
		if snapshot, principal, p = a.enter(r); p != nil {
			refuse(w, r, p)
			return
		}
	}
	pools := snapshot.Catalog.Models(principal.Caller)
	if r.Header.Get("Anthropic-Version") == "" {
		list := make([]openAIModel, 0, len(pools))
		for _, pool := range pools {
			list = append(list, a.openAI(pool))
		}
		answer(w, map[string]any{"object": "list", "data": list})
		return
	}
	list := make([]anthropicModel, 0, len(pools))
	for _, pool := range pools {
		list = append(list, a.anthropic(pool))
	}
	page := map[string]any{"data": list, "has_more": false, "first_id": nil, "last_id": nil}
	if len(list) > 0 {
		page["first_id"], page["last_id"] = list[0].ID, list[len(list)-1].ID
	}
	answer(w, page)
}

// model describes one model or group.
func (a *api) model(w http.ResponseWriter, r *http.Request) {
	snapshot, principal, p := a.enter(r)
	if p != nil {
		refuse(w, r, p)
		return
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v1"), modelPath)
	pool := snapshot.Catalog.Pool(name)
	switch {
	case pool == nil || !principal.Caller.MayUse(pool):
		refuse(w, r, wire.Refuse(wire.ModelNotFound))
	case r.Header.Get("Anthropic-Version") != "":
		answer(w, a.anthropic(pool))
	default:
		answer(w, a.openAI(pool))
	}
}

func (a *api) openAI(pool *catalog.Pool) openAIModel {
	return openAIModel{ID: pool.Name, Object: "model", Created: a.started.Unix(), OwnedBy: "holdfast"}
}

func (a *api) anthropic(pool *catalog.Pool) anthropicModel {
	return anthropicModel{Type: "model", ID: pool.Name, DisplayName: pool.Name, CreatedAt: a.started.UTC().Truncate(time.Second)}
}

// answer writes a value as JSON.
func answer(w http.ResponseWriter, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // our own values always encode
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n'))
}
