package affinity_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

// clock is a time that only tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

var errInjected = errors.New("injected")

// fault says what happens to one call: nothing, or an error in place of the
// answer, after the call was applied or without applying it.
type fault struct {
	err     error
	applied bool
}

// spy is a store that counts calls, knows every key it was shown, and fails on
// demand. It adds no behaviour of its own.
type spy struct {
	inner store.Store

	mu      sync.Mutex
	keys    map[store.Key]bool
	calls   map[string]int
	fetched int // bytes of values that Query returned
	records int // records that Query returned
	fail    func(op string, n int) fault
}

func newSpy(now func() time.Time) *spy {
	return &spy{
		inner: store.NewMemory(store.MemoryConfig{Now: now}),
		keys:  make(map[store.Key]bool), calls: make(map[string]int),
	}
}

func (s *spy) note(op string, keys ...store.Key) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[op]++
	for _, k := range keys {
		s.keys[k] = true
	}
	if s.fail == nil {
		return fault{}
	}
	return s.fail(op, s.calls[op])
}

func (s *spy) Read(ctx context.Context, keys ...store.Key) ([]store.Handle, error) {
	if f := s.note("read", keys...); f.err != nil {
		return nil, f.err
	}
	return s.inner.Read(ctx, keys...)
}

func (s *spy) Swap(ctx context.Context, h store.Handle, r store.Record) (store.Handle, error) {
	f := s.note("swap", h.Key())
	if f.err != nil && !f.applied {
		return store.Handle{}, f.err
	}
	next, err := s.inner.Swap(ctx, h, r)
	if f.err != nil {
		return store.Handle{}, f.err
	}
	return next, err
}

func (s *spy) Add(ctx context.Context, k store.Key, d map[string]int64, e time.Time) (map[string]int64, error) {
	s.note("add", k)
	return s.inner.Add(ctx, k, d, e)
}

func (s *spy) Query(ctx context.Context, q store.Query) (store.Page, error) {
	if f := s.note("query"); f.err != nil {
		return store.Page{}, f.err
	}
	page, err := s.inner.Query(ctx, q)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range page.Handles {
		r, _ := h.Record()
		s.fetched += len(r.Value)
		s.records++
	}
	return page, err
}

// failing sets the fault of every call from now on; nil ends all faults.
func (s *spy) failing(f func(op string, n int) fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = f
	s.calls = make(map[string]int)
}

// down makes every call fail, as an unreachable store does.
func down(string, int) fault {
	return fault{err: fmt.Errorf("%w: %w", store.ErrUnavailable, errInjected)}
}

// reset starts counting anew.
func (s *spy) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.fetched, s.records = make(map[string]int), 0, 0
}

func (s *spy) counts() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d read, %d swap, %d query", s.calls["read"], s.calls["swap"], s.calls["query"])
}

// raw is one record with everything that the store keeps of it.
type raw struct {
	Value, Revision string
	Expires         time.Time
}

// dump returns every live record under the keys that were ever used, byte for byte.
func (s *spy) dump(t rapid.TB, tables ...store.Table) map[store.Key]raw {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[store.Key]raw)
	for key := range s.keys {
		for _, table := range tables {
			if key.Table != table {
				continue
			}
			handles, err := s.inner.Read(context.Background(), key)
			if err != nil {
				t.Fatal(err)
			}
			if r, live := handles[0].Record(); live {
				all[key] = raw{string(r.Value), handles[0].Revision(), r.Expires}
			}
		}
	}
	return all
}

// world is one store with the processes that share it.
type world struct {
	*clock
	*spy
	states []*affinity.State
}

func newWorld(n int) *world {
	w := &world{clock: newClock()}
	w.spy = newSpy(w.Now)
	for range n {
		w.states = append(w.states, affinity.New(affinity.Config{Store: w.spy, Now: w.Now}))
	}
	return w
}

var alice = identity.KeyScope("alice")

// turn describes a request as a client would send it.
type turn struct {
	scope    identity.Scope
	session  string
	lane     string
	parent   string
	model    string
	endpoint string
	off      bool
}

func (r turn) request(t rapid.TB) affinity.Request {
	t.Helper()
	resolver, err := identity.Compile(identity.Rules{Enabled: true, Builtin: true})
	if err != nil {
		t.Fatal(err)
	}
	header := make(map[string][]string)
	if r.session != "" {
		header["X-Session-Id"] = []string{r.session}
	}
	if r.lane != "" {
		header["X-Claude-Code-Agent-Id"] = []string{r.lane}
	}
	if r.model == "" {
		r.model = "m"
	}
	if r.endpoint == "" {
		r.endpoint = "responses"
	}
	signals, err := resolver.Read(identity.Request{
		Endpoint: "responses", Header: header,
		Member: func(name string) []byte {
			if name == "previous_response_id" && r.parent != "" {
				return fmt.Appendf(nil, "%q", r.parent)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return affinity.Request{Scope: r.scope, Signals: signals, Model: r.model, Endpoint: r.endpoint, Off: r.off}
}

func (w *world) plan(t testing.TB, state int, r turn) *affinity.Plan {
	t.Helper()
	p, err := w.states[state].Plan(t.Context(), r.request(t))
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	return p
}

func target(deployment string) affinity.Target {
	return affinity.Target{Deployment: deployment, Model: "m", Pool: "m"}
}

func claim(t testing.TB, p *affinity.Plan, deployment string) string {
	t.Helper()
	winner, err := p.Claim(t.Context(), target(deployment))
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return winner.Deployment
}

func commit(t testing.TB, p *affinity.Plan, deployment string) affinity.Commit {
	t.Helper()
	done, err := p.Commit(t.Context(), target(deployment))
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return done
}

// serve runs one whole exchange that ends on the given deployment, whatever was
// preferred.
func (w *world) serve(t testing.TB, state int, r turn, deployment string) affinity.Commit {
	t.Helper()
	p := w.plan(t, state, r)
	if p.Preference == nil {
		claim(t, p, deployment)
	}
	return commit(t, p, deployment)
}

// preferred returns what a next turn would prefer, "" without a preference.
func (w *world) preferred(t testing.TB, state int, r turn) string {
	t.Helper()
	if p := w.plan(t, state, r); p.Preference != nil {
		return p.Preference.Deployment
	}
	return ""
}
