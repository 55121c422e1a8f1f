package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/affinity/store"
)

// rig is what a case works on: a store, its clock, and calls that end the case
// where their contract is broken. Its calls belong to the case's goroutine.
type rig struct {
	testing.TB
	store.Store
	harness Harness
	clock   *Clock
	ctx     context.Context
}

// newRig opens a fresh store for one case.
func newRig(t testing.TB, h Harness) *rig {
	t.Helper()
	clock := NewClock()
	return &rig{TB: t, Store: h.New(t, clock.Now), harness: h, clock: clock, ctx: t.Context()}
}

// on makes a case of a function over a fresh rig.
func on(name string, f func(r *rig)) Case {
	return Case{Name: name, Run: func(t testing.TB, h Harness) { f(newRig(t, h)) }}
}

// through returns the rig with another client of the same tables.
func (r *rig) through(s store.Store) *rig {
	other := *r
	other.Store = s
	return &other
}

func key(sort string) store.Key {
	return store.Key{Table: store.Affinity, Partition: "owner/part", Sort: sort}
}

func record(value string) store.Record { return store.Record{Value: []byte(value)} }

// until is a record that is live for d from now.
func (r *rig) until(value string, d time.Duration) store.Record {
	return store.Record{Value: []byte(value), Expires: r.clock.Now().Add(d)}
}

func (r *rig) read(k store.Key) store.Handle {
	r.Helper()
	return r.readAll(k)[0]
}

func (r *rig) readAll(keys ...store.Key) []store.Handle {
	r.Helper()
	handles, err := r.Read(r.ctx, keys...)
	if err != nil {
		r.Fatalf("Read: %v", err)
	}
	if len(handles) != len(keys) {
		r.Fatalf("Read of %d keys gave %d handles", len(keys), len(handles))
	}
	for i, h := range handles {
		if h.Key() != keys[i] {
			r.Fatalf("handle %d has key %q, want %q", i, h.Key(), keys[i])
		}
	}
	return handles
}

// swap must succeed.
func (r *rig) swap(h store.Handle, next store.Record) store.Handle {
	r.Helper()
	got, err := r.Swap(r.ctx, h, next)
	if err != nil {
		r.Fatalf("Swap: %v", err)
	}
	if got.Key() != h.Key() {
		r.Fatalf("Swap of %q gave the handle of %q", h.Key(), got.Key())
	}
	return got
}

// put writes over whatever is there.
func (r *rig) put(k store.Key, next store.Record) store.Handle {
	r.Helper()
	return r.swap(r.read(k), next)
}

// conflict must conflict, and returns the handle of what stands.
func (r *rig) conflict(h store.Handle, next store.Record) store.Handle {
	r.Helper()
	got, err := r.Swap(r.ctx, h, next)
	if !errors.Is(err, store.ErrConflict) {
		r.Fatalf("Swap: error %v, want a conflict", err)
	}
	if got.Key() != h.Key() {
		r.Fatalf("conflict on %q carries the handle of %q", h.Key(), got.Key())
	}
	return got
}

func (r *rig) add(k store.Key, deltas map[string]int64, expires time.Time) map[string]int64 {
	r.Helper()
	got, err := r.Add(r.ctx, k, deltas, expires)
	if err != nil {
		r.Fatalf("Add: %v", err)
	}
	return got
}

func (r *rig) page(q store.Query) store.Page {
	r.Helper()
	p, err := r.Query(r.ctx, q)
	if err != nil {
		r.Fatalf("Query: %v", err)
	}
	if len(p.Handles) > q.PageSize() {
		r.Fatalf("page of %d records, limit %d", len(p.Handles), q.PageSize())
	}
	return p
}

// all follows the cursor to the end. It bounds the number of pages, since a
// cursor that does not move would have none.
func (r *rig) all(q store.Query) []store.Handle {
	r.Helper()
	var out []store.Handle
	for range 10_000 {
		p := r.page(q)
		out = append(out, p.Handles...)
		if q.Cursor = p.Cursor; p.Cursor == "" {
			return out
		}
	}
	r.Fatalf("the cursor has no end")
	return nil
}

// absent fails the case where h has a live record.
func (r *rig) absent(h store.Handle) {
	r.Helper()
	if rec, ok := h.Record(); ok || h.Revision() != "" || rec.Value != nil || rec.Counters != nil {
		r.Fatalf("%q is there with revision %q, value %.20q; want it absent", h.Key(), h.Revision(), rec.Value)
	}
}

// holds fails the case where h is not live with that value.
func (r *rig) holds(h store.Handle, value string) {
	r.Helper()
	rec, ok := h.Record()
	if !ok || h.Revision() == "" {
		r.Fatalf("%q is absent, want value %.20q", h.Key(), value)
	}
	if !bytes.Equal(rec.Value, []byte(value)) {
		r.Fatalf("%q holds %.20q (%d bytes), want %.20q (%d bytes)", h.Key(), rec.Value, len(rec.Value), value, len(value))
	}
}

// same fails the case where two handles do not show the same write.
func (r *rig) same(got, want store.Handle) {
	r.Helper()
	if got.Revision() != want.Revision() {
		r.Fatalf("revision %q, want %q", got.Revision(), want.Revision())
	}
	g, _ := got.Record()
	w, _ := want.Record()
	if !bytes.Equal(g.Value, w.Value) {
		r.Fatalf("value %.20q (%d bytes), want %.20q (%d bytes)", g.Value, len(g.Value), w.Value, len(w.Value))
	}
	if d := cmp.Diff(plain(w), plain(g)); d != "" {
		r.Fatalf("record differs (-want +got):\n%s", d)
	}
}

// plain removes what was compared, and what is no difference: nil or empty, and
// the place of a time.
func plain(rec store.Record) store.Record {
	rec.Value = nil
	if len(rec.Counters) == 0 {
		rec.Counters = nil
	}
	rec.Expires = rec.Expires.UTC()
	return rec
}

func (r *rig) refused(what string, err error) {
	r.Helper()
	if !errors.Is(err, store.ErrInvalid) {
		r.Errorf("%s: error %v, want ErrInvalid", what, err)
	}
}

// race runs f for 0..n-1 at once and returns what each returned.
func race[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			<-start
			out[i] = f(i)
		})
	}
	close(start)
	running.Wait()
	return out
}

func numbered(prefix string, i int) string { return fmt.Sprintf("%s%04d", prefix, i) }
