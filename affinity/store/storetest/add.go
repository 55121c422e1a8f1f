package storetest

import (
	"maps"
	"time"

	"holdfast/affinity/store"
)

// addCases show counters one call at a time.
func addCases() []Case {
	return []Case{
		on("add/creates", tables(addCreates)),
		on("add/adds and answers with the counters named", addAnswers),
		on("add/keeps value and index", addKeeps),
		on("add/keeps the later expiry", addLater),
		on("add/never is the latest expiry", addNever),
		on("add/over an expired record", addOverExpired),
		on("add/already expired", addExpired),
		on("add/changes the revision", addRevision),
		on("add/swap drops counters", swapDropsCounters),
		on("add/large numbers", addLarge),
	}
}

func (r *rig) counts(k store.Key, want map[string]int64) store.Record {
	r.Helper()
	rec, ok := r.read(k).Record()
	if !ok || !maps.Equal(rec.Counters, want) {
		r.Fatalf("counters %v (live: %v), want %v", rec.Counters, ok, want)
	}
	return rec
}

func addCreates(r *rig, t store.Table) {
	k := store.Key{Table: t, Partition: "p", Sort: "s"}
	expires := r.clock.Now().Add(30 * time.Second)
	if got := r.add(k, map[string]int64{"n": 2, "zero": 0}, expires); !maps.Equal(got, map[string]int64{"n": 2, "zero": 0}) {
		r.Fatalf("new values %v", got)
	}
	rec := r.counts(k, map[string]int64{"n": 2, "zero": 0})
	if len(rec.Value) != 0 || !rec.Expires.Equal(store.RoundExpiry(expires)) || rec.Index != (store.Index{}) {
		r.Fatalf("created %+v", rec)
	}
	if r.read(k).Revision() == "" {
		r.Fatalf("a live record has no revision")
	}
}

func addAnswers(r *rig) {
	r.add(key("k"), map[string]int64{"a": 1, "b": 10}, time.Time{})
	if got := r.add(key("k"), map[string]int64{"b": -15, "c": 3}, time.Time{}); !maps.Equal(got, map[string]int64{"b": -5, "c": 3}) {
		r.Fatalf("new values %v", got)
	}
	r.counts(key("k"), map[string]int64{"a": 1, "b": -5, "c": 3})
	names := map[string]int64{"with space": 1, "a.b": 2, "#n": 3, ":v": 4, "Ä\x00": 5, "size": 6}
	if got := r.add(key("odd"), names, time.Time{}); !maps.Equal(got, names) {
		r.Fatalf("new values %v", got)
	}
	r.counts(key("odd"), names)
}

func addKeeps(r *rig) {
	k := store.Key{Table: store.Ledger, Partition: "p", Sort: "s"}
	next := record("value")
	next.Index = store.Index{Partition: "ip", Sort: "is"}
	r.put(k, next)
	r.add(k, map[string]int64{"n": 1}, time.Time{})
	rec := r.counts(k, map[string]int64{"n": 1})
	if string(rec.Value) != "value" || rec.Index != next.Index {
		r.Fatalf("Add left %+v", rec)
	}
}

func addLater(r *rig) {
	at := func(d time.Duration) time.Time { return r.clock.Now().Add(d) }
	expires := func(want time.Time) {
		r.Helper()
		if rec, _ := r.read(key("k")).Record(); !rec.Expires.Equal(store.RoundExpiry(want)) {
			r.Fatalf("expires %v, want %v", rec.Expires, store.RoundExpiry(want))
		}
	}
	r.add(key("k"), map[string]int64{"n": 1}, at(time.Minute))
	expires(at(time.Minute))
	r.add(key("k"), map[string]int64{"n": 1}, at(time.Second))
	expires(at(time.Minute))
	r.add(key("k"), map[string]int64{"n": 1}, at(time.Hour))
	expires(at(time.Hour))
	r.clock.Advance(30 * time.Minute)
	r.counts(key("k"), map[string]int64{"n": 3})
}

func addNever(r *rig) {
	soon := r.clock.Now().Add(time.Second)
	r.add(key("a"), map[string]int64{"n": 1}, time.Time{})
	r.add(key("a"), map[string]int64{"n": 1}, soon)
	r.add(key("b"), map[string]int64{"n": 1}, soon)
	r.add(key("b"), map[string]int64{"n": 1}, time.Time{})
	r.clock.Advance(365 * 24 * time.Hour)
	r.counts(key("a"), map[string]int64{"n": 2})
	r.counts(key("b"), map[string]int64{"n": 2})
}

func addOverExpired(r *rig) {
	k := store.Key{Table: store.Ledger, Partition: "p", Sort: "s"}
	next := r.until("value", time.Second)
	next.Index = store.Index{Partition: "ip", Sort: "is"}
	r.put(k, next)
	r.add(k, map[string]int64{"n": 5, "old": 1}, r.clock.Now().Add(time.Second))
	r.clock.Advance(3 * time.Second)
	expires := r.clock.Now().Add(time.Minute)
	if got := r.add(k, map[string]int64{"n": 2}, expires); !maps.Equal(got, map[string]int64{"n": 2}) {
		r.Fatalf("new values %v over an expired record", got)
	}
	rec := r.counts(k, map[string]int64{"n": 2})
	if len(rec.Value) != 0 || rec.Index != (store.Index{}) || !rec.Expires.Equal(store.RoundExpiry(expires)) {
		r.Fatalf("an expired record came back: %+v", rec)
	}
	if left := r.all(store.Query{Table: store.Ledger, Indexed: true, Partition: "ip"}); len(left) != 0 {
		r.Fatalf("the index still shows the expired record")
	}
}

// addExpired creates nothing that could be seen, and harms nothing that lives.
func addExpired(r *rig) {
	past := r.clock.Now().Add(-time.Hour)
	if got := r.add(key("k"), map[string]int64{"n": 1}, past); !maps.Equal(got, map[string]int64{"n": 1}) {
		r.Fatalf("new values %v", got)
	}
	r.absent(r.read(key("k")))
	r.put(key("live"), record("v"))
	r.add(key("live"), map[string]int64{"n": 1}, past)
	r.counts(key("live"), map[string]int64{"n": 1})
}

func addRevision(r *rig) {
	before := r.put(key("k"), record("v"))
	r.add(key("k"), map[string]int64{"n": 1}, time.Time{})
	stands := r.conflict(before, record("late"))
	r.same(stands, r.read(key("k")))
	r.counts(key("k"), map[string]int64{"n": 1})
	absent := r.read(key("fresh"))
	r.add(key("fresh"), map[string]int64{"n": 1}, time.Time{})
	r.conflict(absent, record("late"))
	r.counts(key("fresh"), map[string]int64{"n": 1})
}

func swapDropsCounters(r *rig) {
	r.add(key("k"), map[string]int64{"n": 1}, time.Time{})
	next := record("v")
	next.Counters = map[string]int64{"n": 50}
	h := r.put(key("k"), next)
	if rec, _ := h.Record(); len(rec.Counters) != 0 {
		r.Fatalf("Swap wrote the counters %v", rec.Counters)
	}
	r.same(r.read(key("k")), h)
	if got := r.add(key("k"), map[string]int64{"n": 1}, time.Time{}); got["n"] != 1 {
		r.Fatalf("the counter goes on from %d", got["n"]-1)
	}
}

func addLarge(r *rig) {
	const big = int64(1) << 62
	r.add(key("k"), map[string]int64{"up": big, "down": -big}, time.Time{})
	got := r.add(key("k"), map[string]int64{"up": big - 1, "down": -big}, time.Time{})
	if got["up"] != big+(big-1) || got["down"] != -big-big {
		r.Fatalf("new values %v", got)
	}
}
