package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"holdfast/functions/internal/wire"
	"holdfast/infra/front"
)

// proven lets only those requests through that came by the operator's domain,
// where there is one: the address behind it stays reachable, without the web ACL
// and its limits. To others there is nothing here.
func (a *api) proven(next http.Handler) http.Handler {
	if a.OriginSecret == "" {
		return next
	}
	want := sha256.Sum256([]byte(a.OriginSecret))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get(front.OriginHeader)))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			refuse(w, r, wire.Refuse(wire.RouteNotFound))
			return
		}
		r.Header.Del(front.OriginHeader)
		next.ServeHTTP(w, r)
	})
}
