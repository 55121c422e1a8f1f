package affinity_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

// rendezvous is how a planner without any preference picks: deterministic in
// the seed.
func rendezvous(seed []byte) string {
	var best, chosen []byte
	for _, name := range []string{"a", "b", "c"} {
		score := sha256.Sum256(append(append([]byte(nil), seed...), name...))
		if bytes.Compare(score[:], best) > 0 {
			best, chosen = score[:], []byte(name)
		}
	}
	return string(chosen)
}

// S12: while the store is down, every process picks the same deployment; after
// that the shared record rules and nothing local is written back.
func TestS12DegradedProcessesAgree(t *testing.T) {
	w := newWorld(4)
	w.failing(down)
	for n := range 20 {
		r := turn{scope: alice, session: fmt.Sprint("s", n)}
		var chosen []string
		for state := range w.states {
			p := w.plan(t, state, r)
			if !p.Degraded || p.Reason != affinity.ReasonUnavailable || !errors.Is(p.Cause, errInjected) {
				t.Fatalf("degraded %v, reason %q, cause %v", p.Degraded, p.Reason, p.Cause)
			}
			pick := rendezvous(p.Seed())
			if p.Preference != nil {
				pick = p.Preference.Deployment
			}
			if got := claim(t, p, pick); got != pick {
				t.Errorf("degraded claim follows %q", got)
			}
			if got := commit(t, p, pick); got != affinity.Nothing || p.Changes(target("z")) {
				t.Errorf("degraded commit = %v", got)
			}
			chosen = append(chosen, pick)
		}
		for _, got := range chosen {
			if got != chosen[0] {
				t.Errorf("session %d: processes chose %v", n, chosen)
			}
		}
	}
	w.failing(nil)
	if n := len(w.dump(t, store.Affinity)); n != 0 {
		t.Errorf("%d records were written while degraded", n)
	}
}

// A process stays on what worked, and only while the store fails.
func TestS12LocalMemory(t *testing.T) {
	w := newWorld(2)
	r := turn{scope: alice, session: "s"}
	w.serve(t, 0, r, "a")
	w.serve(t, 1, r, "b") // the session has moved; process 0 does not know yet
	w.serve(t, 0, r, "b")
	before := w.dump(t, store.Affinity)

	w.failing(down)
	for state := range w.states {
		if got := w.preferred(t, state, r); got != "b" {
			t.Errorf("process %d prefers %q while down", state, got)
		}
	}
	p := w.plan(t, 0, r)
	commit(t, p, "c") // b fails, c serves
	if got := w.preferred(t, 0, r); got != "c" {
		t.Errorf("process 0 prefers %q, want what worked", got)
	}
	if got := w.preferred(t, 0, turn{scope: alice, session: "s", lane: "other"}); got != "" {
		t.Errorf("another lane prefers %q", got)
	}

	w.failing(nil)
	for state := range w.states {
		if got := w.preferred(t, state, r); got != "b" {
			t.Errorf("process %d prefers %q after recovery", state, got)
		}
	}
	if diff := cmp.Diff(before, w.dump(t, store.Affinity)); diff != "" {
		t.Errorf("local memory was written back:\n%s", diff)
	}
	w.failing(down)
	if got := w.preferred(t, 0, r); got != "b" {
		t.Errorf("down again: prefers %q, want the shared record read meanwhile", got)
	}
	w.Advance(2 * time.Hour)
	if got := w.preferred(t, 0, r); got != "" {
		t.Errorf("an expired memory prefers %q", got)
	}
}

// Who lost against a newer record remembers that record, not its own target.
func TestLocalMemoryFollowsTheWinner(t *testing.T) {
	w := newWorld(2)
	r := turn{scope: alice, session: "s"}
	w.serve(t, 0, r, "a")
	late := w.plan(t, 0, r)
	w.serve(t, 1, r, "b")
	if got := commit(t, late, "a"); got != affinity.Stale {
		t.Fatal(got)
	}
	w.failing(down)
	if got := w.preferred(t, 0, r); got != "b" {
		t.Errorf("prefers %q", got)
	}
}

// A session that the store no longer knows is not remembered locally either.
func TestLocalMemoryFollowsExpiry(t *testing.T) {
	w := newWorld(1)
	r := turn{scope: alice, session: "s"}
	w.serve(t, 0, r, "a")
	p := w.plan(t, 0, r)
	all, _ := w.states[0].Preferences(t.Context(), p.SessionKey())
	if err := w.states[0].ClearPreference(t.Context(), all[0].Key); err != nil {
		t.Fatal(err)
	}
	w.plan(t, 0, r)
	w.failing(down)
	if got := w.preferred(t, 0, r); got != "" {
		t.Errorf("prefers %q", got)
	}
}

// A store error is never a miss: what needs an owner is refused.
func TestS12OwnershipIsRefused(t *testing.T) {
	w := newWorld(1)
	publish(t, w, 0, turn{scope: alice, session: "s"}, "r1", nil)
	bound := turn{scope: alice, session: "s"}.request(t)
	bound.Bindings = []affinity.Reference{{Kind: affinity.Conversation, ID: "c"}}
	w.failing(down)
	ctx, s := t.Context(), w.states[0]
	for _, row := range []struct {
		name string
		call func() error
	}{
		{"continuation", func() error {
			_, err := s.Plan(ctx, turn{scope: alice, parent: "r1"}.request(t))
			return err
		}},
		{"unknown continuation", func() error {
			_, err := s.Plan(ctx, turn{scope: alice, parent: "nope"}.request(t))
			return err
		}},
		{"binding in a plan", func() error { _, err := s.Plan(ctx, bound); return err }},
		{"owner", func() error { _, err := s.Owner(ctx, alice, "r1"); return err }},
		{"bound", func() error { _, err := s.Bound(ctx, alice, affinity.File, "f"); return err }},
		{"bind", func() error { return s.Bind(ctx, alice, affinity.File, "f", affinity.Owner{Deployment: "a"}, 0) }},
		{"task", func() error { _, err := s.Task(ctx, alice, affinity.Video, "v"); return err }},
		{"forget", func() error { return s.Forget(ctx, alice, "r1") }},
		{"finish", func() error { _, err := s.FinishTask(ctx, alice, affinity.Video, "v"); return err }},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := row.call()
			if !errors.Is(err, affinity.ErrOwnershipUnavailable) || !errors.Is(err, store.ErrUnavailable) || errors.Is(err, affinity.ErrNotFound) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestPlanOfACancelledExchange(t *testing.T) {
	w := newWorld(1)
	w.failing(func(string, int) fault { return fault{err: context.Canceled} })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, err := w.states[0].Plan(ctx, turn{scope: alice, session: "s"}.request(t))
	if !errors.Is(err, context.Canceled) || p.Degraded {
		t.Errorf("err = %v, degraded = %v", err, p.Degraded)
	}
}

func TestTooManyKeysIsAnError(t *testing.T) {
	w := newWorld(1)
	r := turn{scope: alice, session: "s"}.request(t)
	for i := range store.MaxReadKeys {
		r.Also = append(r.Also, store.Key{Table: store.Affinity, Partition: fmt.Sprint(i), Sort: "x"})
	}
	p, err := w.states[0].Plan(t.Context(), r)
	if !errors.Is(err, store.ErrInvalid) || p.Degraded {
		t.Errorf("err = %v, degraded = %v", err, p.Degraded)
	}
	if len(p.Also()) != store.MaxReadKeys {
		t.Errorf("%d handles", len(p.Also()))
	}
}

func TestSeeds(t *testing.T) {
	w := newWorld(2)
	base := turn{scope: alice, session: "s", lane: "l", model: "m1", endpoint: "chat"}
	seed := func(state int, r turn) string { return string(w.plan(t, state, r).Seed()) }
	if seed(0, base) != seed(1, base) || len(seed(0, base)) != 32 {
		t.Error("two processes have two seeds for one range")
	}
	for name, edit := range map[string]func(*turn){
		"scope": func(r *turn) { r.scope = identity.KeyScope("bob") }, "session": func(r *turn) { r.session = "x" },
		"lane": func(r *turn) { r.lane = "x" }, "model": func(r *turn) { r.model = "x" },
		"endpoint": func(r *turn) { r.endpoint = "messages" },
	} {
		other := base
		edit(&other)
		if seed(0, base) == seed(0, other) {
			t.Errorf("the %s does not enter the seed", name)
		}
	}
	off := base
	off.off = true
	for name, r := range map[string]turn{"off": off, "generated": {scope: alice}} {
		if one, two := seed(0, r), seed(0, r); one == two {
			t.Errorf("%s: the seed is not random", name)
		}
	}
	p := w.plan(t, 0, off)
	if !bytes.Equal(p.Seed(), p.Seed()) {
		t.Error("the seed changes within a plan")
	}
}
