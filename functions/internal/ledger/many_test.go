package ledger

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"holdfast/affinity/store/bolt"
)

// TestHundredThousand books 100,000 events of 10,000 sessions in a file and holds
// every page to its bound: fewer than ten requests, wherever it is, and memory
// that does not grow with what is there.
func TestHundredThousand(t *testing.T) {
	const count, perSession = 100_000, 10
	c := newClock()
	file, err := bolt.Open(bolt.Config{Path: filepath.Join(t.TempDir(), "ledger"), Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := &watched{Store: file}
	r := &Reader{Store: s, Now: c.Now}
	events := make([]Event, count)
	for i := range events {
		events[i] = Event{
			ID: fmt.Sprintf("ev_%06d", i), Time: c.Now().Add(-time.Duration(count-i) * 5 * time.Second), SessionID: scoped(i / perSession),
			Key: fmt.Sprint("key-", i%20), UserPath: "/acme/core/ann", Model: fmt.Sprint("model-", i%5), Deployment: fmt.Sprint("dep-", i%15),
			Provider: "openai", Endpoint: "chat", Status: 200, Affinity: "hit", Usage: &Usage{Input: 10, CacheRead: 2000, Output: 20},
		}
		events[i].Cost, events[i].Saved = Charge(price(), *events[i].Usage)
	}
	books := make([]*Book, 8)
	for i := range books {
		books[i] = newBook(s, c)
	}
	if failed := appendAll(t, events, books...); failed > 0 {
		t.Fatalf("%d were not booked", failed)
	}
	events = nil
	within := func(what string, ask func() error) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		asked := s.requests()
		if err := ask(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		runtime.ReadMemStats(&after)
		if n, grown := s.requests()-asked, after.TotalAlloc-before.TotalAlloc; n >= 10 || grown > 32<<20 {
			t.Errorf("%s took %d requests and %d MiB", what, n, grown>>20)
		}
	}
	seen, next := 0, ""
	for page := range 30 { // the first pages, one after the other
		within(fmt.Sprint("page of exchanges ", page), func() error {
			p, err := r.Events(t.Context(), Filter{}, Page{Limit: 200, Cursor: next})
			seen, next = seen+len(p.Events), p.Next
			return err
		})
	}
	if seen != 30*200 {
		t.Errorf("%d exchanges on 30 pages", seen)
	}
	for _, offset := range []int{0, 50, 4_321, 9_950, 20_000} {
		within(fmt.Sprint("sessions from ", offset), func() error {
			p, err := r.Sessions(t.Context(), Filter{}, Page{Limit: 50, Offset: offset})
			want := max(0, min(50, count/perSession-offset))
			if p.Total != count/perSession || p.AtLeast || len(p.Sessions) != want {
				t.Errorf("from %d: %d of %d sessions (at least: %v)", offset, len(p.Sessions), p.Total, p.AtLeast)
			} else if want > 0 && p.Sessions[0].ID != scoped(count/perSession-1-offset) {
				t.Errorf("from %d: %s comes first", offset, p.Sessions[0].ID)
			}
			return err
		})
	}
	mid := c.Now().Add(-count / 2 * 5 * time.Second).Add(7 * time.Minute) // within an hour
	for name, row := range map[string]struct {
		filter  Filter
		want    int
		atLeast bool
	}{
		"key":   {Filter{Key: "key-3"}, count / perSession / 2, false},
		"model": {Filter{Model: "model-2"}, count / perSession, false},
		"to":    {Filter{To: mid}, count/perSession/2 + 9, false},
		"from":  {Filter{From: mid}, count/perSession/2 - 8, false},
		"two":   {Filter{Model: "model-1", Deployment: "dep-1"}, 0, true}, // each must be looked through
	} {
		asked := s.requests()
		p, err := r.Sessions(t.Context(), row.filter, Page{Limit: 50})
		if n := s.requests() - asked; err != nil || n > filteredBudget+countBudget || p.AtLeast != row.atLeast || !p.AtLeast && p.Total != row.want {
			t.Errorf("%s: total %d (at least: %v), want %d, after %d requests: %v", name, p.Total, p.AtLeast, row.want, n, err)
		}
		next, err := r.Sessions(t.Context(), row.filter, Page{Limit: 50, Cursor: p.Next})
		if err != nil || !row.atLeast && (next.Total != row.want || next.AtLeast) || len(next.Sessions) == 50 && next.Sessions[0].ID == p.Sessions[0].ID {
			t.Errorf("%s: then total %d (at least: %v): %v", name, next.Total, next.AtLeast, err)
		}
	}
	within("one session", func() error {
		p, err := r.Events(t.Context(), Filter{Session: scoped(77)}, Page{Limit: 50})
		if len(p.Events) != perSession {
			t.Errorf("%d exchanges of a session", len(p.Events))
		}
		return err
	})
	sum, err := r.Summary(t.Context(), Filter{From: c.Now().Add(-7 * 24 * time.Hour), To: c.Now()}, 24*time.Hour)
	if err != nil || sum.Partial || sum.Totals[Requests] != count || together(sum.Deployments) != without(sum.Totals) {
		t.Errorf("%v %v", sum.Totals, err)
	}
}
