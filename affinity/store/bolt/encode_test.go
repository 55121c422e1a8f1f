package bolt

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/affinity/store"
)

func texts(t *rapid.T, name string) string {
	return string(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 4, 5, 'a', 0xfe, 0xff}), 1, 6).Draw(t, name))
}

// The index is ordered by sort, then by record, and a key gives its record
// back, whatever bytes they are of.
func TestIndexKeyOrder(t *testing.T) {
	type place struct{ sort, partition, record string }
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n string) place {
			return place{texts(t, "sort"+n), texts(t, "partition"+n), texts(t, "record"+n)}
		}
		key := func(p place) []byte {
			return indexKey(store.Index{Partition: "ip", Sort: p.sort}, recordKey(store.Key{Partition: p.partition, Sort: p.record}))
		}
		a, b := draw("1"), draw("2")
		want := cmp.Or(cmp.Compare(a.sort, b.sort), cmp.Compare(len(a.partition), len(b.partition)), cmp.Compare(a.partition, b.partition), cmp.Compare(a.record, b.record))
		if got := bytes.Compare(key(a), key(b)); got != want {
			t.Fatalf("%q and %q compare %d, want %d", a, b, got, want)
		}
		record, err := recordOfIndexKey(key(a))
		if err != nil {
			t.Fatal(err)
		}
		if k, err := parseRecordKey(store.Ledger, record); err != nil || k.Partition != a.partition || k.Sort != a.record {
			t.Fatalf("%q came back as %q, %v", a, k, err)
		}
	})
}

// The span of a query holds exactly what its bounds say, for records and index.
func TestSpan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := store.Query{Partition: texts(t, "partition"), Indexed: rapid.Bool().Draw(t, "indexed")}
		if rapid.Bool().Draw(t, "bounded") {
			q.From, q.To = texts(t, "from"), texts(t, "to")
		}
		lo, hi := span(q)
		partition := rapid.SampledFrom([]string{q.Partition, q.Partition + "\x00", texts(t, "other")}).Draw(t, "in")
		sort := texts(t, "sort")
		key := recordKey(store.Key{Partition: partition, Sort: sort})
		if q.Indexed {
			key = indexKey(store.Index{Partition: partition, Sort: sort}, recordKey(store.Key{Partition: texts(t, "record"), Sort: texts(t, "record sort")}))
		}
		want := partition == q.Partition && sort >= q.From && (q.To == "" || sort <= q.To)
		if got := bytes.Compare(key, lo) >= 0 && bytes.Compare(key, hi) < 0; got != want {
			t.Fatalf("%q in %+v: %v, want %v", sort, q, got, want)
		}
	})
}

func TestEncodeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := []byte(texts(t, "key"))
		want := &entry{revision: texts(t, "revision"), record: store.Record{
			Value:    rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "value"),
			Counters: rapid.MapOfN(rapid.String(), rapid.Int64(), 1, 5).Draw(t, "counters"),
		}}
		if rapid.Bool().Draw(t, "indexed") {
			want.record.Index = store.Index{Partition: texts(t, "ip"), Sort: texts(t, "is")}
		}
		if rapid.Bool().Draw(t, "expires") {
			want.record.Expires = store.RoundExpiry(time.Unix(rapid.Int64Range(1, 1<<37).Draw(t, "seconds"), 0))
		}
		raw := encode(key, want)
		got, err := decode(key, raw)
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(want, got, gocmp.AllowUnexported(entry{})); d != "" {
			t.Fatal(d)
		}
		if _, err := decode(append(key, 'x'), raw); !errors.Is(err, ErrDamaged) {
			t.Fatalf("the record reads under another key: %v", err)
		}
	})
}

// Whatever the file holds, decoding ends with an entry or with ErrDamaged.
func FuzzDecode(f *testing.F) {
	key := []byte("k")
	f.Add(encode(key, &entry{revision: "r", record: store.Record{Value: []byte("v"), Counters: map[string]int64{"n": 1}, Index: store.Index{Partition: "p", Sort: "s"}}}), true)
	f.Add([]byte{recordVersion, 0, 0, 0, 0, 1, 'r', 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}, true)
	f.Fuzz(func(t *testing.T, b []byte, sign bool) {
		if b = slices.Clone(b); sign && len(b) >= 5 { // past the checksum
			b[0] = recordVersion
			sum := checksum(key, b[5:])
			b[1], b[2], b[3], b[4] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
		}
		e, err := decode(key, b)
		if (e == nil || e.revision == "") && !errors.Is(err, ErrDamaged) {
			t.Fatalf("entry %v, error %v", e, err)
		}
		if record, err := recordOfIndexKey(b); err == nil && len(record) == 0 {
			t.Fatal("an empty record key")
		}
		if _, err := parseRecordKey(store.Ledger, b); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}
