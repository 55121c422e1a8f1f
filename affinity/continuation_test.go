package affinity_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

// creator is the account that tests publish from.
var creator = affinity.Owner{Deployment: "dep-a", Connection: "conn-a", BaseURL: "https://a.example/v1", Boundary: "acme"}

// publish runs one successful response of a bridged deployment.
func publish(t testing.TB, w *world, state int, r turn, id string, edit func(*affinity.Publication)) *affinity.Plan {
	t.Helper()
	p := w.plan(t, state, r)
	out := p.Publication(id)
	out.Owner.Deployment, out.Owner.Connection = creator.Deployment, creator.Connection
	out.Owner.BaseURL, out.Owner.Boundary = creator.BaseURL, creator.Boundary
	out.Turn = &affinity.Turn{Input: []byte("in " + id), Output: []byte("out " + id)}
	if edit != nil {
		edit(&out)
	}
	if err := w.states[state].Publish(t.Context(), out); err != nil {
		t.Fatalf("publish %s: %v", id, err)
	}
	return p
}

// C1: the id works at once, from another process; C2: it inherits the session.
func TestC1ContinuationFromAnotherProcess(t *testing.T) {
	w := newWorld(2)
	publish(t, w, 0, turn{scope: alice, session: "s", lane: "l"}, "r1", nil)
	w.reset()
	p := w.plan(t, 1, turn{scope: alice, parent: "r1"})
	if got := w.counts(); got != "1 read, 0 swap, 0 query" {
		t.Error(got)
	}
	want := affinity.Owner{
		Model: "m", Endpoint: "responses", Deployment: "dep-a", Connection: "conn-a",
		BaseURL: "https://a.example/v1", Boundary: "acme", Session: "s", Lane: "l", Created: w.Now(), Stored: true,
	}
	if diff := cmp.Diff(want, *p.Owner, cmpopts.IgnoreUnexported(affinity.Owner{})); diff != "" {
		t.Error(diff)
	}
	if p.Session.ID != "s" || p.Session.Source != identity.Inherited || p.Preference != nil {
		t.Errorf("session = %+v, preference = %v", p.Session, p.Preference)
	}
	if got := p.Outcome(target("dep-a")); got != affinity.WordRequired {
		t.Error(got)
	}
	// No claim, no move.
	if claim(t, p, "x") != "x" || p.Changes(target("x")) || commit(t, p, "x") != affinity.Nothing {
		t.Error("a continuation claimed or committed")
	}
	if n := len(w.dump(t, store.Affinity)); n != 0 {
		t.Errorf("%d preference records", n)
	}
}

func TestC2SessionBesideAParent(t *testing.T) {
	w := newWorld(1)
	publish(t, w, 0, turn{scope: alice, session: "s"}, "r1", nil)
	p := w.plan(t, 0, turn{scope: alice, session: "s", parent: "r1"})
	if p.Session.ID != "s" || p.Session.Source != identity.Inherited {
		t.Errorf("agreeing: %+v", p.Session)
	}
	_, err := w.states[0].Plan(t.Context(), turn{scope: alice, session: "other", parent: "r1"}.request(t))
	var conflict *identity.Error
	if !errors.As(err, &conflict) || conflict.Code != "session_conflict" {
		t.Errorf("disagreeing: %v", err)
	}
}

// C3: whatever is wrong with the parent, the refusal is one and the same.
func TestC3OneRefusal(t *testing.T) {
	ok := turn{scope: alice, parent: "r1"}
	for _, row := range []struct {
		name  string
		setup func(*testing.T, *world)
		edit  func(*turn)
	}{
		{"unknown", nil, func(r *turn) { r.parent = "r2" }},
		{"foreign", nil, func(r *turn) { r.scope = identity.KeyScope("bob") }},
		{"a user of the key's name", nil, func(r *turn) { r.scope = identity.UserScope("alice") }},
		{"no scope", nil, func(r *turn) { r.scope = identity.Scope{} }},
		{"another model", nil, func(r *turn) { r.model = "other" }},
		{"another endpoint", nil, func(r *turn) { r.endpoint = "compact" }},
		{"expired", func(_ *testing.T, w *world) { w.Advance(721 * time.Hour) }, nil},
		{"forgotten", func(t *testing.T, w *world) {
			if err := w.states[0].Forget(t.Context(), alice, "r1"); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"without content, and only the gateway could restore it", func(t *testing.T, w *world) {
			publish(t, w, 0, turn{scope: alice, session: "s"}, "r1", func(p *affinity.Publication) { p.Turn = nil })
		}, nil},
		{"an unreadable record", func(t *testing.T, w *world) {
			for key := range w.dump(t, store.State) {
				if key.Sort != "owner" {
					continue
				}
				handles, _ := w.inner.Read(t.Context(), key)
				if _, err := w.inner.Swap(t.Context(), handles[0], store.Record{Value: []byte("?")}); err != nil {
					t.Fatal(err)
				}
			}
		}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(1)
			publish(t, w, 0, turn{scope: alice, session: "s"}, "r1", nil)
			w.plan(t, 0, ok) // it works before
			if row.setup != nil {
				row.setup(t, w)
			}
			r := ok
			if row.edit != nil {
				row.edit(&r)
			}
			_, err := w.states[0].Plan(t.Context(), r.request(t))
			if err != affinity.ErrParentNotFound { //nolint:errorlint // one identical value is the point
				t.Errorf("err = %v", err)
			}
		})
	}
}

// The records that the caller asked for come even beside a refusal.
func TestAlsoBesideARefusal(t *testing.T) {
	w := newWorld(1)
	key := store.Key{Table: store.Affinity, Partition: "p", Sort: "x"}
	handles, _ := w.inner.Read(t.Context(), key)
	if _, err := w.inner.Swap(t.Context(), handles[0], store.Record{Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []turn{{scope: alice, parent: "nope"}, {parent: "nope"}} {
		request := r.request(t)
		request.Also = []store.Key{key}
		p, err := w.states[0].Plan(t.Context(), request)
		if !errors.Is(err, affinity.ErrParentNotFound) || !errors.Is(err, affinity.ErrNotFound) {
			t.Errorf("err = %v", err)
		}
		if record, _ := p.Also()[0].Record(); string(record.Value) != "v" {
			t.Errorf("also = %q", record.Value)
		}
	}
}

// C4: whether a connection still is the creator.
func TestC4Origin(t *testing.T) {
	native := creator
	native.Native = true
	for _, row := range []struct {
		name                          string
		owner                         affinity.Owner
		connection, baseURL, boundary string
		origin, account               bool
	}{
		{"unchanged", native, "conn-a", "https://a.example/v1", "acme", true, true},
		{"base URL changed", native, "conn-a", "https://b.example/v1", "acme", false, true},
		{"boundary changed", native, "conn-a", "https://a.example/v1", "other", false, false},
		{"another connection, same account", native, "conn-b", "https://a.example/v1", "acme", false, true},
		{"another connection, gateway's own id", creator, "conn-b", "https://a.example/v1", "acme", false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.owner.SameOrigin(row.connection, row.baseURL, row.boundary); got != row.origin {
				t.Errorf("origin = %v", got)
			}
			if got := row.owner.SameAccount(row.boundary); got != row.account {
				t.Errorf("account = %v", got)
			}
		})
	}
}

// C8: store: false keeps ownership for routing, and no content.
func TestC8StoreFalse(t *testing.T) {
	w := newWorld(1)
	publish(t, w, 0, turn{scope: alice, session: "s"}, "r1", func(p *affinity.Publication) {
		p.Turn, p.Owner.Native = nil, true
	})
	if n := len(w.dump(t, store.State)); n != 1 {
		t.Errorf("%d records, want the owner alone", n)
	}
	p := w.plan(t, 0, turn{scope: alice, parent: "r1"}) // its account may know it
	if p.Owner.Stored || p.Owner.Restorable() {
		t.Errorf("owner = %+v", p.Owner)
	}
	if _, err := w.states[0].History(t.Context(), *p.Owner); !errors.Is(err, affinity.ErrParentNotFound) {
		t.Errorf("history: %v", err)
	}
	if _, err := w.states[0].Turn(t.Context(), *p.Owner); !errors.Is(err, affinity.ErrNotFound) {
		t.Errorf("turn: %v", err)
	}
	// Nor does an owner lend it the content of another response.
	stored := w.extend(t, 0, "", "r0", nil)
	publish(t, w, 0, turn{scope: alice, session: "s"}, "r0b", func(p *affinity.Publication) { p.Turn, p.Owner = nil, stored })
	if o, err := w.states[0].Owner(t.Context(), alice, "r0b"); err != nil || o.Stored || o.Restorable() {
		t.Errorf("borrowed: %+v, %v", o, err)
	}
	// What continues from it is kept for retrieval, but is not a whole chain.
	publish(t, w, 0, turn{scope: alice, parent: "r1"}, "r2", func(p *affinity.Publication) { p.Owner.Native = true })
	o, err := w.states[0].Owner(t.Context(), alice, "r2")
	if err != nil || !o.Stored || o.Restorable() {
		t.Errorf("child = %+v, %v", o, err)
	}
	if got, err := w.states[0].Turn(t.Context(), o); err != nil || string(got.Output) != "out r2" {
		t.Errorf("child's turn = %q, %v", got.Output, err)
	}
}

// Order: history first, then ownership; whatever fails, no id is usable whose
// history is not there.
func TestPublishFaults(t *testing.T) {
	for n := 1; n <= 2; n++ { // the first swap is the turn, the second its owner
		for _, f := range []fault{{err: store.ErrUnavailable}, {err: store.ErrUnknown}, {err: store.ErrUnknown, applied: true}} {
			t.Run(fmt.Sprintf("swap %d %v applied=%v", n, f.err, f.applied), func(t *testing.T) {
				w := newWorld(1)
				p := w.plan(t, 0, turn{scope: alice, session: "s"})
				out := p.Publication("r1")
				out.Owner.Deployment = "dep-a"
				out.Turn = &affinity.Turn{Input: []byte("in"), Output: []byte("out")}
				w.failing(func(op string, call int) fault {
					if op == "swap" && call == n {
						return f
					}
					return fault{}
				})
				if err := w.states[0].Publish(t.Context(), out); !errors.Is(err, affinity.ErrOwnershipUnavailable) || !errors.Is(err, f.err) {
					t.Fatalf("err = %v", err)
				}
				w.failing(nil)
				o, err := w.states[0].Owner(t.Context(), alice, "r1")
				if owned := n == 2 && f.applied; owned != (err == nil) {
					t.Fatalf("owner: %v", err)
				}
				if err == nil {
					if turns, err := w.states[0].History(t.Context(), o); err != nil || len(turns) != 1 {
						t.Errorf("an owned response without history: %v %v", turns, err)
					}
				}
				// The same publication again is harmless and makes it usable.
				if err := w.states[0].Publish(t.Context(), out); err != nil {
					t.Fatal(err)
				}
				p = w.plan(t, 0, turn{scope: alice, parent: "r1"})
				if turns, err := w.states[0].History(t.Context(), *p.Owner); err != nil || len(turns) != 1 {
					t.Errorf("%v %v", turns, err)
				}
			})
		}
	}
}

// Retention is given with each publication.
func TestRetention(t *testing.T) {
	for _, row := range []struct {
		name      string
		retention time.Duration
		after     time.Duration
		alive     bool
	}{
		{"default, within", 0, 719 * time.Hour, true},
		{"default, after", 0, 721 * time.Hour, false},
		{"own, after", time.Hour, 2 * time.Hour, false},
		{"for ever", affinity.Forever, 100000 * time.Hour, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(1)
			publish(t, w, 0, turn{scope: alice, session: "s"}, "r1", func(p *affinity.Publication) { p.Retention = row.retention })
			w.Advance(row.after)
			_, err := w.states[0].Owner(t.Context(), alice, "r1")
			if row.alive != (err == nil) {
				t.Errorf("err = %v", err)
			}
			if n := len(w.dump(t, store.State)); row.alive != (n == 2) || !row.alive && n != 0 {
				t.Errorf("%d records", n)
			}
		})
	}
}

// I11, X3: without a scope nothing is owned.
func TestPublishWithoutScope(t *testing.T) {
	w := newWorld(1)
	publish(t, w, 0, turn{session: "s"}, "r1", nil)
	if got := w.counts(); got != "0 read, 0 swap, 0 query" {
		t.Error(got)
	}
}
