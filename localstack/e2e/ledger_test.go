package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
	"holdfast/localstack/wirefault"
)

// TestU1 holds what the ledger says against what the accounts have reported, for
// each protocol, as JSON and as a stream, and the cost against the price.
func TestU1(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	n := 0
	for _, endpoint := range protocols() {
		for _, stream := range []bool{false, true} {
			for turn := range 2 { // the second reads what the first has written
				body := ask(endpoint, stream, user(long(2000)), assistant("Yes."), user("Go on"))
				if a := post(t, r.URL+route(endpoint), body, "X-Session-Id", fmt.Sprint(endpoint, stream)); a.StatusCode != 200 {
					t.Fatal(turn, a.body)
				}
				n++
			}
		}
	}
	found := balanced(t, r.URL, n)
	byEndpoint := map[string][]tokens{}
	for _, e := range found {
		call := reportedBy(t, r, e)
		u := *e.Usage
		if u.Estimated || u.Input != call.Input || u.CacheRead != call.CacheRead || u.Write5m != call.CacheWrite5m || u.Write1h != call.CacheWrite1h || u.Output != call.Output {
			t.Errorf("%s (stream: %v): %+v is booked, the account has reported %+v", e.Endpoint, e.Stream, u, call)
		}
		want := (float64(u.Input)*3 + float64(u.CacheRead)*0.3 + float64(u.Write5m+u.Write1h)*3.75 + float64(u.Output)*15) / 1e6
		if e.Cost == nil || !near(e.Cost.Total, want) || e.Saved == nil || !near(*e.Saved, float64(u.CacheRead)*2.7/1e6) {
			t.Errorf("%s costs %+v and saves %v, want %f", e.Endpoint, e.Cost, e.Saved, want)
		}
		byEndpoint[e.Endpoint] = append(byEndpoint[e.Endpoint], u)
	}
	for endpoint, seen := range byEndpoint { // the newest first: stream 2, stream 1, JSON 2, JSON 1
		if len(seen) != 4 || seen[0] != seen[2] || seen[1] != seen[3] || seen[0].CacheRead == 0 {
			t.Errorf("%s: JSON and stream differ, or nothing was read from a cache: %+v", endpoint, seen)
		}
	}
}

// reportedBy is what the account behind an exchange has reported for it.
func reportedBy(t *testing.T, r *rig, e booked) accounts.Usage {
	t.Helper()
	var found []accounts.Usage
	for _, c := range r.owner(e.Deployment).Calls() {
		if c.Protocol == e.Endpoint && c.Stream == e.Stream && c.Usage.Output == e.Usage.Output && c.Usage.CacheRead == e.Usage.CacheRead {
			found = append(found, c.Usage)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no call of %s fits %+v", e.Deployment, e.Usage)
	}
	return found[0]
}

// TestU2: tokens that a provider counts inside of the prompt's are not counted
// twice.
func TestU2(t *testing.T) {
	t.Parallel()
	providers := []string{"openai", "gemini", "deepseek", "mistral"}
	r := newAdminRig(t, "memory", func(d *document) {
		for _, p := range providers {
			d.connections += "  - {id: " + p + ", provider: " + p + ", base_url: " + d.fleet.URL("alpha") + "/v1, auth: {type: bearer, key: \"env:UPSTREAM_KEY\"}, allow_private_network: true}\n"
			d.more += "  - {id: by-" + p + ", model: " + p + ", upstream_model: chat-" + p + ", connection: " + p + ", protocol: chat}\n"
		}
	})
	for i, provider := range providers {
		var said []any
		for range 2 {
			body := ask("chat", false, user(long(2000)), assistant("Yes."), user("Go on"))
			body["model"] = provider
			a := post(t, r.URL+route("chat"), body, "X-Session-Id", "s")
			if a.StatusCode != 200 {
				t.Fatal(provider, a.body)
			}
			said = append(said, a.field("usage", "prompt_tokens"))
		}
		read := 0
		for j, e := range events(t, r.URL, 2*i+2)[:2] {
			u := e.Usage
			if float64(u.Input+u.CacheRead+u.Write5m) != said[1-j] {
				t.Errorf("%s: %+v is booked, the prompt had %v tokens", provider, u, said[1-j])
			}
			read += u.CacheRead
		}
		if read == 0 {
			t.Errorf("%s: nothing was read from a cache", provider)
		}
	}
}

// TestU3: failover does not rewrite usage. What the first attempt reported before
// it failed stays with that attempt; what was cut is booked as far as it was seen.
func TestU3(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	home := turnOf(t, r.URL, "messages", "s", true).deployment()
	accounts.InjectT(t, r.owner(home), accounts.Fault{Kind: accounts.ErrorEvent, Times: 2}) // message_start, which reports input, then an error
	moved := turnOf(t, r.URL, "messages", "s", true)
	if moved.affinity() != "moved" {
		t.Fatalf("%s by %s: %s", moved.affinity(), moved.deployment(), moved.body)
	}
	e := events(t, r.URL, 2)[0]
	last := len(e.Attempts) - 1
	if last < 1 || e.Deployment != moved.deployment() || e.Usage == nil || e.Attempts[last].Usage == nil || *e.Attempts[last].Usage != *e.Usage || e.Usage.Estimated {
		t.Errorf("%+v", e)
	}
	if first := e.Attempts[0]; first.Deployment != home || first.Usage == nil || first.Usage.Input == 0 || *first.Usage == *e.Usage {
		t.Errorf("the attempt that failed has %+v, want its own report", first.Usage)
	}
	if len(e.Explanation.Candidates) < 3 || e.Explanation.Commit == "" {
		t.Errorf("explanation %+v", e.Explanation)
	}
	accounts.InjectT(t, r.owner(moved.deployment()), accounts.Fault{Kind: accounts.Cut, After: 3, Times: 1})
	if a := turnOf(t, r.URL, "messages", "s", true); a.err == nil {
		t.Fatal("the stream was not cut")
	}
	cut := events(t, r.URL, 3)[0]
	if cut.Usage == nil || !cut.Usage.Estimated || cut.Usage.Input == 0 || cut.Usage.Output == 0 || cut.Cost == nil || cut.ErrorCode == "" {
		t.Errorf("a cut stream: %+v, usage %+v", cut, cut.Usage)
	}
}

// TestEstimated: usage that nobody reports in earnest is estimated and marked.
func TestEstimated(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	for i, stream := range []bool{false, true} {
		for _, a := range r.fleet.Accounts() {
			accounts.InjectT(t, a, accounts.Fault{Kind: accounts.BadUsage, Times: 1})
		}
		if a := turnOf(t, r.URL, "chat", fmt.Sprint("s", i), stream); a.StatusCode != 200 {
			t.Fatal(a.body)
		}
		e := events(t, r.URL, i+1)[0]
		if e.Usage == nil || !e.Usage.Estimated || e.Usage.Input == 0 || e.Usage.Output == 0 || e.Cost == nil {
			t.Errorf("stream %v: %+v %+v", stream, e.Usage, e.Cost)
		}
		for _, a := range r.fleet.Accounts() {
			a.ClearFaults()
		}
	}
}

// TestU4 lets accounts and the store fail together under many sessions: writes
// are lost before they reach the store and after, so that they are sent again.
// Afterwards the sums by session, by day and by event agree, and every exchange is
// there once.
func TestU4(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "dynamodb", env: []string{"HOLDFAST_ADMIN_KEY=" + adminKey}, template: "allowed_fails: 100"})
	gateways := []*process.Gateway{s.Gateway, s.start(), s.start()}
	for i, a := range s.fleet.Accounts() {
		for _, kind := range []accounts.Kind{accounts.ServerError, accounts.Cut, accounts.ErrorEvent, accounts.RateLimit} {
			accounts.InjectT(t, a, accounts.Fault{Kind: kind, After: 2, Probability: 0.05, Seed: uint64(i)})
		}
	}
	var writes atomic.Int64
	random := rand.New(rand.NewPCG(1, 2))
	dice := make([]int, 1000)
	for i := range dice {
		dice[i] = random.IntN(12)
	}
	s.front.Decide(func(q wirefault.Request) wirefault.Fault {
		if !booking(q) || q.Operation != "PutItem" {
			return wirefault.Fault{}
		}
		switch dice[writes.Add(1)%1000] {
		case 0:
			return wirefault.Fault{Kind: wirefault.Drop, Applied: true}
		case 1:
			return wirefault.Fault{Kind: wirefault.Error, Applied: true}
		case 2:
			return wirefault.Fault{Kind: wirefault.Error}
		case 3:
			return wirefault.Fault{Kind: wirefault.Throttle}
		case 4:
			return wirefault.Fault{Kind: wirefault.Torn, Applied: true}
		}
		return wirefault.Fault{}
	})
	const sessions, turns = 12, 12
	done := make(chan int)
	for i := range sessions {
		go func() {
			for n := range turns {
				turnOf(t, gateways[(i+n)%len(gateways)].URL, protocols()[i%3], fmt.Sprint("s", i%8), n%2 == 0)
			}
			done <- i
		}()
	}
	for range sessions {
		<-done
	}
	lined(t, gateways, sessions*turns)
	s.front.Decide(nil)
	for _, g := range gateways {
		if strings.Contains(g.Log(), "exchanges are missing in the ledger") {
			t.Error("an exchange was lost")
		}
		if strings.Contains(g.Log(), "exchanges are booked later") {
			t.Log("a batch was left to be booked later")
		}
	}
	balanced(t, s.URL, sessions*turns)
}

// TestTenants: two callers with one session id and one label never meet in any
// report, and each is found by its own raw id.
func TestTenants(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "dynamodb")
	for range 2 {
		post(t, r.URL+route("chat"), ask("chat", false, user("Hello")), "X-Session-Id", "same", "X-Holdfast-Label", "shared, own-a")
	}
	post(t, r.URL+route("chat"), ask("chat", false, user("Hello")), "X-Session-Id", "same", "X-Holdfast-Label", "shared", "Authorization", "Bearer "+keyB)
	events(t, r.URL, 3)
	a, b := scopedOf(t, r.URL, "a", "same"), scopedOf(t, r.URL, "b", "same")
	if a == b || !strings.HasPrefix(a, "scoped-") || len(a) != len("scoped-")+32 {
		t.Fatalf("%s and %s", a, b)
	}
	for _, row := range []struct {
		filter string
		want   int
	}{
		{"session_id=" + a, 2}, {"session_id=" + b, 1}, {"key=a", 2}, {"key=b", 1}, {"label=shared", 3}, {"label=own-a", 2},
		{"label=own-a&key=b", 0}, {"user_path=/ann", 2}, {"user_path=/an", 0}, {"raw_session_id=same&key=b", 1}, {"raw_session_id=other&key=b", 0},
	} {
		got := paged[booked](t, r.URL+"/admin/audit/log?"+row.filter)
		if len(got) != row.want {
			t.Errorf("%s: %d exchanges, want %d", row.filter, len(got), row.want)
		}
		sessions := map[string]bool{}
		for _, e := range got {
			sessions[e.SessionID] = true
		}
		report := paged[summed](t, r.URL+"/admin/usage/sessions?"+row.filter)
		if len(report) != len(sessions) {
			t.Errorf("%s: %d sessions, want %d", row.filter, len(report), len(sessions))
		}
		for _, s := range report {
			if want := map[string]int{a: 2, b: 1}[s.SessionID]; s.Requests != want {
				t.Errorf("%s: %s has %d requests, want the whole session's %d", row.filter, s.SessionID, s.Requests, want)
			}
		}
	}
	for _, path := range []string{"/admin/audit/log?", "/admin/audit/sessions?", "/admin/usage/sessions?", "/admin/usage/summary?", "/admin/affinity?session_id=" + a} {
		if got := admin(t, "GET", r.URL+path, ""); strings.Contains(got.body, `"same"`) || got.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
		}
	}
}

// TestReportShape holds GET /admin/usage/sessions to the letter, and what lists
// refuse.
func TestReportShape(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	turnOf(t, r.URL, "chat", "one", false)
	turnOf(t, r.URL, "chat", "two", true)
	events(t, r.URL, 2)
	var got map[string]any
	for range 500 { // sums follow their events
		if got = read[map[string]any](t, r.URL+"/admin/usage/sessions?days=7&limit=1&offset=1"); got["total"] == 2.0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	entry := got["entries"].([]any)[0].(map[string]any)
	var names []string
	for name := range entry {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"cached_tokens", "input_cost", "input_tokens", "output_cost", "output_tokens", "requests", "saved_cost", "session_id", "total_cost", "total_tokens", "user_path"}
	if !slices.Equal(names, want) || got["total"] != 2.0 || got["limit"] != 1.0 || got["offset"] != 1.0 || entry["session_id"] != scopedOf(t, r.URL, "a", "one") {
		t.Errorf("%v", got)
	}
	for _, bad := range []string{"limit=0", "limit=201", "offset=-1", "days=0", "days=x", "from=yesterday", "days=2&from=2026-01-01", "session_id=one",
		"raw_session_id=one", "status=abc", "status=2x", "cursor=zzz"} {
		for _, list := range []string{"/admin/usage/sessions?", "/admin/audit/sessions?", "/admin/audit/log?"} {
			if a := admin(t, "GET", r.URL+list+bad, ""); a.StatusCode != 400 && !(bad == "offset=-1" && list == "/admin/audit/log?") {
				t.Errorf("%s%s: %d %s", list, bad, a.StatusCode, a.body)
			}
		}
	}
	if a := admin(t, "POST", r.URL+"/admin/audit/log", ""); a.StatusCode != 405 {
		t.Errorf("POST: %d", a.StatusCode)
	}
}

// TestUnknownPrice: a price that nobody knows is null in every answer, through to
// CSV; and what a client names itself is no formula in a spreadsheet.
func TestUnknownPrice(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory", func(d *document) {
		d.more = "  - {id: free, model: unpriced, connection: alpha, protocol: chat}\n"
	})
	body := ask("chat", false, user("Hello"))
	body["model"] = "unpriced"
	post(t, r.URL+route("chat"), body, "X-Session-Id", "s", "X-Holdfast-Label", "=HYPERLINK(1)", "X-Holdfast-Label", "b")
	e := events(t, r.URL, 1)[0]
	if e.Cost != nil || e.Saved != nil || e.Usage == nil {
		t.Errorf("%+v", e)
	}
	for _, path := range []string{"/admin/audit/log?format=csv", "/admin/usage/sessions?format=csv", "/admin/audit/sessions?format=csv"} {
		row := table(t, r.URL+path)[0]
		if row["total_cost"] != "null" || row["saved_cost"] != "null" {
			t.Errorf("%s: %v", path, row)
		}
		if labels, has := row["labels"]; has && labels != "'=HYPERLINK(1),b" {
			t.Errorf("labels %q", labels)
		}
	}
	if row := read[page[summed]](t, r.URL+"/admin/usage/sessions?").Entries[0]; row.Cost != nil || row.Saved != nil {
		t.Errorf("%+v", row)
	}
	type summary struct {
		Totals struct {
			Cost     *float64 `json:"total_cost"`
			Unpriced int      `json:"unpriced_requests"`
		}
	}
	if s := read[summary](t, r.URL+"/admin/usage/summary?"); s.Totals.Cost != nil || s.Totals.Unpriced != 1 {
		t.Errorf("%+v", s)
	}
	if rows := table(t, r.URL+"/admin/usage/summary?days=1&by=hour&format=csv"); !slices.ContainsFunc(rows, func(row map[string]string) bool {
		return row["requests"] == "1" && row["total_cost"] == "null"
	}) {
		t.Errorf("%v", rows)
	}
}

// TestRefusedBefore: what is refused before its session is known is booked
// without one, and costs nothing.
func TestRefusedBefore(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	if a := post(t, r.URL+route("chat"), `{"model":"chat","messages":[],"session_id":"a"}`, "X-Session-Id", "b"); a.StatusCode != http.StatusBadRequest {
		t.Fatal(a.body)
	}
	e := events(t, r.URL, 1)[0]
	if e.SessionID != "" || e.Status != 400 || e.ErrorCode != "session_conflict" || e.Deployment != "" || e.Cost == nil || e.Cost.Total != 0 || len(e.Attempts) != 0 {
		t.Errorf("%+v", e)
	}
	balanced(t, r.URL, 1)
}

// TestLedgerSurvives: what was booked outlives the process that is killed.
func TestLedgerSurvives(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "bolt")
	for i := range 20 {
		turnOf(t, r.URL, "chat", fmt.Sprint("s", i%4), i%2 == 0)
	}
	r.settled()
	r.Kill()
	r.Gateway = r.start()
	balanced(t, r.URL, 20)
}
