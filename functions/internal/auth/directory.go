package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"time"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/functions/internal/auth/keys"
	"holdfast/routing/catalog"
)

// Ways in which a stored key is not let in.
var (
	// ErrUnplaced: the key's team, organization or template is no longer there.
	ErrUnplaced = errors.New("auth: key has no place in the configuration")
	// ErrUnruled: the key's template is no longer there, so that no rules are known.
	ErrUnruled = errors.New("auth: key's template cannot be read")
	// ErrUnavailable: the store failed, and this process has not seen the key.
	ErrUnavailable = errors.New("auth: key cannot be looked up")
)

// Directory finds callers: those of the configuration and, with a Ring, stored
// ones.
type Directory struct {
	Ring *keys.Ring
	Now  func() time.Time
}

// Find returns the caller whose key a request carries. A stored key that this
// process has not seen for a minute costs one read. Errors are Authenticate's,
// ErrUnplaced, ErrUnruled and ErrUnavailable.
func (d *Directory) Find(ctx context.Context, known *catalog.Catalog, header http.Header) (Principal, error) {
	principal, err := Authenticate(known, header, d.Now())
	secret := credential(header)
	if !errors.Is(err, ErrUnknown) || !keys.Formed(secret) {
		return principal, err
	}
	sum := sha256.Sum256([]byte(secret))
	seen, fresh := d.Ring.Recall(sum)
	if fresh {
		if principal, err = d.place(known, sum, seen, true); err == nil {
			return principal, nil
		}
	}
	now, unread := d.Ring.Look(ctx, sum) // before a refusal too: it may have been let in again
	switch {
	case unread == nil:
		return d.place(known, sum, now, false)
	case fresh && errors.Is(missing(unread), ErrUnavailable):
		return principal, err
	}
	return Principal{}, missing(unread)
}

// Confirm asks the store once more for a stored key that was taken as it was
// last seen. Where the store fails that holds.
func (d *Directory) Confirm(ctx context.Context, known *catalog.Catalog, p Principal) (Principal, error) {
	if !p.recalled {
		return p, nil
	}
	seen, err := d.Ring.Look(ctx, p.sum)
	if err != nil {
		if err = missing(err); errors.Is(err, ErrUnavailable) {
			return p, nil
		}
		return Principal{}, err
	}
	return d.place(known, p.sum, seen, false)
}

// Follow takes what was read of a stored key under Principal.Record. A caller
// that has not changed stays the same.
func (d *Directory) Follow(known *catalog.Catalog, p Principal, read store.Handle) (Principal, error) {
	seen, err := d.Ring.Note(p.sum, read)
	switch {
	case err != nil:
		return Principal{}, missing(err)
	case seen.Revision() == p.revision && p.within == known:
		p.recalled = false
		return p, good(p.Caller, d.Now())
	}
	return d.place(known, p.sum, seen, false)
}

// place compiles a stored key against the configuration in force. A key of the
// configuration with the same id would share its sessions, so it rules alone.
func (d *Directory) place(known *catalog.Catalog, sum [32]byte, seen keys.Seen, recalled bool) (Principal, error) {
	kept, err := hex.DecodeString(seen.KeySHA256)
	if err != nil || subtle.ConstantTimeCompare(kept, sum[:]) != 1 || known.Caller(seen.ID) != nil {
		return Principal{}, ErrUnknown
	}
	placed := seen.Placed.Load()
	if placed == nil || placed.Within != known {
		caller, problems := known.CallerFor(seen.Key)
		switch {
		case !catalog.HasErrors(problems):
		case slices.ContainsFunc(problems, func(p catalog.Problem) bool { return p.Path != "template" }):
			return Principal{}, ErrUnplaced
		default:
			return Principal{}, ErrUnruled
		}
		placed = &keys.Placed{Within: known, Caller: caller}
		seen.Placed.Store(placed)
	}
	caller := placed.Caller
	return Principal{
		Caller: caller, Scope: identity.KeyScope(caller.ID), Record: keys.Address(sum),
		sum: sum, revision: seen.Revision(), within: known, recalled: recalled,
	}, good(caller, d.Now())
}

// missing tells a key that is not there from a store that is not.
func missing(err error) error {
	if errors.Is(err, keys.ErrNotFound) || errors.Is(err, keys.ErrDamaged) {
		return ErrUnknown
	}
	return errors.Join(ErrUnavailable, err)
}
