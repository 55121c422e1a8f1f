package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/affinity/store"
)

// clock is a time that tests move.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *clock) Now() time.Time { return time.UnixMilli(c.at.Load()).UTC() }

func (c *clock) advance(by time.Duration) { c.at.Add(by.Milliseconds()) }

// watched is a store that counts what it is asked and fails where it is told to.
type watched struct {
	store.Store
	reads, swaps, queries atomic.Int64
	fault                 func(op string, n int64) (applied bool, err error) // n counts all writes from 1
}

func (w *watched) requests() int64 { return w.reads.Load() + w.swaps.Load() + w.queries.Load() }

func (w *watched) Read(ctx context.Context, keys ...store.Key) ([]store.Handle, error) {
	w.reads.Add(1)
	return w.Store.Read(ctx, keys...)
}

func (w *watched) Query(ctx context.Context, q store.Query) (store.Page, error) {
	w.queries.Add(1)
	return w.Store.Query(ctx, q)
}

func (w *watched) Swap(ctx context.Context, h store.Handle, next store.Record) (store.Handle, error) {
	n := w.swaps.Add(1)
	if w.fault == nil {
		return w.Store.Swap(ctx, h, next)
	}
	applied, err := w.fault("swap", n)
	if err == nil {
		return w.Store.Swap(ctx, h, next)
	}
	if applied {
		_, _ = w.Store.Swap(ctx, h, next)
	}
	return h, err
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// newBook returns a Book over a store.
func newBook(s store.Store, c *clock) *Book {
	return New(Config{Store: s, Now: c.Now, Log: quiet()})
}

func scoped(n int) string { return fmt.Sprintf("scoped-%032x", n) }

// sample is an event with numbers of its own.
func sample(random *rand.Rand, n int, at time.Time) Event {
	e := Event{
		ID: fmt.Sprintf("ev_%06d", n), Time: at, RequestID: fmt.Sprintf("req_%06d", n), Endpoint: "chat", Status: 200, Affinity: "hit",
		Key: fmt.Sprint("key-", random.IntN(3)), UserPath: "/acme/core/ann", Model: fmt.Sprint("model-", random.IntN(2)),
		Deployment: fmt.Sprint("dep-", random.IntN(4)), Provider: "openai", FirstByteMS: 10, DurationMS: 20,
	}
	if random.IntN(10) > 0 {
		e.SessionID = scoped(random.IntN(7))
	}
	if random.IntN(8) == 0 {
		e.Status, e.Deployment, e.ErrorCode = 502, "", "upstream_failed"
		return e
	}
	u := Usage{Input: random.Int64N(5000), CacheRead: random.Int64N(9000), CacheWrite5m: random.Int64N(100), Output: random.Int64N(700)}
	e.Usage = &u
	e.Cost, e.Saved = Charge(price(), u)
	return e
}

// appendAll appends events from several goroutines and reports those that got an
// error.
func appendAll(t *testing.T, events []Event, books ...*Book) (failed int) {
	t.Helper()
	var all sync.WaitGroup
	var wrong atomic.Int64
	work := make(chan Event)
	for i := range 64 * len(books) {
		all.Go(func() {
			for e := range work {
				if books[i%len(books)].Append(t.Context(), e) != nil {
					wrong.Add(1)
				}
			}
		})
	}
	for _, e := range events {
		work <- e
	}
	close(work)
	all.Wait()
	return int(wrong.Load())
}

// everything reads all events and all sums, and holds them against each other.
func everything(t *testing.T, s store.Store, c *clock) (events map[string]Event) {
	t.Helper()
	r := &Reader{Store: s, Now: c.Now}
	events, total, sessions := map[string]Event{}, Sums{}, map[string]Sums{}
	for _, e := range allEvents(t, r, Filter{}) {
		if _, twice := events[e.ID]; twice {
			t.Errorf("event %s is listed twice", e.ID)
		}
		events[e.ID] = e
		one := Of(&e)
		total.Add(&one)
		sum := sessions[e.SessionID]
		sum.Add(&one)
		sessions[e.SessionID] = sum
	}
	delete(sessions, "")
	listed := allSessions(t, r, Filter{})
	if len(listed) != len(sessions) {
		t.Errorf("%d sessions are listed, want %d", len(listed), len(sessions))
	}
	for _, one := range listed {
		if one.Sums != sessions[one.ID] {
			t.Errorf("session %s sums to\n%v, its events to\n%v", one.ID, one.Sums, sessions[one.ID])
		}
	}
	page, err := r.Sessions(t.Context(), Filter{}, Page{Limit: 1})
	if err != nil || page.Total != len(sessions) || page.AtLeast {
		t.Errorf("total %d (at least: %v), want %d: %v", page.Total, page.AtLeast, len(sessions), err)
	}
	span := Filter{From: c.Now().Add(-30 * 24 * time.Hour), To: c.Now().Add(time.Hour)}
	sum, err := r.Summary(t.Context(), span, 24*time.Hour)
	if err != nil || sum.Partial {
		t.Fatal(err, sum.Partial)
	}
	for name, got := range map[string]Sums{"all": without(sum.Totals), "models": together(sum.Models), "keys": together(sum.Keys)} {
		if got != total {
			t.Errorf("%s sum to\n%v, events to\n%v", name, got, total)
		}
	}
	return events
}

// without drops what only days count.
func without(s Sums) Sums { s[Settled] = 0; return s }

func together(all []Named) (sum Sums) {
	for _, one := range all {
		sum.Add(&one.Sums)
	}
	return sum
}

func allEvents(t *testing.T, r *Reader, f Filter) (all []Event) {
	t.Helper()
	for next := ""; ; {
		page, err := r.Events(t.Context(), f, Page{Limit: 50, Cursor: next})
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, page.Events...); page.Next == "" {
			return all
		}
		next = page.Next
	}
}

func allSessions(t *testing.T, r *Reader, f Filter) (all []Session) {
	t.Helper()
	for next := ""; ; {
		page, err := r.Sessions(t.Context(), f, Page{Limit: 3, Cursor: next})
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, page.Sessions...); page.Next == "" {
			return all
		}
		next = page.Next
	}
}

// bounded is the event as it is kept.
func (e Event) bounded() Event {
	e.bound()
	return e
}
