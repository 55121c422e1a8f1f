package admin

import (
	"errors"
	"net/http"

	"holdfast/affinity/store"
	"holdfast/functions/internal/wire"
)

// who names the operator behind a request: there is one admin key.
func who(*http.Request) string { return "admin" }

// listChanges lists the audit trail, newest first.
func (a *api) listChanges(w http.ResponseWriter, r *http.Request) {
	limit, p := limitOf(r)
	from, bad := timeOf(r, "from")
	to, worse := timeOf(r, "to")
	for _, p := range []*wire.Problem{p, bad, worse} {
		if p != nil {
			refuse(w, p)
			return
		}
	}
	all, next, err := a.Trail.List(r.Context(), from, to, r.URL.Query().Get("cursor"), limit)
	switch {
	case errors.Is(err, store.ErrInvalid):
		refuse(w, badCursor())
	case err != nil:
		refuse(w, wire.Refuse(wire.ConfigurationUnavailable))
	default:
		answerList(w, r, []string{"id", "time", "who", "action", "target", "outcome", "before", "after"}, all, next)
	}
}
