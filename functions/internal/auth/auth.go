// Package auth tells who is calling, from the credential alone.
//
// Invariants: a key is compared as its SHA-256, in constant time; no error
// holds any part of a credential; a scope comes from here and nowhere else.
//
// Concurrency: pure functions over an immutable catalog; a Directory may be used
// by many goroutines.
//
// Errors: branch on ErrMissing, ErrUnknown, ErrDisabled, ErrExpired, ErrUnplaced,
// ErrUnruled
// and ErrUnavailable.
package auth

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"time"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
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

	// Record is where a stored key is kept, to be read along so that a change
	// rules at once; the zero Key for one of the configuration.
	Record store.Key

	sum      [32]byte         // of a stored key
	revision string           // of its record
	within   *catalog.Catalog // against which it was compiled
	recalled bool             // it was taken as it was last seen
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
	if caller == nil {
		return Principal{}, ErrUnknown
	}
	if err := good(caller, now); err != nil {
		return Principal{}, err
	}
	return Principal{Caller: caller, Scope: identity.KeyScope(caller.ID)}, nil
}

// good refuses keys that are known and may not be used.
func good(caller *catalog.Caller, now time.Time) error {
	switch {
	case !caller.Enabled:
		return ErrDisabled
	case caller.Expired(now):
		return ErrExpired
	}
	return nil
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
