package host

import (
	"context"
	"slices"
	"sync"
	"time"
)

// AfterLimit bounds one piece of after-response work.
const AfterLimit = 10 * time.Second

// After runs work that must be booked but that no client waits for: renewals,
// counters, the ledger. On net/http it runs beside the closing stream; the
// server's stop waits for it. On Lambda, where nothing runs beside an answer
// that is over, it waits for the end of the client's stream and is done before
// the next invocation. The zero After is ready.
//
// The work's context keeps the exchange's values, outlives its cancellation,
// and ends after AfterLimit.
type After struct {
	running sync.WaitGroup

	mu   sync.Mutex
	idle []chan func() // of goroutines that have ended one piece of work and wait for another
}

// Bounds of the goroutines that are kept: their stacks have grown to what the
// work takes, which a new one's would have to again.
const (
	maxIdle = 64
	idleFor = time.Second
)

// Go starts work, or leaves it to the invocation that ctx belongs to, and
// returns at once.
func (a *After) Go(ctx context.Context, work func(context.Context)) {
	if i, onLambda := ctx.Value(invocationKey{}).(*backlog); onLambda && i.add(ctx, work) {
		return
	}
	a.running.Add(1)
	a.start(func() {
		defer a.running.Done()
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), AfterLimit)
		defer cancel()
		work(bounded)
	})
}

// start runs work in a goroutine that is idle, or in a new one.
func (a *After) start(work func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := len(a.idle) - 1; last >= 0 {
		a.idle[last] <- work // has room for it
		a.idle = a.idle[:last]
		return
	}
	go a.serve(work)
}

// serve works, and waits for more for a while.
func (a *After) serve(work func()) {
	more, timer := make(chan func(), 1), time.NewTimer(idleFor)
	defer timer.Stop()
	for {
		work()
		if !a.rest(more) {
			return
		}
		timer.Reset(idleFor)
		select {
		case work = <-more:
		case <-timer.C:
			if a.wake(more) {
				return
			}
			work = <-more // it came at the last moment
		}
	}
}

// rest adds a goroutine to the idle ones, if there is room.
func (a *After) rest(more chan func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.idle) == maxIdle {
		return false
	}
	a.idle = append(a.idle, more)
	return true
}

// wake takes a goroutine out of the idle ones, and reports whether it was there:
// otherwise it has been given work.
func (a *After) wake(more chan func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.Index(a.idle, more)
	if at >= 0 {
		a.idle = slices.Delete(a.idle, at, at+1)
	}
	return at >= 0
}

// Keep starts work of its own that bounds itself: the server's stop waits for it
// as it does for all else.
func (a *After) Keep(work func()) { a.running.Go(work) }

// Wait returns when everything started so far has ended.
func (a *After) Wait() { a.running.Wait() }

// waitFor is Wait for so long at most, and reports whether all has ended.
func (a *After) waitFor(most time.Duration) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Wait()
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}

// waitUntil is Wait, or ctx's error where that ends first: work may hang in
// what heeds no context, such as a log that nobody reads.
func (a *After) waitUntil(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// invocationKey finds the backlog of the invocation that a context belongs to.
type invocationKey struct{}

// backlog is the work that one invocation leaves until its answer is over.
type backlog struct {
	deadline time.Time // all of it ends by then

	mu      sync.Mutex
	waiting []func(context.Context)
	closed  bool
}

// add takes work in, and reports false once the backlog has been worked off.
func (b *backlog) add(ctx context.Context, work func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.waiting = append(b.waiting, func(bounded context.Context) {
		work(values{Context: bounded, from: ctx})
	})
	return true
}

// take returns what waits; where nothing does, the backlog is closed.
func (b *backlog) take() []func(context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.waiting
	b.waiting, b.closed = nil, len(taken) == 0
	return taken
}

// workOff runs what waits side by side, and what that adds, until nothing is
// left. A panic in one piece of work is for the caller's guard to report.
func (b *backlog) workOff(guard func(work func())) {
	bounded, cancel := context.WithDeadline(context.Background(), b.deadline)
	defer cancel()
	for taken := b.take(); len(taken) > 0; taken = b.take() {
		var all sync.WaitGroup
		for _, work := range taken {
			all.Go(func() {
				limited, cancel := context.WithTimeout(bounded, AfterLimit)
				defer cancel()
				guard(func() { work(limited) })
			})
		}
		all.Wait()
	}
}

// values is a context with another one's values.
type values struct {
	context.Context
	from context.Context
}

// Value looks at the context's own values first: those of its deadline.
func (v values) Value(key any) any {
	if found := v.Context.Value(key); found != nil {
		return found
	}
	return v.from.Value(key)
}
