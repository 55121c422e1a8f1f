package ledger

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/affinity/store/dynamo"
	"holdfast/localstack/dynalite"
	"holdfast/localstack/wirefault"
)

// wireEvents is how many events the test on DynamoDB's wire books. The variable
// asks for more: 100,000 take some minutes there.
func wireEvents(t *testing.T) int {
	text := os.Getenv("HOLDFAST_LEDGER_EVENTS")
	if text == "" {
		return 3000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// appendInsisting appends events until each is booked, as whoever is told that
// nobody knows may do: on a slow machine the store is away for a while. It reports
// how often it had to.
func appendInsisting(t *testing.T, events []Event, books ...*Book) int64 {
	t.Helper()
	var all sync.WaitGroup
	var again atomic.Int64
	work := make(chan Event)
	for i := range 64 * len(books) {
		all.Go(func() {
			for e := range work {
				for books[i%len(books)].Append(t.Context(), e) != nil && t.Context().Err() == nil {
					again.Add(1)
					time.Sleep(100 * time.Millisecond)
				}
			}
		})
	}
	for _, e := range events {
		work <- e
	}
	close(work)
	all.Wait()
	return again.Load()
}

// TestOnTheWire counts requests on DynamoDB's wire: booking needs no Query and
// reading no write, as the permissions of the gateway and the console say; nobody
// scans; and a page takes fewer than ten requests.
func TestOnTheWire(t *testing.T) {
	c, n := newClock(), wireEvents(t)
	server := dynalite.StartT(t)
	front := wirefault.New(wirefault.Config{Target: server.Endpoint()})
	proxy := httptest.NewServer(front)
	defer proxy.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "local")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "local")
	at := dynamo.Config{Region: "us-east-1", Endpoint: proxy.URL}
	client, err := dynamo.NewClient(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := dynamo.CreateTables(t.Context(), client, server.Prefix()); err != nil {
		t.Fatal(err)
	}
	records, err := dynamo.New(dynamo.Config{Client: client, Prefix: server.Prefix(), Now: c.Now, AttemptTimeout: 20 * time.Second, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	events := make([]Event, n)
	for i := range events {
		events[i] = Event{
			ID: fmt.Sprintf("ev_%06d", i), Time: c.Now().Add(-time.Duration(n-i) * 5 * time.Second), SessionID: scoped(i / 10), Key: "k", Model: fmt.Sprint("m", i%3),
			Deployment: fmt.Sprint("d", i%9), Endpoint: "chat", Status: 200, Usage: &Usage{Input: 10, Output: 2},
		}
	}
	front.ResetCounts()
	if again := appendInsisting(t, events, newBook(records, c), newBook(records, c)); again > 0 {
		t.Logf("%d of %d were appended again", again, n)
	}
	t.Logf("booking took %v", front.Counts())
	if counts := front.Counts(); counts["Query"]+counts["Scan"] > 0 {
		t.Errorf("booking: %v", counts)
	}
	r := &Reader{Store: records, Now: c.Now}
	within := func(what string, ask func() error) {
		t.Helper()
		front.ResetCounts()
		err := ask()
		counts, all := front.Counts(), 0
		for _, n := range counts {
			all += n
		}
		if err != nil || all >= 10 || counts["PutItem"]+counts["UpdateItem"]+counts["Scan"] > 0 {
			t.Errorf("%s: %v %v", what, counts, err)
		}
	}
	next := ""
	for range 3 {
		within("exchanges", func() error {
			p, err := r.Events(t.Context(), Filter{}, Page{Limit: 200, Cursor: next})
			if next = p.Next; len(p.Events) != 200 {
				t.Errorf("%d exchanges on a page", len(p.Events))
			}
			return err
		})
	}
	within("sessions", func() error {
		p, err := r.Sessions(t.Context(), Filter{From: c.Now().AddDate(0, 0, -30).Truncate(24 * time.Hour)}, Page{Limit: 50, Offset: n / 20})
		if p.Total != n/10 || p.AtLeast || len(p.Sessions) != 50 || p.Sessions[0].ID != scoped(n/10-1-n/20) {
			t.Errorf("%d of %d sessions", len(p.Sessions), p.Total)
		}
		return err
	})
	within("a session", func() error {
		p, err := r.Events(t.Context(), Filter{Session: scoped(3)}, Page{Limit: 50})
		if len(p.Events) != 10 {
			t.Errorf("%d exchanges of a session", len(p.Events))
		}
		return err
	})
	sum, err := r.Summary(t.Context(), Filter{From: c.Now().AddDate(0, 0, -30), To: c.Now()}, 24*time.Hour)
	if err != nil || sum.Partial || sum.Totals[Requests] != int64(n) {
		t.Errorf("%v %v", sum.Totals, err)
	}
}
