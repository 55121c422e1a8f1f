package ledger

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/affinity/store"
)

// Config sets up a Book. Store and Log are required.
type Config struct {
	Store     store.Store
	Now       func() time.Time     // nil: time.Now
	Retention func() time.Duration // how long events and sums are kept; 0, and nil: for ever
	AtOnce    int                  // writes under way at a time; 0: 32. 1 is for a store in this process, whose writes wait for nobody
	Gather    time.Duration        // between the end of a batch and the next, so that a busy process books many events at a time; 0 where requests come one after the other
	Log       *slog.Logger

	Background func(work func()) // starts what outlives its caller, and bounds itself; nil: a plain goroutine
}

// Bounds of a Book.
const (
	maxBatch      = 128             // events that are booked together
	minBatch      = 8               // as many may be, however slow the store is
	maxBatchBytes = 200 << 10       // of their JSON, below what a record holds
	maxWaiting    = 4096            // events
	bookTime      = 5 * time.Second // one try to book a batch
	slowBatch     = time.Second     // a batch that takes longer is too large for the store as it is now
	insistTime    = time.Minute     // how long a batch is tried again that the store does not take
	insistEvery   = time.Second     // between such tries
	atOnce        = 32              // writes under way
	staleAfter    = time.Minute     // a batch that old has nobody who books it
	sweepEvery    = time.Minute
	sweepAtOnce   = 16 // slots looked at beside one batch
)

// Book writes events and their sums.
type Book struct {
	Config
	rooms   sync.Pool // *packer: memory of events that are written
	lost    atomic.Uint64
	written atomic.Uint64

	mu      sync.Mutex
	waiting []*waiting
	running bool
	away    bool      // the store is: a batch is tried again in the background
	crowded time.Time // until then, what comes waits for more to come
	most    int       // events of the next batch

	// Of the goroutine that leads.
	slot   int
	room   []byte       // of the batch that is written
	held   store.Handle // of slot, as this Book wrote it last
	number int64        // of the batch that was written then
	owns   bool         // these are valid; the batch, if there is one, is booked
	swept  int          // slots of this round that were looked at
	round  time.Time    // when it began
}

// New returns a Book.
func New(c Config) *Book {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Retention == nil {
		c.Retention = func() time.Duration { return 0 }
	}
	if c.Background == nil {
		c.Background = func(work func()) { go work() }
	}
	if c.AtOnce <= 0 {
		c.AtOnce = atOnce
	}
	return &Book{Config: c, most: maxBatch}
}

// Counts says how many events this Book has written, and how many it could not
// and has dropped.
func (b *Book) Counts() (written, lost uint64) { return b.written.Load(), b.lost.Load() }

// job is a batch on its way.
type job struct {
	all     []*waiting
	events  []*booking
	by      mark
	claimed bool      // it has its slot
	begun   time.Time // by the Book's clock
	started time.Time // by the machine's
}

func (b *Book) job(all []*waiting) *job {
	j := &job{all: all, events: make([]*booking, len(all)), begun: b.Now(), started: time.Now()}
	for i, w := range all {
		j.events[i] = w.booking
	}
	return j
}

// book writes one batch: its slot, what it changes, and its slot again. It may be
// repeated after an error.
func (b *Book) book(ctx context.Context, j *job) (err error) {
	bounded, cancel := context.WithTimeout(ctx, bookTime)
	defer cancel()
	if !j.claimed {
		next := batch{Events: make([]jsontext.Value, len(j.all))}
		for i, one := range j.events {
			next.Events[i] = one.text
		}
		if j.by, err = b.claim(bounded, next); err != nil {
			return err
		}
		j.claimed = true
	}
	if err := b.apply(bounded, j.by, j.events); err != nil {
		return err
	}
	b.written.Add(uint64(len(j.all)))
	if !b.more() {
		b.clear(bounded)
	}
	b.sweep(bounded)
	return nil
}

// again reports whether a batch that has failed is worth another try.
func (b *Book) again(j *job, err error) bool {
	passes := errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrConflict)
	return passes && b.Now().Sub(j.begun) < insistTime
}

// give gives a batch up. One that has its slot is booked by whoever finds it.
func (b *Book) give(ctx context.Context, j *job, err error) {
	b.owns = false
	if j.claimed {
		b.Log.WarnContext(ctx, "exchanges are booked later", "count", len(j.all), "error", err)
		return
	}
	b.lost.Add(uint64(len(j.all)))
	b.Log.WarnContext(ctx, "exchanges are missing in the ledger", "count", len(j.all), "error", err)
}

// claim writes a batch into a slot that is free: the one that this Book used
// last or, where another process came between, another.
func (b *Book) claim(ctx context.Context, next batch) (mark, error) {
	for range slots {
		if err := b.find(ctx); err != nil {
			return mark{}, err
		}
		next.Number = max(b.number+1, b.Now().UnixMilli())
		b.room = next.appendTo(b.room[:0])
		record := store.Record{Value: b.room}
		stands, err := b.swap(ctx, b.held, record)
		now, live := stands.Record()
		switch {
		case err == nil, errors.Is(err, store.ErrConflict) && live && string(now.Value) == string(record.Value):
			b.held, b.number = stands, next.Number
			return mark{slot: b.slot, number: next.Number}, nil
		case !errors.Is(err, store.ErrConflict):
			b.owns = false
			return mark{}, err
		}
		// Another process was here, or the write is still on its way: it has no
		// effect once this slot is written, so try the same one while it is free.
		left, err := decodeBatch(stands)
		b.held, b.number, b.owns = stands, left.Number, err == nil && len(left.Events) == 0
	}
	return mark{}, ErrBusy
}

// find makes sure that this Book has a slot that nobody uses. A batch that was
// left there is booked first.
func (b *Book) find(ctx context.Context) error {
	for range slots {
		if b.owns {
			return nil
		}
		slot := rand.IntN(slots)
		read, err := b.read(ctx, slotKey(slot))
		if err != nil {
			return err
		}
		last, free, err := b.complete(ctx, slot, read[0])
		if err != nil {
			return err
		}
		if free {
			b.slot, b.held, b.number, b.owns = slot, read[0], last, true
		}
	}
	return ErrBusy
}

// complete books the batch that a slot was left with. It returns the number of the
// slot's last batch and whether the slot may be used: not while somebody may
// still be at it.
func (b *Book) complete(ctx context.Context, slot int, h store.Handle) (number int64, free bool, _ error) {
	left, err := decodeBatch(h)
	if err != nil || len(left.Events) == 0 {
		return left.Number, err == nil, err
	}
	if b.Now().UnixMilli()-left.Number < staleAfter.Milliseconds() {
		return left.Number, false, nil
	}
	events, err := left.bookings()
	if err != nil {
		return left.Number, false, err
	}
	return left.Number, true, b.apply(ctx, mark{slot: slot, number: left.Number}, events)
}

// clear says that the slot's batch is booked. Where it fails, the batch is booked
// again by whoever comes after, to no effect.
func (b *Book) clear(ctx context.Context) {
	var err error
	b.held, err = b.swap(ctx, b.held, batch{Number: b.number}.record())
	b.owns = err == nil
}

// sweep looks at some slots for batches that were left, in turn: all of them
// once a minute while there is traffic.
func (b *Book) sweep(ctx context.Context) {
	if b.swept >= slots {
		if b.Now().Sub(b.round) < sweepEvery {
			return
		}
		b.swept = 0
	}
	if b.swept == 0 {
		b.round = b.Now()
	}
	first := b.swept
	b.swept += sweepAtOnce
	keys := make([]store.Key, 0, sweepAtOnce)
	for slot := first; slot < min(b.swept, slots); slot++ {
		keys = append(keys, slotKey(slot))
	}
	read, err := b.Store.Read(ctx, keys...)
	if err != nil {
		return // another round comes
	}
	for i, h := range read {
		b.tidy(ctx, first+i, h)
	}
}

// tidy books a batch that was left in a slot, and empties the slot.
func (b *Book) tidy(ctx context.Context, slot int, h store.Handle) {
	left, err := decodeBatch(h)
	if err != nil || len(left.Events) == 0 {
		return
	}
	_, free, err := b.complete(ctx, slot, h)
	if err != nil {
		b.Log.WarnContext(ctx, "exchanges that were left unbooked cannot be booked", "slot", slot, "error", err)
	}
	if !free || err != nil {
		return
	}
	b.Log.InfoContext(ctx, "exchanges that were left unbooked are in the ledger", "count", len(left.Events))
	_, _ = b.Store.Swap(ctx, h, batch{Number: left.Number}.record()) // whoever was faster has done the same
}

// Recover books what processes that have ended have left. It is done beside
// ordinary writing, too, a few slots at a time.
func (b *Book) Recover(ctx context.Context) error {
	for slot := range slots {
		read, err := b.read(ctx, slotKey(slot))
		if err != nil {
			return err
		}
		b.tidy(ctx, slot, read[0])
	}
	return nil
}
