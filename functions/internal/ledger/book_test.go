package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/affinity/store"
)

// TestU4 books events from several processes over a store that loses writes and
// their answers. Sums by session, by day and by event agree to the last digit, and
// appending everything once more changes nothing.
func TestU4(t *testing.T) {
	for _, row := range []struct {
		name    string
		applied bool
		err     error
	}{
		{"failed, not applied", false, store.ErrUnavailable},
		{"unknown, not applied", false, store.ErrUnknown},
		{"unknown, applied", true, store.ErrUnknown},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, random := newClock(), rand.New(rand.NewPCG(1, 2))
				kept := store.NewMemory(store.MemoryConfig{Now: c.Now})
				faulty := &watched{Store: kept, fault: func(_ string, n int64) (bool, error) {
					if n%5 == 0 {
						return row.applied, row.err
					}
					return false, nil
				}}
				var events []Event
				for n := range 400 {
					events = append(events, sample(random, n, c.Now().Add(-time.Duration(random.IntN(72))*time.Hour)))
				}
				books := []*Book{newBook(faulty, c), newBook(faulty, c), newBook(faulty, c)}
				failed := appendAll(t, events, books...)
				time.Sleep(insistTime) // of the bubble's time: until no Book tries any more
				c.advance(2 * staleAfter)
				calm := newBook(kept, c)
				if err := calm.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				got := everything(t, kept, c)
				if len(got) != len(events)-lost(books) {
					t.Errorf("%d events of %d are there; %d failed, %d are said to be lost", len(got), len(events), failed, lost(books))
				}
				if n := appendAll(t, events, calm, newBook(kept, c)); n > 0 {
					t.Errorf("%d failed on a sound store", n)
				}
				if got := everything(t, kept, c); len(got) != len(events) {
					t.Errorf("after appending all again: %d events, want %d", len(got), len(events))
				}
			})
		})
	}
}

func lost(books []*Book) (n int) {
	for _, b := range books {
		_, dropped := b.Counts()
		n += int(dropped)
	}
	return n
}

// TestOutage takes the store away for half a minute: nobody waits for that long,
// and nothing is lost.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := store.NewMemory(store.MemoryConfig{})
		var away atomic.Bool
		s := &watched{Store: kept, fault: func(string, int64) (bool, error) {
			if away.Load() {
				return false, store.ErrUnavailable
			}
			return false, nil
		}}
		c, random := newClock(), rand.New(rand.NewPCG(13, 14))
		b := New(Config{Store: s, Log: quiet()})
		away.Store(true)
		for n := range 5 {
			begun := time.Now()
			if err := b.Append(t.Context(), sample(random, n, c.Now())); !errors.Is(err, store.ErrUnknown) || time.Since(begun) > time.Second {
				t.Errorf("%v after %v", err, time.Since(begun))
			}
		}
		time.Sleep(insistTime / 4)
		away.Store(false)
		time.Sleep(insistTime)
		if got := everything(t, kept, c); len(got) != 5 || lost([]*Book{b}) != 0 {
			t.Errorf("%d events, %d lost", len(got), lost([]*Book{b}))
		}
		away.Store(true)
		_ = b.Append(t.Context(), sample(random, 9, c.Now()))
		time.Sleep(2 * insistTime)
		if lost([]*Book{b}) != 1 {
			t.Error("an event that nobody takes is kept for ever")
		}
	})
}

// TestInterrupted ends the process after each of its writes in turn. Whatever was
// left is booked by another one's ordinary work, once.
func TestInterrupted(t *testing.T) {
	gone := context.Canceled // of a process that is no more, no error of a store
	for after := int64(0); ; after++ {
		c, random := newClock(), rand.New(rand.NewPCG(3, 4))
		kept := store.NewMemory(store.MemoryConfig{Now: c.Now})
		dying := &watched{Store: kept, fault: func(_ string, n int64) (bool, error) {
			if n > after {
				return false, gone
			}
			return false, nil
		}}
		first := newBook(dying, c)
		err := first.Append(t.Context(), sample(random, 1, c.Now()))
		c.advance(2 * staleAfter)
		second := newBook(kept, c)
		for n := range slots / sweepAtOnce {
			if err := second.Append(t.Context(), sample(random, 10+n, c.Now())); err != nil {
				t.Fatal(err)
			}
		}
		want := slots / sweepAtOnce
		if after > 0 { // the slot was written: nothing is lost
			want++
		}
		if got := everything(t, kept, c); len(got) != want {
			t.Errorf("ended after %d writes: %d events, want %d", after, len(got), want)
		}
		if err == nil {
			if after < 6 {
				t.Errorf("an event took only %d writes", after)
			}
			return
		}
	}
}

// TestFrozen lets a process stop in the middle of a batch, another one finish it
// and use its slot again, and the first go on: nothing counts twice.
func TestFrozen(t *testing.T) {
	c, random := newClock(), rand.New(rand.NewPCG(5, 6))
	kept := store.NewMemory(store.MemoryConfig{Now: c.Now})
	frozen, thaw := make(chan struct{}), make(chan struct{})
	slow := &watched{Store: kept, fault: func(_ string, n int64) (bool, error) {
		if n == 3 {
			close(frozen)
			<-thaw
		}
		return false, nil
	}}
	done := make(chan error, 1)
	go func() {
		done <- newBook(slow, c).Append(context.WithoutCancel(t.Context()), sample(random, 1, c.Now()))
	}()
	<-frozen
	c.advance(2 * staleAfter)
	other := newBook(kept, c)
	if err := other.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range 2 * slots { // the slot is used by others meanwhile
		if err := newBook(kept, c).Append(t.Context(), sample(random, 100+n, c.Now())); err != nil {
			t.Fatal(err)
		}
	}
	close(thaw)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := everything(t, kept, c); len(got) != 2*slots+1 {
		t.Errorf("%d events, want %d", len(got), 2*slots+1)
	}
}

// TestStopMissesNothing: what is booked beyond its caller's time is started where
// a stop waits for it.
func TestStopMissesNothing(t *testing.T) {
	c := newClock()
	s := store.NewMemory(store.MemoryConfig{Now: c.Now})
	var kept sync.WaitGroup
	b := New(Config{Store: s, Now: c.Now, Log: quiet(), Background: kept.Go})
	gone, leave := context.WithCancel(t.Context())
	leave()
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 20 {
		_ = b.Append(gone, sample(random, i, c.Now())) // nobody knows
	}
	kept.Wait()
	if found := everything(t, s, c); len(found) != 20 {
		t.Errorf("%d events are booked when the stop is over, want 20", len(found))
	}
}

// TestCost counts the trips of one event: a process that is running writes its
// slot, the event, the sums, and its slot again.
func TestCost(t *testing.T) {
	c, random := newClock(), rand.New(rand.NewPCG(7, 8))
	s := &watched{Store: store.NewMemory(store.MemoryConfig{Now: c.Now})}
	b := newBook(s, c)
	for n := range slots/sweepAtOnce + 1 { // the first look at all slots is done
		if err := b.Append(t.Context(), sample(random, n, c.Now())); err != nil {
			t.Fatal(err)
		}
	}
	e := sample(random, 1000, c.Now())
	e.SessionID, e.Deployment = scoped(1), "dep-0"
	before := s.reads.Load()
	writes := s.swaps.Load()
	if err := b.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if reads, writes := s.reads.Load()-before, s.swaps.Load()-writes; reads != 1 || writes != 8 || s.queries.Load() != 0 {
		t.Errorf("%d reads, %d writes, %d queries; want 1, 8 and none: the gateway may not query", reads, writes, s.queries.Load())
	}
}

// TestBatches shows that what waits is booked together.
func TestBatches(t *testing.T) {
	c, random := newClock(), rand.New(rand.NewPCG(9, 10))
	release := make(chan struct{})
	s := &watched{Store: store.NewMemory(store.MemoryConfig{Now: c.Now}), fault: func(_ string, n int64) (bool, error) {
		if n == 1 {
			<-release
		}
		return false, nil
	}}
	b := newBook(s, c)
	done := make(chan error, 65)
	for n := range 65 {
		e := sample(random, n, c.Now())
		go func() { done <- b.Append(context.WithoutCancel(t.Context()), e) }()
	}
	for b.queued() < 64 {
		time.Sleep(time.Millisecond)
	}
	close(release)
	for range 65 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if got := everything(t, s.Store, c); len(got) != 65 {
		t.Errorf("%d events", len(got))
	}
	if n := s.swaps.Load(); n > 65*4 {
		t.Errorf("%d writes for 65 events", n)
	}
}

func (b *Book) queued() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// TestBounded shows what is not kept: more than waits, and what nobody should
// see in a list.
func TestBounded(t *testing.T) {
	c := newClock()
	b := newBook(store.NewMemory(store.MemoryConfig{Now: c.Now}), c)
	b.waiting, b.running = make([]*waiting, maxWaiting), true
	if err := b.Append(t.Context(), Event{ID: "x"}); err != ErrBusy || lost([]*Book{b}) != 1 {
		t.Errorf("a full book: %v", err)
	}
	long := fmt.Sprintf("%0300d", 1)
	e := Event{ID: "y\x00", Model: long + "\n", Explanation: []byte("{"), Labels: []string{"a, b,,a", "c\r\n,d", "e,f"}}.bounded()
	if len(e.Model) != maxText || e.ID != "y" || e.Explanation != nil || fmt.Sprint(e.Labels) != "[a b c d e]" || e.Attempts == nil {
		t.Errorf("%+v", e)
	}
}
