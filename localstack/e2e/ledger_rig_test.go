package e2e

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// booked is an exchange as the ledger tells it.
type booked struct {
	ID         string `json:"id"`
	RequestID  string `json:"request_id"`
	SessionID  string `json:"session_id"`
	Key        string
	Model      string
	Endpoint   string
	Affinity   string
	Deployment string
	Provider   string
	Stream     bool
	Status     int
	ErrorCode  string `json:"error_code"`
	Attempts   []struct {
		Deployment, Outcome string
		Status              int
		Usage               *tokens
	}
	Usage       *tokens
	Cost        *struct{ Input, CacheRead, CacheWrite, Output, Total float64 }
	Saved       *float64 `json:"saved_cost"`
	Labels      []string
	Explanation struct {
		Commit     string
		Candidates []struct {
			Deployment, Reason string
			Kept               bool
		}
	}
}

// tokens are those of an event.
type tokens struct {
	Input     int
	CacheRead int `json:"cache_read"`
	Write5m   int `json:"cache_write_5m"`
	Write1h   int `json:"cache_write_1h"`
	Output    int
	Reasoning int
	Estimated bool
}

// summed is a session or a part of a summary.
type summed struct {
	SessionID string `json:"session_id"`
	Name      string
	Requests  int
	Input     int      `json:"input_tokens"`
	Output    int      `json:"output_tokens"`
	Cached    int      `json:"cached_tokens"`
	Cost      *float64 `json:"total_cost"`
	Saved     *float64 `json:"saved_cost"`
	HitRate   *float64 `json:"cache_hit_rate"`
}

// page is a page of a list.
type page[T any] struct {
	Entries []T
	Total   *int
	Next    string `json:"next_cursor"`
}

// read asks the admin API for something and decodes it.
func read[T any](t *testing.T, url string) T {
	t.Helper()
	a := admin(t, "GET", url, "")
	for n := 0; a.StatusCode == 503 && n < 20; n++ { // a busy machine's store
		time.Sleep(100 * time.Millisecond)
		a = admin(t, "GET", url, "")
	}
	var got T
	if err := json.Unmarshal([]byte(a.body), &got); a.StatusCode != 200 || err != nil {
		t.Fatalf("%s: %d %s %v", url, a.StatusCode, a.body, err)
	}
	return got
}

// paged reads every page of a list.
func paged[T any](t *testing.T, at string) (entries []T) {
	t.Helper()
	for next := ""; ; {
		p := read[page[T]](t, at+"&cursor="+url.QueryEscape(next))
		if entries = append(entries, p.Entries...); p.Next == "" {
			return entries
		}
		next = p.Next
	}
}

// summary is a summary of the ledger, in those parts that tests look at.
type summary struct {
	Totals       summed
	Series       []summed
	ByModel      []summed `json:"by_model"`
	ByKey        []summed `json:"by_key"`
	ByDeployment []summed `json:"by_deployment"`
}

// totalled reports whether all sums have taken these exchanges in: they are
// written behind the events, side by side.
func totalled(t *testing.T, at string, all []booked) bool {
	t.Helper()
	s := read[summary](t, at+"/admin/usage/summary?days=2")
	sessions := paged[summed](t, at+"/admin/usage/sessions?days=2&limit=200")
	holds := func(sums []summed, name func(booked) string) bool {
		missing := 0
		for _, e := range all {
			if name(e) != "" {
				missing++
			}
		}
		for _, one := range sums {
			missing -= one.Requests
		}
		return missing <= 0
	}
	return holds([]summed{s.Totals}, func(e booked) string { return e.ID }) &&
		holds(s.ByModel, func(e booked) string { return e.Model }) &&
		holds(s.ByKey, func(e booked) string { return e.Key }) &&
		holds(s.ByDeployment, func(e booked) string { return e.Deployment }) &&
		holds(sessions, func(e booked) string { return e.SessionID })
}

// events waits until so many exchanges are booked, and counted in every sum, and
// returns them, the newest first.
func events(t *testing.T, at string, n int, filters ...string) []booked {
	t.Helper()
	var got []booked
	for range 1500 { // a store that was busy is tried again every second
		if got = paged[booked](t, at+"/admin/audit/log?limit=200&"+strings.Join(filters, "&")); len(got) >= n && (len(filters) > 0 || totalled(t, at, got)) {
			return got
		}
		time.Sleep(time.Duration(10+n/10) * time.Millisecond) // they are booked after the answer
	}
	t.Fatalf("%d exchanges are booked, want %d; counted in every sum: %v", len(got), n, totalled(t, at, got))
	return nil
}

// table reads a list as CSV: a row a map by column.
func table(t *testing.T, url string) []map[string]string {
	t.Helper()
	a := admin(t, "GET", url, "")
	rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
	if err != nil || a.StatusCode != 200 || len(rows) == 0 || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/csv") {
		t.Fatalf("%s: %d %v %s", url, a.StatusCode, err, a.body)
	}
	var all []map[string]string
	for _, row := range rows[1:] {
		one := map[string]string{}
		for i, name := range rows[0] {
			one[name] = row[i]
		}
		all = append(all, one)
	}
	return all
}

// near compares money.
func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// balanced holds all sums of the ledger against its events, and returns the
// events.
func balanced(t *testing.T, at string, n int) []booked {
	t.Helper()
	for range 300 { // what the store did not take is tried again every second
		if read[struct{ Totals summed }](t, at+"/admin/usage/summary?days=2").Totals.Requests >= n {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	found := events(t, at, n)
	if len(found) != n {
		t.Errorf("%d exchanges are booked, want %d", len(found), n)
	}
	var requests, input, output int
	var cost float64
	sessions, ids := map[string]int{}, map[string]bool{}
	for _, e := range found {
		if ids[e.ID] {
			t.Errorf("%s is booked twice", e.ID)
		}
		ids[e.ID] = true
		requests++
		if e.SessionID != "" {
			sessions[e.SessionID]++
		}
		if u := e.Usage; u != nil {
			input += u.Input + u.CacheRead + u.Write5m + u.Write1h
			output += u.Output
		}
		if e.Cost != nil {
			cost += e.Cost.Total
		}
	}
	check := func(what string, parts []summed) {
		var sum summed
		total := 0.0
		for _, p := range parts {
			sum.Requests, sum.Input, sum.Output = sum.Requests+p.Requests, sum.Input+p.Input, sum.Output+p.Output
			if p.Cost != nil {
				total += *p.Cost
			}
		}
		if sum.Requests != requests || sum.Input != input || sum.Output != output || !near(total, cost) {
			t.Errorf("%s: %d requests, %d and %d tokens, %.6f USD; events: %d, %d and %d, %.6f",
				what, sum.Requests, sum.Input, sum.Output, total, requests, input, output, cost)
		}
	}
	report := paged[summed](t, at+"/admin/usage/sessions?days=2&limit=200")
	if len(report) != len(sessions) {
		t.Errorf("%d sessions, want %d", len(report), len(sessions))
	}
	for _, s := range report {
		if s.Requests != sessions[s.SessionID] {
			t.Errorf("%s: %d requests, its events are %d", s.SessionID, s.Requests, sessions[s.SessionID])
		}
	}
	if total := read[page[summed]](t, at+"/admin/usage/sessions?days=2&limit=1").Total; total == nil || *total != len(sessions) {
		t.Errorf("total %v, want %d", total, len(sessions))
	}
	if requests == sum(sessions) { // all have one
		check("sessions", report)
	}
	for _, by := range []string{"day", "hour"} {
		s := read[summary](t, at+"/admin/usage/summary?days=2&by="+by)
		check("total by "+by, []summed{s.Totals})
		check("series by "+by, s.Series)
		check("models by "+by, s.ByModel)
		check("keys by "+by, s.ByKey)
	}
	return found
}

func sum(of map[string]int) (n int) {
	for _, one := range of {
		n += one
	}
	return n
}

// scopedOf is the admin API's id of a caller's session.
func scopedOf(t *testing.T, at, key, raw string) string {
	t.Helper()
	found := read[page[booked]](t, fmt.Sprintf("%s/admin/audit/log?raw_session_id=%s&key=%s&limit=1", at, url.QueryEscape(raw), key))
	if len(found.Entries) == 0 {
		t.Fatalf("%s of %s has no exchange", raw, key)
	}
	return found.Entries[0].SessionID
}
