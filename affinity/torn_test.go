package affinity_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"holdfast/affinity"
	"holdfast/affinity/store"
)

// A chain of which anything is missing is refused, never shortened.
func TestTornChains(t *testing.T) {
	big := make([]byte, 2*store.MaxValue)
	random := rand.NewChaCha8([32]byte{3})
	_, _ = random.Read(big)
	build := func(t *testing.T) (*world, affinity.Owner) {
		w := newWorld(1)
		w.extend(t, 0, "", "r1", nil)
		w.extend(t, 0, "r1", "r2", big)
		return w, w.extend(t, 0, "r2", "r3", nil)
	}
	w, _ := build(t)
	for key := range w.dump(t, store.State) {
		if key.Sort == "owner" {
			continue
		}
		for name, value := range map[string][]byte{"missing": nil, "overwritten": []byte("x"), "cut short": {1, 2, 3}} {
			t.Run(name+" "+key.Sort, func(t *testing.T) {
				w, o := build(t)
				handles, err := w.inner.Read(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				next := store.Record{Value: value}
				if value == nil {
					next = store.Delete()
				}
				if _, err := w.inner.Swap(t.Context(), handles[0], next); err != nil {
					t.Fatal(err)
				}
				if turns, err := w.states[0].History(t.Context(), o); !errors.Is(err, affinity.ErrParentNotFound) || turns != nil {
					t.Errorf("%d turns, %v", len(turns), err)
				}
			})
		}
	}
}

func TestHistoryWhileTheStoreFails(t *testing.T) {
	w := newWorld(1)
	o := w.extend(t, 0, "", "r1", nil)
	w.failing(down)
	_, err := w.states[0].History(t.Context(), o)
	if !errors.Is(err, affinity.ErrOwnershipUnavailable) || errors.Is(err, affinity.ErrNotFound) {
		t.Errorf("err = %v", err)
	}
}

// A chain whose first turn has outlived its retention is expired as a whole.
func TestChainEndsWithItsOldestTurn(t *testing.T) {
	w := newWorld(1)
	w.extend(t, 0, "", "r1", nil)
	w.Advance(500 * time.Hour)
	o := w.extend(t, 0, "r1", "r2", nil)
	w.Advance(300 * time.Hour)
	if _, err := w.states[0].History(t.Context(), o); !errors.Is(err, affinity.ErrParentNotFound) {
		t.Errorf("err = %v", err)
	}
	if got, err := w.states[0].Turn(t.Context(), o); err != nil || string(got.Input) != "in r2" {
		t.Errorf("its own turn: %q, %v", got.Input, err)
	}
}

// Forgetting removes content and ownership, and what continued from it can no
// longer be restored, not even when its place in the chain is taken again.
func TestForget(t *testing.T) {
	w := newWorld(1)
	w.extend(t, 0, "", "r1", nil)
	w.extend(t, 0, "r1", "r2", nil)
	child := w.extend(t, 0, "r2", "r3", nil)
	ctx, s := t.Context(), w.states[0]
	if err := s.Forget(ctx, alice, "r2"); err != nil {
		t.Fatal(err)
	}
	for _, raw := range w.dump(t, store.State) {
		if strings.Contains(raw.Value, "r2") {
			t.Error("content is left")
		}
	}
	if err := s.Forget(ctx, alice, "r2"); !errors.Is(err, affinity.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	if _, err := s.Owner(ctx, alice, "r2"); !errors.Is(err, affinity.ErrNotFound) {
		t.Errorf("owner: %v", err)
	}
	if _, err := s.History(ctx, child); !errors.Is(err, affinity.ErrParentNotFound) {
		t.Errorf("child: %v", err)
	}
	other := w.extend(t, 0, "r1", "x2", nil)
	if got := w.chain(t, other); got != "r1 x2" {
		t.Error(got)
	}
	if _, err := s.History(ctx, child); !errors.Is(err, affinity.ErrParentNotFound) {
		t.Errorf("child after its parent's place was taken: %v", err)
	}
}

// Halfway through, a deletion is repeated until nothing is left.
func TestForgetFaults(t *testing.T) {
	for n := 1; n <= 2; n++ {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("swap %d applied=%v", n, applied), func(t *testing.T) {
				w := newWorld(1)
				w.extend(t, 0, "", "r1", nil)
				w.failing(func(op string, call int) fault {
					if op == "swap" && call == n {
						return fault{err: store.ErrUnknown, applied: applied}
					}
					return fault{}
				})
				if err := w.states[0].Forget(t.Context(), alice, "r1"); !errors.Is(err, affinity.ErrOwnershipUnavailable) {
					t.Fatal(err)
				}
				w.failing(nil)
				err := w.states[0].Forget(t.Context(), alice, "r1")
				if gone := n == 2 && applied; gone != errors.Is(err, affinity.ErrNotFound) || !gone && err != nil {
					t.Errorf("again: %v", err)
				}
				if left := w.dump(t, store.State); len(left) != 0 {
					t.Errorf("left: %v", left)
				}
			})
		}
	}
}

// A deletion that was overtaken leaves the turn alone that has taken the place.
func TestForgetSparesTheNext(t *testing.T) {
	w := newWorld(1)
	w.extend(t, 0, "", "r1", nil)
	w.extend(t, 0, "r1", "r2", nil)
	var next affinity.Owner
	slow := &between{Store: w.spy, run: func() {
		if err := w.states[0].Forget(t.Context(), alice, "r2"); err != nil {
			t.Error(err)
		}
		next = w.extend(t, 0, "r1", "x2", nil)
	}}
	if err := affinity.New(affinity.Config{Store: slow, Now: w.Now}).Forget(t.Context(), alice, "r2"); err != nil {
		t.Error(err)
	}
	if got := w.chain(t, next); got != "r1 x2" {
		t.Error(got)
	}
}
