package affinity_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/affinity"
	"holdfast/affinity/store"
)

// A lost claim is followed; an ineligible winner is replaced by comparing on the
// record that was read, and the winner's late success then changes nothing.
func TestIneligibleWinnerIsReplaced(t *testing.T) {
	w := newWorld(2)
	r := turn{scope: alice, session: "s"}
	first, second := w.plan(t, 0, r), w.plan(t, 1, r)
	claim(t, first, "a")

	if got := claim(t, second, "b"); got != "a" {
		t.Fatalf("the loser follows %q", got)
	}
	if got := second.Outcome(target("a")); got != affinity.WordHit {
		t.Errorf("another's claim is a %s", got)
	}
	if got := claim(t, second, "b"); got != "b" { // a may not be used by this exchange
		t.Fatalf("replacing an ineligible winner follows %q", got)
	}
	if got := second.Outcome(target("b")); got != affinity.WordClaimed {
		t.Error(got)
	}
	if got := commit(t, first, "a"); got != affinity.Stale {
		t.Errorf("the replaced winner's commit = %v", got)
	}
	if got := commit(t, second, "b"); got != affinity.Renewed {
		t.Errorf("the new winner's commit = %v", got)
	}
	if got := w.preferred(t, 0, r); got != "b" {
		t.Errorf("prefers %q", got)
	}
}

// A replacement meets a newer winner instead of overwriting it.
func TestReplacementMeetsANewerWinner(t *testing.T) {
	w := newWorld(1)
	r := turn{scope: alice, session: "s"}
	one, two, three := w.plan(t, 0, r), w.plan(t, 0, r), w.plan(t, 0, r)
	claim(t, one, "a")
	claim(t, two, "x") // follows a
	claim(t, three, "x")
	claim(t, two, "b") // replaces a
	if got := claim(t, three, "c"); got != "b" {
		t.Errorf("follows %q, want the newer winner b", got)
	}
	if got := claim(t, three, "c"); got != "c" {
		t.Errorf("follows %q after replacing b", got)
	}
}

func TestOwnClaimIsNotClaimedAgain(t *testing.T) {
	w := newWorld(1)
	p := w.plan(t, 0, turn{scope: alice, session: "s"})
	claim(t, p, "a")
	w.reset()
	if got := claim(t, p, "b"); got != "b" || w.counts() != "0 read, 0 swap, 0 query" {
		t.Errorf("%s after %s", got, w.counts())
	}
}

// A record that cannot be read is nobody's wish, but still compared with.
func TestUnreadableRecordIsReplaced(t *testing.T) {
	w := newWorld(1)
	r := turn{scope: alice, session: "s"}
	w.serve(t, 0, r, "a")
	for key := range w.dump(t, store.Affinity) {
		handles, _ := w.inner.Read(t.Context(), key)
		if _, err := w.inner.Swap(t.Context(), handles[0], store.Record{Value: []byte("{")}); err != nil {
			t.Fatal(err)
		}
	}
	p := w.plan(t, 0, r)
	if p.Preference != nil || p.Degraded {
		t.Fatalf("preference = %v, degraded = %v", p.Preference, p.Degraded)
	}
	if got := claim(t, p, "b"); got != "b" {
		t.Errorf("follows %q", got)
	}
	if got := w.preferred(t, 0, r); got != "b" {
		t.Errorf("prefers %q", got)
	}
}

// A record that lapses during a long exchange is written anew by its success;
// one that an operator cleared meanwhile stays cleared.
func TestRecordGoneDuringTheExchange(t *testing.T) {
	for _, row := range []struct {
		name string
		gone func(*testing.T, *world, *affinity.Plan)
		want affinity.Commit
		next string
	}{
		{"lapsed", func(_ *testing.T, w *world, _ *affinity.Plan) { w.Advance(2 * time.Hour) }, affinity.Committed, "b"},
		{"cleared", func(t *testing.T, w *world, p *affinity.Plan) {
			all, err := w.states[0].Preferences(t.Context(), p.SessionKey())
			if err != nil || len(all) != 1 {
				t.Fatalf("%v %v", all, err)
			}
			if err := w.states[0].ClearPreference(t.Context(), all[0].Key); err != nil {
				t.Fatal(err)
			}
		}, affinity.Stale, ""},
		{"lapsed and claimed by another", func(t *testing.T, w *world, _ *affinity.Plan) {
			w.Advance(2 * time.Hour)
			w.serve(t, 0, turn{scope: alice, session: "s"}, "c")
		}, affinity.Stale, "c"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(1)
			r := turn{scope: alice, session: "s"}
			w.serve(t, 0, r, "a")
			p := w.plan(t, 0, r)
			row.gone(t, w, p)
			if got := commit(t, p, "b"); got != row.want {
				t.Errorf("commit = %v, want %v", got, row.want)
			}
			if got := w.preferred(t, 0, r); got != row.next {
				t.Errorf("prefers %q, want %q", got, row.next)
			}
		})
	}
}

// The claim's two failures: whether or not the write took place, the exchange
// goes on at once with its own candidate, and its commit overwrites nothing that
// it has not read.
func TestClaimFaultsNeverBlock(t *testing.T) {
	for _, row := range []struct {
		name   string
		fault  fault
		reason affinity.Reason
		commit affinity.Commit
		next   string
	}{
		{"failed, not applied", fault{err: store.ErrUnavailable}, affinity.ReasonUnavailable, affinity.Committed, "b"},
		{"unknown, not applied", fault{err: store.ErrUnknown}, affinity.ReasonUnknown, affinity.Committed, "b"},
		{"unknown, but applied", fault{err: store.ErrUnknown, applied: true}, affinity.ReasonUnknown, affinity.Stale, "a"},
		{"timed out, not applied", fault{err: fmt.Errorf("%w: %w", store.ErrUnavailable, context.DeadlineExceeded)},
			affinity.ReasonTimeout, affinity.Committed, "b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(1)
			r := turn{scope: alice, session: "s"}
			p := w.plan(t, 0, r)
			w.failing(func(string, int) fault { return row.fault })
			if got := claim(t, p, "a"); got != "a" {
				t.Errorf("goes on with %q", got)
			}
			if !p.Degraded || p.Reason != row.reason || !errors.Is(p.Cause, row.fault.err) {
				t.Errorf("degraded %v, reason %q, cause %v", p.Degraded, p.Reason, p.Cause)
			}
			if got := p.Outcome(target("a")); got != affinity.WordDegraded {
				t.Error(got)
			}
			w.failing(nil)
			if got := commit(t, p, "b"); got != row.commit {
				t.Errorf("commit = %v, want %v", got, row.commit)
			}
			if got := w.preferred(t, 0, r); got != row.next {
				t.Errorf("prefers %q, want %q", got, row.next)
			}
		})
	}
}

func TestCommitFaults(t *testing.T) {
	for _, row := range []struct {
		name  string
		fault fault
		next  string
	}{
		{"failed, not applied", fault{err: store.ErrUnavailable}, "a"},
		{"unknown, not applied", fault{err: store.ErrUnknown}, "a"},
		{"unknown, but applied", fault{err: store.ErrUnknown, applied: true}, "b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(1)
			r := turn{scope: alice, session: "s"}
			w.serve(t, 0, r, "a")
			p := w.plan(t, 0, r)
			w.failing(func(string, int) fault { return row.fault })
			got, err := p.Commit(t.Context(), target("b"))
			if got != affinity.Nothing || !errors.Is(err, row.fault.err) {
				t.Errorf("commit = %v, %v", got, err)
			}
			w.failing(nil)
			if got := w.preferred(t, 0, r); got != row.next {
				t.Errorf("prefers %q, want %q", got, row.next)
			}
		})
	}
}

// A claim whose context has ended says so.
func TestClaimOfACancelledExchange(t *testing.T) {
	w := newWorld(1)
	p := w.plan(t, 0, turn{scope: alice, session: "s"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.failing(func(string, int) fault { return fault{err: context.Canceled} })
	if _, err := p.Claim(ctx, target("a")); !errors.Is(err, context.Canceled) || p.Degraded {
		t.Errorf("err = %v, degraded = %v", err, p.Degraded)
	}
}

func TestOutcomeWords(t *testing.T) {
	session := turn{scope: alice, session: "s"}
	off := session
	off.off = true
	for _, row := range []struct {
		name          string
		request       turn
		before        string // a preference that stands before
		claims, spill bool
		served        string
		during, after affinity.Word
		commit        affinity.Commit
	}{
		{"first turn", session, "", true, false, "a", "claimed", "claimed", affinity.Renewed},
		{"first turn failed over", session, "", true, false, "b", "moved", "moved", affinity.Committed},
		{"first turn planned only", session, "", true, false, "", "claimed", "claimed", affinity.Nothing},
		{"nothing to try", session, "", false, false, "", "new", "new", affinity.Nothing},
		{"hit", session, "a", false, false, "a", "hit", "hit", affinity.Renewed},
		{"moved", session, "a", false, false, "b", "moved", "moved", affinity.Committed},
		{"spilled", session, "a", false, true, "b", "spilled", "spilled", affinity.Nothing},
		{"spilled, yet served at home", session, "a", false, true, "a", "hit", "hit", affinity.Renewed},
		{"planned hit that failed", session, "a", false, false, "", "hit", "hit", affinity.Nothing},
		{"off", off, "a", true, false, "b", "off", "off", affinity.Nothing},
		{"no scope", turn{session: "s"}, "", true, false, "a", "new", "new", affinity.Nothing},
		{"generated", turn{scope: alice}, "", true, false, "a", "new", "new", affinity.Nothing},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(1)
			if row.before != "" {
				w.serve(t, 0, session, row.before)
			}
			p := w.plan(t, 0, row.request)
			if row.claims {
				claim(t, p, "a")
			}
			if row.spill {
				p.Spill()
			}
			if got := p.Outcome(target(row.served)); got != row.during {
				t.Errorf("before the commit: %s, want %s", got, row.during)
			}
			changes := p.Changes(target(row.served))
			if got := commit(t, p, row.served); got != row.commit || changes != (row.commit == affinity.Committed) {
				t.Errorf("commit = %v, want %v; changes = %v", got, row.commit, changes)
			}
			if got := p.Outcome(target(row.served)); got != row.after {
				t.Errorf("after the commit: %s, want %s", got, row.after)
			}
		})
	}
}

// S7: the overflow goes elsewhere, the next turn is back, nothing was renewed.
func TestS7SpillOver(t *testing.T) {
	w := newWorld(1)
	r := turn{scope: alice, session: "s"}
	w.serve(t, 0, r, "a")
	before := w.dump(t, store.Affinity)
	p := w.plan(t, 0, r)
	p.Spill()
	commit(t, p, "b")
	if diff := cmp.Diff(before, w.dump(t, store.Affinity)); diff != "" {
		t.Errorf("spill-over wrote:\n%s", diff)
	}
	if got := w.preferred(t, 0, r); got != "a" {
		t.Errorf("prefers %q", got)
	}
	// Nor does this process's own memory follow a spill-over.
	w.failing(down)
	if got := w.preferred(t, 0, r); got != "a" {
		t.Errorf("degraded, prefers %q", got)
	}
}
