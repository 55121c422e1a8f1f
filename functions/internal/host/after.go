package host

import (
	"context"
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
}

// Go starts work, or leaves it to the invocation that ctx belongs to, and
// returns at once.
func (a *After) Go(ctx context.Context, work func(context.Context)) {
	if i, onLambda := ctx.Value(invocationKey{}).(*backlog); onLambda && i.add(ctx, work) {
		return
	}
	a.running.Go(func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), AfterLimit)
		defer cancel()
		work(bounded)
	})
}

// Wait returns when everything started so far has ended.
func (a *After) Wait() { a.running.Wait() }

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
