package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/affinity/store"
	"holdfast/affinity/store/storetest"
)

func TestMemoryConforms(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New: func(t testing.TB, now func() time.Time) store.Store {
			m := store.NewMemory(store.MemoryConfig{Now: now})
			t.Cleanup(func() { sound(t, m) })
			return m
		},
		Second: func(_ testing.TB, s store.Store, now func() time.Time) store.Store {
			return s.(*store.Memory).WithClock(now)
		},
	})
}

// sound holds the structures of every table against each other.
func sound(t testing.TB, m *store.Memory) {
	t.Helper()
	for _, table := range store.Tables() {
		if _, err := m.Stored(table); err != nil {
			t.Errorf("table %v: %v", table, err)
		}
	}
}

func stored(t testing.TB, m *store.Memory, table store.Table) int {
	t.Helper()
	n, err := m.Stored(table)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// small is a memory with a clock that a test sets.
type small struct {
	*store.Memory
	*testing.T
	now time.Time
}

func newSmall(t *testing.T, ephemeral, durable int) *small {
	s := &small{T: t, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.Memory = store.NewMemory(store.MemoryConfig{Now: func() time.Time { return s.now }, Ephemeral: ephemeral, Durable: durable})
	return s
}

func of(table store.Table, owner string, n int) store.Key {
	return store.Key{Table: table, Partition: owner + "/" + fmt.Sprint(n), Sort: "s"}
}

// put writes a record that lives for seconds, or for ever where that is 0.
func (s *small) put(k store.Key, seconds, bytes int) error {
	s.Helper()
	handles, err := s.Read(s.Context(), k)
	if err != nil {
		s.Fatal(err)
	}
	next := store.Record{Value: make([]byte, bytes)}
	if seconds > 0 {
		next.Expires = s.now.Add(time.Duration(seconds) * time.Second)
	}
	_, err = s.Swap(s.Context(), handles[0], next)
	return err
}

func (s *small) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *small) live(k store.Key) bool {
	s.Helper()
	handles, err := s.Read(s.Context(), k)
	if err != nil {
		s.Fatal(err)
	}
	_, live := handles[0].Record()
	return live
}

// want holds the live ones among an owner's first n records.
func (s *small) want(owner string, n int, want ...int) {
	s.Helper()
	var got []int
	for i := range n {
		if s.live(of(store.Affinity, owner, i)) {
			got = append(got, i)
		}
	}
	if !slices.Equal(got, want) {
		s.Errorf("owner %s has %v, want %v", owner, got, want)
	}
	sound(s.T, s.Memory)
}

// Readers, queries, writers and evictions at once; the race detector and the
// structures tell.
func TestMemoryUnderLoad(t *testing.T) {
	m := store.NewMemory(store.MemoryConfig{Ephemeral: 50, Durable: 500})
	var running sync.WaitGroup
	for w := range 8 {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for range 1500 {
				k := of(store.Table(random.IntN(4)), fmt.Sprint(random.IntN(6)), random.IntN(30))
				handles, err := m.Read(t.Context(), k)
				if err != nil {
					t.Error(err)
				}
				next := store.Record{Value: make([]byte, random.IntN(2000)), Expires: time.Now().Add(time.Duration(random.IntN(3)-1) * time.Second)}
				if k.Table.Indexed() {
					next.Index = store.Index{Partition: "i", Sort: fmt.Sprint(random.IntN(5))}
				}
				if _, err := m.Swap(t.Context(), handles[0], next); err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrFull) {
					t.Error(err)
				}
				page, err := m.Query(t.Context(), store.Query{Table: store.Ledger, Indexed: true, Partition: "i", Limit: 5, From: fmt.Sprint(random.IntN(5))})
				if err != nil {
					t.Error(err)
				}
				for _, h := range page.Handles {
					if r, _ := h.Record(); r.Index.Partition != "i" {
						t.Errorf("the index shows a record of %q", r.Index.Partition)
					}
				}
			}
		})
	}
	running.Wait()
	sound(t, m)
}
