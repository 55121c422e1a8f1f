package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"holdfast/affinity/store"
)

func TestMemoryHolds8192Preferences(t *testing.T) {
	s := newSmall(t, 0, 0)
	for i := range 8192 {
		s.must(s.put(of(store.Affinity, "o", i), 3600+i%100, 200))
	}
	for i := range 8192 {
		if !s.live(of(store.Affinity, "o", i)) {
			t.Fatalf("record %d left before the memory was full", i)
		}
	}
	for i := range 500 {
		s.must(s.put(of(store.Affinity, "o", 10_000+i), 7200, 200))
	}
	if got := stored(t, s.Memory, store.Affinity); got != 8192 {
		t.Errorf("%d records, want 8192", got)
	}
}

// In whatever order they came, they leave by their expiry; what never expires
// leaves last, and the newest write is never the one that leaves.
func TestMemoryEarliestExpiryLeavesFirst(t *testing.T) {
	s := newSmall(t, 5, 0)
	for i, seconds := range []int{30, 0, 10, 50, 20} {
		s.must(s.put(of(store.Affinity, "o", i), seconds, 1))
	}
	for i, want := range [][]int{{0, 1, 3, 4, 5}, {0, 1, 3, 5, 6}, {1, 3, 5, 6, 7}, {1, 5, 6, 7, 8}, {1, 5, 6, 7, 9}} {
		seconds := 100 + i
		if i == 4 {
			seconds = 60 // earlier than all others: the one before leaves all the same
			want = []int{1, 6, 7, 8, 9}
		}
		s.must(s.put(of(store.Affinity, "o", 5+i), seconds, 1))
		s.want("o", 10, want...)
	}
}

func TestMemoryRenewalMovesBack(t *testing.T) {
	s := newSmall(t, 3, 0)
	for i := range 3 {
		s.must(s.put(of(store.Affinity, "o", i), 10+i, 1))
	}
	s.must(s.put(of(store.Affinity, "o", 0), 60, 1)) // renewed
	s.must(s.put(of(store.Affinity, "o", 3), 30, 1))
	s.want("o", 4, 0, 2, 3)
}

func TestMemoryExpiredLeaveFirst(t *testing.T) {
	s := newSmall(t, 4, 0)
	s.must(s.put(of(store.Affinity, "few", 0), 5, 1))
	for i := range 3 {
		s.must(s.put(of(store.Affinity, "many", i), 60+i, 1))
	}
	s.now = s.now.Add(10 * time.Second)
	s.must(s.put(of(store.Affinity, "many", 3), 90, 1))
	s.want("many", 4, 0, 1, 2, 3)
}

// One owner writes as much as he likes; the others keep what they have.
func TestMemoryOwnersKeepTheirShare(t *testing.T) {
	s := newSmall(t, 12, 0)
	for i := range 4 {
		s.must(s.put(of(store.Affinity, "a", i), 10+i, 1)) // the earliest of all
		s.must(s.put(of(store.Affinity, "b", i), 20+i, 1))
	}
	for i := range 50 {
		s.must(s.put(of(store.Affinity, "greedy", i), 1000, 1))
	}
	s.want("a", 4, 0, 1, 2, 3)
	s.want("b", 4, 0, 1, 2, 3)
	for i := range 4 { // a newcomer gets a share from who has most
		s.must(s.put(of(store.Affinity, "new", i), 5, 1))
	}
	s.want("new", 4, 1, 2, 3)
	s.want("b", 4, 1, 2, 3)
	if got := stored(t, s.Memory, store.Affinity); got != 12 {
		t.Errorf("%d records, want 12", got)
	}
}

// Whoever holds at most his share when somebody else writes loses nothing live.
func TestMemoryShareUnderRandomWrites(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const owners, each, places = 5, 40, 30
	s := newSmall(t, places, 0)
	mine := func(o int) (n int) {
		for i := range each {
			if s.live(of(store.Affinity, fmt.Sprint(o), i)) {
				n++
			}
		}
		return n
	}
	for step := range 500 {
		writer := random.IntN(owners)
		if random.IntN(3) > 0 {
			writer = step / 100 // one after the other gets greedy
		}
		s.now = s.now.Add(time.Duration(random.IntN(300)) * time.Millisecond)
		var before [owners]int
		for o := range owners {
			before[o] = mine(o)
		}
		s.must(s.put(of(store.Affinity, fmt.Sprint(writer), random.IntN(each)), random.IntN(100), 1))
		for o := range owners {
			if o != writer && before[o] <= places/owners && mine(o) != before[o] {
				t.Fatalf("step %d: owner %d had %d and has %d after a write of %d", step, o, before[o], mine(o), writer)
			}
		}
		sound(t, s.Memory)
	}
}

// Large values take more places, so that the bytes are bounded too.
func TestMemoryBoundsBytes(t *testing.T) {
	s := newSmall(t, 24, 0)
	for i := range 10 {
		s.must(s.put(of(store.Affinity, "large", i), 100+i, store.MaxValue)) // 11 places of 32 KiB
	}
	s.want("large", 10, 8, 9)
	s.must(s.put(of(store.Affinity, "large", 20), 100, 32<<10))
	s.must(s.put(of(store.Affinity, "large", 21), 101, 1))
	s.want("large", 10, 8, 9)
	s.must(s.put(of(store.Affinity, "large", 20), 100, 32<<10+1)) // grows by a place
	s.want("large", 30, 8, 9, 20)
	tiny := newSmall(t, 3, 0) // a record larger than all places takes them all
	tiny.must(tiny.put(of(store.Affinity, "o", 0), 100, 1))
	tiny.must(tiny.put(of(store.Affinity, "o", 1), 100, store.MaxValue))
	tiny.want("o", 2, 1)
}

// A record that grows pushes others out, of the next owner where its own has
// nothing else, but never itself.
func TestMemoryGrowingRecordStays(t *testing.T) {
	s := newSmall(t, 12, 0)
	s.must(s.put(of(store.Affinity, "grows", 0), 1, 200<<10)) // 7 places, the earliest expiry
	for i, owner := range []string{"a", "b", "b", "c", "d"} {
		s.must(s.put(of(store.Affinity, owner, i), 100+i, 1))
	}
	s.must(s.put(of(store.Affinity, "grows", 0), 1, 230<<10)) // 8
	s.want("grows", 1, 0)
	s.want("b", 3, 2)
	if got := stored(t, s.Memory, store.Affinity); got != 5 {
		t.Errorf("%d records, want 5", got)
	}
}

// Durable records stay until their expiry; a full table refuses what needs
// room, and nothing else.
func TestMemoryDurable(t *testing.T) {
	for _, table := range []store.Table{store.State, store.Config, store.Ledger} {
		s := newSmall(t, 0, 10)
		for i := range 10 {
			s.must(s.put(of(table, "o", i), []int{0, 60}[i%2], 1000))
		}
		full := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, store.ErrFull) {
				t.Errorf("%v: %s: error %v, want ErrFull", table, what, err)
			}
		}
		full("another record", s.put(of(table, "o", 10), 0, 1))
		_, err := s.Add(t.Context(), of(table, "o", 10), map[string]int64{"n": 1}, time.Time{})
		full("another counter", err)
		full("a record that grows", s.put(of(table, "o", 0), 0, 2000))
		s.must(s.put(of(table, "o", 0), 0, 1024))
		s.must(s.put(of(store.Affinity, "o", 0), 60, 1)) // the other tables have their own room
		for i := range 10 {
			if !s.live(of(table, "o", i)) {
				t.Errorf("%v: record %d left", table, i)
			}
		}
		handles, err := s.Read(t.Context(), of(table, "o", 0))
		s.must(err)
		_, err = s.Swap(t.Context(), handles[0], store.Delete())
		s.must(err)
		s.must(s.put(of(table, "o", 11), 0, 1))
		full("another record", s.put(of(table, "o", 12), 0, 1))
		s.now = s.now.Add(time.Minute) // five expire
		for i := range 5 {
			s.must(s.put(of(table, "o", 20+i), 0, 1))
		}
		full("a sixth record", s.put(of(table, "o", 26), 0, 1))
		for i := range 5 {
			s.must(s.put(of(table, "o", 20+i), 1, 1))
		}
		s.now = s.now.Add(time.Minute)
		s.must(s.put(of(table, "o", 30), 0, 5000)) // in the room of all five
		sound(t, s.Memory)
	}
}

// Without a goroutine and without being full, expired records leave with later
// writes.
func TestMemorySweeps(t *testing.T) {
	s := newSmall(t, 0, 0)
	for i := range 100 {
		s.must(s.put(of(store.Ledger, "o", i), 1, 1))
	}
	s.now = s.now.Add(time.Minute)
	for range 30 {
		s.must(s.put(of(store.Ledger, "o", 1000), 60, 1))
	}
	if got := stored(t, s.Memory, store.Ledger); got != 1 {
		t.Errorf("%d records are left, want 1", got)
	}
}
