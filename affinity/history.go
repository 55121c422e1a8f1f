package affinity

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

// rangeReaders bounds how many ranges of a branched chain are read side by side.
const rangeReaders = 8

// History returns the turns of a chain, from its root up to the owner's
// response, exactly as they were published. It is one range read, paged when
// large, for each line that the chain touches: one for a chain that nobody
// branched. The cost is in proportion to the chain's own bytes.
//
// ErrParentNotFound where the chain is not restorable, or any part of it has
// expired, was forgotten or is torn: it is never silently shortened.
// ErrOwnershipUnavailable where the store failed.
func (s *State) History(ctx context.Context, o Owner) ([]Turn, error) {
	if !o.Restorable() {
		return nil, ErrParentNotFound
	}
	turns, err := s.turns(ctx, o.place.spans(), o.place.link())
	if errors.Is(err, errTorn) {
		return nil, ErrParentNotFound
	}
	return turns, err
}

// Turn returns what one response added: for retrieve and input items. Errors as
// those of History, but ErrNotFound where its content is not kept.
func (s *State) Turn(ctx context.Context, o Owner) (Turn, error) {
	if !o.Stored {
		return Turn{}, ErrNotFound
	}
	turns, err := s.turns(ctx, []span{o.place.span()}, o.place.link())
	if errors.Is(err, errTorn) {
		return Turn{}, ErrNotFound
	}
	if err != nil {
		return Turn{}, err
	}
	return turns[0], nil
}

// Forget removes a response: its content first, then its ownership, so that one
// that failed halfway can be repeated. Responses that continued from it can no
// longer be restored. ErrNotFound, ErrOwnershipUnavailable.
func (s *State) Forget(ctx context.Context, scope identity.Scope, responseID string) error {
	o, h, err := s.owned(ctx, scope, Response, responseID)
	if err != nil {
		return err
	}
	if o.Stored {
		if err := s.forgetTurn(ctx, o.place); err != nil {
			return err
		}
	}
	return s.remove(ctx, h, anything)
}

// forgetTurn deletes the chunks of one turn. Those of another turn that has
// taken the slot meanwhile stay.
func (s *State) forgetTurn(ctx context.Context, at place) error {
	handles, err := s.load(ctx, at.span())
	if err != nil {
		return err
	}
	self := at.link()
	ours := func(h store.Handle) bool { return holds(h, self) }
	for _, h := range handles {
		if err := s.remove(ctx, h, ours); err != nil {
			return err
		}
	}
	return nil
}

// span is a range of a chain: the turns of one line between two depths.
type span struct {
	partition, line string
	from, to        int // depths, inclusive
}

// spans lists the ranges of the whole chain, from the root.
func (at place) spans() []span {
	spans := make([]span, len(at.Runs))
	for i, r := range at.Runs {
		to := at.Depth
		if i+1 < len(at.Runs) {
			to = at.Runs[i+1].From - 1
		}
		spans[i] = span{at.Partition, r.Line, r.From, to}
	}
	return spans
}

// span is the range of this turn alone.
func (at place) span() span {
	return span{at.Partition, at.Runs[len(at.Runs)-1].Line, at.Depth, at.Depth}
}

// load reads all records of a span.
func (s *State) load(ctx context.Context, r span) ([]store.Handle, error) {
	q := store.Query{
		Table: store.State, Partition: r.partition,
		From: chunkSort(r.line, r.from, 0), To: chunkSort(r.line, r.to, maxChunks),
	}
	var all []store.Handle
	for {
		page, err := s.store.Query(ctx, q)
		if err != nil {
			return nil, unavailable(err)
		}
		all = append(all, page.Handles...)
		if page.Cursor == "" {
			return all, nil
		}
		if len(all) > maxTurns*maxChunks {
			return nil, ErrHistoryLimit
		}
		q.Cursor = page.Cursor
	}
}

// turns reads spans side by side and joins their turns, each checked to follow
// the one before and the last to be the one wanted.
func (s *State) turns(ctx context.Context, spans []span, last link) ([]Turn, error) {
	loaded := make([][]store.Handle, len(spans))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(rangeReaders)
	for i, r := range spans {
		group.Go(func() (err error) {
			loaded[i], err = s.load(ctx, r)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	codec, err := s.codec()
	if err != nil {
		return nil, err
	}
	chain := chain{codec: codec, budget: maxHistory}
	for i, r := range spans {
		if err := chain.add(r, loaded[i]); err != nil {
			return nil, err
		}
	}
	if chain.last != last {
		return nil, errTorn
	}
	return chain.turns, nil
}

// chain puts turns together.
type chain struct {
	codec  *codec
	turns  []Turn
	last   link   // of the latest turn
	budget uint64 // bytes that may still be unpacked
}

// add appends the turns of one span.
func (c *chain) add(r span, handles []store.Handle) error {
	values := make(map[string][]byte, len(handles))
	for _, h := range handles {
		record, _ := h.Record()
		values[h.Key().Sort] = record.Value
	}
	for depth := r.from; depth <= r.to; depth++ {
		if err := c.addTurn(r.line, depth, values); err != nil {
			return err
		}
	}
	return nil
}

// addTurn appends the turn at one depth. The chain's first turn is taken as it
// is, any other must name the one before as its parent.
func (c *chain) addTurn(line string, depth int, values map[string][]byte) error {
	h, err := parseHead(values[chunkSort(line, depth, 0)])
	if err != nil {
		return err
	}
	if len(c.turns) > 0 && h.parent != c.last || h.chunks > uint64(maxChunks) {
		return errTorn
	}
	var rest [][]byte
	for i := 1; i < int(h.chunks); i++ {
		self, data, err := parseChunk(values[chunkSort(line, depth, i)])
		if err != nil || self != h.self {
			return errTorn
		}
		rest = append(rest, data)
	}
	turn, err := c.codec.unpack(h, rest, c.budget)
	if err != nil {
		return err
	}
	c.budget -= h.raw
	c.turns, c.last = append(c.turns, turn), h.self
	return nil
}
