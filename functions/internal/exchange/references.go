package exchange

import (
	"context"
	"slices"

	"holdfast/affinity"
	"holdfast/affinity/store"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/responses"
)

// Bounds of what one request may refer to.
const (
	maxSealed     = 8   // pieces of ciphertext
	maxFiles      = 64  // files, and as many containers
	maxReferences = 256 // stored items
	maxRiding     = 8   // of all, whose owners come with the exchange's one read
)

// references are the account-bound things that a request mentions beside its previous
// response: files and containers in all protocols, the rest in Responses.
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
	var many, further, beyond bool
	b := &e.bound
	switch e.shape() {
	case wire.EndpointResponses:
		input := e.facts.Value("input")
		b.conversation = responses.ConversationID(e.facts)
		if e.in.Bypass == nil { // past it, ciphertext is the session's: see unseal
			b.sealed, many = responses.Sealed(input.Bytes(), maxSealed)
		}
		b.items, further = responses.ReferenceIDs(input, maxReferences)
	case wire.EndpointChat, wire.EndpointMessages:
	default:
		return nil
	}
	b.files, b.containers, beyond = e.facts.FileIDs(maxFiles)
	if many || further || beyond {
		return wire.Refuse(wire.InvalidRequest).About("input").Saying("The request refers to too many stored items or files. Send the items themselves.")
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
	if p := e.strangers(ctx, found[count(b.conversation)+len(b.sealed):]); p != nil {
		return p
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

// strangers refuses files and containers that another caller has made: callers may
// share an account. Those of nobody pass, since operators make some. The owners of the
// request's own begin found.
func (e *exchange) strangers(ctx context.Context, found []affinity.Bound) *wire.Problem {
	var keys []store.Key
	for i, id := range slices.Concat(e.bound.files, e.bound.containers) {
		kind := affinity.File
		if i >= len(e.bound.files) {
			kind = affinity.Container
		}
		if !found[i].Found {
			keys = append(keys, claimKey(kind, id))
		}
	}
	for some := range slices.Chunk(keys, store.MaxReadKeys) {
		claims, err := e.Store.Read(ctx, some...)
		if err != nil {
			return wire.Refuse(wire.OwnershipUnavailable)
		}
		for _, claim := range claims {
			if record, live := claim.Record(); live && string(record.Value) != e.claimant() {
				return wire.Refuse(wire.ContinuationUnavailable).Saying("There is no such file or container for this key. Upload it again, or send what it holds.")
			}
		}
	}
	return nil
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
