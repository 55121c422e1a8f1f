package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"holdfast/infra/front"
)

// cors answers preflights and lets pages of the allowed origins read answers.
// No credentials: a key is sent in a header, never in a cookie.
func cors(origins []string, next http.Handler) http.Handler {
	all := slices.Contains(origins, "*")
	exposed := strings.Join(front.ExposedHeaders(), ", ")
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
		header.Set("Access-Control-Allow-Methods", strings.Join(front.Methods(), ", "))
		if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" && len(asked) <= 4096 {
			header.Set("Access-Control-Allow-Headers", asked)
		}
		header.Set("Access-Control-Max-Age", strconv.Itoa(front.PreflightSeconds))
		w.WriteHeader(http.StatusNoContent)
	})
}
