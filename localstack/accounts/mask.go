package accounts

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// KeyHash stands for a credential in the journal and in Fault.Key: equal for
// equal credentials, and no way back.
func KeyHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:6])
}

// credential is what a request identifies itself with, in the three ways that
// providers take.
func credential(h http.Header) string {
	if v := h.Get("Authorization"); len(v) > 7 && strings.EqualFold(v[:7], "Bearer ") {
		return v[7:]
	}
	if v := h.Get("X-Api-Key"); v != "" {
		return v
	}
	return h.Get("Api-Key")
}

// masked copies headers with every secret replaced by its hash.
func masked(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range [...]string{"Authorization", "X-Api-Key", "Api-Key", "Proxy-Authorization", "Cookie", "X-Amz-Security-Token"} {
		for i, v := range h[name] {
			scheme, secret, _ := strings.Cut(v, " ")
			if strings.EqualFold(scheme, "Bearer") {
				h[name][i] = scheme + " " + KeyHash(secret)
			} else {
				h[name][i] = KeyHash(v)
			}
		}
	}
	return h
}
