package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/affinity/store"
)

// queryCases show order, bounds, paging and cursors.
func queryCases() []Case {
	return []Case{
		on("query/empty partition", tables(func(r *rig, t store.Table) {
			if p := r.page(store.Query{Table: t, Partition: "none"}); len(p.Handles) != 0 || p.Cursor != "" {
				r.Fatalf("page %+v of an empty partition", p)
			}
		})),
		on("query/order is bytewise, both ways", tables(queryOrder)),
		on("query/bounds are inclusive", queryBounds),
		on("query/only its own partition and table", queryPartition),
		on("query/handles swap", queryHandles),
		on("query/every limit gives the same records", queryLimits),
		on("query/default page", queryDefault),
		on("query/runs of expired records", queryExpired),
		on("query/large records", queryLarge),
		on("query/cursor after writes before it", queryAfterWriting),
		on("query/cursor under concurrent writes", queryWhileWriting),
		on("query/bad cursors", badCursors),
	}
}

// fill writes n records into one partition and returns their sorts in order.
func (r *rig) fill(t store.Table, partition string, n int) []string {
	r.Helper()
	var sorts []string
	for i := range n {
		s := numbered("s", (i*37)%n) // not in order
		r.put(store.Key{Table: t, Partition: partition, Sort: s}, record(s))
		sorts = append(sorts, s)
	}
	slices.Sort(sorts)
	return slices.Compact(sorts)
}

func sorts(handles []store.Handle) []string {
	var out []string
	for _, h := range handles {
		out = append(out, h.Key().Sort)
	}
	return out
}

func (r *rig) gives(q store.Query, want []string) {
	r.Helper()
	if got := sorts(r.all(q)); !slices.Equal(got, want) {
		r.Fatalf("query %+v gives %.20q (%d), want %.20q (%d)", q, got, len(got), want, len(want))
	}
}

func reversed(s []string) []string {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

func queryOrder(r *rig, t store.Table) {
	want := odd()
	for _, s := range want {
		r.put(store.Key{Table: t, Partition: "p", Sort: s}, record(s))
	}
	slices.Sort(want)
	r.gives(store.Query{Table: t, Partition: "p"}, want)
	r.gives(store.Query{Table: t, Partition: "p", Reverse: true}, reversed(want))
	r.gives(store.Query{Table: t, Partition: "p", Limit: 1}, want)
	r.gives(store.Query{Table: t, Partition: "p", Limit: 2, Reverse: true}, reversed(want))
	for _, h := range r.all(store.Query{Table: t, Partition: "p"}) {
		r.holds(h, h.Key().Sort)
		r.same(h, r.read(h.Key()))
	}
}

func queryBounds(r *rig) {
	all := r.fill(store.State, "p", 10) // s0000 … s0009
	for _, row := range []struct {
		from, to string
		want     []string
	}{
		{"", "", all}, {"s0003", "", all[3:]}, {"", "s0003", all[:4]}, {"s0003", "s0006", all[3:7]},
		{"s0004", "s0004", all[4:5]}, {"s00035", "s00065", all[4:7]}, {"t", "", nil}, {"", "a", nil},
		{"s0006", "s0003", nil}, {"s0009\x00", "", nil}, {"\x00", "\xff", all},
	} {
		for limit := range 4 {
			q := store.Query{Table: store.State, Partition: "p", From: row.from, To: row.to, Limit: limit}
			r.gives(q, row.want)
			q.Reverse = true
			r.gives(q, reversed(row.want))
		}
	}
}

func queryPartition(r *rig) {
	want := r.fill(store.State, "p", 3)
	for _, other := range []string{"o", "p\x00", "pp", "q", "\x01p", "p/"} {
		r.put(store.Key{Table: store.State, Partition: other, Sort: "s0001"}, record("other partition"))
	}
	r.put(store.Key{Table: store.Config, Partition: "p", Sort: "s0001"}, record("other table"))
	r.gives(store.Query{Table: store.State, Partition: "p"}, want)
	r.gives(store.Query{Table: store.State, Partition: "p", Reverse: true}, reversed(want))
}

func queryHandles(r *rig) {
	r.fill(store.Config, "p", 3)
	for _, h := range r.all(store.Query{Table: store.Config, Partition: "p"}) {
		r.swap(h, record("swapped"))
		r.conflict(h, record("stale"))
	}
}

func queryLimits(r *rig) {
	want := r.fill(store.Ledger, "p", 53)
	for _, limit := range []int{1, 2, 7, 26, 52, 53, 54, store.MaxPage} {
		r.gives(store.Query{Table: store.Ledger, Partition: "p", Limit: limit}, want)
		r.gives(store.Query{Table: store.Ledger, Partition: "p", Limit: limit, Reverse: true}, reversed(want))
	}
	q := store.Query{Table: store.Ledger, Partition: "p", Limit: 5} // the limit may change on the way
	var got []string
	for {
		p := r.page(q)
		got = append(got, sorts(p.Handles)...)
		if p.Cursor == "" {
			break
		}
		q.Cursor, q.Limit = p.Cursor, q.Limit+3
	}
	if !slices.Equal(got, want) {
		r.Fatalf("with growing limits: %q", got)
	}
}

func queryDefault(r *rig) {
	want := r.fill(store.State, "p", store.MaxPage+1)
	first := r.page(store.Query{Table: store.State, Partition: "p"})
	if len(first.Handles) != store.MaxPage || first.Cursor == "" {
		r.Fatalf("first page of %d records, cursor %q", len(first.Handles), first.Cursor)
	}
	r.gives(store.Query{Table: store.State, Partition: "p"}, want)
}

// queryExpired has more expired records in a row than a page holds: each page
// may be short, even empty, but the cursor leads on.
func queryExpired(r *rig) {
	var want []string
	for i := range 60 {
		k := store.Key{Table: store.State, Partition: "p", Sort: numbered("s", i)}
		if i%20 == 7 {
			r.put(k, record("stays"))
			want = append(want, k.Sort)
			continue
		}
		r.put(k, r.until("goes", time.Second))
	}
	r.clock.Advance(time.Minute)
	for _, limit := range []int{1, 3, 60} {
		r.gives(store.Query{Table: store.State, Partition: "p", Limit: limit}, want)
		r.gives(store.Query{Table: store.State, Partition: "p", Limit: limit, Reverse: true}, reversed(want))
	}
}

func queryLarge(r *rig) {
	value := strings.Repeat("x", store.MaxValue)
	var want []string
	for i := range 12 {
		k := store.Key{Table: store.State, Partition: "p", Sort: numbered("s", i)}
		r.put(k, record(value))
		want = append(want, k.Sort)
	}
	r.gives(store.Query{Table: store.State, Partition: "p"}, want)
	r.gives(store.Query{Table: store.State, Partition: "p", Reverse: true, Limit: 5}, reversed(want))
}

// queryAfterWriting changes what lies before the cursor, and the very record
// that it points at, between two pages.
func queryAfterWriting(r *rig) {
	for _, change := range []func(r *rig, k store.Key){
		func(r *rig, k store.Key) { r.put(k, store.Delete()) },
		func(r *rig, k store.Key) { r.put(k, record("rewritten")) },
		func(r *rig, k store.Key) { k.Sort += "+"; r.put(k, record("inserted")) },
	} {
		for at := range 4 {
			partition := numbered("p", at)
			all := r.fill(store.State, partition, 8)
			q := store.Query{Table: store.State, Partition: partition, Limit: 4}
			first := r.page(q)
			change(r, store.Key{Table: store.State, Partition: partition, Sort: all[at]})
			q.Cursor = first.Cursor
			got := sorts(r.all(q))
			if at == 3 {
				got = slices.DeleteFunc(got, func(s string) bool { return s == all[3]+"+" })
			}
			if !slices.Equal(got, all[4:]) {
				r.Fatalf("after a write at %s the next pages show %q, want %q", all[at], got, all[4:])
			}
			for _, h := range r.all(store.Query{Table: store.State, Partition: partition}) {
				r.swap(h, store.Delete())
			}
		}
	}
}

// queryWhileWriting pages while others insert, delete and rewrite between and
// around: what was there throughout comes once, in order.
func queryWhileWriting(r *rig) {
	const stay = 40
	var want []string
	for i := range stay {
		k := store.Key{Table: store.State, Partition: "p", Sort: numbered("s", i)}
		r.put(k, record("stays"))
		want = append(want, k.Sort)
	}
	sweep := func(reverse bool) error {
		q := store.Query{Table: store.State, Partition: "p", Limit: 3, Reverse: reverse}
		var got []string
		for {
			p, err := r.Query(r.ctx, q)
			if err != nil {
				return err
			}
			got = append(got, sorts(p.Handles)...)
			if q.Cursor = p.Cursor; p.Cursor == "" {
				break
			}
		}
		if reverse {
			slices.Reverse(got)
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			return fmt.Errorf("out of order or twice: %q", got)
		}
		got = slices.DeleteFunc(got, func(s string) bool { return strings.HasSuffix(s, "+") })
		if !slices.Equal(got, want) {
			return fmt.Errorf("of the records that stayed: %q", got)
		}
		return nil
	}
	errs := race(8, func(i int) error {
		if i < 4 {
			return errors.Join(sweep(i%2 == 0), sweep(i%2 == 1))
		}
		for j := i; j < stay; j += 4 {
			passing := store.Key{Table: store.State, Partition: "p", Sort: numbered("s", j) + "+"}
			staying := store.Key{Table: store.State, Partition: "p", Sort: numbered("s", j)}
			for k, next := range map[store.Key]store.Record{passing: record("passes"), staying: record("rewritten")} {
				if _, err := retrySwap(r.ctx, r.Store, k, func(store.Record) store.Record { return next }); err != nil {
					return err
				}
			}
			if _, err := retrySwap(r.ctx, r.Store, passing, func(store.Record) store.Record { return store.Delete() }); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		r.Fatal(err)
	}
}

func badCursors(r *rig) {
	r.fill(store.State, "p", 5)
	r.fill(store.State, "q", 5)
	r.fill(store.Config, "p", 5)
	q := store.Query{Table: store.State, Partition: "p", Limit: 2}
	good := r.page(q).Cursor
	try := func(what string, q store.Query, cursor string) {
		r.Helper()
		q.Cursor = cursor
		_, err := r.Query(r.ctx, q)
		r.refused(what, err)
	}
	try("other partition", store.Query{Table: store.State, Partition: "q", Limit: 2}, good)
	try("other table", store.Query{Table: store.Config, Partition: "p", Limit: 2}, good)
	try("other direction", store.Query{Table: store.State, Partition: "p", Limit: 2, Reverse: true}, good)
	try("other bound", store.Query{Table: store.State, Partition: "p", Limit: 2, From: "a"}, good)
	try("index", store.Query{Table: store.Ledger, Partition: "p", Limit: 2, Indexed: true}, good)
	for _, bad := range []string{"x", "s0001", "!!!", good + "A", good[:len(good)-2], strings.Repeat("A", 10_000), "\x00", "AA=="} {
		try(fmt.Sprintf("cursor %.20q", bad), q, bad)
	}
	if got := sorts(r.page(store.Query{Table: store.State, Partition: "p", Limit: 2, Cursor: good}).Handles); !slices.Equal(got, []string{"s0002", "s0003"}) {
		r.Fatalf("the good cursor leads to %q", got)
	}
}
