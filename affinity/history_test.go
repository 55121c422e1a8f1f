package affinity_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/affinity"
	"holdfast/affinity/store"
)

// extend publishes a response and returns its owner; parent "" starts a chain.
func (w *world) extend(t testing.TB, state int, parent, id string, body []byte) affinity.Owner {
	t.Helper()
	r := turn{scope: alice, session: "s"}
	if parent != "" {
		r = turn{scope: alice, parent: parent}
	}
	publish(t, w, state, r, id, func(p *affinity.Publication) {
		p.Turn = &affinity.Turn{Input: []byte("in " + id), Output: append([]byte("out "+id), body...)}
	})
	o, err := w.states[state].Owner(t.Context(), alice, id)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// chain returns the outputs of an owner's restored turns, joined.
func (w *world) chain(t testing.TB, o affinity.Owner) string {
	t.Helper()
	turns, err := w.states[0].History(t.Context(), o)
	if err != nil {
		t.Fatalf("history: %v", err)
	}
	var ids []string
	for _, turn := range turns {
		if !bytes.HasPrefix(turn.Input, []byte("in ")) || !bytes.HasPrefix(turn.Output, append([]byte("out "), turn.Input[3:]...)) {
			t.Errorf("turn = %.40q / %.40q", turn.Input, turn.Output)
		}
		ids = append(ids, strings.TrimPrefix(string(turn.Input), "in "))
	}
	return strings.Join(ids, " ")
}

// C5: a chain is restored exactly, by one read of its partition.
func TestC5ChainIsRestoredByOneQuery(t *testing.T) {
	w := newWorld(2)
	w.extend(t, 0, "", "r1", nil)
	w.extend(t, 1, "r1", "r2", nil)
	w.extend(t, 0, "r2", "r3", nil)
	p := w.plan(t, 1, turn{scope: alice, parent: "r3"})
	w.reset()
	if got := w.chain(t, *p.Owner); got != "r1 r2 r3" {
		t.Error(got)
	}
	if got := w.counts(); got != "0 read, 0 swap, 1 query" {
		t.Error(got)
	}
	earlier, _ := w.states[0].Owner(t.Context(), alice, "r2")
	if got := w.chain(t, earlier); got != "r1 r2" {
		t.Error(got)
	}
	if got, err := w.states[0].Turn(t.Context(), earlier); err != nil || string(got.Input) != "in r2" {
		t.Errorf("%q, %v", got.Input, err)
	}
}

// A response costs two writes: its own turn and its owner, whatever came before.
func TestPublishWritesOneTurn(t *testing.T) {
	w := newWorld(1)
	w.extend(t, 0, "", "r1", nil)
	for i := 1; i < 30; i++ {
		r := turn{scope: alice, parent: fmt.Sprint("r", i)}
		before := len(w.dump(t, store.State))
		p := w.plan(t, 0, r)
		out := p.Publication(fmt.Sprint("r", i+1))
		out.Owner.Deployment = "dep-a"
		out.Turn = &affinity.Turn{Input: []byte("in"), Output: []byte("out")}
		w.reset()
		if err := w.states[0].Publish(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		if got := w.counts(); got != "0 read, 2 swap, 0 query" {
			t.Fatalf("turn %d: %s", i, got)
		}
		if after := len(w.dump(t, store.State)); after != before+2 {
			t.Fatalf("turn %d: %d records before, %d after", i, before, after)
		}
	}
}

// The same response again writes nothing new.
func TestPublishTwice(t *testing.T) {
	w := newWorld(1)
	w.extend(t, 0, "", "r1", nil)
	w.extend(t, 0, "r1", "r2", nil)
	before := len(w.dump(t, store.State))
	o := w.extend(t, 0, "r1", "r2", nil)
	if after := len(w.dump(t, store.State)); after != before {
		t.Errorf("%d records, then %d", before, after)
	}
	if got := w.chain(t, o); got != "r1 r2" {
		t.Error(got)
	}
}

// P6: a chain costs in proportion to its own bytes, however many siblings share
// its partition and however many responses the store holds.
func TestP6ChainCostsItsOwnBytes(t *testing.T) {
	noise := make([]byte, 2000) // incompressible
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise)
	cost := func(branches, others int) (records, bytes int) {
		w := newWorld(1)
		w.extend(t, 0, "", "root", noise)
		for i := range branches {
			w.extend(t, 0, "root", fmt.Sprint("b", i), noise)
		}
		for i := range others {
			w.extend(t, 0, "", fmt.Sprint("o", i), noise)
		}
		o := w.extend(t, 0, "root", "leaf", noise)
		w.reset()
		if got := w.chain(t, o); got != "root leaf" {
			t.Fatal(got)
		}
		return w.records, w.fetched
	}
	records, size := cost(0, 0)
	if records != 2 || size > 5000 {
		t.Fatalf("alone: %d records, %d bytes", records, size)
	}
	for _, row := range []struct{ branches, others int }{{1, 0}, {200, 0}, {0, 200}} {
		if r, s := cost(row.branches, row.others); r != records || s != size {
			t.Errorf("with %d siblings and %d other chains: %d records, %d bytes; alone %d, %d",
				row.branches, row.others, r, s, records, size)
		}
	}
}

// A large turn is split below the item limit, read back whole over many pages.
func TestLargeTurns(t *testing.T) {
	w := newWorld(1)
	body := make([]byte, 3*store.MaxValue)
	random := rand.NewChaCha8([32]byte{2})
	_, _ = random.Read(body)
	w.extend(t, 0, "", "r1", body)
	w.extend(t, 0, "r1", "r2", []byte(strings.Repeat("compressible ", 1<<18)))
	o := w.extend(t, 0, "r2", "r3", body[:store.MaxValue])
	if n := len(w.dump(t, store.State)); n != 3+4+1+2 {
		t.Errorf("%d records, want 3 owners and 4, 1 and 2 chunks", n)
	}
	turns, err := w.states[0].History(t.Context(), o)
	if err != nil || len(turns) != 3 {
		t.Fatalf("%d turns, %v", len(turns), err)
	}
	if !bytes.Equal(turns[0].Output, append([]byte("out r1"), body...)) {
		t.Error("the first turn came back changed")
	}
	if len(turns[1].Output) != len("out r2")+13<<18 || len(turns[2].Output) != len("out r3")+store.MaxValue {
		t.Error("a later turn came back changed")
	}
}

// An upstream that gives one id twice must not lend one conversation the other's
// past.
func TestReusedIds(t *testing.T) {
	w := newWorld(1)
	w.extend(t, 0, "", "r1", []byte("first"))
	old := w.extend(t, 0, "r1", "r2", nil)
	again := w.extend(t, 0, "", "r1", []byte("second"))
	fresh := w.extend(t, 0, "r1", "r2", nil)
	for _, row := range []struct {
		owner affinity.Owner
		want  []string
	}{{old, []string{"out r1first", "out r2"}}, {again, []string{"out r1second"}}, {fresh, []string{"out r1second", "out r2"}}} {
		w.reset()
		turns, err := w.states[0].History(t.Context(), row.owner)
		if got := w.counts(); got != "0 read, 0 swap, 1 query" {
			t.Error(got)
		}
		var got []string
		for _, turn := range turns {
			got = append(got, string(turn.Output))
		}
		if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}

// What cannot be restored is said at once, except that a provider's own id stays
// usable at its account.
func TestHistoryLimits(t *testing.T) {
	w := newWorld(1)
	half := make([]byte, 17<<20)
	w.extend(t, 0, "", "r1", half)
	before := len(w.dump(t, store.State))
	for _, row := range []struct {
		name          string
		parent        string
		body          []byte
		native        bool
		want          error
		stored, whole bool
	}{
		{"chain too large", "r1", half, false, affinity.ErrHistoryLimit, false, false},
		{"native chain too large", "r1", half, true, nil, true, false},
		{"turn too large", "", append(half, half...), false, affinity.ErrHistoryLimit, false, false},
		{"native turn too large", "", append(half, half...), true, nil, false, false},
		{"within", "r1", []byte("x"), false, nil, true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := turn{scope: alice, session: "s"}
			if row.parent != "" {
				r = turn{scope: alice, parent: row.parent}
			}
			out := w.plan(t, 0, r).Publication("id " + row.name)
			out.Owner.Deployment, out.Owner.Native = "dep-a", row.native
			out.Turn = &affinity.Turn{Output: row.body}
			if err := w.states[0].Publish(t.Context(), out); !errors.Is(err, row.want) {
				t.Fatalf("err = %v", err)
			}
			o, err := w.states[0].Owner(t.Context(), alice, out.ID)
			if row.want != nil {
				if !errors.Is(err, affinity.ErrNotFound) || len(w.dump(t, store.State)) != before {
					t.Errorf("something was written: %v", err)
				}
				return
			}
			before = len(w.dump(t, store.State))
			if err != nil || o.Stored != row.stored || o.Restorable() != row.whole {
				t.Errorf("stored %v, restorable %v, %v", o.Stored, o.Restorable(), err)
			}
		})
	}
}
