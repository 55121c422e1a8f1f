package bolt_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"holdfast/affinity/store"
	"holdfast/affinity/store/bolt"
)

func at(n int) store.Key {
	return store.Key{Table: store.Ledger, Partition: "p", Sort: string(rune('a' + n))}
}

func put(t *testing.T, s store.Store, k store.Key, next store.Record) store.Handle {
	t.Helper()
	handles, err := s.Read(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.Swap(t.Context(), handles[0], next)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func value(t *testing.T, s store.Store, k store.Key) string {
	t.Helper()
	handles, err := s.Read(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := handles[0].Record()
	return string(r.Value)
}

// A new process finds revisions, counters, index and expiries as they were.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "store.db")
	now := time.Now()
	clock := func() time.Time { return now }
	s, err := bolt.Open(bolt.Config{Path: path, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	h := put(t, s, at(0), store.Record{Value: []byte("v"), Index: store.Index{Partition: "i", Sort: "1"}})
	put(t, s, at(1), store.Record{Value: []byte("short"), Expires: now.Add(time.Minute)})
	if _, err := s.Add(t.Context(), at(2), map[string]int64{"n": 3}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	s = open(t, path, clock)
	if _, err := s.Swap(t.Context(), h, store.Record{Value: []byte("w"), Index: store.Index{Partition: "i", Sort: "2"}}); err != nil {
		t.Errorf("the handle of an earlier process: %v", err)
	}
	if got := value(t, s, at(1)); got != "" {
		t.Errorf("the expired record reads %q", got)
	}
	if got, err := s.Add(t.Context(), at(2), map[string]int64{"n": 4}, time.Time{}); err != nil || got["n"] != 7 {
		t.Errorf("the counter goes on to %v, %v", got, err)
	}
	page, err := s.Query(t.Context(), store.Query{Table: store.Ledger, Indexed: true, Partition: "i"})
	if err != nil || len(page.Handles) != 1 || page.Handles[0].Key() != at(0) {
		t.Errorf("the index shows %v, %v", page.Handles, err)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	open(t, path, time.Now)
	if _, err := bolt.Open(bolt.Config{Path: path, LockTimeout: time.Millisecond}); !errors.Is(err, bolt.ErrLocked) {
		t.Errorf("error %v, want ErrLocked", err)
	}
}

func TestClosed(t *testing.T) {
	s, err := bolt.Open(bolt.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	h := put(t, s, at(0), store.Record{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, read := s.Read(t.Context(), at(0))
	_, swap := s.Swap(t.Context(), h, store.Record{})
	_, add := s.Add(t.Context(), at(0), map[string]int64{"n": 1}, time.Time{})
	_, query := s.Query(t.Context(), store.Query{Partition: "p"})
	for i, err := range []error{read, swap, add, query} {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("call %d after Close: %v", i, err)
		}
	}
}

// Open leaves a file alone that it cannot use, and says why it cannot.
func TestRefusesFiles(t *testing.T) {
	for name, row := range map[string]struct {
		make func(t *testing.T, path string)
		want error
	}{
		"text":             {func(t *testing.T, p string) { write(t, p, bytes.Repeat([]byte("not a store\n"), 4096)) }, bolt.ErrForeign},
		"one byte":         {func(t *testing.T, p string) { write(t, p, []byte{1}) }, bolt.ErrForeign},
		"another program":  {func(t *testing.T, p string) { foreign(t, p, "users", "name", "value") }, bolt.ErrForeign},
		"a newer format":   {func(t *testing.T, p string) { foreign(t, p, "meta", "format", "holdfast-store-2") }, bolt.ErrForeign},
		"tables missing":   {func(t *testing.T, p string) { foreign(t, p, "meta", "format", "holdfast-store-1") }, bolt.ErrDamaged},
		"end cut off":      {func(t *testing.T, p string) { cut(t, p, 0.05) }, bolt.ErrDamaged},
		"almost all gone":  {func(t *testing.T, p string) { cut(t, p, 0.01) }, bolt.ErrDamaged},
		"zeros in between": {zeros, bolt.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			row.make(t, path)
			before := contents(t, path)
			s, err := bolt.Open(bolt.Config{Path: path})
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, row.want) {
				t.Errorf("error %v, want %v", err, row.want)
			}
			if !bytes.Equal(before, contents(t, path)) {
				t.Errorf("the file was changed")
			}
		})
	}
}

func TestRefusesFolder(t *testing.T) {
	if _, err := bolt.Open(bolt.Config{Path: t.TempDir()}); err == nil {
		t.Errorf("a folder was opened as a store")
	}
}

// A record whose bytes changed is an error, never a miss, and others live on.
func TestDamagedRecord(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"bit":      func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"cut":      func(b []byte) []byte { return b[:len(b)-2] },
		"empty":    func([]byte) []byte { return []byte{} },
		"version":  func(b []byte) []byte { b[0]++; return b },
		"swapped":  func(b []byte) []byte { return append(b[:5:5], b[6:]...) },
		"checksum": func(b []byte) []byte { b[2]++; return b },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "store.db"), time.Now)
			h := put(t, s, at(0), store.Record{Value: []byte("value")})
			put(t, s, at(1), store.Record{Value: []byte("good")})
			if err := s.Scribble("ledger", bolt.RecordKey(at(0)), change); err != nil {
				t.Fatal(err)
			}
			_, read := s.Read(t.Context(), at(1), at(0))
			_, swap := s.Swap(t.Context(), h, store.Record{})
			_, add := s.Add(t.Context(), at(0), map[string]int64{"n": 1}, time.Time{})
			_, query := s.Query(t.Context(), store.Query{Table: store.Ledger, Partition: "p"})
			for i, err := range []error{read, swap, add, query} {
				if !errors.Is(err, bolt.ErrDamaged) || !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("call %d on a damaged record: %v", i, err)
				}
			}
			if got := value(t, s, at(1)); got != "good" {
				t.Errorf("the record beside it reads %q", got)
			}
		})
	}
}

// A page that is not what its parent says makes bbolt panic. That must end
// neither the process nor, later, Close.
func TestDamagedPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := bolt.Open(bolt.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	h := put(t, s, at(0), store.Record{Value: bytes.Repeat([]byte("mark"), 20_000)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b := contents(t, path)
	page := bytes.Index(b, bytes.Repeat([]byte("mark"), 100)) / os.Getpagesize() * os.Getpagesize()
	copy(b[page:], make([]byte, 16)) // the page's header
	write(t, path, b)
	s = open(t, path, time.Now)
	for range 2 {
		_, read := s.Read(t.Context(), at(0))
		_, swap := s.Swap(t.Context(), h, store.Record{})
		for i, err := range []error{read, swap} {
			if !errors.Is(err, bolt.ErrDamaged) || !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("call %d on a damaged page: %v", i, err)
			}
		}
	}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func foreign(t *testing.T, path, bucket, key, value string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte(bucket))
		if err != nil {
			return err
		}
		return b.Put([]byte(key), []byte(value))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// full makes a store file of 2 MB in 16 MB of space and returns its bytes.
func full(t *testing.T, path string) []byte {
	t.Helper()
	s, err := bolt.Open(bolt.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		put(t, s, at(i), store.Record{Value: bytes.Repeat([]byte{byte(i)}, 100_000)})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return contents(t, path)
}

func cut(t *testing.T, path string, share float64) {
	b := full(t, path)
	write(t, path, b[:int(float64(len(b))*share)])
}

// zeros wipes everything behind the two meta pages.
func zeros(t *testing.T, path string) {
	b := full(t, path)
	clear(b[2*os.Getpagesize():])
	write(t, path, b)
}
