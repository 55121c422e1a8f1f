package exchange

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"holdfast/affinity"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/responses"
	"holdfast/routing"
	"holdfast/routing/catalog"
)

// maxItems bounds how many output items of one answer can be referred to by id.
const maxItems = 64

// remember restores what came before a continuation whose deployment cannot go
// on from the id by itself: one Query, for those only.
func (e *exchange) remember(ctx context.Context) *wire.Problem {
	e.history = nil
	o := e.plan.Owner
	if o == nil || e.facts.PreviousResponseID == "" {
		return nil
	}
	target := e.in.Snapshot.Catalog.Deployment(o.Deployment)
	if o.Native && (target == nil || target.Protocol == catalog.Responses) {
		return nil
	}
	items, err := e.restored(ctx)
	if err != nil {
		return refusal(err)
	}
	e.history = responses.Portable(items)
	return nil
}

// restored are all items up to the previous response, in order: what every
// request has added and what was answered. Instructions belong to one request
// each and are not among them.
func (e *exchange) restored(ctx context.Context) ([]byte, error) {
	turns, err := e.Affinity.History(ctx, *e.plan.Owner)
	if err != nil {
		return nil, err
	}
	parts := make([][]byte, 0, 2*len(turns))
	for _, turn := range turns {
		parts = append(parts, turn.Input, responses.OutputItems(turn.Output))
	}
	return responses.Join(parts...), nil
}

// rooted is the client's request with its past in it instead of the previous
// response's id.
func (e *exchange) rooted(past []byte) (*wire.Facts, *wire.Problem) {
	p := e.facts.Edit()
	p.Delete("previous_response_id")
	p.Set("input", responses.Join(past, responses.Portable(responses.InputItems(e.facts.Value("input")))))
	return wire.Inspect(e.in.Endpoint, p.Bytes())
}

// withPast is the request with its restored past, for a target that never knew
// the previous response.
func (e *exchange) withPast() (*wire.Facts, error) {
	facts, p := e.rooted(e.history)
	if p != nil {
		return nil, p
	}
	return facts, nil
}

// errRootless: what is kept of the past cannot be put into a request.
var errRootless = errors.New("exchange: the history cannot be sent")

// mend makes an attempt whose account has lost the previous response one that
// can be repaired, where the whole past is in our history: once an exchange, at
// the same deployment. Else the client is told in the canonical words.
func (e *exchange) mend(ctx context.Context, t tried) tried {
	if e.bridge != nil || t.outcome.Class != routing.Rejected || t.fault == nil || t.fault.Class() != wire.ClassParentNotFound || e.facts.PreviousResponseID == "" {
		return t
	}
	t.body, t.problem = nil, wire.Refuse(wire.PreviousResponseNotFound).About("previous_response_id")
	if e.step.Repair || e.plan.Owner == nil || !e.plan.Owner.Restorable() {
		return t
	}
	past, err := e.restored(ctx)
	if err == nil {
		var p *wire.Problem
		if past, p = e.inspectHistory(past); p != nil {
			t.problem = p
			return t
		}
		if e.repaired, p = e.rooted(responses.Rebuilt(past)); p != nil {
			e.repaired, err = nil, errRootless
		}
	}
	if err != nil {
		e.Log.WarnContext(ctx, "a lost conversation was not rebuilt", "request_id", e.in.ID, "error", err)
		return t
	}
	t.outcome.Class = routing.Repairable
	return t
}

// maker says that the target which serves now has made something.
func (e *exchange) maker(o affinity.Owner) affinity.Owner {
	t := e.serving.Target
	o.Deployment, o.Connection, o.BaseURL, o.Boundary = t.ID, t.Account.ID, t.BaseURL, t.Account.Boundary
	o.Native = e.speaksResponses(t)
	return o
}

// added is what the answer adds to our history, nil where nothing is kept.
func (e *exchange) added(answer wire.Answer) *affinity.Turn {
	if e.record == nil || answer.Status != wire.Completed && answer.Status != wire.Incomplete {
		return nil
	}
	output, whole := e.record.Kept()
	if !whole {
		return nil
	}
	return &affinity.Turn{Input: responses.Portable(responses.InputItems(e.facts.Value("input"))), Output: output}
}

// bindMade gives what an answer has made, beside its id, to the one who made it:
// the conversation that it is part of, and ciphertext that only its account can
// use.
func (e *exchange) bindMade(ctx context.Context, o affinity.Owner) error {
	if e.record == nil || e.in.Principal.Scope.IsZero() {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	put := func(kind affinity.Kind, id string) {
		group.Go(func() error { return e.Affinity.Bind(ctx, e.in.Principal.Scope, kind, id, o, e.retention()) })
	}
	if id := e.bound.conversation; id != "" && o.Native {
		put(affinity.Conversation, id)
		group.Go(func() error { return e.claimConversation(ctx) })
	}
	for _, name := range e.record.Sealed() {
		put(affinity.Ciphertext, sealedID(name))
	}
	return group.Wait()
}
