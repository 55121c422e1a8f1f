package ledger

import (
	"context"
	"fmt"
	"time"

	"holdfast/affinity/store"
)

// waiting is an event that waits for its batch to be booked, or for its turn to
// lead one.
type waiting struct {
	*booking
	told chan signal // of both
	left bool        // nobody waits for either; guarded by the Book's mu
}

// signal is what one that waits is told: that it leads, or what came of it.
type signal struct {
	leads bool
	err   error
}

// Append books an event and returns when it and its sums are durable. An event
// that is appended again, with its id and its time, changes nothing.
//
// What comes while a batch is written makes the next one. The first of a batch
// writes it for all, in its caller's own goroutine; where ctx leaves less time
// than that may take, in another. So there is no goroutine of the Book's own, and
// a busy process writes each sum once for many events.
//
// An error before the batch has its slot means that the event is lost; after it,
// the event is booked later by whoever finds the batch.
func (b *Book) Append(ctx context.Context, e Event) error {
	w := &waiting{booking: newBooking(e), told: make(chan signal, 2)}
	b.mu.Lock()
	if len(b.waiting) >= maxWaiting {
		b.mu.Unlock()
		b.lost.Add(1)
		return ErrBusy
	}
	b.waiting = append(b.waiting, w)
	if !b.running {
		b.running = true
		w.told <- signal{leads: true}
	}
	b.mu.Unlock()
	for {
		select {
		case s := <-w.told:
			if !s.leads {
				return s.err
			}
			b.start(ctx)
		case <-ctx.Done():
			b.leave(ctx, w)
			return fmt.Errorf("%w: %w", store.ErrUnknown, ctx.Err())
		}
	}
}

// start leads a batch, here or, where there may not be time for it, elsewhere.
func (b *Book) start(ctx context.Context) {
	detached := context.WithoutCancel(ctx)
	if ends, set := ctx.Deadline(); ctx.Err() != nil || set && time.Until(ends) < bookTime+b.Gather {
		go b.lead(detached)
		return
	}
	b.lead(detached)
}

// leave says that nobody waits for w any more. A turn that it has, or gets, is
// another goroutine's.
func (b *Book) leave(ctx context.Context, w *waiting) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.left = true
	select {
	case s := <-w.told:
		if s.leads {
			go b.lead(context.WithoutCancel(ctx))
		}
	default:
	}
}

// lead books one batch and hands on what came meanwhile.
func (b *Book) lead(ctx context.Context) {
	b.gather()
	all := b.take()
	err := store.ErrUnknown // for the others, should the store panic
	defer func() {
		for _, w := range all {
			w.told <- signal{err: err}
		}
		b.pass(ctx)
	}()
	err = b.book(ctx, all)
}

// gather waits a little for more to come, soon after another batch. An event
// that comes after a pause, and a full batch, wait for nothing.
func (b *Book) gather() {
	b.mu.Lock()
	wait := b.Gather - time.Since(b.ended)
	if len(b.waiting) >= maxBatch {
		wait = 0
	}
	b.mu.Unlock()
	if wait > 0 {
		time.Sleep(wait)
	}
}

// take returns the next batch.
func (b *Book) take() []*waiting {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, size := 0, 0
	for n < len(b.waiting) && n < maxBatch && (n == 0 || size+len(b.waiting[n].text) <= maxBatchBytes) {
		size += len(b.waiting[n].text)
		n++
	}
	all := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	return all
}

// pass gives the turn to the first that waits.
func (b *Book) pass(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = time.Now()
	switch {
	case len(b.waiting) == 0:
		b.waiting, b.running = nil, false
	case b.waiting[0].left:
		go b.lead(ctx)
	default:
		b.waiting[0].told <- signal{leads: true}
	}
}

// more reports whether another batch waits.
func (b *Book) more() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) > 0
}
