package affinity_test

import (
	"testing"
	"time"

	"holdfast/affinity"
	"holdfast/affinity/identity"
)

// S11: reads do not renew, successes do, and an expired record is none.
func TestS11Lifetime(t *testing.T) {
	w := newWorld(1)
	r := turn{scope: alice, session: "s"}
	w.serve(t, 0, r, "a")
	w.Advance(40 * time.Minute)
	if got := w.serve(t, 0, r, "a"); got != affinity.Renewed {
		t.Errorf("commit = %v, want renewed", got)
	}
	w.Advance(40 * time.Minute)
	if got := w.preferred(t, 0, r); got != "a" {
		t.Fatalf("renewed 40 minutes ago, prefers %q", got)
	}
	w.Advance(21 * time.Minute) // 61 after the last success, 21 after the last read
	p := w.plan(t, 0, r)
	if p.Preference != nil {
		t.Fatalf("a read renewed the preference: %v", p.Preference)
	}
	// The record was not deleted, yet the claim's condition takes it as absent.
	if got := claim(t, p, "b"); got != "b" {
		t.Errorf("claim over an expired record follows %q", got)
	}
	if got := p.Outcome(target("b")); got != affinity.WordClaimed {
		t.Error(got)
	}
}

func TestTargetLifetimes(t *testing.T) {
	for _, row := range []struct {
		name      string
		ttl       time.Duration
		alive, to time.Duration
	}{
		{"the state's default", 0, 59 * time.Minute, time.Hour},
		{"the deployment's own", 5 * time.Minute, 4 * time.Minute, 5 * time.Minute},
		{"for ever", affinity.Forever, 1000 * time.Hour, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(1)
			r := turn{scope: alice, session: "s"}
			p := w.plan(t, 0, r)
			served := target("a")
			served.TTL = row.ttl
			if _, err := p.Claim(t.Context(), served); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Commit(t.Context(), served); err != nil {
				t.Fatal(err)
			}
			w.Advance(row.alive)
			if got := w.preferred(t, 0, r); got != "a" {
				t.Errorf("gone after %v", row.alive)
			}
			if row.to == 0 {
				return
			}
			w.Advance(row.to - row.alive + 2*time.Second)
			if got := w.preferred(t, 0, r); got != "" {
				t.Errorf("alive after %v", row.to)
			}
		})
	}
}

// S10, I11: every part of the range separates preferences.
func TestS10RangesAreApart(t *testing.T) {
	base := turn{scope: alice, session: "s", lane: "l", model: "m1", endpoint: "chat"}
	for _, row := range []struct {
		name string
		edit func(*turn)
	}{
		{"another scope", func(r *turn) { r.scope = identity.KeyScope("bob") }},
		{"a user of the same name", func(r *turn) { r.scope = identity.UserScope("alice") }},
		{"another session", func(r *turn) { r.session = "s2" }},
		{"another lane", func(r *turn) { r.lane = "l2" }},
		{"no lane", func(r *turn) { r.lane = "" }},
		{"another model", func(r *turn) { r.model = "m2" }},
		{"another endpoint", func(r *turn) { r.endpoint = "messages" }},
		{"a boundary moved by a bar", func(r *turn) { r.scope, r.session = identity.KeyScope("alice|s"), "" }},
		{"a boundary moved by a letter", func(r *turn) { r.session, r.lane = "sl", "" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(1)
			w.serve(t, 0, base, "a")
			other := base
			row.edit(&other)
			if got := w.preferred(t, 0, other); got != "" {
				t.Errorf("shares the preference %q", got)
			}
			w.serve(t, 0, other, "b")
			if got := w.preferred(t, 0, base); got != "a" {
				t.Errorf("back in the first range: %q", got)
			}
		})
	}
}
