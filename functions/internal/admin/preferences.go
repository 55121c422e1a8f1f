package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/functions/internal/admin/trail"
	"holdfast/functions/internal/ledger"
	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// Preferences are where sessions are served.
type Preferences interface {
	Preferences(ctx context.Context, sessionKey string) ([]affinity.Preference, error)
	SetPreference(ctx context.Context, key string, t affinity.Target) error
	ClearPreference(ctx context.Context, key string) error
}

// shownPreference is one preference of a session.
type shownPreference struct {
	Key        string     `json:"key"` // names the record, to clear or set it
	Endpoint   string     `json:"endpoint"`
	Model      string     `json:"model"` // the model or group that was asked for
	Deployment string     `json:"deployment"`
	Serving    string     `json:"serving_model"`
	Pool       string     `json:"pool"` // the model or group through which the deployment was reached
	Path       []string   `json:"path"` // fallback sources on the way
	Revision   string     `json:"revision"`
	Expires    *time.Time `json:"expires"` // null: never
}

func showPreference(p affinity.Preference) shownPreference {
	shown := shownPreference{
		Key: p.Key, Endpoint: p.Endpoint, Model: asked(p.Target), Deployment: p.Target.Deployment, Serving: p.Target.Model, Pool: p.Target.Pool,
		Path: p.Target.Path, Revision: p.Revision,
	}
	if shown.Path == nil {
		shown.Path = []string{}
	}
	if !p.Expires.IsZero() {
		at := p.Expires.UTC()
		shown.Expires = &at
	}
	return shown
}

// asked is the model or group that a preference is about: the first source of
// its way, else the pool itself.
func asked(t affinity.Target) string {
	if len(t.Path) > 0 {
		return t.Path[0]
	}
	return t.Pool
}

// listPreferences shows where a session is served, and its latest exchange, which
// says why.
func (a *api) listPreferences(w http.ResponseWriter, r *http.Request) {
	scoped, p := a.sessionOf(r)
	if p == nil && scoped == "" {
		p = wire.Refuse(wire.InvalidRequest).About("session_id").Saying("Send session_id, or raw_session_id and key.")
	}
	if p != nil {
		refuse(w, p)
		return
	}
	key, latest, p := a.preferencesOf(r, scoped)
	if p != nil {
		refuse(w, p)
		return
	}
	if owner := r.URL.Query().Get("key"); owner != "" && latest != nil && latest.Key != owner {
		key, latest = "", nil // another key's session
	}
	entries := []shownPreference{}
	if key != "" {
		all, err := a.Affinity.Preferences(r.Context(), key)
		if err != nil && !errors.Is(err, affinity.ErrNotFound) {
			refuse(w, unread(err))
			return
		}
		for _, one := range all {
			if a.prefers(r, one.Target) {
				entries = append(entries, showPreference(one))
			}
		}
	}
	page, next, p := cut(r, entries, func(one shownPreference) string { return one.Key })
	switch {
	case p != nil:
		refuse(w, p)
	case isCSV(r):
		answerList(w, r, []string{"key", "endpoint", "model", "deployment", "serving_model", "pool", "path", "revision", "expires"}, page, next)
	default:
		answer(w, map[string]any{"session_id": scoped, "entries": page, "latest": latest, "next_cursor": next})
	}
}

// preferencesOf is the key under which a session's preferences stand, "" where it
// has none, and the session's latest exchange, nil where there is none.
func (a *api) preferencesOf(r *http.Request, scoped string) (key string, latest *ledger.Event, _ *wire.Problem) {
	if scoped == "" {
		return "", nil, nil
	}
	latest, err := a.latest(r.Context(), scoped)
	if err != nil {
		return "", nil, unread(err)
	}
	q := r.URL.Query()
	if raw := q.Get("raw_session_id"); raw != "" {
		key = affinity.SessionKey(identity.KeyScope(q.Get("key")), raw)
	} else if latest != nil {
		key = latest.AffinityKey
	}
	return key, latest, nil
}

// prefers reports whether a preference is among those that are asked for: about a
// model, for a deployment, at a provider.
func (a *api) prefers(r *http.Request, t affinity.Target) bool {
	q, known := r.URL.Query(), a.Snapshot().Catalog
	if model := q.Get("model"); model != "" && model != asked(t) {
		if pool := known.Pool(model); pool == nil || pool.Name != asked(t) {
			return false
		}
	}
	if provider := q.Get("provider"); provider != "" {
		if served := known.Deployment(t.Deployment); served == nil || served.Account.Provider != provider {
			return false
		}
	}
	deployment := q.Get("deployment")
	return deployment == "" || deployment == t.Deployment
}

// latest is a session's newest exchange, nil where there is none.
func (a *api) latest(ctx context.Context, scoped string) (*ledger.Event, error) {
	page, err := a.Ledger.Events(ctx, ledger.Filter{Session: scoped}, ledger.Page{Limit: 1})
	if err != nil || len(page.Events) == 0 {
		return nil, err
	}
	return &page.Events[0], nil
}

// clearPreference forgets where a session is served: its next turn is new.
func (a *api) clearPreference(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("key")
	c := &trail.Change{Who: who(r), Action: "affinity.clear", Target: key}
	err := a.Trail.Do(r.Context(), c, func() error {
		before, err := a.preference(r.Context(), key)
		if err != nil {
			return err
		}
		c.Before = trail.State(showPreference(before))
		return a.Affinity.ClearPreference(r.Context(), key)
	})
	if err != nil {
		refuse(w, noPreference(err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// errUnfit is a deployment that does not serve what a preference is about.
var errUnfit = errors.New("admin: the deployment does not serve this")

// setPreference points a session at another deployment.
func (a *api) setPreference(w http.ResponseWriter, r *http.Request) {
	text, p := body(r, maxKey)
	if p != nil {
		refuse(w, p)
		return
	}
	var wanted struct {
		Deployment string `json:"deployment"`
	}
	t := (*catalog.Target)(nil)
	if json.Unmarshal(text, &wanted, json.RejectUnknownMembers(true)) == nil {
		t = a.Snapshot().Catalog.Deployment(wanted.Deployment)
	}
	if t == nil {
		refuse(w, wire.Refuse(wire.InvalidRequest).About("deployment").Saying(`Send {"deployment":"<id>"} with the id of a deployment of the configuration.`))
		return
	}
	key := r.PathValue("key")
	c := &trail.Change{Who: who(r), Action: "affinity.set", Target: key}
	var after affinity.Preference
	err := a.Trail.Do(r.Context(), c, func() error {
		before, err := a.preference(r.Context(), key)
		if err != nil {
			return err
		}
		pool := a.Snapshot().Catalog.Pool(asked(before.Target))
		if pool == nil {
			return errUnfit
		}
		if _, member := pool.Position(t.ID); !member || !t.Serves(before.Endpoint) {
			return errUnfit
		}
		c.Before = trail.State(showPreference(before))
		if err := a.Affinity.SetPreference(r.Context(), key, affinity.Target{Deployment: t.ID, Model: t.Model, Pool: pool.Name}); err != nil {
			return err
		}
		after, err = a.preference(r.Context(), key)
		c.After = trail.State(showPreference(after))
		return err
	})
	if err != nil {
		refuse(w, noPreference(err))
		return
	}
	answer(w, showPreference(after))
}

// preference finds a live preference by its key.
func (a *api) preference(ctx context.Context, key string) (affinity.Preference, error) {
	session := key
	if i := strings.LastIndexByte(key, '-'); i >= 0 {
		session = key[:i]
	}
	all, err := a.Affinity.Preferences(ctx, session)
	if err != nil {
		return affinity.Preference{}, err
	}
	for _, one := range all {
		if one.Key == key {
			return one, nil
		}
	}
	return affinity.Preference{}, affinity.ErrNotFound
}

// noPreference is the refusal for what affinity says of a key.
func noPreference(err error) *wire.Problem {
	switch {
	case errors.Is(err, affinity.ErrNotFound):
		return wire.Refuse(wire.RouteNotFound).Saying("There is no live preference of this key. GET /admin/affinity?session_id=… lists a session's.")
	case errors.Is(err, errUnfit):
		return wire.Refuse(wire.InvalidRequest).About("deployment").Saying("This deployment does not serve the model or group and the endpoint that the preference is about.")
	}
	return unchanged(err)
}
