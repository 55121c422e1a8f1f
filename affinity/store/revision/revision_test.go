package revision_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"holdfast/affinity/store"
	"holdfast/affinity/store/revision"
)

func at(minute int) time.Time { return time.Date(2026, 11, 30, 12, minute, 0, 0, time.UTC) }

func newLog() revision.Log {
	return revision.Log{Store: store.NewMemory(store.MemoryConfig{Now: func() time.Time { return at(0) }})}
}

func head(t *testing.T, l revision.Log) store.Handle {
	t.Helper()
	h, err := l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func put(t *testing.T, l revision.Log, from store.Handle, text string, minute int) store.Handle {
	t.Helper()
	h, err := l.Put(t.Context(), from, []byte(text), at(minute))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestRoundTrip shows that every version stays readable, that the newest one
// rules, and that names sort by time.
func TestRoundTrip(t *testing.T) {
	l := newLog()
	empty := head(t, l)
	if name := revision.Name(empty); name != "" {
		t.Fatalf("an empty store names %q", name)
	}
	first := put(t, l, empty, "one", 1)
	second := put(t, l, first, "two", 2)
	if got := revision.Name(head(t, l)); got != revision.Name(second) || got <= revision.Name(first) {
		t.Errorf("in force %q after %q", got, revision.Name(first))
	}
	for name, want := range map[string]string{revision.Name(first): "one", revision.Name(second): "two"} {
		if got, err := l.Document(t.Context(), name); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// TestStaleHeadLoses shows that whoever read an older head changes nothing and
// learns what stands.
func TestStaleHeadLoses(t *testing.T) {
	l := newLog()
	empty := head(t, l)
	winner := put(t, l, empty, "winner", 1)
	stands, err := l.Put(t.Context(), empty, []byte("loser"), at(2))
	if !errors.Is(err, store.ErrConflict) || revision.Name(stands) != revision.Name(winner) {
		t.Errorf("%q %v, want a conflict with %q", revision.Name(stands), err, revision.Name(winner))
	}
	if got := revision.Name(head(t, l)); got != revision.Name(winner) {
		t.Errorf("in force %q", got)
	}
}

func TestBounds(t *testing.T) {
	l := newLog()
	noise := make([]byte, store.MaxValue+1)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	rows := map[string]struct {
		document []byte
		want     error
	}{
		"the largest, easy to compress":      {bytes.Repeat([]byte("a"), revision.MaxDocument), nil},
		"one byte more":                      {bytes.Repeat([]byte("a"), revision.MaxDocument+1), revision.ErrTooLarge},
		"too large for an item, compressed":  {noise, revision.ErrTooLarge},
		"empty, which still is a document's": {nil, nil},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			h, err := l.Put(t.Context(), head(t, l), row.document, at(1))
			if !errors.Is(err, row.want) {
				t.Fatalf("%v, want %v", err, row.want)
			}
			if err != nil {
				return
			}
			if got, err := l.Document(t.Context(), revision.Name(h)); err != nil || !bytes.Equal(got, row.document) {
				t.Errorf("%d bytes came back, %v", len(got), err)
			}
		})
	}
}

// TestDamage shows that what cannot be read is told apart from a store that
// does not answer.
func TestDamage(t *testing.T) {
	l := newLog()
	if _, err := l.Document(t.Context(), "20261130T120000.000-ABSENT"); !errors.Is(err, revision.ErrDamaged) {
		t.Errorf("absent: %v", err)
	}
	named := put(t, l, head(t, l), "one", 1)
	key := revision.Key()
	key.Sort = "revision/" + revision.Name(named)
	read, err := l.Store.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Store.Swap(t.Context(), read[0], store.Record{Value: []byte("not compressed")}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Document(t.Context(), revision.Name(named)); !errors.Is(err, revision.ErrDamaged) {
		t.Errorf("overwritten: %v", err)
	}
	broken, err := l.Store.Swap(t.Context(), head(t, l), store.Record{Value: []byte("{")})
	if err != nil || revision.Name(broken) != "" {
		t.Errorf("a head that is not JSON names %q, %v", revision.Name(broken), err)
	}
}

// TestNames: names that are remembered are those that Name reads, whichever
// record was read before.
func TestNames(t *testing.T) {
	ctx, records := t.Context(), store.NewMemory(store.MemoryConfig{})
	log := revision.Log{Store: records}
	absent, err := log.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	first, err := log.Put(ctx, absent, []byte("one"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	second, err := log.Put(ctx, first, []byte("two"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var names revision.Names
	for _, h := range []store.Handle{absent, first, first, second, absent, second, first} {
		if got, want := names.Of(h), revision.Name(h); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if revision.Name(first) == revision.Name(second) || revision.Name(first) == "" {
		t.Error("the two revisions have no names of their own")
	}
	reading := testing.AllocsPerRun(100, func() { first.Record() })
	if n := testing.AllocsPerRun(100, func() { names.Of(first) }); n > reading {
		t.Errorf("a name that is remembered allocates %v times, reading its record %v", n, reading)
	}
}

// TestOrderWithinAMillisecond: what was put later is listed first, however soon.
func TestOrderWithinAMillisecond(t *testing.T) {
	l := newLog()
	h, now := head(t, l), at(1)
	var want []string
	for range 20 {
		var err error
		if h, err = l.Put(t.Context(), h, []byte("document"), now); err != nil {
			t.Fatal(err)
		}
		want = append([]string{revision.Name(h)}, want...)
		now = now.Add(time.Microsecond)
	}
	if got, _, err := l.List(t.Context(), at(1), now, "", 0); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
}
