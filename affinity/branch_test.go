package affinity_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"holdfast/affinity"
	"holdfast/affinity/store"
)

// Branches: each continuation of one parent has its own past and future.
func TestBranches(t *testing.T) {
	w := newWorld(2)
	for _, step := range []struct{ parent, id, want string }{
		{"", "r1", "r1"},
		{"r1", "a1", "r1 a1"},
		{"r1", "b1", "r1 b1"},
		{"b1", "b2", "r1 b1 b2"},
		{"a1", "a2", "r1 a1 a2"},
		{"b1", "c2", "r1 b1 c2"},
		{"c2", "c3", "r1 b1 c2 c3"},
		{"b2", "b3", "r1 b1 b2 b3"},
		{"r1", "d1", "r1 d1"},
	} {
		o := w.extend(t, 0, step.parent, step.id, nil)
		if got := w.chain(t, o); got != step.want {
			t.Errorf("%s restores %q, want %q", step.id, got, step.want)
		}
	}
	o, _ := w.states[1].Owner(t.Context(), alice, "a2")
	if got := w.chain(t, o); got != "r1 a1 a2" {
		t.Errorf("an old branch restores %q", got)
	}
}

// Continuations that race for one parent's place all come out whole.
func TestBranchesInParallel(t *testing.T) {
	w := newWorld(4)
	parent := w.extend(t, 0, "", "root", nil)
	const racers = 16
	var all sync.WaitGroup
	for i := range racers {
		all.Go(func() {
			id := fmt.Sprint("b", i)
			err := w.states[i%4].Publish(t.Context(), affinity.Publication{
				Scope: alice, ID: id, Owner: creator, Parent: &parent,
				Turn: &affinity.Turn{Input: []byte("in " + id), Output: []byte("out " + id)},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(w.dump(t, store.State)); n != 2*(racers+1) {
		t.Errorf("%d records, want a turn and an owner each", n)
	}
	for i := range racers {
		o, err := w.states[0].Owner(t.Context(), alice, fmt.Sprint("b", i))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := w.chain(t, o), fmt.Sprint("root b", i); got != want {
			t.Errorf("restores %q, want %q", got, want)
		}
	}
}

// A client that asks twice on every turn and goes on from the second answer
// branches at every step; the chain is whole, at one range for each line.
func TestBranchOnEveryTurn(t *testing.T) {
	w := newWorld(1)
	last := w.extend(t, 0, "", "r0", nil)
	want := []string{"r0"}
	const turns = 50
	for i := 1; i <= turns; i++ {
		parent := want[i-1]
		w.extend(t, 0, parent, fmt.Sprint("dropped", i), nil)
		want = append(want, fmt.Sprint("r", i))
		last = w.extend(t, 0, parent, want[i], nil)
	}
	w.reset()
	if got := w.chain(t, last); got != strings.Join(want, " ") {
		t.Errorf("restores %q", got)
	}
	if got, want := w.counts(), fmt.Sprintf("0 read, 0 swap, %d query", turns+1); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if w.records != turns+1 {
		t.Errorf("%d records fetched for %d turns", w.records, turns+1)
	}
}
