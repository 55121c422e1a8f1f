package httpapi

import (
	"net/http"
	"strings"

	"holdfast/functions/internal/wire"
)

// NewOperator returns the handler of a process that serves operators alone: the
// admin API and the console, and nothing of the data plane.
func NewOperator(c Config) http.Handler {
	a := &api{Config: c, started: c.Now()}
	return a.identify(a.recover(http.HandlerFunc(a.operate)))
}

// operate finds what serves an operator's path.
func (a *api) operate(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/admin/"):
		a.Admin.ServeHTTP(w, r)
	case a.Console != nil && isConsole(r.URL.Path):
		a.Console.ServeHTTP(w, r)
	case a.Console != nil && r.URL.Path == "/":
		http.Redirect(w, r, "/console/", http.StatusFound)
	case r.URL.Path == "/healthz":
		alive(a, w, r)
	default:
		refuse(w, r, wire.Refuse(wire.RouteNotFound))
	}
}

// console serves the console where it is part of this process. No page of
// another origin may read it, whatever CORS says of the data plane.
func (a *api) console(next http.Handler) http.Handler {
	if a.Console == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isConsole(r.URL.Path) {
			a.Console.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isConsole(path string) bool {
	return path == "/console" || strings.HasPrefix(path, "/console/")
}
