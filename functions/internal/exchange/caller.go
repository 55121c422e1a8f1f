package exchange

import (
	"context"
	"errors"

	"holdfast/affinity/store"
	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/wire"
)

// stored reports whether the caller's key is one of the store's.
func (e *exchange) stored() bool { return e.in.Principal.Record != store.Key{} }

// again asks for the caller's rights under a new configuration.
func (e *exchange) again(ctx context.Context) *wire.Problem {
	principal, err := e.Callers.Find(ctx, e.in.Snapshot.Catalog, e.http.Header)
	if err == nil {
		e.in.Principal = principal
	}
	return NotLetIn(err)
}

// follow takes what the one read says of a stored key, so that a change rules
// with the next request. Where the exchange was refused before the read, the
// key is asked for alone: it may have been granted what it was refused. It
// reports whether the caller has changed.
func (e *exchange) follow(ctx context.Context) (changed bool, _ *wire.Problem) {
	if !e.stored() {
		return false, nil
	}
	now, err := e.in.Principal, error(nil)
	switch n := len(e.Configuration.Keys()); {
	case e.plan == nil:
		now, err = e.Callers.Confirm(ctx, e.in.Snapshot.Catalog, now)
	case e.plan.Looked():
		now, err = e.Callers.Follow(e.in.Snapshot.Catalog, now, e.plan.Also()[n])
	}
	if err != nil {
		return false, NotLetIn(err)
	}
	changed = now.Caller != e.in.Principal.Caller
	e.in.Principal = now
	return changed, nil
}

// NotLetIn is the refusal of a caller whom auth has not let in, nil for one whom
// it has.
func NotLetIn(err error) *wire.Problem {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, auth.ErrDisabled):
		return wire.Refuse(wire.KeyDisabled)
	case errors.Is(err, auth.ErrUnplaced):
		return wire.Refuse(wire.KeyDisabled).Saying("This key's team or organization is not configured any more. Ask the operator to correct the key.")
	case errors.Is(err, auth.ErrUnruled): // no other rules take its place
		return wire.Refuse(wire.ConfigurationUnavailable).Saying("This key's template is not configured any more. Ask the operator to correct the key.")
	case errors.Is(err, auth.ErrExpired):
		return wire.Refuse(wire.KeyExpired)
	case errors.Is(err, auth.ErrUnavailable):
		return wire.Refuse(wire.ConfigurationUnavailable)
	}
	return wire.Refuse(wire.InvalidAPIKey)
}
