package ledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/affinity/store"
)

// shelf is a ledger with events in it.
type shelf struct {
	*Reader
	store  *watched
	clock  *clock
	events []Event // the newest first
}

// newShelf books n sample events, the last an hour after the first.
func newShelf(t *testing.T, n int) *shelf {
	t.Helper()
	c, random := newClock(), rand.New(rand.NewPCG(11, 12))
	s := &shelf{store: &watched{Store: store.NewMemory(store.MemoryConfig{Now: c.Now})}, clock: c}
	s.Reader = &Reader{Store: s.store, Now: c.Now}
	begin := c.Now().Add(-time.Hour)
	for i := range n {
		e := sample(random, i, begin.Add(time.Duration(i)*time.Hour/time.Duration(n)))
		e.Labels = []string{fmt.Sprint("label-", i%4)}
		e.UserPath = []string{"/acme", "/acme/core", "/acmex"}[i%3]
		s.events = append([]Event{e.bounded()}, s.events...)
	}
	if appendAll(t, s.events, newBook(s.store, c)) > 0 {
		t.Fatal("not all events were booked")
	}
	return s
}

// filters is one of each kind, and some together.
func (s *shelf) filters() map[string]Filter {
	mid := s.clock.Now().Add(-30 * time.Minute)
	return map[string]Filter{
		"none": {}, "session": {Session: scoped(3)}, "key": {Key: "key-1"}, "model": {Model: "model-0"}, "deployment": {Deployment: "dep-2"},
		"provider": {Provider: "openai"}, "nobody": {Provider: "none"}, "label": {Label: "label-2"}, "status": {Status: "502"}, "class": {Status: "5xx"},
		"path": {UserPath: "/acme"}, "deeper": {UserPath: "/acme/core"}, "from": {From: mid}, "to": {To: mid},
		"both": {From: mid.Add(-time.Minute), To: mid}, "two": {Model: "model-1", Status: "5xx"},
		"session and more": {Session: scoped(2), Label: "label-1", Status: "2xx"},
	}
}

// TestEventList pages through every filter: each exchange that is chosen comes
// once, the newest first.
func TestEventList(t *testing.T) {
	s := newShelf(t, 500)
	for name, f := range s.filters() {
		var want, got []string
		for _, e := range s.events {
			if f.Matches(&e) {
				want = append(want, e.ID)
			}
		}
		for _, e := range allEvents(t, s.Reader, f) {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, want) || (len(want) == 0) != (name == "nobody") {
			t.Errorf("%s: %d events, want %d in this order", name, len(got), len(want))
		}
	}
}

// TestSessionList does the same for sessions: filters decide which are listed and
// which exchange stands for each; counts are of the whole session.
func TestSessionList(t *testing.T) {
	s := newShelf(t, 500)
	whole, last := map[string]Sums{}, map[string]time.Time{}
	for _, e := range s.events {
		one, sum := Of(&e), whole[e.SessionID]
		sum.Add(&one)
		whole[e.SessionID] = sum
		if last[e.SessionID].IsZero() {
			last[e.SessionID] = e.Time
		}
	}
	for name, f := range s.filters() {
		stands := map[string]string{} // session → its newest event that is chosen
		for _, e := range s.events {
			if f.Matches(&e) && e.SessionID != "" && stands[e.SessionID] == "" {
				stands[e.SessionID] = e.ID
			}
		}
		listed := allSessions(t, s.Reader, f)
		s.totals(t, name, f, len(stands))
		if len(listed) != len(stands) {
			t.Errorf("%s: %d sessions, want %d", name, len(listed), len(stands))
		}
		for i, one := range listed {
			if one.Sums != whole[one.ID] || one.Latest.ID != stands[one.ID] || !one.Last.Equal(last[one.ID]) {
				t.Errorf("%s: %s stands for %s, want %s; or its sums are of a part", name, one.Latest.ID, one.ID, stands[one.ID])
			}
			if i > 0 && one.Last.After(listed[i-1].Last) {
				t.Errorf("%s: not the newest first", name)
			}
		}
	}
}

// totals holds every page to the exact number of all, by cursor and by offset.
func (s *shelf) totals(t *testing.T, name string, f Filter, want int) {
	t.Helper()
	for next, pages := "", 0; ; pages++ {
		page, err := s.Sessions(t.Context(), f, Page{Limit: 2, Cursor: next})
		if err != nil || page.Total != want || page.AtLeast {
			t.Errorf("%s, page %d: total %d (at least: %v), want %d: %v", name, pages, page.Total, page.AtLeast, want, err)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	for offset := range want + 2 {
		page, err := s.Sessions(t.Context(), f, Page{Limit: 1, Offset: offset})
		if err != nil || page.Total != want || page.AtLeast {
			t.Errorf("%s, from %d: total %d (at least: %v), want %d: %v", name, offset, page.Total, page.AtLeast, want, err)
		}
	}
}

// TestOffset pages by offset, with and without a filter, and counts.
func TestOffset(t *testing.T) {
	s := newShelf(t, 300)
	for name, f := range map[string]Filter{"none": {}, "from": {From: s.clock.Now().Add(-24 * time.Hour)}, "model": {Model: "model-0"}} {
		all := allSessions(t, s.Reader, f)
		for offset := range len(all) + 2 {
			page, err := s.Sessions(t.Context(), f, Page{Limit: 2, Offset: offset})
			want := all[min(offset, len(all)):min(offset+2, len(all))]
			if err != nil || len(page.Sessions) != len(want) || len(want) > 0 && page.Sessions[0].ID != want[0].ID {
				t.Errorf("%s, offset %d: %d sessions, want %d: %v", name, offset, len(page.Sessions), len(want), err)
			}
			if page.Total != len(all) || page.AtLeast {
				t.Errorf("%s: total %d, want %d", name, page.Total, len(all))
			}
		}
	}
}

// TestCursors: a cursor belongs to its list and its filter.
func TestCursors(t *testing.T) {
	s := newShelf(t, 50)
	page, err := s.Events(t.Context(), Filter{}, Page{Limit: 5})
	if err != nil || page.Next == "" {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() error{
		"another filter": func() error {
			_, err := s.Events(t.Context(), Filter{Key: "k"}, Page{Limit: 5, Cursor: page.Next})
			return err
		},
		"another list": func() error {
			_, err := s.Sessions(t.Context(), Filter{}, Page{Limit: 5, Cursor: page.Next})
			return err
		},
		"nonsense": func() error {
			_, err := s.Events(t.Context(), Filter{}, Page{Limit: 5, Cursor: "%%"})
			return err
		},
	} {
		if err := ask(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBoundedWork: a page whose filter chooses next to nothing ends early, with a
// cursor, and the pages together find it.
func TestBoundedWork(t *testing.T) {
	c := newClock()
	s := &watched{Store: store.NewMemory(store.MemoryConfig{Now: c.Now})}
	r := &Reader{Store: s, Now: c.Now}
	book := newBook(s, c)
	events := make([]Event, 12_000)
	for i := range events {
		events[i] = Event{ID: fmt.Sprint("e", i), Time: c.Now().Add(-time.Duration(i) * time.Second), SessionID: scoped(1), Model: "m", Key: "k", Status: 200}
	}
	events[len(events)-1].Model = "rare"
	if appendAll(t, events, book) > 0 {
		t.Fatal("not booked")
	}
	pages := 0
	for next := ""; ; pages++ {
		before := s.requests()
		page, err := r.Events(t.Context(), Filter{Model: "rare"}, Page{Limit: 50, Cursor: next})
		if err != nil || s.requests()-before > filteredBudget {
			t.Fatalf("%d requests: %v", s.requests()-before, err)
		}
		if len(page.Events) == 1 {
			break
		}
		if next = page.Next; next == "" {
			t.Fatal("not found")
		}
	}
	for next := ""; ; pages++ {
		before := s.requests()
		page, err := r.Sessions(t.Context(), Filter{Model: "rare"}, Page{Limit: 50, Cursor: next})
		if err != nil || s.requests()-before > filteredBudget {
			t.Fatalf("%d requests: %v", s.requests()-before, err)
		}
		if len(page.Sessions) == 1 {
			if page.Sessions[0].Latest.Model != "rare" || page.Sessions[0].Sums[Requests] != int64(len(events)) {
				t.Errorf("%+v", page.Sessions[0])
			}
			break
		}
		if next = page.Next; next == "" {
			t.Fatal("not found")
		}
	}
	if pages < 2 {
		t.Error("no page came short: nothing was bounded")
	}
}

// TestSummary holds filtered summaries against the events.
func TestSummary(t *testing.T) {
	s := newShelf(t, 400)
	for name, f := range s.filters() {
		if f.From.IsZero() {
			f.From = s.clock.Now().Add(-3 * time.Hour)
		}
		if f.To.IsZero() {
			f.To = s.clock.Now().Add(time.Second)
		}
		f.From, f.To = f.From.Truncate(time.Hour), f.To.Add(time.Hour-1).Truncate(time.Hour)
		got, err := s.Summary(t.Context(), f, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		var want Sums
		models := map[string]bool{}
		for _, e := range s.events {
			if f.Matches(&e) {
				one := Of(&e)
				want.Add(&one)
				models[e.Model] = true
			}
		}
		if without(got.Totals) != want || together(got.Models) != want || len(got.Models) != len(models) || got.Partial {
			t.Errorf("%s: totals\n%v\nmodels\n%v, want\n%v", name, got.Totals, together(got.Models), want)
		}
		for _, one := range got.Deployments { // where one alone has been asked, its rates are the series'
			if len(one.Rates) != len(got.Series) {
				t.Fatalf("%s: %d rates of %s in %d steps", name, len(one.Rates), one.Name, len(got.Series))
			}
			if f.Deployment != one.Name {
				continue
			}
			for i, rate := range one.Rates {
				if want := got.Series[i].Sums.HitRate(); (rate == nil) != (want == nil) || rate != nil && *rate != *want {
					t.Errorf("%s: the rate of %s in step %d is %v, want %v", name, one.Name, i, rate, want)
				}
			}
		}
		if steps := int(f.To.Sub(f.From) / time.Hour); len(got.Series) != steps {
			t.Errorf("%s: %d steps, want %d", name, len(got.Series), steps)
		}
	}
	if _, err := s.Summary(t.Context(), Filter{From: s.clock.Now().Add(-365 * 24 * time.Hour), To: s.clock.Now()}, time.Hour); !errors.Is(err, ErrTooLong) {
		t.Errorf("a year by the hour: %v", err)
	}
}

// TestNamesApart: names that are alike up to a separator do not meet.
func TestNamesApart(t *testing.T) {
	c := newClock()
	s := store.NewMemory(store.MemoryConfig{Now: c.Now})
	b := newBook(s, c)
	for i, model := range []string{"a/b", "a", "a0", "", "~"} {
		if err := b.Append(t.Context(), Event{ID: fmt.Sprint(i), Time: c.Now(), Model: model, SessionID: scoped(i)}); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := (&Reader{Store: s, Now: c.Now}).Summary(t.Context(), Filter{From: c.Now().Add(-time.Hour), To: c.Now().Add(time.Hour)}, time.Hour)
	if err != nil || len(sum.Models) != 5 || !strings.HasPrefix(sum.Models[2].Name, "a") {
		t.Errorf("%+v %v", sum.Models, err)
	}
}

// TestOrderWithinAMillisecond: exchanges of a client that asks again at once are
// listed in their order, of one session and of all; a stretch of time that begins
// or ends within that millisecond is exact.
func TestOrderWithinAMillisecond(t *testing.T) {
	s, c := store.NewMemory(store.MemoryConfig{}), newClock()
	start := c.Now()
	var (
		want []string
		all  []Event
	)
	for n := range 20 { // ids against the order of time
		e := sample(rand.New(rand.NewPCG(1, uint64(n))), 100-n, start.Add(time.Duration(n)*40*time.Microsecond))
		e.SessionID = scoped(1)
		want = append([]string{e.ID}, want...)
		all = append(all, e)
	}
	if appendAll(t, all, newBook(s, c)) > 0 {
		t.Fatal("not all events were booked")
	}
	r := &Reader{Store: s, Now: c.Now}
	from, to := start.Add(200*time.Microsecond), start.Add(600*time.Microsecond)
	for _, f := range []Filter{{}, {Session: scoped(1)}} {
		for _, row := range []struct {
			from, to time.Time
			want     []string
		}{{time.Time{}, time.Time{}, want}, {from, to, want[5:15]}} {
			f.From, f.To = row.from, row.to
			var got []string
			for _, e := range allEvents(t, r, f) {
				got = append(got, e.ID)
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("%+v: %v, want %v", f, got, row.want)
			}
		}
	}
	page, err := r.Sessions(t.Context(), Filter{To: to}, Page{Limit: 2})
	if err != nil || len(page.Sessions) != 1 || page.Total != 1 || page.Sessions[0].Latest.ID != want[5] {
		t.Errorf("%+v, %v", page, err)
	}
}
