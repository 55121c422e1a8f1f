package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/affinity/store"
	"holdfast/affinity/store/storetest"
)

// ill is a store whose health a test chooses. It answers after delay with err,
// or with the context's error where that comes first.
type ill struct {
	store.Store
	mu    sync.Mutex
	delay time.Duration
	err   error
	calls int
}

const forEver = time.Hour

func (s *ill) becomes(delay time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay, s.err = delay, err
}

func (s *ill) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *ill) answer(ctx context.Context) error {
	s.mu.Lock()
	s.calls++
	delay, err := s.delay, s.err
	s.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

func (s *ill) Read(ctx context.Context, _ ...store.Key) ([]store.Handle, error) {
	return nil, s.answer(ctx)
}

func (s *ill) Swap(ctx context.Context, _ store.Handle, _ store.Record) (store.Handle, error) {
	return store.Handle{}, s.answer(ctx)
}

func (s *ill) Add(ctx context.Context, _ store.Key, _ map[string]int64, _ time.Time) (map[string]int64, error) {
	return nil, s.answer(ctx)
}

func (s *ill) Query(ctx context.Context, q store.Query) (store.Page, error) {
	if q.Limit < 0 {
		panic("a bug in the driver")
	}
	return store.Page{}, s.answer(ctx)
}

// guardOf runs f in a bubble of fake time with a guarded store.
func guardOf(t *testing.T, f func(t *testing.T, s *ill, g *store.Guard)) {
	synctest.Test(t, func(t *testing.T) {
		s := &ill{}
		f(t, s, store.NewGuard(store.GuardConfig{Store: s}))
	})
}

func read(t *testing.T, g *store.Guard) error {
	_, err := g.Read(t.Context())
	return err
}

// rest brings the guard's store to rest by three failures.
func rest(t *testing.T, s *ill, g *store.Guard) {
	t.Helper()
	s.becomes(0, store.ErrUnavailable)
	for range 3 {
		if err := read(t, g); !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	if !g.Status().Resting {
		t.Fatal("three failures in a row brought no rest")
	}
}

func TestGuardConforms(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New: func(_ testing.TB, now func() time.Time) store.Store {
			return store.NewGuard(store.GuardConfig{Store: store.NewMemory(store.MemoryConfig{Now: now}), Now: now})
		},
	})
}

func TestGuardDeadline(t *testing.T) {
	for name, row := range map[string]struct {
		call func(ctx context.Context, g *store.Guard) error
		want error
	}{
		"read":  {func(ctx context.Context, g *store.Guard) error { _, err := g.Read(ctx); return err }, store.ErrUnavailable},
		"query": {func(ctx context.Context, g *store.Guard) error { _, err := g.Query(ctx, store.Query{}); return err }, store.ErrUnavailable},
		"swap": {func(ctx context.Context, g *store.Guard) error {
			_, err := g.Swap(ctx, store.Handle{}, store.Record{})
			return err
		}, store.ErrUnknown},
		"add": {func(ctx context.Context, g *store.Guard) error {
			_, err := g.Add(ctx, store.Key{}, nil, time.Time{})
			return err
		}, store.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			guardOf(t, func(t *testing.T, s *ill, g *store.Guard) {
				s.becomes(forEver, nil)
				start := time.Now()
				err := row.call(t.Context(), g)
				if took := time.Since(start); took != time.Second {
					t.Errorf("the call took %v, want 1s", took)
				}
				if !errors.Is(err, row.want) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, want %v and the deadline", err, row.want)
				}
			})
		})
	}
}

func TestGuardRests(t *testing.T) {
	guardOf(t, func(t *testing.T, s *ill, g *store.Guard) {
		rest(t, s, g)
		if err := read(t, g); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("error %v while the store rests", err)
		}
		if s.asked() != 3 {
			t.Errorf("the resting store was asked %d times, want 3", s.asked())
		}
		want := store.Status{Resting: true, Since: time.Now(), Calls: 3, Failures: 3, Refused: 1, Rests: 1}
		if got := g.Status(); got != want {
			t.Errorf("status %+v, want %+v", got, want)
		}
	})
}

// What counts: three of each, then see.
func TestGuardFailures(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		rest bool
	}{
		"success": {nil, false}, "conflict": {store.ErrConflict, false}, "full": {store.ErrFull, false},
		"invalid": {store.ErrInvalid, false}, "unavailable": {store.ErrUnavailable, true},
		"unknown": {store.ErrUnknown, true}, "anything else": {errors.New("bug"), true},
	} {
		t.Run(name, func(t *testing.T) {
			guardOf(t, func(t *testing.T, s *ill, g *store.Guard) {
				s.becomes(0, row.err)
				for range 3 {
					if err := read(t, g); !errors.Is(err, row.err) {
						t.Errorf("error %v, want %v", err, row.err)
					}
				}
				if got := g.Status().Resting; got != row.rest {
					t.Errorf("resting: %v, want %v", got, row.rest)
				}
			})
		})
	}
}

// Answers break the row, calls that say nothing do not.
func TestGuardRow(t *testing.T) {
	for name, row := range map[string]struct {
		between error
		rest    bool
	}{
		"success": {nil, false}, "conflict": {store.ErrConflict, false}, "full": {store.ErrFull, false}, "invalid": {store.ErrInvalid, true},
	} {
		t.Run(name, func(t *testing.T) {
			guardOf(t, func(t *testing.T, s *ill, g *store.Guard) {
				for _, err := range []error{store.ErrUnknown, store.ErrUnavailable, row.between, store.ErrUnavailable} {
					s.becomes(0, err)
					if got := read(t, g); !errors.Is(got, err) {
						t.Errorf("error %v, want %v", got, err)
					}
				}
				if got := g.Status().Resting; got != row.rest {
					t.Errorf("resting: %v, want %v", got, row.rest)
				}
			})
		})
	}
}

// The caller's own end says nothing of the store, unless the store had the time
// of a probe.
func TestGuardCallerLeaves(t *testing.T) {
	for name, row := range map[string]struct {
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		rest bool
	}{
		"cancelled": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			stop := time.AfterFunc(500*time.Millisecond, cancel)
			return ctx, func() { stop.Stop(); cancel() }
		}, false},
		"short deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 299*time.Millisecond)
		}, false},
		"long deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 300*time.Millisecond)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			guardOf(t, func(t *testing.T, s *ill, g *store.Guard) {
				s.becomes(forEver, nil)
				for range 3 {
					ctx, cancel := row.ctx(t.Context())
					if _, err := g.Read(ctx); !errors.Is(err, ctx.Err()) || err == nil {
						t.Errorf("error %v, want %v", err, ctx.Err())
					}
					cancel()
				}
				if got := g.Status().Resting; got != row.rest {
					t.Errorf("resting: %v, want %v", got, row.rest)
				}
			})
		})
	}
}
