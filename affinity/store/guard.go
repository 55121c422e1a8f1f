package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// GuardConfig sets up a Guard. Only Store is required.
type GuardConfig struct {
	Store Store
	Now   func() time.Time // nil: time.Now. Deadlines are timers and do not use it
}

// The times and numbers by which a Guard lets a store rest.
const (
	callDeadline  = time.Second            // of one call, the driver's attempts included
	probeDeadline = 300 * time.Millisecond // of a call that finds out whether the store is back
	probeEvery    = 200 * time.Millisecond // from the start of one probe to the next
	failuresInRow = 3                      // after which the store rests
)

// Guard is a Store that bounds every call of another one and stops asking it
// while it fails.
//
// Each call has one second. After three failures in a row the store rests: calls
// fail at once with ErrUnavailable, except one at a time, each 200 ms, which is
// let through as a probe with 300 ms. The first answer ends the rest, so a store
// that is back is used again within half a second, as far as there are calls.
//
// A failure is every error but ErrConflict, ErrFull, which are answers, and
// ErrInvalid, which says nothing. A call whose caller went away says nothing
// either, unless the caller's deadline gave the store as long as a probe. Calls
// that began before the last recovery can no longer end it.
//
// A Guard relies on the store to heed its context. It is safe for concurrent
// use.
type Guard struct {
	store Store
	here  bool // a Memory, which waits for nothing: its calls need no timer
	now   func() time.Time

	mu      sync.Mutex
	status  Status
	inRow   int
	epoch   int       // counts recoveries
	probing bool      // a probe is under way
	probed  time.Time // start of the last probe, or of the rest
}

// Status is what a Guard has seen, for metrics. Counts are since its making.
type Status struct {
	Resting bool      // the store is not asked, but for probes
	Since   time.Time // when Resting last changed; zero: never

	Calls      uint64 // that reached the store, probes included
	Probes     uint64
	Failures   uint64
	Refused    uint64 // calls that failed at once
	Rests      uint64
	Recoveries uint64
}

// NewGuard returns a Guard that takes the store for healthy.
func NewGuard(c GuardConfig) *Guard {
	if c.Now == nil {
		c.Now = time.Now
	}
	_, here := c.Store.(*Memory)
	return &Guard{store: c.Store, here: here, now: c.Now}
}

// Status returns what the guard has seen so far.
func (g *Guard) Status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.status
}

// Read implements Store.
func (g *Guard) Read(ctx context.Context, keys ...Key) ([]Handle, error) {
	return guarded(ctx, g, ErrUnavailable, func(ctx context.Context) ([]Handle, error) {
		return g.store.Read(ctx, keys...)
	})
}

// Swap implements Store.
func (g *Guard) Swap(ctx context.Context, h Handle, next Record) (Handle, error) {
	return guarded(ctx, g, ErrUnknown, func(ctx context.Context) (Handle, error) {
		return g.store.Swap(ctx, h, next)
	})
}

// Add implements Store.
func (g *Guard) Add(ctx context.Context, key Key, deltas map[string]int64, expires time.Time) (map[string]int64, error) {
	return guarded(ctx, g, ErrUnknown, func(ctx context.Context) (map[string]int64, error) {
		return g.store.Add(ctx, key, deltas, expires)
	})
}

// Query implements Store.
func (g *Guard) Query(ctx context.Context, q Query) (Page, error) {
	return guarded(ctx, g, ErrUnavailable, func(ctx context.Context) (Page, error) {
		return g.store.Query(ctx, q)
	})
}

// guarded makes one call where the guard lets it. An error that is none of this
// package's is told as well as other, which is what it means for the caller.
func guarded[T any](caller context.Context, g *Guard, other error, call func(context.Context) (T, error)) (got T, err error) {
	p, err := g.admit()
	if err != nil {
		return got, err
	}
	ctx := caller
	if !g.here {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(caller, p.deadline)
		defer cancel()
	}
	said := nothing // also where the store panics, which must not keep a probe's leave
	defer func() { g.release(p, said) }()
	got, err = call(ctx)
	if said = g.judge(caller, p, err); said == failed && !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrUnknown) {
		err = fmt.Errorf("%w: %w", other, err)
	}
	return got, err
}

// pass is the guard's leave for one call.
type pass struct {
	began    time.Time
	deadline time.Duration
	epoch    int
	probe    bool
	before   time.Time // when the probe before this one began
}

// admit lets a call through, or fails with ErrUnavailable.
func (g *Guard) admit() (pass, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := pass{began: g.now(), deadline: callDeadline, epoch: g.epoch}
	if g.status.Resting {
		if g.probing || p.began.Sub(g.probed) < probeEvery {
			g.status.Refused++
			return pass{}, errResting
		}
		p.probe, p.before, p.deadline = true, g.probed, probeDeadline
		g.probing, g.probed = true, p.began
		g.status.Probes++
	}
	g.status.Calls++
	return p, nil
}

// verdict is what a call says about the store.
type verdict uint8

const (
	nothing verdict = iota
	answered
	failed
)

// judge says what a call's end tells of the store. The caller's cancellation is
// looked at before the error, since drivers tell it as ErrUnavailable too.
func (g *Guard) judge(caller context.Context, p pass, err error) verdict {
	switch {
	case err == nil, errors.Is(err, ErrConflict), errors.Is(err, ErrFull):
		return answered
	case errors.Is(err, ErrInvalid), errors.Is(caller.Err(), context.Canceled):
		return nothing
	case caller.Err() != nil && g.now().Sub(p.began) < probeDeadline:
		return nothing
	}
	return failed
}

// release ends a call's leave and draws the conclusion.
func (g *Guard) release(p pass, said verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.probe {
		g.probing = false
		if said == nothing {
			g.probed = p.before // the next call may probe at once
		}
	}
	switch said {
	case answered:
		g.inRow = 0
		if g.status.Resting {
			g.epoch++
			g.status.Recoveries++
			g.turn(false)
		}
	case failed:
		g.status.Failures++
		// A call that hung since before the recovery says how the store was then.
		if g.status.Resting || p.epoch != g.epoch {
			return
		}
		if g.inRow++; g.inRow >= failuresInRow {
			g.status.Rests++
			g.turn(true)
			g.probed = g.status.Since
		}
	}
}

func (g *Guard) turn(resting bool) {
	g.status.Resting, g.status.Since = resting, g.now()
}

var errResting = fmt.Errorf("%w: resting after failures", ErrUnavailable)
