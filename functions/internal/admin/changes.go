package admin

import (
	"errors"
	"net/http"
	"strings"

	"holdfast/affinity/store"
	"holdfast/functions/internal/admin/trail"
	"holdfast/functions/internal/wire"
)

// who names the operator behind a request: there is one admin key.
func who(*http.Request) string { return "admin" }

// listChanges lists the audit trail, newest first: all of it, or what was done to
// one key, one deployment, or where one session is served.
func (a *api) listChanges(w http.ResponseWriter, r *http.Request) {
	limit, from, to, p := a.stretchOf(r)
	chosen, bad := a.aboutOf(r)
	for _, p := range []*wire.Problem{p, bad} {
		if p != nil {
			refuse(w, p)
			return
		}
	}
	all, next, err := gather(r.URL.Query().Get("cursor"), limit, func(cursor string, limit int) ([]trail.Change, string, error) {
		return a.Trail.List(r.Context(), from, to, cursor, limit)
	}, chosen)
	switch {
	case errors.Is(err, store.ErrInvalid):
		refuse(w, badCursor())
	case err != nil:
		refuse(w, wire.Refuse(wire.ConfigurationUnavailable))
	default:
		answerList(w, r, []string{"id", "time", "who", "action", "target", "outcome", "before", "after"}, all, next)
	}
}

// aboutOf reads what changes are asked for: those of the things that are named.
func (a *api) aboutOf(r *http.Request) (func(trail.Change) bool, *wire.Problem) {
	q := r.URL.Query()
	scoped, p := a.sessionOf(r)
	if p != nil {
		return nil, p
	}
	preferences, _, p := a.preferencesOf(r, scoped)
	if p != nil {
		return nil, p
	}
	about := func(c trail.Change, kind, target string) bool {
		return target == "" || strings.HasPrefix(c.Action, kind+".") && c.Target == target
	}
	key, deployment := q.Get("key"), q.Get("deployment")
	if q.Get("raw_session_id") != "" {
		key = "" // it says whose session that is
	}
	return func(c trail.Change) bool {
		return about(c, "key", key) && about(c, "deployment", deployment) &&
			(scoped == "" || preferences != "" && strings.HasPrefix(c.Action, "affinity.") && strings.HasPrefix(c.Target, preferences+"-"))
	}, nil
}
