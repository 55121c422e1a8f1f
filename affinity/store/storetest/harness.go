// Package storetest is the one conformance suite of every store.Store.
//
// A driver's test makes a Harness and calls Run. The cases are data (Cases), so
// that the suite can also be run against stores which are broken on purpose:
// each of those must fail it.
//
// Every case gets a store of its own over empty tables, and a Clock that only
// the case moves. Nothing sleeps and nothing is skipped: a case that a harness
// cannot serve is not in its list.
package storetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/affinity/store"
)

// Harness says how the suite gets at a driver. Only New is required.
type Harness struct {
	// New opens a store over fresh, empty tables. The store takes the time from
	// now and nowhere else. It is closed by t.Cleanup.
	New func(t testing.TB, now func() time.Time) store.Store

	// Second opens another client, with a clock of its own, of the tables that
	// s has; s came from New. Nil where a driver cannot do that; then the cases
	// of clock skew are left out.
	Second func(t testing.TB, s store.Store, now func() time.Time) store.Store

	// Faulty is New with a transport that asks next before each attempt to
	// write, resent ones included, and does what it answers. Reads are left
	// alone. It asks from many goroutines. Nil: the suite stands between the
	// caller and the store of New, which then sees no attempt twice.
	Faulty func(t testing.TB, now func() time.Time, next func() Fault) store.Store

	// Operations of the linearizability check. 0: 10,000.
	Operations int
}

// Fault is what happens to one attempt to write.
type Fault uint8

// The ends of an attempt.
const (
	Delivered Fault = iota // applied (or answered with a conflict), and the answer arrives
	Refused                // not applied; the caller is told that it failed
	Lost                   // applied, or not where it conflicts, but no answer arrives
)

// Case is one named row of the suite.
type Case struct {
	Name string
	Run  func(t testing.TB, h Harness)
}

// Run runs every case that the harness can serve.
func Run(t *testing.T, h Harness) {
	for _, c := range Cases(h) {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, h) })
	}
}

// Cases lists what Run runs.
func Cases(h Harness) []Case {
	all := slices.Concat(boundCases(), readCases(), swapCases(), addCases(), expiryCases(), queryCases(), indexCases(), raceCases(), faultCases())
	if h.Second != nil {
		all = append(all, skewCases()...)
	}
	return append(all, historyCases()...)
}

// Clock is a clock that stands until a case moves it. It starts in 2035, so
// that a server which deletes expired records by the real time leaves the
// suite's alone, and between two seconds, so that rounding shows.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock at its start.
func NewClock() *Clock {
	return &Clock{now: time.Date(2035, time.March, 1, 12, 0, 0, 250e6, time.UTC)}
}

// Now returns the time at which the clock stands.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Ahead returns the clock of somebody who is d ahead of c.
func (c *Clock) Ahead(d time.Duration) func() time.Time {
	return func() time.Time { return c.Now().Add(d) }
}
