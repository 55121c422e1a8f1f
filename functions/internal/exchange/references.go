package exchange

import (
	"context"

	"holdfast/affinity"
	"holdfast/affinity/store"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/responses"
)

// Bounds of what one request may refer to.
const (
	maxSealed     = 8   // pieces of ciphertext
	maxFiles      = 4   // files, and as many containers
	maxReferences = 256 // stored items
	maxRiding     = 8   // of all, whose owners come with the exchange's one read
)

// references are the account-bound things that a Responses request mentions
// beside its previous response.
type references struct {
	conversation      string
	sealed            []string // names of ciphertext that cannot be left out
	files, containers []string
	items             []string     // stored items
	code              wire.Code    // of the refusal where the owner cannot serve
	claim             store.Handle // who has the conversation
	strange           bool         // another caller has it
}

// refer finds what the request refers to.
func (e *exchange) refer() *wire.Problem {
	e.bound = references{}
	if e.shape() != wire.EndpointResponses {
		return nil
	}
	var many, further bool
	input := e.facts.Value("input")
	b := &e.bound
	b.conversation = responses.ConversationID(e.facts)
	if e.in.Bypass == nil { // past it, ciphertext is the session's: see unseal
		b.sealed, many = responses.Sealed(input.Bytes(), maxSealed)
	}
	b.items, further = responses.ReferenceIDs(input, maxReferences)
	b.files, b.containers = responses.FileIDs(e.facts, maxFiles)
	if many || further {
		return wire.Refuse(wire.InvalidRequest).About("input").Saying("The input refers to too many stored items. Send the items themselves.")
	}
	return nil
}

// all are the references whose owners are asked for, in the order of bind.
func (b *references) all() []affinity.Reference {
	var refs []affinity.Reference
	add := func(kind affinity.Kind, ids ...string) {
		for _, id := range ids {
			refs = append(refs, affinity.Reference{Kind: kind, ID: id})
		}
	}
	if b.conversation != "" {
		add(affinity.Conversation, b.conversation)
	}
	for _, name := range b.sealed {
		add(affinity.Ciphertext, sealedID(name))
	}
	add(affinity.File, b.files...)
	add(affinity.Container, b.containers...)
	add(affinity.Item, b.items...)
	return refs
}

// sealedID keeps ciphertext known by its digest apart from that of sessions,
// whose ids have no control characters.
func sealedID(name string) string { return "\x00" + name }

// bind sends the request to whoever owns what it refers to, and puts the items
// themselves in the place of references to them.
func (e *exchange) bind(ctx context.Context) *wire.Problem {
	found, b := e.plan.Bound(), &e.bound
	found = found[:len(found)-len(e.seals())] // the rest is for unseal
	if b.strange {
		return strangeConversation()
	}
	if all := b.all(); len(all) > len(found) {
		rest, err := e.Affinity.BoundAll(ctx, e.in.Principal.Scope, all[len(found):])
		if err != nil {
			return refusal(err)
		}
		found = append(found[:len(found):len(found)], rest...)
	}
	for _, row := range [...]struct {
		count int
		must  bool // be known
		code  wire.Code
	}{
		{count(b.conversation), false, wire.ContinuationUnavailable},
		{len(b.sealed), true, wire.StartNewConversation},
		{len(b.files) + len(b.containers), false, wire.ContinuationUnavailable},
	} {
		for _, one := range found[:row.count] {
			if p := e.bindOne(one, row.must, row.code); p != nil {
				return p
			}
		}
		found = found[row.count:]
	}
	switch {
	case len(b.items) == 0:
		return nil
	case e.in.Bypass != nil:
		return e.bindItems(found)
	}
	return e.expand(ctx, found)
}

// bindItems sends references to stored items, which pass as they are, to the
// account that holds them. Callers may share it, so what a caller has not had
// from here does not exist for it.
func (e *exchange) bindItems(found []affinity.Bound) *wire.Problem {
	for _, one := range found {
		if !one.Found {
			return strangeItem()
		}
		if p := e.bindOne(one, true, wire.ContinuationUnavailable); p != nil {
			return p
		}
	}
	return nil
}

// count is how many keys an optional id takes.
func count(id string) int {
	if id == "" {
		return 0
	}
	return 1
}

func (e *exchange) bindOne(b affinity.Bound, must bool, code wire.Code) *wire.Problem {
	switch {
	case b.Found:
		return e.require(b.Owner, code)
	case must:
		return wire.Refuse(code).About("input")
	}
	return nil
}

// require makes o the one who must serve. Two owners are one where they are in
// one account.
func (e *exchange) require(o affinity.Owner, code wire.Code) *wire.Problem {
	switch held := e.plan.Owner; {
	case held == nil:
		e.plan.Require(o)
		e.bound.code = code
	case held.Deployment != o.Deployment && !o.SameAccount(held.Boundary):
		return wire.Refuse(code)
	}
	return nil
}

// unavailable is the refusal where the owner cannot serve.
func (e *exchange) unavailable(code wire.Code) wire.Code {
	if code == wire.ContinuationUnavailable && e.bound.code != "" {
		return e.bound.code
	}
	return code
}
