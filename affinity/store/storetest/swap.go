package storetest

import (
	"holdfast/affinity/store"
)

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
