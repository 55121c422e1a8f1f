package bolt_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/affinity/store"
	"holdfast/affinity/store/bolt"
)

// held opens a store whose next write does not end before release is called.
func held(t *testing.T) (s *bolt.Store, release func()) {
	s = open(t, filepath.Join(t.TempDir(), "store.db"), time.Now)
	gate := make(chan struct{})
	go func() {
		if err := s.Hold(gate); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
	return s, func() { close(gate) }
}

func commits(t *testing.T, s *bolt.Store) int {
	t.Helper()
	n, err := s.Commits()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Writes that gather while another is under way share one commit, and each of
// them is still answered exactly: per key one wins, the others carry it.
func TestWaitingWritesShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, release := held(t)
		before := commits(t, s)
		type end struct {
			key int
			h   store.Handle
			err error
		}
		ends := make(chan end, 64)
		for i := range cap(ends) {
			go func() {
				h, err := s.Swap(t.Context(), store.NewHandle(at(i%8), "", store.Record{}), store.Record{Value: []byte{byte(i)}})
				ends <- end{i % 8, h, err}
			}()
		}
		synctest.Wait()
		release()
		winners, losers := map[int]string{}, map[int][]string{}
		for range cap(ends) {
			switch e := <-ends; {
			case e.err == nil:
				winners[e.key] += e.h.Revision()
			case errors.Is(e.err, store.ErrConflict):
				losers[e.key] = append(losers[e.key], e.h.Revision())
			default:
				t.Error(e.err)
			}
		}
		if got := commits(t, s) - before; got != 1 {
			t.Errorf("64 writes took %d commits, want 1", got)
		}
		for k := range 8 {
			if len(losers[k]) != 7 {
				t.Errorf("key %d: %d callers lost, want 7", k, len(losers[k]))
			}
			for _, revision := range losers[k] {
				if revision != winners[k] {
					t.Errorf("key %d: a loser carries %q, the winner is %q", k, revision, winners[k])
				}
			}
		}
	})
}

// Only conflicts: nothing to sync.
func TestConflictsCommitNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store.db"), time.Now)
	put(t, s, at(0), store.Record{})
	before := commits(t, s)
	if _, err := s.Swap(t.Context(), store.NewHandle(at(0), "", store.Record{}), store.Record{}); !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
	if got := commits(t, s) - before; got != 0 {
		t.Errorf("a conflict took %d commits", got)
	}
}

// A caller that leaves while its write waits takes it back.
func TestLeavingWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, release := held(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Swap(ctx, store.NewHandle(at(0), "", store.Record{}), store.Record{Value: []byte("late")})
		if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("error %v, want ErrUnavailable and the deadline", err)
		}
		release()
		put(t, s, at(1), store.Record{}) // behind the one that was taken back
		if got := value(t, s, at(0)); got != "" {
			t.Errorf("a write that was taken back wrote %q", got)
		}
	})
}

// A caller that leaves while its write runs cannot know how it ends.
func TestLeavingWhileWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, filepath.Join(t.TempDir(), "store.db"), time.Now)
		gate := make(chan struct{})
		slow := s.WithClock(func() time.Time { <-gate; return time.Now() }) // asked inside the transaction
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, swap := slow.Swap(ctx, store.NewHandle(at(0), "", store.Record{}), store.Record{Value: []byte("v")})
		if !errors.Is(swap, store.ErrUnknown) || !errors.Is(swap, context.DeadlineExceeded) || errors.Is(swap, store.ErrUnavailable) {
			t.Errorf("error %v, want ErrUnknown and the deadline", swap)
		}
		close(gate)
		put(t, s, at(1), store.Record{})
		if got := value(t, s, at(0)); got != "v" {
			t.Errorf("the record reads %q", got)
		}
	})
}

// Close lets accepted writes end.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		s, err := bolt.Open(bolt.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		gate := make(chan struct{})
		slow := s.WithClock(func() time.Time { <-gate; return time.Now() })
		ended := make(chan error, 2)
		go func() {
			_, err := slow.Swap(t.Context(), store.NewHandle(at(0), "", store.Record{}), store.Record{Value: []byte("v")})
			ended <- err
		}()
		synctest.Wait()
		go func() { ended <- s.Close() }()
		synctest.Wait()
		close(gate)
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Fatal(err)
		}
		if got := value(t, open(t, path, time.Now), at(0)); got != "v" {
			t.Errorf("the record reads %q", got)
		}
	})
}

// Expired records leave with later writes, index and expiry entries too, and
// what is live stays.
func TestSweep(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, filepath.Join(t.TempDir(), "store.db"), func() time.Time { return now })
	for i := range 100 {
		k := store.Key{Table: store.Tables()[i%4], Partition: "p", Sort: string(rune('a' + i))}
		next := store.Record{Value: []byte("v"), Expires: now.Add(time.Duration(i+1) * time.Second)}
		if k.Table.Indexed() {
			next.Index = store.Index{Partition: "i", Sort: "s"}
		}
		put(t, s, k, next)
	}
	now = now.Add(80 * time.Second) // 80 of them are gone
	for range 20 {
		put(t, s, store.Key{Table: store.Config, Partition: "p", Sort: "ever"}, store.Record{Value: []byte("v")})
	}
	got, err := s.Stored()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"affinity": 5, "state": 5, "config": 6, "ledger": 5, "ledger-index": 5, "expiry": 20, "meta": 1}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("bucket %s holds %d keys, want %d", name, got[name], n)
		}
	}
}

// Renewing a record leaves nothing behind that a sweep would stumble over, and
// a sweep believes the record rather than an expiry that was left behind.
func TestRenewedRecordStays(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, filepath.Join(t.TempDir(), "store.db"), func() time.Time { return now })
	for i := range 10 {
		put(t, s, at(0), store.Record{Value: []byte("v"), Expires: now.Add(time.Duration(60+i) * time.Second)})
	}
	if got, err := s.Stored(); err != nil || got["expiry"] != 1 {
		t.Fatalf("%d expiries of one record, error %v", got["expiry"], err)
	}
	if err := s.Misplace(at(0), now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	now = now.Add(30 * time.Second)
	put(t, s, at(1), store.Record{}) // sweeps
	if got := value(t, s, at(0)); got != "v" {
		t.Errorf("a live record was swept, it reads %q", got)
	}
	if got, err := s.Stored(); err != nil || got["expiry"] != 1 {
		t.Errorf("%d expiries after the sweep, error %v", got["expiry"], err)
	}
}
