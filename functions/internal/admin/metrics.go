package admin

import "net/http"

// metrics is Prometheus's page: what this process has counted.
func (a *api) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = a.Metrics(w) // who asks has gone
}
