package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/affinity/store"
)

func TestRoundExpiry(t *testing.T) {
	second := time.Date(2030, 1, 1, 0, 0, 5, 0, time.UTC)
	for _, row := range []struct{ in, want time.Time }{
		{time.Time{}, time.Time{}},
		{second, second},
		{second.Add(1), second.Add(time.Second)},
		{second.Add(time.Second - 1), second.Add(time.Second)},
		{second.In(time.FixedZone("", 3600)), second},
		{time.Unix(0, 0), time.Unix(1, 0)},
		{time.Unix(-5, 5), time.Unix(1, 0)},
		{time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Unix(1, 0)},
		{time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
	} {
		if got := store.RoundExpiry(row.in); !got.Equal(row.want) || got.Location() != time.UTC {
			t.Errorf("RoundExpiry(%v) = %v, want %v in UTC", row.in, got, row.want)
		}
	}
}

// A record of a driver must not live shorter than the caller said, nor a second
// longer.
func TestRoundExpiryBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := time.Unix(rapid.Int64Range(1, 1<<36).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		got := store.RoundExpiry(in)
		if late := got.Sub(in); late < 0 || late >= time.Second || got.Nanosecond() != 0 {
			t.Fatalf("%v became %v", in, got)
		}
		if again := store.RoundExpiry(got); !again.Equal(got) {
			t.Fatalf("%v became %v", got, again)
		}
	})
}

func TestAddCounters(t *testing.T) {
	const most, least = 1<<63 - 1, -1 << 63
	for _, row := range []struct {
		n, d, want int64
		fits       bool
	}{
		{1, 2, 3, true}, {most - 1, 1, most, true}, {most, 1, 0, false}, {1, most, 0, false},
		{least + 1, -1, least, true}, {least, -1, 0, false}, {-1, least, 0, false}, {most, least, -1, true}, {0, least, least, true},
	} {
		old := map[string]int64{"n": row.n, "other": 7}
		got, err := store.AddCounters(old, map[string]int64{"n": row.d})
		if row.fits && (err != nil || got["n"] != row.want || got["other"] != 7) || !row.fits && !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%d + %d = %v, %v", row.n, row.d, got, err)
		}
		if old["n"] != row.n {
			t.Errorf("the old counters were changed")
		}
	}
}

// What a bound's error says may be logged, so it never carries a key.
func TestErrorsCarryNoKey(t *testing.T) {
	secret := strings.Repeat("secret", 300)
	m := store.NewMemory(store.MemoryConfig{})
	k := store.Key{Partition: secret, Sort: secret}
	_, read := m.Read(t.Context(), k)
	_, swap := m.Swap(t.Context(), store.NewHandle(k, "", store.Record{}), store.Record{})
	_, add := m.Add(t.Context(), store.Key{Partition: "p", Sort: "s"}, map[string]int64{secret: 1}, time.Time{})
	_, query := m.Query(t.Context(), store.Query{Partition: "p", Cursor: secret})
	for i, err := range []error{read, swap, add, query} {
		if !errors.Is(err, store.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestCounterShards(t *testing.T) {
	k := store.Key{Table: store.Ledger, Partition: "p", Sort: "s"}
	strict := store.Counter{Key: k}
	if got := strict.Keys(); len(got) != 1 || got[0] != k || strict.Shard(1<<63) != k {
		t.Errorf("a counter without shards lies at %v", got)
	}
	c := store.Counter{Key: k, Shards: 4}
	m := store.NewMemory(store.MemoryConfig{})
	used := map[store.Key]bool{}
	for i := range 40 {
		used[c.Shard(uint64(i))] = true
		if _, err := m.Add(t.Context(), c.Shard(uint64(i)), map[string]int64{"n": int64(i), "calls": 1}, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	keys := c.Keys()
	if len(keys) != 4 || len(used) != 4 || keys[0] != k {
		t.Errorf("shards %v, used %v", keys, used)
	}
	partitions := map[string]bool{}
	for _, shard := range keys {
		partitions[shard.Partition] = true
		if !used[shard] {
			t.Errorf("%v is read but never written", shard)
		}
	}
	if len(partitions) != 4 {
		t.Errorf("the shards share partitions: %v", partitions)
	}
	handles, err := m.Read(t.Context(), append(keys, store.Key{Partition: "p", Sort: "absent"})...)
	if err != nil {
		t.Fatal(err)
	}
	if sum := store.Sum(handles...); sum["n"] != 780 || sum["calls"] != 40 || len(sum) != 2 {
		t.Errorf("sum %v", sum)
	}
}

// Any position comes back from its cursor, for its own query only.
func TestCursorRoundTrip(t *testing.T) {
	text := rapid.StringN(1, 20, 60)
	rapid.Check(t, func(t *rapid.T) {
		q := store.Query{Table: store.Ledger, Partition: text.Draw(t, "partition"), Indexed: rapid.Bool().Draw(t, "indexed"),
			Reverse: rapid.Bool().Draw(t, "reverse"), From: rapid.String().Draw(t, "from"), To: rapid.String().Draw(t, "to")}
		want := store.Position{Sort: text.Draw(t, "sort"), Key: store.Key{Table: store.Ledger, Partition: q.Partition}}
		if want.Key.Sort = want.Sort; q.Indexed {
			want.Key.Partition, want.Key.Sort = text.Draw(t, "record partition"), text.Draw(t, "record sort")
		}
		q.Cursor = q.CursorAfter(want)
		if got, started, err := q.Position(); err != nil || !started || got != want {
			t.Fatalf("position %v, %v, %v; want %v", got, started, err, want)
		}
		for _, other := range []func(*store.Query){
			func(q *store.Query) { q.Table = store.State }, func(q *store.Query) { q.Partition += "x" },
			func(q *store.Query) { q.Indexed = !q.Indexed }, func(q *store.Query) { q.Reverse = !q.Reverse },
			func(q *store.Query) { q.From += "x" }, func(q *store.Query) { q.To += "x" },
			func(q *store.Query) { q.From, q.To = q.From+q.To+"x", "" },
		} {
			foreign := q
			other(&foreign)
			if _, _, err := foreign.Position(); !errors.Is(err, store.ErrInvalid) {
				t.Fatalf("the cursor of %+v works for %+v", q, foreign)
			}
		}
	})
}

// No cursor from outside does more than be refused, or name a position that a
// query can start at.
func FuzzCursor(f *testing.F) {
	base := store.Query{Table: store.Ledger, Partition: "p"}
	indexed := base
	indexed.Indexed = true
	at := store.Position{Sort: "s", Key: store.Key{Table: store.Ledger, Partition: "p", Sort: "s"}}
	f.Add(base.CursorAfter(at), false)
	f.Add(indexed.CursorAfter(at), true)
	f.Add("AQ", false)
	f.Fuzz(func(t *testing.T, cursor string, ix bool) {
		q := store.Query{Table: store.Ledger, Partition: "p", Indexed: ix, Cursor: cursor}
		p, started, err := q.Position()
		switch {
		case err != nil && !errors.Is(err, store.ErrInvalid):
			t.Fatal(err)
		case err != nil, !started:
			return
		}
		if p.Sort == "" || p.Key.Partition == "" || p.Key.Sort == "" || len(p.Sort) > store.MaxKeyBytes {
			t.Fatalf("position %+v", p)
		}
		if _, err := store.NewMemory(store.MemoryConfig{}).Query(t.Context(), q); err != nil {
			t.Fatalf("a cursor that was taken: %v", err)
		}
	})
}
