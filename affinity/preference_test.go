package affinity_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/affinity"
	"holdfast/affinity/store"
)

// P4: what one exchange costs at the store.
func TestP4StoreCalls(t *testing.T) {
	session := turn{scope: alice, session: "s"}
	for _, row := range []struct {
		name  string
		setup func(*world)
		run   func(*world)
		want  string
	}{
		{"first turn", func(*world) {}, func(w *world) { w.serve(t, 0, session, "a") },
			"1 read, 2 swap, 0 query"},
		{"hit", func(w *world) { w.serve(t, 0, session, "a") }, func(w *world) { w.serve(t, 0, session, "a") },
			"1 read, 1 swap, 0 query"},
		{"move", func(w *world) { w.serve(t, 0, session, "a") }, func(w *world) { w.serve(t, 0, session, "b") },
			"1 read, 1 swap, 0 query"},
		{"no scope", func(*world) {}, func(w *world) { w.serve(t, 0, turn{session: "s"}, "a") },
			"0 read, 0 swap, 0 query"},
		{"generated", func(*world) {}, func(w *world) { w.serve(t, 0, turn{scope: alice}, "a") },
			"0 read, 0 swap, 0 query"},
		{"off", func(*world) {}, func(w *world) { w.serve(t, 0, turn{scope: alice, session: "s", off: true}, "a") },
			"0 read, 0 swap, 0 query"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(1)
			row.setup(w)
			w.reset()
			row.run(w)
			if got := w.counts(); got != row.want {
				t.Errorf("store calls: %s, want %s", got, row.want)
			}
		})
	}
}

func TestAlsoRidesInTheSameRead(t *testing.T) {
	w := newWorld(1)
	r := turn{scope: alice, session: "s"}
	other := store.Key{Table: store.Affinity, Partition: "cooldowns", Sort: "pool"}
	handles, _ := w.inner.Read(t.Context(), other)
	if _, err := w.inner.Swap(t.Context(), handles[0], store.Record{Value: []byte("cool")}); err != nil {
		t.Fatal(err)
	}
	w.serve(t, 0, r, "a")
	w.reset()

	request := r.request(t)
	request.Also = []store.Key{other, {Table: store.Config, Partition: "absent", Sort: "x"}}
	p, err := w.states[0].Plan(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	record, live := p.Also()[0].Record()
	if string(record.Value) != "cool" || !live || p.Also()[1].Revision() != "" || len(p.Also()) != 2 {
		t.Errorf("also = %q %v %v", record.Value, live, p.Also()[1].Revision())
	}
	if p.Preference == nil || p.Preference.Deployment != "a" {
		t.Errorf("preference = %v", p.Preference)
	}
	if got := w.counts(); got != "1 read, 0 swap, 0 query" {
		t.Error(got)
	}
}

// S1: parallel first turns agree on one preference, whoever claims.
func TestS1ParallelFirstTurns(t *testing.T) {
	for _, processes := range []int{1, 4} {
		t.Run(fmt.Sprint(processes, " processes"), func(t *testing.T) {
			w := newWorld(processes)
			r := turn{scope: alice, session: "s"}
			const callers = 32
			follow := make([]string, callers)
			words := make([]affinity.Word, callers)
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					p := w.plan(t, i%processes, r)
					mine := fmt.Sprintf("d%d", i) // everybody wants another one
					if p.Preference != nil {
						follow[i] = p.Preference.Deployment
					} else {
						follow[i] = claim(t, p, mine)
					}
					words[i] = p.Outcome(target(follow[i]))
					commit(t, p, follow[i])
				})
			}
			all.Wait()

			claimed := 0
			for i := range callers {
				if follow[i] != follow[0] {
					t.Errorf("caller %d followed %s, caller 0 followed %s", i, follow[i], follow[0])
				}
				if words[i] == affinity.WordClaimed {
					claimed++
				} else if words[i] != affinity.WordHit {
					t.Errorf("caller %d: %s", i, words[i])
				}
			}
			if claimed != 1 {
				t.Errorf("%d claims served, want 1", claimed)
			}
			if n := len(w.dump(t, store.Affinity)); n != 1 {
				t.Errorf("%d records, want 1", n)
			}
			for i := range processes {
				if got := w.preferred(t, i, r); got != follow[0] {
					t.Errorf("process %d prefers %s, want %s", i, got, follow[0])
				}
			}
		})
	}
}

// S2, S14: whoever served is preferred next, also when the first turn's own
// claim failed.
func TestS2FailoverMovesThePreference(t *testing.T) {
	w := newWorld(2)
	r := turn{scope: alice, session: "s"}
	p := w.plan(t, 0, r)
	claim(t, p, "a") // a fails, b serves
	if !p.Changes(target("b")) || p.Changes(target("a")) {
		t.Error("a move must be durable before the answer ends; a confirmed claim need not")
	}
	if got := commit(t, p, "b"); got != affinity.Committed {
		t.Errorf("commit = %v", got)
	}
	if got := w.preferred(t, 1, r); got != "b" {
		t.Errorf("next turn prefers %q", got)
	}
}

// S14: a first turn that failed altogether leaves its claim, which is no pin:
// the next exchange that finds it ineligible moves it by its own success.
func TestS14FailedFirstTurnLeavesNoPin(t *testing.T) {
	w := newWorld(2)
	r := turn{scope: alice, session: "s"}
	claim(t, w.plan(t, 0, r), "a") // and nothing ever succeeded

	p := w.plan(t, 1, r)
	if p.Preference == nil || p.Preference.Deployment != "a" {
		t.Fatalf("preference = %v", p.Preference)
	}
	w.reset()
	if got := claim(t, p, "b"); got != "b" || w.counts() != "0 read, 0 swap, 0 query" {
		t.Errorf("a live preference needs no claim: %s, %s", got, w.counts())
	}
	if got := p.Outcome(target("b")); got != affinity.WordMoved {
		t.Error(got)
	}
	if got := commit(t, p, "b"); got != affinity.Committed {
		t.Errorf("commit = %v", got)
	}
	if got := w.preferred(t, 0, r); got != "b" {
		t.Errorf("prefers %q", got)
	}
}

// S3: a late success neither undoes the switch nor renews anything.
func TestS3LateSuccessChangesNothing(t *testing.T) {
	w := newWorld(2)
	r := turn{scope: alice, session: "s"}
	w.serve(t, 0, r, "a")

	late := w.plan(t, 0, r) // still running on a
	w.serve(t, 1, r, "b")   // meanwhile the session moves
	before := w.dump(t, store.Affinity)
	w.Advance(time.Minute)

	if got := commit(t, late, "a"); got != affinity.Stale {
		t.Errorf("commit = %v, want stale", got)
	}
	if diff := cmp.Diff(before, w.dump(t, store.Affinity)); diff != "" {
		t.Errorf("the newer record was touched:\n%s", diff)
	}
	for state := range w.states {
		if got := w.preferred(t, state, r); got != "b" {
			t.Errorf("process %d prefers %q", state, got)
		}
	}
}

// A stale exchange that served the very target of the newer record does not
// renew it either.
func TestS3StaleNeverRenews(t *testing.T) {
	w := newWorld(1)
	r := turn{scope: alice, session: "s"}
	w.serve(t, 0, r, "a")
	one, two := w.plan(t, 0, r), w.plan(t, 0, r)
	commit(t, one, "b")
	before := w.dump(t, store.Affinity)
	w.Advance(time.Minute)
	if got := commit(t, two, "b"); got != affinity.Stale {
		t.Errorf("commit = %v, want stale", got)
	}
	if diff := cmp.Diff(before, w.dump(t, store.Affinity)); diff != "" {
		t.Errorf("renewed on mismatch:\n%s", diff)
	}
}

// S8: what does not succeed leaves the record byte for byte as it was.
func TestS8FailureWritesNothing(t *testing.T) {
	for _, row := range []struct {
		name string
		run  func(w *world, p *affinity.Plan)
	}{
		{"failed", func(w *world, p *affinity.Plan) {}},
		{"failed after a failover", func(w *world, p *affinity.Plan) { p.Outcome(target("b")); p.Changes(target("b")) }},
		{"spilled over", func(w *world, p *affinity.Plan) { p.Spill(); commit(t, p, "b") }},
		{"answered by a cache", func(w *world, p *affinity.Plan) { commit(t, p, "") }},
		{"claim beside a live record", func(w *world, p *affinity.Plan) { claim(t, p, "b") }},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(1)
			r := turn{scope: alice, session: "s"}
			w.serve(t, 0, r, "a")
			before := w.dump(t, store.Affinity)
			w.Advance(time.Minute)
			row.run(w, w.plan(t, 0, r))
			if diff := cmp.Diff(before, w.dump(t, store.Affinity)); diff != "" {
				t.Errorf("the record changed:\n%s", diff)
			}
		})
	}
}

// A renewal is no switch: an exchange that failed over while an earlier turn of
// the same session was still renewing the old target moves the session all the
// same. A switch back to the same target is one, and stands.
func TestMoveOutlivesRenewals(t *testing.T) {
	w := newWorld(2)
	r := turn{scope: alice, session: "s"}
	w.serve(t, 0, r, "a")
	moving := w.plan(t, 0, r)
	for range 3 {
		if got := w.serve(t, 1, r, "a"); got != affinity.Renewed {
			t.Fatalf("commit = %v, want renewed", got)
		}
	}
	if got := commit(t, moving, "b"); got != affinity.Committed {
		t.Errorf("commit = %v, want committed over the renewals", got)
	}
	if got := w.preferred(t, 1, r); got != "b" {
		t.Errorf("the session prefers %q, want b", got)
	}

	late := w.plan(t, 0, r)
	w.serve(t, 1, r, "c")
	w.serve(t, 1, r, "b") // back to what late has read, by two switches
	if got := commit(t, late, "a"); got != affinity.Stale {
		t.Errorf("commit = %v, want stale: there were newer switches", got)
	}
}
