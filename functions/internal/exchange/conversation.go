package exchange

import (
	"context"
	"encoding/hex"
	"errors"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/functions/internal/wire"
)

// A conversation is made at the provider, not here, and callers may share an
// account there. Whoever goes on with one first has it: to all others it does
// not exist. So it is with files and containers, which whoever makes them has.

// claimKey addresses who has a thing.
func claimKey(kind affinity.Kind, id string) store.Key {
	sum := identity.Hash(string(kind), id)
	return store.Key{Table: store.State, Partition: string(kind) + "/" + hex.EncodeToString(sum[:]), Sort: "claim"}
}

// claimant is the caller as a claim names it.
func (e *exchange) claimant() string {
	sum := identity.Hash("claimant", e.in.Principal.Scope.String())
	return hex.EncodeToString(sum[:])
}

// claims is the record of who has the request's conversation, if it names one.
func (e *exchange) claims() []store.Key {
	if e.bound.conversation == "" || e.in.Principal.Scope.IsZero() {
		return nil
	}
	return []store.Key{claimKey(affinity.Conversation, e.bound.conversation)}
}

// takeClaim judges what claims has brought and returns what was read after it.
func (e *exchange) takeClaim(read []store.Handle) []store.Handle {
	if len(e.claims()) == 0 {
		return read
	}
	e.bound.claim = read[0]
	record, live := read[0].Record()
	e.bound.strange = live && string(record.Value) != e.claimant()
	return read[1:]
}

// strangeConversation refuses a conversation that another caller has.
func strangeConversation() *wire.Problem {
	return wire.Refuse(wire.ContinuationUnavailable).About("conversation").Saying(
		"There is no such conversation for this key. Start a new one, or send the whole conversation as input.")
}

// claimConversation makes the request's conversation its caller's. Of two who go
// on with one at once, the first to write has it from then on.
func (e *exchange) claimConversation(ctx context.Context) error {
	return e.claimThing(ctx, e.bound.claim)
}

// claimThing makes a thing its caller's, where nobody has it.
func (e *exchange) claimThing(ctx context.Context, read store.Handle) error {
	record := store.Record{Value: []byte(e.claimant())}
	if retention := e.retention(); retention > 0 {
		record.Expires = e.Now().Add(retention)
	}
	_, err := e.Store.Swap(ctx, read, record)
	if errors.Is(err, store.ErrConflict) {
		return nil // somebody was first: the next request is told
	}
	return err
}
