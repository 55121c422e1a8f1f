package storetest

import (
	"slices"
	"testing"
	"time"

	"holdfast/affinity/store"
)

// indexCases show the secondary index, on each table that has it.
func indexCases() []Case {
	return []Case{
		indexed("index/order, bounds, paging", indexOrder),
		indexed("index/equal sorts come once each", indexTies),
		indexed("index/moves and leaves", indexMoves),
		indexed("index/expired records leave", indexExpired),
		indexed("index/handles swap", indexHandles),
		indexed("index/bad cursors", indexCursors),
	}
}

// indexed makes a case that runs for each table with an index.
func indexed(name string, f func(r *rig, t store.Table)) Case {
	return Case{Name: name, Run: func(t testing.TB, h Harness) {
		r := newRig(t, h)
		for _, table := range store.Tables() {
			if table.Indexed() {
				f(r, table)
			}
		}
	}}
}

func (r *rig) putIndexed(k store.Key, ix store.Index) store.Handle {
	r.Helper()
	return r.put(k, store.Record{Value: []byte(k.Sort), Index: ix})
}

// shows holds the index's partition against a set of record sorts.
func (r *rig) shows(t store.Table, partition string, want ...string) {
	r.Helper()
	got := sorts(r.all(store.Query{Table: t, Indexed: true, Partition: partition}))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.Fatalf("index partition %q shows %q, want %q", partition, got, want)
	}
}

func indexOrder(r *rig, t store.Table) {
	want := odd()
	slices.Sort(want)
	for i, s := range want { // the records' own order is the opposite
		k := store.Key{Table: t, Partition: numbered("p", i%3), Sort: numbered("s", len(want)-i)}
		r.putIndexed(k, store.Index{Partition: "ip", Sort: s})
	}
	r.put(store.Key{Table: t, Partition: "p0000", Sort: "not indexed"}, record("x"))
	r.putIndexed(store.Key{Table: t, Partition: "p0000", Sort: "elsewhere"}, store.Index{Partition: "ip\x00", Sort: "a"})
	gives := func(q store.Query, want []string) {
		r.Helper()
		q.Table, q.Indexed, q.Partition = t, true, "ip"
		var got []string
		for _, h := range r.all(q) {
			rec, _ := h.Record()
			got = append(got, rec.Index.Sort)
			r.same(h, r.read(h.Key()))
		}
		if !slices.Equal(got, want) {
			r.Fatalf("%+v gives %q, want %q", q, got, want)
		}
	}
	for limit := range 4 {
		gives(store.Query{Limit: limit}, want)
		gives(store.Query{Limit: limit, Reverse: true}, reversed(want))
		gives(store.Query{Limit: limit, From: want[3], To: want[8]}, want[3:9])
		gives(store.Query{Limit: limit, From: want[3], To: want[8], Reverse: true}, reversed(want[3:9]))
		gives(store.Query{Limit: limit, From: want[8], To: want[3]}, nil)
	}
}

func indexTies(r *rig, t store.Table) {
	var want []string
	for i := range 23 {
		k := store.Key{Table: t, Partition: numbered("p", i%5), Sort: numbered("s", i)}
		r.putIndexed(k, store.Index{Partition: "ip", Sort: "same"})
		want = append(want, k.Sort)
	}
	for _, q := range []store.Query{{Limit: 1}, {Limit: 4}, {Limit: 23}, {Limit: 4, Reverse: true}, {Limit: 4, From: "same", To: "same"}} {
		q.Table, q.Indexed, q.Partition = t, true, "ip"
		got := sorts(r.all(q))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			r.Fatalf("%+v gives %q, want %q in any order", q, got, want)
		}
	}
}

func indexMoves(r *rig, t store.Table) {
	k := store.Key{Table: t, Partition: "p", Sort: "s"}
	h := r.putIndexed(k, store.Index{Partition: "a", Sort: "1"})
	r.shows(t, "a", "s")
	h = r.swap(h, store.Record{Index: store.Index{Partition: "a", Sort: "2"}})
	r.shows(t, "a", "s")
	if left := r.all(store.Query{Table: t, Indexed: true, Partition: "a", To: "1"}); len(left) != 0 {
		r.Fatalf("the record is still at its old place")
	}
	h = r.swap(h, store.Record{Index: store.Index{Partition: "b", Sort: "2"}})
	r.shows(t, "a")
	r.shows(t, "b", "s")
	h = r.swap(h, store.Record{Value: []byte("out of the index")})
	r.shows(t, "b")
	h = r.swap(h, store.Record{Index: store.Index{Partition: "b", Sort: "3"}})
	r.shows(t, "b", "s")
	r.swap(h, store.Delete())
	r.shows(t, "b")
}

func indexExpired(r *rig, t store.Table) {
	k := store.Key{Table: t, Partition: "p", Sort: "s"}
	next := r.until("v", time.Second)
	next.Index = store.Index{Partition: "ip", Sort: "1"}
	r.put(k, next)
	r.putIndexed(store.Key{Table: t, Partition: "p", Sort: "stays"}, store.Index{Partition: "ip", Sort: "1"})
	r.clock.Advance(2 * time.Second)
	r.shows(t, "ip", "stays")
	h := r.swap(store.NewHandle(k, "", store.Record{}), record("over the expired record, not indexed"))
	r.shows(t, "ip", "stays")
	next.Expires = r.clock.Now().Add(time.Second)
	r.swap(h, next)
	r.clock.Advance(2 * time.Second)
	r.putIndexed(k, next.Index) // at the place of the expired record that it replaces
	r.shows(t, "ip", "s", "stays")
}

func indexHandles(r *rig, t store.Table) {
	k := store.Key{Table: t, Partition: "p", Sort: "s"}
	r.putIndexed(k, store.Index{Partition: "ip", Sort: "1"})
	found := r.all(store.Query{Table: t, Indexed: true, Partition: "ip"})
	if len(found) != 1 {
		r.Fatalf("the index shows %d records", len(found))
	}
	r.swap(found[0], record("swapped"))
	r.conflict(found[0], record("stale"))
}

func indexCursors(r *rig, t store.Table) {
	for i := range 5 {
		r.putIndexed(store.Key{Table: t, Partition: "p", Sort: numbered("s", i)}, store.Index{Partition: "ip", Sort: numbered("i", i)})
	}
	q := store.Query{Table: t, Indexed: true, Partition: "ip", Limit: 2}
	good := r.page(q).Cursor
	for what, q := range map[string]store.Query{
		"other index partition": {Table: t, Indexed: true, Partition: "p", Limit: 2, Cursor: good},
		"no index":              {Table: t, Partition: "ip", Limit: 2, Cursor: good},
		"other direction":       {Table: t, Indexed: true, Partition: "ip", Limit: 2, Reverse: true, Cursor: good},
		"cut off":               {Table: t, Indexed: true, Partition: "ip", Limit: 2, Cursor: good[:len(good)-3]},
	} {
		_, err := r.Query(r.ctx, q)
		r.refused(what, err)
	}
	q.Cursor = good
	if got := sorts(r.page(q).Handles); !slices.Equal(got, []string{"s0002", "s0003"}) {
		r.Fatalf("the good cursor leads to %q", got)
	}
}
