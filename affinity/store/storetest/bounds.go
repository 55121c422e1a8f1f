package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/affinity/store"
)

func boundCases() []Case {
	return []Case{
		on("bounds/keys", badKeys),
		on("bounds/read", badReads),
		on("bounds/swap", badSwaps),
		on("bounds/add", badAdds),
		on("bounds/query", badQueries),
		on("bounds/largest", largest),
		on("context/ended", endedContext),
	}
}

// badKeys gives each operation that takes a key each kind of bad one.
func badKeys(r *rig) {
	long := strings.Repeat("k", store.MaxKeyBytes+1)
	for what, k := range map[string]store.Key{
		"zero key":        {},
		"empty partition": {Sort: "s"},
		"empty sort":      {Partition: "p"},
		"long partition":  {Partition: long, Sort: "s"},
		"long sort":       {Partition: "p", Sort: long},
		"no such table":   {Table: store.Ledger + 1, Partition: "p", Sort: "s"},
	} {
		_, err := r.Read(r.ctx, key("good"), k)
		r.refused("Read, "+what, err)
		_, err = r.Swap(r.ctx, store.NewHandle(k, "", store.Record{}), record("v"))
		r.refused("Swap, "+what, err)
		_, err = r.Add(r.ctx, k, map[string]int64{"n": 1}, time.Time{})
		r.refused("Add, "+what, err)
	}
	_, err := r.Swap(r.ctx, store.Handle{}, record("v"))
	r.refused("Swap of the zero handle", err)
}

func badReads(r *rig) {
	keys := make([]store.Key, store.MaxReadKeys+1)
	for i := range keys {
		keys[i] = key("same")
	}
	_, err := r.Read(r.ctx, keys...)
	r.refused("Read of too many keys, all the same", err)
	if handles, err := r.Read(r.ctx); err != nil || len(handles) != 0 {
		r.Errorf("Read of no keys gave %d handles, error %v; want none of both", len(handles), err)
	}
}

func badSwaps(r *rig) {
	long := strings.Repeat("i", store.MaxKeyBytes+1)
	h, indexed := r.read(key("k")), r.read(store.Key{Table: store.Ledger, Partition: "p", Sort: "s"})
	for what, next := range map[string]store.Record{
		"value too large":      {Value: make([]byte, store.MaxValue+1)},
		"half an index":        {Index: store.Index{Partition: "p"}},
		"other half":           {Index: store.Index{Sort: "s"}},
		"long index partition": {Index: store.Index{Partition: long, Sort: "s"}},
		"long index sort":      {Index: store.Index{Partition: "p", Sort: long}},
	} {
		for _, h := range []store.Handle{h, indexed} {
			_, err := r.Swap(r.ctx, h, next)
			r.refused(what, err)
		}
	}
	_, err := r.Swap(r.ctx, h, store.Record{Index: store.Index{Partition: "p", Sort: "s"}})
	r.refused("index in a table without one", err)
	r.absent(r.read(key("k")))
	r.swap(h, record("the handle is still good"))
}

func badAdds(r *rig) {
	many := map[string]int64{}
	for i := range store.MaxDeltas + 1 {
		many[numbered("c", i)] = 1
	}
	for what, deltas := range map[string]map[string]int64{
		"no deltas": {}, "nil deltas": nil, "too many": many, "empty name": {"": 1},
		"long name": {strings.Repeat("n", store.MaxNameBytes+1): 1},
	} {
		_, err := r.Add(r.ctx, key("k"), deltas, time.Time{})
		r.refused(what, err)
	}
	r.absent(r.read(key("k")))
}

func badQueries(r *rig) {
	long := strings.Repeat("q", store.MaxKeyBytes+1)
	for what, q := range map[string]store.Query{
		"zero query":     {},
		"no such table":  {Table: store.Ledger + 1, Partition: "p"},
		"long partition": {Partition: long},
		"long from":      {Partition: "p", From: long},
		"long to":        {Partition: "p", To: long},
		"negative limit": {Partition: "p", Limit: -1},
		"no index":       {Table: store.State, Partition: "p", Indexed: true},
		"limit too high": {Partition: "p", Limit: store.MaxPage + 1},
	} {
		_, err := r.Query(r.ctx, q)
		r.refused(what, err)
	}
}

// largest writes and reads back a record at every bound at once.
func largest(r *rig) {
	k := store.Key{Table: store.Ledger, Partition: strings.Repeat("\xffp", store.MaxKeyBytes/2), Sort: strings.Repeat("s\x00", store.MaxKeyBytes/2)}
	value := make([]byte, store.MaxValue)
	for i := range value {
		value[i] = byte(i * 7 / 3)
	}
	next := store.Record{Value: value, Index: store.Index{
		Partition: strings.Repeat("i", store.MaxKeyBytes), Sort: strings.Repeat("\x00", store.MaxKeyBytes)}}
	written := r.put(k, next)
	r.holds(written, string(value))
	r.same(r.read(k), written)

	counters := map[string]int64{}
	for i := range store.MaxDeltas {
		counters[numbered(strings.Repeat("n", store.MaxNameBytes-4), i)] = int64(i) - 3
	}
	r.add(k, counters, time.Time{})
	got, _ := r.read(k).Record()
	for name, n := range counters {
		if got.Counters[name] != n {
			r.Fatalf("counter %q is %d, want %d", name, got.Counters[name], n)
		}
	}
	for i := range store.MaxReadKeys - 1 { // one Read of many large records must be completed
		r.put(store.Key{Table: store.Ledger, Partition: "large", Sort: numbered("", i)}, store.Record{Value: value})
	}
	keys := []store.Key{k}
	for i := range store.MaxReadKeys - 1 {
		keys = append(keys, store.Key{Table: store.Ledger, Partition: "large", Sort: numbered("", i)})
	}
	for _, h := range r.readAll(keys...) {
		r.holds(h, string(value))
	}
}

// endedContext calls everything with a context that has ended: an error that
// says both, and nothing written.
func endedContext(r *rig) {
	held := r.put(key("held"), record("before"))
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	check := func(what string, err error) {
		r.Helper()
		if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			r.Errorf("%s: error %v, want ErrUnavailable and context.Canceled", what, err)
		}
	}
	_, err := r.Read(ctx, key("held"))
	check("Read", err)
	_, err = r.Swap(ctx, held, record("after"))
	check("Swap", err)
	_, err = r.Add(ctx, key("held"), map[string]int64{"n": 1}, time.Time{})
	check("Add", err)
	_, err = r.Query(ctx, store.Query{Partition: "owner/part"})
	check("Query", err)
	r.same(r.read(key("held")), held)
}

// tables runs f once for each table.
func tables(f func(r *rig, t store.Table)) func(*rig) {
	return func(r *rig) {
		for _, t := range store.Tables() {
			f(r, t)
		}
	}
}
