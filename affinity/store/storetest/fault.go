package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/affinity/store"
)

// faultCases give each kind of write each end, failed and not applied as well
// as failed but applied, and hold the answer against what is then there.
func faultCases() []Case {
	var all []Case
	for _, w := range writes() {
		for _, p := range patterns() {
			all = append(all, Case{Name: "fault/" + w.name + "/" + p.name, Run: func(t testing.TB, h Harness) { faulty(t, h, w, p) }})
		}
	}
	return append(all, Case{Name: "fault/a lost write that was overwritten before it was resent", Run: lostAndOverwritten})
}

// script plays faults to a transport.
type script struct {
	mu       sync.Mutex
	faults   []Fault
	repeat   bool // the last fault goes on for ever
	asked    int  // attempts since arm
	lost     int
	answered bool // an attempt was delivered
	before   func(attempt int)
}

// arm starts a pattern; attempts before and after it are delivered.
func (s *script) arm(p pattern) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.repeat, s.asked, s.lost, s.answered = p.faults, p.repeat, 0, 0, false
}

// interpose has f run at the beginning of each attempt.
func (s *script) interpose(f func(attempt int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// disarm ends the pattern and tells what it did.
func (s *script) disarm() (attempts, lost int, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.repeat = nil, false
	return s.asked, s.lost, s.answered
}

// next is what a harness's transport asks.
func (s *script) next() Fault {
	s.mu.Lock()
	s.asked++
	attempt, before := s.asked, s.before
	fault := Delivered
	if len(s.faults) > 0 {
		fault = s.faults[0]
		if len(s.faults) > 1 || !s.repeat {
			s.faults = s.faults[1:]
		}
	}
	if fault == Lost {
		s.lost++
	}
	s.answered = s.answered || fault == Delivered
	s.mu.Unlock()
	if before != nil {
		before(attempt)
	}
	return fault
}

// openFaulty opens the harness's store with faults, or New's behind a wire of
// our own that carries each write once.
func openFaulty(t testing.TB, h Harness, now func() time.Time, next func() Fault) store.Store {
	if h.Faulty != nil {
		return h.Faulty(t, now, next)
	}
	return wire{h.New(t, now), next}
}

// wire loses writes on their way to a store, or its answers.
type wire struct {
	store.Store
	next func() Fault
}

func (w wire) Swap(ctx context.Context, h store.Handle, next store.Record) (store.Handle, error) {
	switch w.next() {
	case Refused:
		return store.Handle{}, store.ErrUnavailable
	case Lost:
		if _, err := w.Store.Swap(ctx, h, next); err != nil && !errors.Is(err, store.ErrConflict) {
			return store.Handle{}, err
		}
		return store.Handle{}, store.ErrUnknown
	}
	return w.Store.Swap(ctx, h, next)
}

func (w wire) Add(ctx context.Context, key store.Key, deltas map[string]int64, expires time.Time) (map[string]int64, error) {
	switch w.next() {
	case Refused:
		return nil, store.ErrUnavailable
	case Lost:
		if _, err := w.Store.Add(ctx, key, deltas, expires); err != nil {
			return nil, err
		}
		return nil, store.ErrUnknown
	}
	return w.Store.Add(ctx, key, deltas, expires)
}

// pattern is what happens to the attempts of one write, one after the other.
type pattern struct {
	name   string
	faults []Fault
	repeat bool
}

func patterns() []pattern {
	return []pattern{
		{"refused once", []Fault{Refused}, false},
		{"lost once", []Fault{Lost}, false},
		{"refused for ever", []Fault{Refused}, true},
		{"lost for ever", []Fault{Lost}, true},
		{"refused, then lost", []Fault{Refused, Lost}, false},
		{"lost, then refused for ever", []Fault{Lost, Refused}, true},
	}
}

// write is one kind of write. It returns the handle where there is one.
type write struct {
	name  string
	setup func(r *rig) store.Handle
	do    func(r *rig, h store.Handle) (store.Handle, error)
	stale bool // the write meets a conflict
}

func writes() []write {
	swapTo := func(next store.Record) func(*rig, store.Handle) (store.Handle, error) {
		return func(r *rig, h store.Handle) (store.Handle, error) { return r.Swap(r.ctx, h, next) }
	}
	add := func(r *rig, h store.Handle) (store.Handle, error) {
		_, err := r.Add(r.ctx, h.Key(), map[string]int64{"n": 1}, time.Time{})
		return store.Handle{}, err
	}
	absent := func(r *rig) store.Handle { return r.read(key("k")) }
	live := func(r *rig) store.Handle { return r.put(key("k"), record("old")) }
	expired := func(r *rig) store.Handle {
		r.put(key("k"), r.until("old", time.Second))
		r.clock.Advance(3 * time.Second)
		return r.read(key("k"))
	}
	stale := func(r *rig) store.Handle {
		h := live(r)
		r.swap(h, record("newer"))
		return h
	}
	return []write{
		{"swap over absent", absent, swapTo(record("new")), false},
		{"swap over live", live, swapTo(record("new")), false},
		{"swap over expired", expired, swapTo(record("new")), false},
		{"stale swap", stale, swapTo(record("new")), true},
		{"delete", live, swapTo(store.Delete()), false},
		{"add to absent", absent, add, false},
		{"add to live", live, add, false},
		{"add to expired", expired, add, false},
	}
}

// faulty runs one write under one pattern.
func faulty(t testing.TB, h Harness, w write, p pattern) {
	clock, s := NewClock(), &script{}
	r := &rig{TB: t, Store: openFaulty(t, h, clock.Now, s.next), harness: h, clock: clock, ctx: t.Context()}
	handle := w.setup(r)
	before := r.read(key("k"))
	s.arm(p)
	got, err := w.do(r, handle)
	attempts, lost, answered := s.disarm()
	after := r.read(key("k"))
	changes := changed(before, after)
	if attempts == 0 {
		t.Fatalf("the transport was never asked")
	}
	if err := verdict(w, err, changes, attempts, lost, answered); err != nil {
		t.Fatalf("%v (attempts %d, of them lost %d)", err, attempts, lost)
	}
	if err == nil && got.Key() != (store.Key{}) {
		r.same(after, got)
	}
}

// changed counts how often the write shows in the record.
func changed(before, after store.Handle) int {
	if before.Revision() == after.Revision() {
		return 0
	}
	b, _ := before.Record()
	a, live := after.Record()
	if n := a.Counters["n"] - b.Counters["n"]; live && n != 0 {
		return int(n)
	}
	return 1
}

// verdict holds an answer against what happened.
func verdict(w write, err error, changes, attempts, lost int, answered bool) error {
	switch {
	case err == nil && w.stale:
		return errors.New("a stale swap succeeded")
	case err == nil && changes != 1:
		return fmt.Errorf("success, but the write shows %d times", changes)
	case err == nil:
		return nil
	case errors.Is(err, store.ErrConflict) && !w.stale:
		return errors.New("conflict with nobody but the write's own lost attempt")
	case errors.Is(err, store.ErrConflict) && !answered:
		return errors.New("conflict, though no answer arrived")
	case w.stale && changes != 0:
		return errors.New("a stale swap was applied")
	case errors.Is(err, store.ErrConflict):
		return nil
	case errors.Is(err, store.ErrUnavailable) && errors.Is(err, store.ErrUnknown):
		return fmt.Errorf("an error that says both: %w", err)
	case errors.Is(err, store.ErrUnavailable) && changes != 0:
		return errors.New("unavailable says that nothing was written, but it was")
	case errors.Is(err, store.ErrUnavailable):
		return nil
	case !errors.Is(err, store.ErrUnknown):
		return fmt.Errorf("error %w is none that a caller can branch on", err)
	case changes < 0 || changes > attempts:
		return fmt.Errorf("the write shows %d times", changes)
	case lost > 0 && answered && !w.stale && !isAdd(w):
		return errors.New("unknown, though the resent swap's answer tells by its revision")
	}
	return nil
}

func isAdd(w write) bool { return len(w.name) > 3 && w.name[:3] == "add" }

// lostAndOverwritten: the first attempt is applied, its answer lost, and
// somebody who read it writes over it. The second attempt then meets a conflict
// that does not say what became of the first, so the answer is not a conflict.
func lostAndOverwritten(t testing.TB, h Harness) {
	clock, s := NewClock(), &script{}
	r := &rig{TB: t, Store: openFaulty(t, h, clock.Now, s.next), harness: h, clock: clock, ctx: t.Context()}
	mine := r.put(key("k"), record("old"))
	var other error
	s.arm(pattern{faults: []Fault{Lost}})
	s.interpose(func(attempt int) {
		if attempt == 2 { // asked once more by the write in here, which is delivered
			_, other = retrySwap(r.ctx, r.Store, key("k"), func(store.Record) store.Record { return record("other") })
		}
	})
	_, err := r.Swap(r.ctx, mine, record("new"))
	if !errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrConflict) {
		r.Fatalf("error %v, want ErrUnknown", err)
	}
	if other != nil {
		r.Fatalf("the other writer: %v", other)
	}
	after, _ := r.read(key("k")).Record()
	if v := string(after.Value); v != "new" && v != "other" {
		r.Fatalf("the record holds %q", v)
	}
}
