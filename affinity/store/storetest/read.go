package storetest

import (
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
