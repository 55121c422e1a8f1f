package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// Exposed are the response headers that a page in a browser may read, as the
// function URL's own configuration lists them too.
func Exposed() []string {
	return []string{
		"X-Session-Id", "X-Request-Id", "Retry-After",
		"X-Holdfast-Session-Source", "X-Holdfast-Affinity", "X-Holdfast-Deployment", "X-Holdfast-Attempts",
		"X-Holdfast-Error", "X-Holdfast-Request-Id", "X-Holdfast-History-Mode", "X-Holdfast-Dropped",
		"X-Holdfast-Continuation", "X-Holdfast-Cache", "X-Holdfast-Estimated",
	}
}

// cors answers preflights and lets pages of the allowed origins read answers.
// No credentials: a key is sent in a header, never in a cookie.
func cors(origins []string, next http.Handler) http.Handler {
	all := slices.Contains(origins, "*")
	exposed := strings.Join(Exposed(), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if origin == "" {
			next.ServeHTTP(w, r)
			return
		}
		header := w.Header()
		switch {
		case all:
			header.Set("Access-Control-Allow-Origin", "*")
		case slices.Contains(origins, origin):
			header.Set("Access-Control-Allow-Origin", origin)
			header.Add("Vary", "Origin")
		default:
			header.Add("Vary", "Origin")
			next.ServeHTTP(w, r)
			return
		}
		header.Set("Access-Control-Expose-Headers", exposed)
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE, HEAD")
		if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" && len(asked) <= 4096 {
			header.Set("Access-Control-Allow-Headers", asked)
		}
		header.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}
