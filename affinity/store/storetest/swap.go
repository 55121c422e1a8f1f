package storetest

import (
	"context"
	"errors"
	"strings"

	"holdfast/affinity/store"
)

// readCases show what Read gives.
func readCases() []Case {
	return []Case{
		on("read/absent", func(r *rig) { r.absent(r.read(key("never"))) }),
		on("read/25 keys over all tables", readMany),
		on("read/the same key twice", readTwice),
		on("read/binary keys", binaryKeys),
		on("read/near keys stay apart", nearKeys),
		on("read/the caller owns its copies", copies),
	}
}

// swapCases show compare-and-swap one call at a time.
func swapCases() []Case {
	return []Case{
		on("swap/over absent", tables(swapOverAbsent)),
		on("swap/over live", swapOverLive),
		on("swap/stale handle", swapStale),
		on("swap/absent handle over live", swapAbsentOverLive),
		on("swap/live handle over absent", swapLiveOverAbsent),
		on("swap/a made-up handle", swapMadeUp),
		on("swap/same value again is another revision", swapABA),
		on("swap/mismatch changes nothing", swapMismatch),
		on("swap/delete", tables(swapDelete)),
		on("swap/delete what is absent", swapDeleteAbsent),
		on("swap/empty value", swapEmpty),
	}
}

func readMany(r *rig) {
	var keys []store.Key
	want := map[store.Key]store.Handle{}
	for i := range store.MaxReadKeys {
		k := store.Key{Table: store.Tables()[i%4], Partition: numbered("p", i/8), Sort: numbered("s", i)}
		if i%3 != 0 { // a third stays absent
			want[k] = r.put(k, record(k.Sort))
		}
		keys = append(keys, k)
	}
	for i, h := range r.readAll(keys...) {
		w, there := want[keys[i]]
		if !there {
			r.absent(h)
			continue
		}
		r.holds(h, keys[i].Sort)
		r.same(h, w)
	}
}

func readTwice(r *rig) {
	h := r.put(key("k"), record("v"))
	for i, got := range r.readAll(key("k"), key("absent"), key("k"), key("absent"), key("k")) {
		if i%2 == 1 {
			r.absent(got)
		} else {
			r.same(got, h)
		}
	}
}

// odd are strings that drivers have mistaken for something else.
func odd() []string {
	return []string{"a", "\x00", "\xff", "\xc3\x28", "a\x00", "a\x00b", "a/b", "a#b", "日本", "'; --", " a ", "a\nb", "%2F", `{"a":1}`, "A", "\ufeff"}
}

func binaryKeys(r *rig) {
	for _, p := range odd() {
		for _, s := range odd() {
			r.put(store.Key{Table: store.State, Partition: p, Sort: s}, record(p+"|"+s))
		}
	}
	for _, p := range odd() {
		for _, s := range odd() {
			r.holds(r.read(store.Key{Table: store.State, Partition: p, Sort: s}), p+"|"+s)
		}
	}
}

// nearKeys differ only in where one part ends, or in their table.
func nearKeys(r *rig) {
	keys := []store.Key{
		{Table: store.State, Partition: "ab", Sort: "c"}, {Table: store.State, Partition: "a", Sort: "bc"},
		{Table: store.Config, Partition: "ab", Sort: "c"}, {Table: store.State, Partition: "ab", Sort: "c\x00"},
		{Table: store.State, Partition: "ab\x00", Sort: "c"}, {Table: store.State, Partition: "a", Sort: "b"},
	}
	for i, k := range keys {
		r.swap(r.read(k), record(numbered("v", i)))
	}
	for i, h := range r.readAll(keys...) {
		r.holds(h, numbered("v", i))
	}
}

// copies changes everything it gave and got.
func copies(r *rig) {
	value := []byte("original")
	written := r.put(key("k"), store.Record{Value: value})
	r.add(key("k"), map[string]int64{"n": 1}, store.Record{}.Expires)
	copy(value, "changed!")
	for _, h := range []store.Handle{written, r.read(key("k"))} {
		rec, _ := h.Record()
		copy(rec.Value, "scribble")
		if rec.Counters != nil {
			rec.Counters["n"] = 99
		}
	}
	rec, _ := r.read(key("k")).Record()
	if string(rec.Value) != "original" || rec.Counters["n"] != 1 {
		r.Fatalf("the record is now %q, %v", rec.Value, rec.Counters)
	}
}

func swapOverAbsent(r *rig, t store.Table) {
	k := store.Key{Table: t, Partition: "p", Sort: "s"}
	h := r.swap(r.read(k), record("first"))
	r.holds(h, "first")
	r.same(r.read(k), h)
	rec, _ := h.Record()
	if !rec.Expires.IsZero() {
		r.Fatalf("a record that is kept for ever expires %v", rec.Expires)
	}
}

func swapOverLive(r *rig) {
	first := r.put(key("k"), r.until("first", 1e12))
	second := r.swap(first, record("second"))
	r.holds(second, "second")
	if second.Revision() == first.Revision() {
		r.Fatalf("two writes have one revision")
	}
	if rec, _ := second.Record(); !rec.Expires.IsZero() {
		r.Fatalf("the new record kept the old expiry %v", rec.Expires)
	}
	r.same(r.read(key("k")), second)
}

func swapStale(r *rig) {
	first := r.put(key("k"), record("first"))
	second := r.swap(first, record("second"))
	r.same(r.conflict(first, record("late")), second)
	r.same(r.read(key("k")), second)
	r.same(r.swap(r.conflict(first, record("late")), record("third")), r.read(key("k")))
}

func swapAbsentOverLive(r *rig) {
	absent := r.read(key("k"))
	first := r.swap(absent, record("first"))
	r.same(r.conflict(absent, record("second")), first)
	r.same(r.read(key("k")), first)
}

func swapLiveOverAbsent(r *rig) {
	live := r.put(key("k"), record("v"))
	r.swap(live, store.Delete())
	r.absent(r.conflict(live, record("late")))
	r.absent(r.read(key("k")))
}

func swapMadeUp(r *rig) {
	forged := store.NewHandle(key("k"), "no-such-revision", record("x"))
	r.absent(r.conflict(forged, record("v")))
	h := r.put(key("k"), record("v"))
	r.same(r.conflict(forged, record("w")), h)
}

func swapABA(r *rig) {
	a := r.put(key("k"), record("A"))
	b := r.swap(a, record("B"))
	again := r.swap(b, record("A"))
	r.same(r.conflict(a, record("C")), again)
	identical := r.swap(again, record("A"))
	r.same(r.conflict(again, record("C")), identical)
	r.same(r.read(key("k")), identical)
}

// swapMismatch watches every field of the standing record, its expiry above
// all: a renewal on mismatch is the easiest to overlook.
func swapMismatch(r *rig) {
	k := store.Key{Table: store.Ledger, Partition: "p", Sort: "s"}
	stale := r.put(k, record("old"))
	next := r.until("new", 20e9)
	next.Index = store.Index{Partition: "ip", Sort: "is"}
	r.swap(stale, next)
	r.add(k, map[string]int64{"n": 7}, r.clock.Now().Add(10e9))
	stands := r.read(k)
	for _, h := range []store.Handle{stale, store.NewHandle(k, "", store.Record{})} {
		for _, next := range []store.Record{r.until("old", 90e9), record("new"), store.Delete()} {
			r.same(r.conflict(h, next), stands)
			r.same(r.read(k), stands)
		}
	}
}

func swapDelete(r *rig, t store.Table) {
	k := store.Key{Table: t, Partition: "p", Sort: "s"}
	h := r.put(k, record("v"))
	gone := r.swap(h, store.Delete())
	r.absent(gone)
	r.absent(r.read(k))
	if left := r.all(store.Query{Table: t, Partition: "p"}); len(left) != 0 {
		r.Fatalf("a query shows %d deleted records", len(left))
	}
	r.absent(r.conflict(h, record("late")))
	r.holds(r.swap(gone, record("again")), "again")
}

func swapDeleteAbsent(r *rig) {
	h := r.read(key("k"))
	r.absent(r.swap(h, store.Delete()))
	r.absent(r.read(key("k")))
	r.holds(r.swap(h, record("v")), "v")
}

func swapEmpty(r *rig) {
	h := r.put(key("k"), store.Record{})
	r.holds(h, "")
	r.same(r.read(key("k")), h)
	r.same(r.conflict(store.NewHandle(key("k"), "", store.Record{}), record("v")), h)
}

// raceCases let 32 callers meet.
func raceCases() []Case {
	return []Case{
		on("race/32 swaps over absent", func(r *rig) { oneWinner(r, r.read(key("k"))) }),
		on("race/32 swaps over one live handle", func(r *rig) { oneWinner(r, r.put(key("k"), record("before"))) }),
		on("race/32 swaps over a deleted record", func(r *rig) {
			oneWinner(r, r.swap(r.put(key("k"), record("before")), store.Delete()))
		}),
		on("race/32 adders", exactAdds),
		on("race/adders and swappers", addersAndSwappers),
		on("race/32 increments by swap", increments),
	}
}

const callers = 32

// end is what one caller of Swap got.
type end struct {
	h   store.Handle
	err error
}

// oneWinner has every caller swap by the same handle. The losers carry the
// winner.
func oneWinner(r *rig, h store.Handle) {
	r.Helper()
	ends := race(callers, func(i int) end {
		got, err := r.Swap(r.ctx, h, record(numbered("caller", i)))
		return end{got, err}
	})
	settle(r, ends)
}

// settle fails the case unless one caller won and all others carry it.
func settle(r *rig, ends []end) store.Handle {
	r.Helper()
	var winner store.Handle
	won := 0
	for i, e := range ends {
		if e.err == nil {
			won++
			winner = e.h
			r.holds(winner, numbered("caller", i))
		} else if !errors.Is(e.err, store.ErrConflict) {
			r.Fatalf("caller %d: %v", i, e.err)
		}
	}
	if won != 1 {
		r.Fatalf("%d of %d callers won", won, len(ends))
	}
	for _, e := range ends {
		r.same(e.h, winner)
	}
	r.same(r.read(winner.Key()), winner)
	return winner
}

func exactAdds(r *rig) {
	const each = 8
	errs := race(callers, func(i int) error {
		for range each {
			if _, err := r.Add(r.ctx, key("k"), map[string]int64{"n": 1, "m": int64(i)}, r.clock.Now().Add(60e9)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		r.Fatal(err)
	}
	rec, _ := r.read(key("k")).Record()
	if n, m := rec.Counters["n"], rec.Counters["m"]; n != callers*each || m != each*callers*(callers-1)/2 {
		r.Fatalf("counters are n=%d m=%d", n, m)
	}
}

// addersAndSwappers: a swap takes with it only what its handle saw, so what was
// swapped away and what stands make up everything that was added.
func addersAndSwappers(r *rig) {
	r.add(key("k"), map[string]int64{"n": 1}, store.Record{}.Expires)
	taken := race(callers, func(i int) int64 {
		if i%4 != 0 {
			if _, err := r.Add(r.ctx, key("k"), map[string]int64{"n": 1}, store.Record{}.Expires); err != nil {
				return -1 << 40
			}
			return 0
		}
		h, err := retrySwap(r.ctx, r.Store, key("k"), func(store.Record) store.Record { return record("v") })
		if err != nil {
			return -1 << 40
		}
		rec, _ := h.Record()
		return rec.Counters["n"]
	})
	rec, _ := r.read(key("k")).Record()
	total := rec.Counters["n"]
	for _, n := range taken {
		total += n
	}
	if want := int64(1 + callers*3/4); total != want {
		r.Fatalf("%d of %d additions are accounted for", total, want)
	}
}

// increments is the oldest test of compare-and-swap.
func increments(r *rig) {
	errs := race(callers, func(int) error {
		_, err := retrySwap(r.ctx, r.Store, key("k"), func(old store.Record) store.Record {
			return record(string(old.Value) + "x")
		})
		return err
	})
	if err := errors.Join(errs...); err != nil {
		r.Fatal(err)
	}
	r.holds(r.read(key("k")), strings.Repeat("x", callers))
}

// retrySwap swaps until it wins, going on from what each conflict carries, and
// returns the handle that it replaced.
func retrySwap(ctx context.Context, s store.Store, k store.Key, next func(store.Record) store.Record) (store.Handle, error) {
	handles, err := s.Read(ctx, k)
	if err != nil {
		return store.Handle{}, err
	}
	h := handles[0]
	for {
		old, _ := h.Record()
		stands, err := s.Swap(ctx, h, next(old))
		if !errors.Is(err, store.ErrConflict) {
			return h, err
		}
		h = stands
	}
}
