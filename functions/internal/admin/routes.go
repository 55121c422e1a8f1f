package admin

import "net/http"

// report adds the routes of the ledger and of the live state.
func (a *api) report() {
	type by = map[string]http.HandlerFunc
	for path, served := range map[string]by{
		"/admin/usage/sessions":            {"GET": a.usageSessions},
		"/admin/usage/summary":             {"GET": a.usageSummary},
		"/admin/audit/sessions":            {"GET": a.auditSessions},
		"/admin/audit/log":                 {"GET": a.auditLog},
		"/admin/affinity":                  {"GET": a.listPreferences},
		"/admin/affinity/{key}":            {"PUT": a.setPreference, "DELETE": a.clearPreference},
		"/admin/deployments":               {"GET": a.listDeployments},
		"/admin/deployments/{id}/drain":    {"POST": a.drain(true), "DELETE": a.drain(false)},
		"/admin/deployments/{id}/cooldown": {"POST": a.cool, "DELETE": a.wake},
		"/admin/groups":                    {"GET": a.listGroups},
		"/admin/groups/{name}":             {"GET": a.getGroup, "PUT": a.putGroup, "DELETE": a.removeGroup},
		"/admin/metrics":                   {"GET": a.metrics},
	} {
		a.mux.HandleFunc(path, methods(served))
	}
}
