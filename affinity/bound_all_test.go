package affinity_test

import (
	"errors"
	"fmt"
	"testing"

	"holdfast/affinity"
	"holdfast/affinity/identity"
)

// TestBoundAll shows more owners than one read has room for, in their order.
func TestBoundAll(t *testing.T) {
	w := newWorld(1)
	ctx, s := t.Context(), w.states[0]
	var refs []affinity.Reference
	for i := range 60 {
		id := fmt.Sprint("item", i)
		refs = append(refs, affinity.Reference{Kind: affinity.Item, ID: id})
		if i%3 == 0 {
			continue
		}
		if err := s.Bind(ctx, alice, affinity.Item, id, affinity.Owner{Deployment: id}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for scope, known := range map[identity.Scope]bool{alice: true, identity.KeyScope("bob"): false, {}: false} {
		all, err := s.BoundAll(ctx, scope, refs)
		if err != nil || len(all) != len(refs) {
			t.Fatalf("%d owners, %v", len(all), err)
		}
		for i, b := range all {
			if want := known && i%3 != 0; b.Found != want || want && b.Owner.Deployment != refs[i].ID {
				t.Errorf("%v: %d: %+v", scope, i, b)
			}
		}
	}
}

// TestContent shows that all items of one answer name one turn, and that one
// whose content is not kept names none.
func TestContent(t *testing.T) {
	w := newWorld(1)
	ctx, s := t.Context(), w.states[0]
	publish := func(id string, turn *affinity.Turn) {
		t.Helper()
		p := affinity.Publication{Scope: alice, ID: id, Owner: affinity.Owner{Deployment: "a", Native: true}, Turn: turn, Items: []string{id + "1", id + "2"}}
		if err := s.Publish(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	publish("r", &affinity.Turn{Input: []byte("x"), Output: []byte("y")})
	publish("s", &affinity.Turn{Input: []byte("x"), Output: []byte("y")})
	publish("t", nil)
	content := func(kind affinity.Kind, id string) string {
		t.Helper()
		o, err := s.Bound(ctx, alice, kind, id)
		if err != nil {
			t.Fatal(err)
		}
		return o.Content()
	}
	whole := content(affinity.Response, "r")
	if whole == "" || content(affinity.Item, "r1") != whole || content(affinity.Item, "r2") != whole {
		t.Error("the items of one answer are of several turns")
	}
	if content(affinity.Item, "s1") == whole || content(affinity.Item, "t1") != "" {
		t.Error("items of other answers are of this turn")
	}
	o, err := s.Bound(ctx, alice, affinity.Item, "t1")
	if _, none := s.Turn(ctx, o); err != nil || !errors.Is(none, affinity.ErrNotFound) {
		t.Errorf("content that is not kept: %v, %v", err, none)
	}
}
