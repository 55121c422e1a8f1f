package exchange

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"holdfast/affinity"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/responses"
)

const (
	turnReaders = 8        // turns that are read side by side
	maxExpanded = 32 << 20 // bytes of stored turns that one request may refer to
)

// errExpanded: the stored turns are larger than what is put into one request.
var errExpanded = errors.New("exchange: too much is referred to")

// expand puts stored items in the place of references to them: what they say is
// then in the request itself, and any account can serve it. One whose content is
// not kept stays as it is and goes to its owner.
func (e *exchange) expand(ctx context.Context, owners []affinity.Bound) *wire.Problem {
	for _, b := range owners {
		if !b.Found {
			return strangeItem()
		}
		if b.Owner.Content() == "" {
			if p := e.require(b.Owner, wire.ContinuationUnavailable); p != nil {
				return p
			}
		}
	}
	outputs, err := e.outputs(ctx, owners)
	switch {
	case errors.Is(err, affinity.ErrOwnershipUnavailable):
		return wire.Refuse(wire.OwnershipUnavailable)
	case errors.Is(err, errExpanded):
		return wire.Refuse(wire.RequestTooLarge)
	case err != nil:
		return strangeItem()
	}
	items := map[string][]byte{}
	for i, id := range e.bound.items {
		content := owners[i].Owner.Content()
		if content == "" {
			continue
		}
		if items[id] = responses.FindItem(outputs[content], id); items[id] == nil {
			return strangeItem()
		}
	}
	patch := e.facts.Edit()
	patch.Set("input", responses.Expand(e.facts.Value("input"), func(id string) []byte { return items[id] }))
	facts, p := wire.Inspect(e.in.Endpoint, patch.Bytes())
	if p != nil {
		return strangeItem() // a provider has made what is no JSON of ours
	}
	e.facts = facts
	return nil
}

// strangeItem refuses a reference to an item that nobody here knows.
func strangeItem() *wire.Problem {
	return wire.Refuse(wire.ContinuationUnavailable).About("input").Saying(
		"The input refers to a stored item that this gateway does not hold. Send the item itself in its place.")
}

// outputs reads the output items of the turns that the owners' items are in.
func (e *exchange) outputs(ctx context.Context, owners []affinity.Bound) (map[string][]byte, error) {
	outputs := map[string][]byte{}
	var mu sync.Mutex
	size := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(turnReaders)
	for _, b := range owners {
		content := b.Owner.Content()
		mu.Lock()
		_, asked := outputs[content]
		if !asked {
			outputs[content] = nil
		}
		mu.Unlock()
		if asked || content == "" {
			continue
		}
		group.Go(func() error {
			turn, err := e.Affinity.Turn(ctx, b.Owner)
			mu.Lock()
			defer mu.Unlock()
			if size += len(turn.Output); size > maxExpanded {
				return errExpanded
			}
			outputs[content] = responses.OutputItems(turn.Output)
			return err
		})
	}
	return outputs, group.Wait()
}
