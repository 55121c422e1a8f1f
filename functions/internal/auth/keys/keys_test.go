package keys_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/affinity/store"
	"holdfast/functions/internal/auth/keys"
	"holdfast/routing/catalog"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func book(s store.Store) keys.Book {
	return keys.Book{Store: s, Now: func() time.Time { return start }}
}

// faulty fails the nth Swap, before it is applied or after.
type faulty struct {
	store.Store
	fail    int
	applied bool
	err     error
}

func (f *faulty) Swap(ctx context.Context, h store.Handle, next store.Record) (store.Handle, error) {
	f.fail--
	if f.fail != 0 {
		return f.Store.Swap(ctx, h, next)
	}
	if f.applied {
		_, _ = f.Store.Swap(ctx, h, next)
	}
	return store.Handle{}, f.err
}

// A key that could not be made whole is not there, and its id is free again,
// whichever write failed and whether or not it was applied. Where it cannot be
// told, the id may stay taken by a key that nobody knows, and can be removed.
func TestMakeFails(t *testing.T) {
	for _, row := range []struct {
		write   int
		applied bool
		err     error
		again   error
	}{
		{1, false, store.ErrUnavailable, nil},
		{1, true, store.ErrUnknown, nil}, // a record that nothing names
		{2, false, store.ErrUnavailable, nil},
		{2, true, store.ErrUnknown, nil}, // what is named was taken back
	} {
		s := &faulty{Store: store.NewMemory(store.MemoryConfig{}), fail: row.write, applied: row.applied, err: row.err}
		b := book(s)
		if _, secret, err := b.Make(t.Context(), catalog.Key{ID: "k"}); !errors.Is(err, row.err) || secret != "" {
			t.Errorf("%+v: %q %v", row, secret, err)
		}
		if _, _, err := b.Make(t.Context(), catalog.Key{ID: "k"}); !errors.Is(err, row.again) {
			t.Errorf("%+v: then %v, want %v", row, err, row.again)
		}
		if _, _, err := b.Make(t.Context(), catalog.Key{ID: "k"}); !errors.Is(err, keys.ErrTaken) {
			t.Errorf("%+v: a third time %v", row, err)
		}
	}
}

// Of many makers of one id one wins, and no other leaves a key behind.
func TestOneIDIsTakenOnce(t *testing.T) {
	b := book(store.NewMemory(store.MemoryConfig{}))
	var all sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for range 32 {
		all.Go(func() {
			_, _, err := b.Make(t.Context(), catalog.Key{ID: "k"})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made++
			case !errors.Is(err, keys.ErrTaken):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, _, err := b.List(t.Context(), "", 0); made != 1 || len(list) != 1 || err != nil {
		t.Errorf("%d made, %d are there, %v", made, len(list), err)
	}
}

func TestChangesCompare(t *testing.T) {
	b := book(store.NewMemory(store.MemoryConfig{}))
	first, secret, err := b.Make(t.Context(), catalog.Key{ID: "k", User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	changed, err := b.Change(t.Context(), first, catalog.Key{ID: "other", User: "bob"})
	if err != nil || changed.ID != "k" || changed.User != "bob" || changed.KeySHA256 != first.KeySHA256 {
		t.Fatalf("%+v %v", changed, err)
	}
	if _, err := b.Change(t.Context(), first, catalog.Key{User: "eve"}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("over a newer record: %v", err)
	}
	if err := b.Remove(t.Context(), first); !errors.Is(err, store.ErrConflict) {
		t.Errorf("removing a newer record: %v", err)
	}
	if err := b.Remove(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Find(t.Context(), "k"); !errors.Is(err, keys.ErrNotFound) {
		t.Errorf("after its end: %v", err)
	}
	if _, _, err := b.Make(t.Context(), catalog.Key{ID: "k"}); !errors.Is(err, keys.ErrTaken) {
		t.Errorf("the id of a removed key was given to another: %v", err)
	}
	if !keys.Formed(secret) {
		t.Errorf("a key of %d bytes is not taken for one", len(secret))
	}
}

func TestFormed(t *testing.T) {
	good := "sk-hf-" + strings.Repeat("a", 43)
	for text, want := range map[string]bool{
		good: true, good + "a": false, good[:48]: false, "sk-hx-" + good[6:]: false, good[:48] + "-": false, good[:48] + "\n": false, "": false,
	} {
		if keys.Formed(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

// A ring forgets what is older than a minute and what is gone, follows changes,
// and is bounded.
func TestRing(t *testing.T) {
	now := start
	s := store.NewMemory(store.MemoryConfig{Now: func() time.Time { return now }})
	b := book(s)
	ring := &keys.Ring{Store: s, Now: func() time.Time { return now }}
	e, secret, err := b.Make(t.Context(), catalog.Key{ID: "k", User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(secret))
	if _, fresh := ring.Recall(sum); fresh {
		t.Error("seen before it was looked for")
	}
	if seen, err := ring.Look(t.Context(), sum); err != nil || seen.User != "ann" {
		t.Fatalf("%+v %v", seen, err)
	}
	now = now.Add(keys.Fresh - 1)
	if _, fresh := ring.Recall(sum); !fresh {
		t.Error("forgotten within the minute")
	}
	now = now.Add(1)
	if _, fresh := ring.Recall(sum); fresh {
		t.Error("taken as it was after a minute")
	}
	if e, err = b.Change(t.Context(), e, catalog.Key{User: "bob"}); err != nil {
		t.Fatal(err)
	}
	if seen, err := ring.Look(t.Context(), sum); err != nil || seen.User != "bob" {
		t.Errorf("%+v %v", seen, err)
	}
	for i := range 10_000 { // others push it out, but not at once
		other := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		value := []byte(`{"id":"x","key_sha256":"` + keys.Address(other).Sort + `"}`)
		if _, err := ring.Note(other, store.NewHandle(keys.Address(other), "r", store.Record{Value: value})); err != nil {
			t.Fatal(err)
		}
		if _, fresh := ring.Recall(sum); !fresh && i < 4095 {
			t.Fatalf("forgotten after %d others", i+1)
		}
	}
	if _, fresh := ring.Recall(sum); fresh {
		t.Error("10,000 others are kept beside it")
	}
	if err := b.Remove(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Look(t.Context(), sum); !errors.Is(err, keys.ErrNotFound) {
		t.Errorf("gone: %v", err)
	}
}

// A record under another key's address is no key.
func TestReadRefuses(t *testing.T) {
	at := keys.Address(sha256.Sum256([]byte("x")))
	for _, value := range []string{"", "{", `{"id":"k"}`, `{"id":"k","key_sha256":"` + strings.Repeat("0", 64) + `"}`} {
		if _, err := keys.Read(store.NewHandle(at, "r", store.Record{Value: []byte(value)})); !errors.Is(err, keys.ErrDamaged) {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// A removal that was broken off between its two writes is taken up by the next.
func TestRemoveFails(t *testing.T) {
	for _, row := range []struct {
		write   int
		applied bool
	}{{3, false}, {3, true}, {4, false}, {4, true}} {
		s := &faulty{Store: store.NewMemory(store.MemoryConfig{}), fail: row.write, applied: row.applied, err: store.ErrUnknown}
		b := book(s)
		if _, _, err := b.Make(t.Context(), catalog.Key{ID: "k"}); err != nil {
			t.Fatal(err)
		}
		e, err := b.Find(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Remove(t.Context(), e); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%+v: %v", row, err)
		}
		if e, err = b.Find(t.Context(), "k"); err == nil {
			err = b.Remove(t.Context(), e)
		} else if row.write == 4 && row.applied && errors.Is(err, keys.ErrNotFound) {
			err = nil
		}
		if _, gone := b.Find(t.Context(), "k"); err != nil || !errors.Is(gone, keys.ErrNotFound) {
			t.Errorf("%+v: then %v, %v", row, err, gone)
		}
		if _, _, err := b.Make(t.Context(), catalog.Key{ID: "k"}); !errors.Is(err, keys.ErrTaken) {
			t.Errorf("%+v: the id was given away: %v", row, err)
		}
	}
}
