package admin

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"holdfast/functions/internal/wire"
)

// What the lists take. Each takes the filters that can choose among its entries,
// and refuses all else: a filter that is passed over would answer another
// question than the one that was asked.
const (
	exchanges = "session_id raw_session_id user_path key model provider deployment label status from to days"
	pages     = " limit cursor format"
)

// routes adds every route with what it serves.
func (a *api) routes() {
	type by = map[string]http.HandlerFunc
	for path, served := range map[string]by{
		"/admin/usage/sessions":            {"GET": taking(exchanges+pages+" offset", a.usageSessions)},
		"/admin/usage/summary":             {"GET": taking(exchanges+" by format", a.usageSummary)},
		"/admin/audit/sessions":            {"GET": taking(exchanges+pages+" offset", a.auditSessions)},
		"/admin/audit/log":                 {"GET": taking(exchanges+pages, a.auditLog)},
		"/admin/audit/changes":             {"GET": taking("session_id raw_session_id key deployment from to days"+pages, a.listChanges)},
		"/admin/affinity":                  {"GET": taking("session_id raw_session_id key model provider deployment"+pages, a.listPreferences)},
		"/admin/affinity/{key}":            {"PUT": a.setPreference, "DELETE": a.clearPreference},
		"/admin/deployments":               {"GET": taking("model provider deployment from to days"+pages, a.listDeployments)},
		"/admin/deployments/{id}/drain":    {"POST": a.drain(true), "DELETE": a.drain(false)},
		"/admin/deployments/{id}/cooldown": {"POST": a.cool, "DELETE": a.wake},
		"/admin/groups":                    {"GET": taking("model provider deployment"+pages, a.listGroups)},
		"/admin/groups/{name}":             {"GET": a.getGroup, "PUT": a.putGroup, "DELETE": a.removeGroup},
		"/admin/keys":                      {"GET": taking("user_path key model from to days"+pages, a.listKeys), "POST": a.makeKey},
		"/admin/keys/{id}":                 {"GET": a.getKey, "PATCH": a.changeKey, "DELETE": a.removeKey},
		"/admin/config":                    {"GET": a.getConfig, "PUT": a.putConfig},
		"/admin/config/revisions":          {"GET": taking("from to days"+pages, a.getRevisions)},
		"/admin/config/revisions/{name}":   {"GET": a.getRevision},
		"/admin/explain":                   {"POST": a.explain},
		"/admin/budgets":                   {"GET": taking(pages, a.listBudgets)},
		"/admin/metrics":                   {"GET": a.metrics},
	} {
		a.mux.HandleFunc(path, methods(served))
	}
}

// taking refuses a query with a parameter that the list does not take, or that
// comes twice.
func taking(names string, serve http.HandlerFunc) http.HandlerFunc {
	known := strings.Fields(names)
	return func(w http.ResponseWriter, r *http.Request) {
		if p := surplus(r, known); p != nil {
			refuse(w, p)
			return
		}
		serve(w, r)
	}
}

// surplus refuses the first parameter, by name, that is not among those that are
// known, comes twice, or asks for a form that there is not.
func surplus(r *http.Request, known []string) *wire.Problem {
	query := r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case !slices.Contains(known, name):
			return wire.Refuse(wire.InvalidRequest).About(wire.Clean(name, 64)).Saying("This list cannot be asked by this parameter. It takes " + strings.Join(known, ", ") + ".")
		case len(query[name]) > 1:
			return wire.Refuse(wire.InvalidRequest).About(name).Saying(name + " may be given once. Ask once for each value.")
		}
	}
	if form := query.Get("format"); form != "" && form != "csv" && form != "json" {
		return wire.Refuse(wire.InvalidRequest).About("format").Saying("format must be json or csv.")
	}
	return nil
}
