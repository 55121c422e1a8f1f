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
	told chan signal // of both; nil: nobody waits
	left bool        // nobody waits any more; guarded by the Book's mu
	then func()      // nil, or called when the batch is over
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
// that somebody waits for writes it for all, in its caller's own goroutine; where
// ctx leaves less time than that may take, in another. So there is no goroutine of
// the Book's own, and a busy process writes each sum once for many events.
//
// While the store is away Append returns ErrUnknown and the Book goes on trying
// for a minute in the background; only then, or when too many events wait, is an
// event lost. Once its batch has a slot it is booked in any case, if need be by
// whoever finds the batch.
func (b *Book) Append(ctx context.Context, e Event) error {
	w := &waiting{booking: newBooking(e), told: make(chan signal, 2)}
	leads, err := b.queue(w)
	if err != nil {
		return err
	}
	if leads {
		w.told <- signal{leads: true}
	}
	return b.wait(ctx, w)
}

// Hand is Append for those who are waited for together: while another Append or
// Hand of this Book is writing, it leaves the event to that one and returns at
// once. Where ctx is nearly over, it waits all the same. What comes then is called
// once in any case: when the event is durable, or was not made so.
func (b *Book) Hand(ctx context.Context, e Event, then func()) error {
	if b.short(ctx) {
		defer then()
		return b.Append(ctx, e)
	}
	w := &waiting{booking: newBooking(e), then: then}
	leads, err := b.queue(w)
	if err != nil {
		then()
	}
	if err != nil || !leads {
		return err
	}
	w.told = make(chan signal, 2)
	w.told <- signal{leads: true}
	return b.wait(ctx, w)
}

// queue adds an event, and reports whether it is the first and nobody leads.
func (b *Book) queue(w *waiting) (leads bool, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) >= maxWaiting {
		b.lost.Add(1)
		return false, ErrBusy
	}
	b.waiting = append(b.waiting, w)
	if b.away { // its turn comes
		w.left, w.then = true, nil
		return false, store.ErrUnknown
	}
	leads, b.running = !b.running, true
	return leads, nil
}

// wait leads where it is w's turn, and returns what came of w.
func (b *Book) wait(ctx context.Context, w *waiting) error {
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
	if b.short(ctx) {
		b.Background(func() { b.lead(detached) })
		return
	}
	b.lead(detached)
}

// short reports whether ctx may end before a batch is booked.
func (b *Book) short(ctx context.Context) bool {
	ends, set := ctx.Deadline()
	return ctx.Err() != nil || set && time.Until(ends) < bookTime+b.Gather
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
			b.Background(func() { b.lead(context.WithoutCancel(ctx)) })
		}
	default:
	}
}

// lead books batches until nothing waits, or one who waits leads on.
func (b *Book) lead(ctx context.Context) {
	for b.next(ctx) {
	}
}

// next books one batch, and reports whether it is on its caller to book another.
func (b *Book) next(ctx context.Context) (more bool) {
	b.gather()
	j := b.job(b.take())
	err, returned := store.ErrUnknown, false // for the others, should the store panic
	defer func() {
		if returned && b.again(j, err) {
			b.persist(ctx, j)
			return
		}
		if err != nil {
			b.give(ctx, j, err)
		}
		for _, w := range j.all {
			w.tell(err)
		}
		if more = b.pass(j); more && !returned {
			b.Background(func() { b.lead(ctx) })
		}
	}()
	err = b.book(ctx, j)
	returned = true
	return more
}

// tell says what came of w to who waits for it, if somebody does.
func (w *waiting) tell(err error) {
	select {
	case w.told <- signal{err: err}: // never where it is nil
	default: // it was said before that nobody knows
	}
	if then := w.then; then != nil {
		w.then = nil
		then()
	}
}

// persist tries a batch again in the background. Nobody waits for it any more,
// nor do those who come meanwhile.
func (b *Book) persist(ctx context.Context, j *job) {
	b.mu.Lock()
	b.away = true
	for _, w := range append(j.all[:len(j.all):len(j.all)], b.waiting...) {
		w.left = true
		w.tell(store.ErrUnknown)
	}
	b.mu.Unlock()
	b.Background(func() {
		for pause(ctx, insistEvery) {
			err := b.book(ctx, j)
			if b.again(j, err) {
				continue
			}
			if err != nil {
				b.give(ctx, j, err)
			}
			break
		}
		b.mu.Lock()
		b.away = false
		b.mu.Unlock()
		if b.pass(j) {
			b.lead(ctx)
		}
	})
}

// gather waits a little for more to come where many come: soon after a batch of
// several, or one that others came after. A lone event, and a full batch, wait for
// nothing.
func (b *Book) gather() {
	b.mu.Lock()
	wait := time.Until(b.crowded)
	if len(b.waiting) >= b.most {
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
	for n < len(b.waiting) && n < b.most && (n == 0 || size+len(b.waiting[n].text) <= maxBatchBytes) {
		size += len(b.waiting[n].text)
		n++
	}
	all := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	return all
}

// pass gives the turn, after a batch, to the first that waits. It reports true
// where something waits for which nobody does.
func (b *Book) pass(j *job) (more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pace(len(j.all), time.Since(j.started))
	if b.crowded = (time.Time{}); len(j.all) > 1 || len(b.waiting) > 0 {
		b.crowded = time.Now().Add(b.Gather)
	}
	if len(b.waiting) == 0 {
		b.waiting, b.running = nil, false
		return false
	}
	first := b.waiting[0]
	if first.left || first.told == nil {
		return true
	}
	first.told <- signal{leads: true}
	return false
}

// pace makes batches so large that the store takes one in much less time than a
// try has: one that runs out of it is written again.
func (b *Book) pace(booked int, took time.Duration) {
	switch {
	case took > slowBatch:
		b.most = max(minBatch, booked/2)
	case took < slowBatch/4 && booked >= b.most:
		b.most = min(maxBatch, 2*b.most)
	}
}

// more reports whether another batch waits.
func (b *Book) more() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) > 0
}
