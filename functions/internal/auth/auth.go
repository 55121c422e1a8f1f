// Package auth tells who is calling, from the credential alone.
//
// Invariants: a key is compared as its SHA-256, in constant time; no error
// holds any part of a credential; a scope comes from here and nowhere else.
//
// Concurrency: pure functions over an immutable catalog.
//
// Errors: branch on ErrMissing, ErrUnknown, ErrDisabled and ErrExpired.
package auth

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"time"

	"holdfast/affinity/identity"
	"holdfast/routing/catalog"
)

// The ways in which a caller is not let in.
var (
	ErrMissing  = errors.New("auth: no credential")
	ErrUnknown  = errors.New("auth: unknown key")
	ErrDisabled = errors.New("auth: key is disabled")
	ErrExpired  = errors.New("auth: key has expired")
)

// maxCredential bounds what is hashed, in bytes.
const maxCredential = 4096

// Principal is an authenticated caller.
type Principal struct {
	Caller *catalog.Caller
	Scope  identity.Scope
}

// Authenticate finds the caller whose key a request carries, in
// `Authorization: Bearer`, `x-api-key` or `api-key`, the first that is there.
func Authenticate(known *catalog.Catalog, header http.Header, now time.Time) (Principal, error) {
	secret := credential(header)
	if secret == "" {
		return Principal{}, ErrMissing
	}
	if len(secret) > maxCredential {
		return Principal{}, ErrUnknown
	}
	caller := known.CallerBySHA256(sha256.Sum256([]byte(secret)))
	switch {
	case caller == nil:
		return Principal{}, ErrUnknown
	case !caller.Enabled:
		return Principal{}, ErrDisabled
	case caller.Expired(now):
		return Principal{}, ErrExpired
	}
	return Principal{Caller: caller, Scope: identity.KeyScope(caller.ID)}, nil
}

// credential returns the key that a request carries, "" where it has none.
func credential(header http.Header) string {
	if scheme, token, ok := strings.Cut(header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		if token = strings.TrimSpace(token); token != "" {
			return token
		}
	}
	if key := header.Get("X-Api-Key"); key != "" {
		return key
	}
	return header.Get("Api-Key")
}
