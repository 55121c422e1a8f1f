package exchange

import (
	"context"
	"encoding/hex"
	"net/http"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/routing/catalog"
)

// turnState is a token that some providers hand out with an answer and clients
// send back within the same turn. It belongs to the deployment that issued it:
// it goes there or is left out, which is never a refusal.
const turnState = "X-Codex-Turn-State"

// turnStateKey addresses who issued a token to a caller.
func (e *exchange) turnStateKey(token string) store.Key {
	sum := identity.Hash("turn state", e.in.Principal.Scope.String(), token)
	return store.Key{Table: store.Affinity, Partition: "turn/" + hex.EncodeToString(sum[:]), Sort: "issuer"}
}

// returned is the token that the client sends back, "" for none.
func (e *exchange) returned() string { return e.http.Header.Get(turnState) }

// giveBack adds the client's token to an attempt at the deployment that issued
// it.
func (e *exchange) giveBack(t *catalog.Target, header http.Header) {
	if token := e.returned(); token != "" && e.issuer == t.ID {
		header.Set(turnState, token)
	}
}

// keepTurnState records who issued the token of an answer, before the client
// can send it back. Without the store it is simply left out next time.
func (e *exchange) keepTurnState(ctx context.Context, header http.Header) {
	token := header.Get(turnState)
	if token == "" || e.in.Principal.Scope.IsZero() || token == e.returned() && e.issuer == e.serving.Target.ID {
		return
	}
	record := store.Record{Value: []byte(e.serving.Target.ID), Expires: e.Now().Add(e.serving.Target.CacheTTL)}
	h := store.NewHandle(e.turnStateKey(token), "", store.Record{})
	for range 2 { // a token that was handed out before has a record already
		current, err := e.Store.Swap(ctx, h, record)
		if err == nil {
			return
		}
		h = current
	}
}
