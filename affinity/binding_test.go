package affinity_test

import (
	"errors"
	"testing"

	"holdfast/affinity"
	"holdfast/affinity/identity"
)

func TestBindings(t *testing.T) {
	w := newWorld(2)
	ctx, s := t.Context(), w.states[0]
	bind := func(kind affinity.Kind, id, deployment string) {
		t.Helper()
		if err := s.Bind(ctx, alice, kind, id, affinity.Owner{Deployment: deployment, Boundary: "acme"}, 0); err != nil {
			t.Fatal(err)
		}
	}
	bind(affinity.Conversation, "x", "a")
	bind(affinity.File, "x", "b")
	bind(affinity.File, "x", "c") // the last success wins
	for _, row := range []struct {
		name  string
		scope identity.Scope
		kind  affinity.Kind
		id    string
		want  string
	}{
		{"conversation", alice, affinity.Conversation, "x", "a"},
		{"a file of the same id", alice, affinity.File, "x", "c"},
		{"unknown id", alice, affinity.File, "y", ""},
		{"unknown kind", alice, affinity.Batch, "x", ""},
		{"foreign", identity.KeyScope("bob"), affinity.File, "x", ""},
		{"no scope", identity.Scope{}, affinity.File, "x", ""},
		{"no id", alice, affinity.File, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			o, err := w.states[1].Bound(ctx, row.scope, row.kind, row.id)
			if o.Deployment != row.want || (row.want == "") != errors.Is(err, affinity.ErrNotFound) {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	if err := s.Unbind(ctx, alice, affinity.File, "x"); err != nil {
		t.Fatal(err)
	}
	if err := s.Unbind(ctx, alice, affinity.File, "x"); !errors.Is(err, affinity.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	if _, err := s.Bound(ctx, alice, affinity.Conversation, "x"); err != nil {
		t.Errorf("another kind went with it: %v", err)
	}
	if err := s.Bind(ctx, identity.Scope{}, affinity.File, "x", affinity.Owner{Deployment: "a"}, 0); err != nil {
		t.Error(err)
	}
}

// C7 and its like: owners come with the plan, in the one read.
func TestBindingsInThePlan(t *testing.T) {
	w := newWorld(1)
	r := turn{scope: alice, session: "s"}
	w.serve(t, 0, r, "a")
	err := w.states[0].Bind(t.Context(), alice, affinity.Ciphertext, "s", affinity.Owner{Deployment: "dep-x"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	request := r.request(t)
	request.Bindings = []affinity.Reference{{Kind: affinity.Conversation, ID: "nope"}, {Kind: affinity.Ciphertext}}
	w.reset()
	p, err := w.states[0].Plan(t.Context(), request)
	if err != nil || w.counts() != "1 read, 0 swap, 0 query" {
		t.Fatalf("%v, %s", err, w.counts())
	}
	bound := p.Bound()
	if len(bound) != 2 || bound[0].Found || !bound[1].Found || bound[1].Owner.Deployment != "dep-x" {
		t.Fatalf("bound = %+v", bound)
	}
	p.Require(bound[1].Owner)
	if got := p.Outcome(target("dep-x")); got != affinity.WordRequired {
		t.Error(got)
	}
	if got := commit(t, p, "dep-x"); got != affinity.Nothing {
		t.Errorf("a required exchange moved the preference: %v", got)
	}
	if got := w.preferred(t, 0, r); got != "a" {
		t.Errorf("prefers %q", got)
	}
}

// An item_reference is expanded from the turn that its item was part of.
func TestItemsLeadToTheirTurn(t *testing.T) {
	w := newWorld(1)
	publish(t, w, 0, turn{scope: alice, session: "s"}, "r1", func(p *affinity.Publication) { p.Items = []string{"msg_1", "fc_1"} })
	for _, id := range []string{"msg_1", "fc_1"} {
		o, err := w.states[0].Bound(t.Context(), alice, affinity.Item, id)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.states[0].Turn(t.Context(), o); err != nil || string(got.Output) != "out r1" {
			t.Errorf("%s: %q, %v", id, got.Output, err)
		}
	}
}

// An item outlives its forgotten response, but leads to no content: not even to
// that of another response which has taken the place.
func TestItemsOfAForgottenTurn(t *testing.T) {
	w := newWorld(1)
	w.extend(t, 0, "", "r1", nil)
	publish(t, w, 0, turn{scope: alice, parent: "r1"}, "r2", func(p *affinity.Publication) { p.Items = []string{"msg_2"} })
	o, err := w.states[0].Bound(t.Context(), alice, affinity.Item, "msg_2")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.states[0].Forget(t.Context(), alice, "r2"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"empty", "taken"} {
		if turn, err := w.states[0].Turn(t.Context(), o); !errors.Is(err, affinity.ErrNotFound) {
			t.Errorf("%s: %q, %v", step, turn.Output, err)
		}
		w.extend(t, 0, "r1", "x2", nil)
	}
}
