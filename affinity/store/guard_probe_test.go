package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/affinity/store"
)

func TestGuardProbesOneAtATime(t *testing.T) {
	guardOf(t, func(t *testing.T, s *ill, g *store.Guard) {
		rest(t, s, g)
		s.becomes(forEver, nil)
		time.Sleep(200 * time.Millisecond)
		before, start := s.asked(), time.Now()
		var running sync.WaitGroup
		for range 32 {
			running.Go(func() {
				if err := read(t, g); err == nil {
					t.Error("a hanging store answered")
				}
			})
		}
		running.Wait()
		if took := time.Since(start); took != 300*time.Millisecond {
			t.Errorf("the probe took %v, want 300ms", took)
		}
		if got := s.asked() - before; got != 1 {
			t.Errorf("%d probes at once", got)
		}
	})
}

// A probe whose caller leaves, or that is invalid, says nothing: the next call
// probes without waiting.
func TestGuardProbeSaysNothing(t *testing.T) {
	guardOf(t, func(t *testing.T, s *ill, g *store.Guard) {
		rest(t, s, g)
		time.Sleep(200 * time.Millisecond)
		s.becomes(forEver, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := g.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		s.becomes(0, store.ErrInvalid)
		if err := read(t, g); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("error %v of the second probe", err)
		}
		s.becomes(0, store.ErrConflict)
		if err := read(t, g); !errors.Is(err, store.ErrConflict) || g.Status().Resting {
			t.Errorf("error %v of the third probe, status %+v", err, g.Status())
		}
	})
}

// A store that panics in a probe must not keep the guard closed for ever.
func TestGuardPanic(t *testing.T) {
	guardOf(t, func(t *testing.T, s *ill, g *store.Guard) {
		rest(t, s, g)
		time.Sleep(200 * time.Millisecond)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _ = g.Query(t.Context(), store.Query{Limit: -1})
		}()
		s.becomes(0, nil)
		if err := read(t, g); err != nil {
			t.Errorf("error %v after the panic", err)
		}
	})
}

// Whenever the store comes back, however it failed before, callers every 5 ms
// are served again within half a second, and from then on for good, though
// calls that began while it hung still fail later.
func TestGuardRecovery(t *testing.T) {
	for _, failing := range []time.Duration{0, forEver} {
		for back := 1200 * time.Millisecond; back < 1900*time.Millisecond; back += 7 * time.Millisecond {
			guardOf(t, func(t *testing.T, s *ill, g *store.Guard) {
				s.becomes(failing, store.ErrUnavailable)
				start := time.Now()
				returned := start.Add(back)
				var running sync.WaitGroup
				for tick := start; tick.Sub(start) < 4*time.Second; tick = tick.Add(5 * time.Millisecond) {
					time.Sleep(time.Until(tick))
					if !tick.Before(returned) {
						s.becomes(time.Millisecond, nil)
					}
					running.Go(func() {
						if err := read(t, g); err != nil && tick.Sub(returned) > 500*time.Millisecond {
							t.Errorf("hanging %v, back after %v: error %v, %v after its return", failing, back, err, tick.Sub(returned))
						}
					})
				}
				running.Wait()
				if got := g.Status(); got.Rests != 1 || got.Recoveries != 1 {
					t.Errorf("hanging %v, back after %v: %+v", failing, back, got)
				}
			})
		}
	}
}

// While a probe hangs past the time for the next one, there is no second.
func TestGuardProbeHangs(t *testing.T) {
	guardOf(t, func(t *testing.T, s *ill, g *store.Guard) {
		rest(t, s, g)
		s.becomes(forEver, nil)
		time.Sleep(200 * time.Millisecond)
		probe := make(chan error, 1)
		go func() { probe <- read(t, g) }()
		time.Sleep(250 * time.Millisecond)
		before := s.asked()
		if err := read(t, g); !errors.Is(err, store.ErrUnavailable) || s.asked() != before {
			t.Errorf("error %v; the store was asked beside a probe: %v", err, s.asked() != before)
		}
		if err := <-probe; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the probe ended with %v", err)
		}
		s.becomes(0, nil)
		if err := read(t, g); err != nil {
			t.Errorf("error %v of the probe that follows at once", err)
		}
	})
}

// Calls that hung since before the recovery fail after it, in a row. They are
// news of yesterday.
func TestGuardStragglers(t *testing.T) {
	guardOf(t, func(t *testing.T, s *ill, g *store.Guard) {
		s.becomes(forEver, nil)
		var running sync.WaitGroup
		for range 8 {
			running.Go(func() {
				if err := read(t, g); err == nil {
					t.Error("a hanging store answered")
				}
			})
		}
		synctest.Wait()
		rest(t, s, g)
		time.Sleep(200 * time.Millisecond)
		s.becomes(0, nil)
		if err := read(t, g); err != nil {
			t.Fatal(err)
		}
		running.Wait()
		if got := g.Status(); got.Resting || got.Failures != 11 {
			t.Errorf("status %+v, want no rest after 11 failures", got)
		}
	})
}
