package storetest

import (
	"errors"
	"time"

	"holdfast/affinity/store"
)

// expiryCases hold "an expired record is an absent one" against every
// operation. No case deletes what expired; a store that did so early would
// still have to pass.
func expiryCases() []Case {
	return []Case{
		on("expiry/rounded up to the second", tables(expiryRounds)),
		on("expiry/an expired record is absent in reads and queries", tables(expiredAbsent)),
		on("expiry/an absent handle swaps over an expired record", tables(expiredOverwritten)),
		on("expiry/a live handle conflicts once its record has expired", expiredConflicts),
		on("expiry/renewed", expiryRenewed),
		on("expiry/shortened", expiryShortened),
		on("expiry/written expired", writtenExpired),
		on("expiry/kept for ever", keptForEver),
		on("expiry/race of 32 over an expired record", expiredRace),
		on("expiry/race with the expiry itself", expiringRace),
	}
}

func expiryRounds(r *rig, t store.Table) {
	k := store.Key{Table: t, Partition: "p", Sort: "s"}
	start := r.clock.Now() // a quarter past a second
	h := r.put(k, r.until("v", 1300*time.Millisecond))
	rec, _ := h.Record()
	if want := start.Truncate(time.Second).Add(2 * time.Second); !rec.Expires.Equal(want) {
		r.Fatalf("expires %v, want %v", rec.Expires, want)
	}
	r.clock.Advance(1740 * time.Millisecond)
	r.same(r.read(k), h)
	r.clock.Advance(10 * time.Millisecond)
	r.absent(r.read(k))
	r.put(k, store.Record{Value: []byte("w"), Expires: r.clock.Now().Add(time.Second)}) // on the second: kept as it is
	r.clock.Advance(time.Second - time.Nanosecond)
	r.holds(r.read(k), "w")
	r.clock.Advance(time.Nanosecond)
	r.absent(r.read(k))
	r.clock.Advance(250 * time.Millisecond) // where the next table finds it
}

func expiredAbsent(r *rig, t store.Table) {
	k := store.Key{Table: t, Partition: "p", Sort: "s"}
	stays := store.Key{Table: t, Partition: "p", Sort: "t"}
	r.put(k, r.until("v", time.Second))
	r.put(stays, record("stays"))
	r.clock.Advance(72 * time.Hour)
	handles := r.readAll(k, stays)
	r.absent(handles[0])
	r.holds(handles[1], "stays")
	left := r.all(store.Query{Table: t, Partition: "p"})
	if len(left) != 1 {
		r.Fatalf("the query shows %d records, want the one that stays", len(left))
	}
	r.holds(left[0], "stays")
}

func expiredOverwritten(r *rig, t store.Table) {
	k := store.Key{Table: t, Partition: "p", Sort: "s"}
	h := r.put(k, r.until("old", time.Second))
	r.clock.Advance(2 * time.Second)
	fresh := r.swap(store.NewHandle(k, "", store.Record{}), record("new"))
	r.holds(fresh, "new")
	r.same(r.conflict(h, record("late")), fresh)
	r.same(r.conflict(store.NewHandle(k, "", store.Record{}), record("late")), fresh)
	r.same(r.read(k), fresh)
}

func expiredConflicts(r *rig) {
	h := r.put(key("k"), r.until("old", time.Second))
	r.clock.Advance(2 * time.Second)
	absent := r.conflict(h, r.until("renewed", time.Hour))
	r.absent(absent)
	r.absent(r.read(key("k")))
	r.absent(r.conflict(h, store.Delete()))
	r.holds(r.swap(absent, record("new")), "new")
}

func expiryRenewed(r *rig) {
	h := r.put(key("k"), r.until("v", 2*time.Second))
	r.clock.Advance(time.Second)
	h = r.swap(h, r.until("v", 10*time.Second))
	r.clock.Advance(5 * time.Second)
	r.same(r.read(key("k")), h)
	r.read(key("k")) // reads renew nothing
	r.clock.Advance(6 * time.Second)
	r.absent(r.read(key("k")))
}

func expiryShortened(r *rig) {
	h := r.put(key("k"), r.until("v", time.Hour))
	r.swap(h, r.until("v", time.Second))
	r.clock.Advance(3 * time.Second)
	r.absent(r.read(key("k")))
	r.put(key("k"), record("for ever"))
	r.put(key("k"), r.until("v", time.Second))
	r.clock.Advance(3 * time.Second)
	r.absent(r.read(key("k")))
}

// writtenExpired covers dates that encodings get wrong.
func writtenExpired(r *rig) {
	for _, at := range []time.Time{
		r.clock.Now(), r.clock.Now().Add(-time.Second), time.Unix(1, 0), time.Unix(0, 0), time.Unix(0, 1),
		time.Unix(-1, 0), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC),
	} {
		if store.RoundExpiry(at).After(r.clock.Now()) {
			continue // a time within the running second rounds up to a live one
		}
		h := r.put(key("k"), store.Record{Value: []byte("v"), Expires: at})
		r.absent(h)
		r.absent(r.read(key("k")))
		r.holds(r.swap(h, record("live")), "live")
		r.put(key("k"), store.Delete())
	}
}

func keptForEver(r *rig) {
	far := time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, t := range store.Tables() {
		r.put(store.Key{Table: t, Partition: "p", Sort: "ever"}, record("ever"))
		r.put(store.Key{Table: t, Partition: "p", Sort: "far"}, store.Record{Value: []byte("far"), Expires: far})
	}
	for range 20 {
		r.clock.Advance(10 * 365 * 24 * time.Hour)
	}
	for _, t := range store.Tables() {
		r.put(store.Key{Table: t, Partition: "p", Sort: "later"}, record("a write, which may sweep"))
		r.holds(r.read(store.Key{Table: t, Partition: "p", Sort: "ever"}), "ever")
		r.holds(r.read(store.Key{Table: t, Partition: "p", Sort: "far"}), "far")
		if n := len(r.all(store.Query{Table: t, Partition: "p"})); n != 3 {
			r.Fatalf("the query shows %d records, want 3", n)
		}
	}
}

// expiredRace lets holders of the expired record and of an absent one meet:
// only the latter may win, and one of them does.
func expiredRace(r *rig) {
	live := r.put(key("k"), r.until("old", time.Second))
	r.clock.Advance(2 * time.Second)
	absent := r.read(key("k"))
	r.absent(absent)
	ends := race(callers, func(i int) end {
		h := absent
		if i%2 == 1 {
			h = live
		}
		got, err := r.Swap(r.ctx, h, record(numbered("caller", i)))
		return end{got, err}
	})
	var losers []end
	for i, e := range ends {
		switch {
		case i%2 == 0:
			losers = append(losers, e)
		case e.err == nil:
			r.Fatalf("caller %d won by the handle of an expired record", i)
		case !errors.Is(e.err, store.ErrConflict):
			r.Fatalf("caller %d: %v", i, e.err)
		}
	}
	won := 0
	for _, e := range losers {
		if e.err == nil {
			won++
			r.same(r.read(key("k")), e.h)
		} else if !errors.Is(e.err, store.ErrConflict) {
			r.Fatal(e.err)
		}
	}
	if won != 1 {
		r.Fatalf("%d callers won, want 1", won)
	}
}

// expiringRace moves the clock past the expiry while the callers are at it:
// whatever each of them saw, nobody's write is lost unread.
func expiringRace(r *rig) {
	for round := range 8 {
		k := key(numbered("round", round))
		live := r.put(k, r.until("old", time.Second))
		ends := race(callers+1, func(i int) end {
			if i == callers {
				r.clock.Advance(3 * time.Second)
				return end{}
			}
			h := live
			if i%2 == 1 {
				h = store.NewHandle(k, "", store.Record{})
			}
			got, err := r.Swap(r.ctx, h, record(numbered("caller", i)))
			return end{got, err}
		})
		won := 0
		for _, e := range ends[:callers] {
			if e.err == nil {
				won++
				r.same(r.read(k), e.h)
			} else if !errors.Is(e.err, store.ErrConflict) {
				r.Fatal(e.err)
			}
		}
		if won > 1 {
			r.Fatalf("round %d: %d callers won", round, won)
		}
	}
}
