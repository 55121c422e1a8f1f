package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/exchange"
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
	snapshot, principal, p := a.looked(r)
	if p != nil {
		refuse(w, r, p)
		return
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
	page, more, p := cut(pools, r.URL.Query())
	if p != nil {
		refuse(w, r, p)
		return
	}
	list := make([]anthropicModel, 0, len(page))
	for _, pool := range page {
		list = append(list, a.anthropic(pool))
	}
	body := map[string]any{"data": list, "has_more": more, "first_id": nil, "last_id": nil}
	if len(list) > 0 {
		body["first_id"], body["last_id"] = list[0].ID, list[len(list)-1].ID
	}
	answer(w, body)
}

// looked is enter under the newest configuration: what models there are is asked
// for rarely, and believed long.
func (a *api) looked(r *http.Request) (*exchange.Snapshot, auth.Principal, *wire.Problem) {
	snapshot, principal, p := a.enter(r)
	if p != nil {
		return snapshot, principal, p
	}
	if fresh, _ := a.Configuration.Refresh(r.Context()); fresh != snapshot {
		return a.enter(r)
	}
	return snapshot, principal, nil
}

// Bounds of a page in Anthropic's form, which has pages where OpenAI's has all.
const (
	usualModels = 20
	mostModels  = 1000
)

// cut takes the page that limit, after_id and before_id ask for, and whether there
// is more in their direction.
func cut(pools []*catalog.Pool, query url.Values) (page []*catalog.Pool, more bool, _ *wire.Problem) {
	limit := usualModels
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostModels {
			return nil, false, wire.Refuse(wire.InvalidRequest).About("limit").Saying("limit must be a number from 1 to " + strconv.Itoa(mostModels) + ".")
		}
		limit = n
	}
	after, before := query.Get("after_id"), query.Get("before_id")
	if after != "" && before != "" {
		return nil, false, wire.Refuse(wire.InvalidRequest).About("before_id").Saying("Send after_id or before_id, not both.")
	}
	at := func(name string) int {
		return slices.IndexFunc(pools, func(p *catalog.Pool) bool { return p.Name == name })
	}
	switch {
	case after != "":
		i := at(after)
		if i < 0 {
			return nil, false, wire.Refuse(wire.InvalidRequest).About("after_id").Saying("after_id is none of the models that this key may use.")
		}
		pools = pools[i+1:]
	case before != "":
		i := at(before)
		if i < 0 {
			return nil, false, wire.Refuse(wire.InvalidRequest).About("before_id").Saying("before_id is none of the models that this key may use.")
		}
		return pools[max(0, i-limit):i], i > limit, nil
	}
	return pools[:min(limit, len(pools))], len(pools) > limit, nil
}

// model describes one model or group.
func (a *api) model(w http.ResponseWriter, r *http.Request) {
	snapshot, principal, p := a.looked(r)
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
