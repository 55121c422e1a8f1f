package affinity

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

// Publication makes a response's id usable.
type Publication struct {
	Scope     identity.Scope
	ID        string        // the response id that the client will see
	Owner     Owner         // who made it
	Parent    *Owner        // of a continuation: Plan.Owner
	Turn      *Turn         // what it added; nil with store: false, which keeps ownership but no content
	Items     []string      // ids of output items that a later item_reference may name; optional
	Retention time.Duration // 0: the State's default, or Forever
}

// Publication starts the publication of a response that this exchange made; the
// caller adds who served and what to keep.
func (p *Plan) Publication(id string) Publication {
	return Publication{
		Scope: p.scope, ID: id, Parent: p.Owner,
		Owner: Owner{Model: p.model, Endpoint: p.endpoint, Session: p.Session.ID, Lane: p.Session.Lane},
	}
}

// place is where a turn lies. The turns of a chain share one partition, the
// root's; there a line is a run of turns, each the next one's parent. A second
// continuation of one parent starts a line of its own, so that a chain is read
// by one range for each line it touches, usually one, however many branches the
// partition holds.
type place struct {
	Whole     bool   `json:"whole,omitzero"` // everything back to the root is there
	Partition string `json:"partition,omitzero"`
	Runs      []run  `json:"runs,omitempty"`
	Depth     int    `json:"depth,omitzero"` // of this turn; the root's is 0
	Bytes     int    `json:"bytes,omitzero"` // of the whole chain, before compression
	Link      string `json:"link,omitzero"`  // of this turn, in hex
}

// run says that the chain follows a line from a depth on.
type run struct {
	Line string `json:"line"`
	From int    `json:"from"`
}

// rootLine is the first line of a partition.
const rootLine = "0"

// chunkWriters bounds how many chunks of one turn are written side by side.
const chunkWriters = 8

// Publish writes the history, then the ownership, and returns when both are
// durable: an id that a client can see is usable. A turn is written once; of
// its chain nothing is written again. Publishing the same response again is
// harmless.
//
// A response of the provider's own account (Owner.Native) whose chain is too
// large to be restored is owned without a restorable history; any other is
// ErrHistoryLimit, and nothing is written. Other errors are
// ErrOwnershipUnavailable with the store's. Without a scope or an id nothing is
// written. An error never concerns the answer itself.
func (s *State) Publish(ctx context.Context, p Publication) error {
	if p.Scope.IsZero() || p.ID == "" {
		return nil
	}
	owner := p.Owner
	owner.Stored, owner.place = false, place{}
	if p.Turn != nil {
		at, err := s.keep(ctx, p)
		switch {
		case err == nil:
			owner.Stored, owner.place = true, at
		case !errors.Is(err, ErrHistoryLimit) || !owner.Native:
			return err
		}
	}
	if err := s.bindItems(ctx, p, owner); err != nil {
		return err
	}
	return s.Bind(ctx, p.Scope, Response, p.ID, owner, p.Retention)
}

func (s *State) bindItems(ctx context.Context, p Publication, owner Owner) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(chunkWriters)
	for _, id := range p.Items {
		group.Go(func() error { return s.Bind(ctx, p.Scope, Item, id, owner, p.Retention) })
	}
	return group.Wait()
}

// keep writes one turn and returns where it lies.
func (s *State) keep(ctx context.Context, p Publication) (place, error) {
	at, err := plot(p)
	if err != nil {
		return place{}, err
	}
	codec, err := s.codec()
	if err != nil {
		return place{}, err
	}
	var parent link
	if at.Depth > 0 {
		parent = p.Parent.place.link()
	}
	self := linkTo(parent, p.ID, *p.Turn)
	at.Link = hex.EncodeToString(self[:])
	chunks := codec.chunks(parent, self, *p.Turn)
	expires := s.expiry(p.Retention, s.retention)

	// The first chunk settles which line the turn is on; the others follow it.
	if at, err = s.settle(ctx, at, self, chunks[0], expires); err != nil {
		return place{}, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(chunkWriters)
	for i, value := range chunks[1:] {
		group.Go(func() error {
			return s.put(ctx, at.key(i+1), store.Record{Value: value, Expires: expires})
		})
	}
	return at, group.Wait()
}

// plot says where a turn would lie if nobody else has continued its parent.
func plot(p Publication) (place, error) {
	size := p.Turn.size()
	if size > maxHistory {
		return place{}, ErrHistoryLimit
	}
	root := place{
		Whole: true, Bytes: size, Runs: []run{{Line: rootLine}},
		Partition: rootPartition(p.Scope, p.ID),
	}
	if p.Parent == nil {
		return root, nil
	}
	parent := p.Parent.place
	if p.Parent.Restorable() && parent.Bytes+size <= maxHistory && parent.Depth+1 < maxTurns {
		parent.Depth++
		parent.Bytes += size
		return parent, nil
	}
	if p.Parent.Restorable() && !p.Owner.Native {
		return place{}, ErrHistoryLimit
	}
	// The chain cannot be restored from here on; the turn alone can be retrieved.
	root.Whole = false
	return root, nil
}

// settle writes a turn's first chunk as the continuation of its line or, where
// another turn has taken that slot, as the start of a line of its own.
func (s *State) settle(ctx context.Context, at place, self link, value []byte, expires time.Time) (place, error) {
	record := store.Record{Value: value, Expires: expires}
	current, err := s.create(ctx, at.key(0), record)
	if errors.Is(err, store.ErrConflict) && !holds(current, self) {
		at = at.branch(self)
		current, err = s.create(ctx, at.key(0), record)
	}
	switch {
	case err == nil:
		return at, nil
	case errors.Is(err, store.ErrConflict) && holds(current, self):
		return at, nil // published before, by a call whose end was not told
	}
	return place{}, unavailable(err)
}

// holds reports whether a record is a chunk of the turn with this link.
func holds(h store.Handle, self link) bool {
	record, live := h.Record()
	if !live {
		return false
	}
	found, _, err := parseChunk(record.Value)
	return err == nil && found == self
}

// branch moves a turn's place from its parent's line to a line of its own.
func (at place) branch(self link) place {
	runs := slices.DeleteFunc(slices.Clone(at.Runs), func(r run) bool { return r.From >= at.Depth })
	at.Runs = append(runs, run{Line: hex.EncodeToString(self[:]), From: at.Depth})
	return at
}

// key addresses a chunk of the turn at this place.
func (at place) key(chunk int) store.Key {
	line := at.Runs[len(at.Runs)-1].Line
	return store.Key{Table: store.State, Partition: at.Partition, Sort: chunkSort(line, at.Depth, chunk)}
}

func (at place) link() (l link) {
	_, _ = hex.Decode(l[:], []byte(at.Link)) // a bad one links to nothing, and is found out
	return l
}
