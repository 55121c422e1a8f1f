package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/infra/measure"
	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
)

// live is a deployment's state as the admin API tells it.
type live struct {
	Deployment string
	Cooling    *string  `json:"cooling_until"`
	Reason     string   `json:"cooling_reason"`
	Share      *float64 `json:"traffic_share"`
	Hits       *float64 `json:"cache_hit_share"`
	Drained    bool
	Requests   int
}

func deployments(t *testing.T, at string) map[string]live {
	t.Helper()
	by := map[string]live{}
	for _, d := range read[page[live]](t, at+"/admin/deployments").Entries {
		by[d.Deployment] = d
	}
	return by
}

// TestDrain takes a deployment out for new sessions only, in every process, and
// brings it back. Both are on record.
func TestDrain(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "dynamodb")
	other := r.start()
	home := turnOf(t, r.URL, "chat", "old", false).deployment()
	if a := admin(t, "POST", r.URL+"/admin/deployments/"+home+"/drain", ""); a.StatusCode != 200 || a.field("drained") != true {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if !deployments(t, other.URL)[home].Drained {
		t.Error("another process does not know")
	}
	if a := turnOf(t, other.URL, "chat", "old", false); a.affinity() != "hit" || a.deployment() != home {
		t.Errorf("a session that was there: %s by %s", a.affinity(), a.deployment())
	}
	for i := range 12 {
		if a := turnOf(t, other.URL, "chat", fmt.Sprint("new", i), false); a.deployment() == home {
			t.Error("a new session came to a drained deployment")
		}
	}
	if a := admin(t, "DELETE", other.URL+"/admin/deployments/"+home+"/drain", ""); a.StatusCode != 200 || a.field("drained") != false {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	back := false
	for i := range 30 {
		back = back || turnOf(t, r.URL, "chat", fmt.Sprint("later", i), false).deployment() == home
	}
	if !back {
		t.Error("nothing comes back after the drain")
	}
	if a := admin(t, "POST", r.URL+"/admin/deployments/none/drain", ""); a.StatusCode != 404 {
		t.Errorf("an unknown one: %d", a.StatusCode)
	}
	trail := admin(t, "GET", r.URL+"/admin/audit/changes", "").body
	if !strings.Contains(trail, "deployment.drain") || !strings.Contains(trail, "deployment.undrain") || !strings.Contains(trail, home) {
		t.Errorf("the trail: %s", trail)
	}
}

// TestCooldownByHand lets a deployment rest and wakes it.
func TestCooldownByHand(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	home := turnOf(t, r.URL, "chat", "s", false).deployment()
	for _, bad := range []string{"", `{}`, `{"seconds":0}`, `{"seconds":-1}`, `{"seconds":1e9}`, `{"minutes":1}`} {
		if a := admin(t, "POST", r.URL+"/admin/deployments/"+home+"/cooldown", bad); a.StatusCode != 400 {
			t.Errorf("%s: %d", bad, a.StatusCode)
		}
	}
	if a := admin(t, "POST", r.URL+"/admin/deployments/"+home+"/cooldown", `{"seconds":600}`); a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if d := deployments(t, r.URL)[home]; d.Cooling == nil || d.Reason != "operator" {
		t.Errorf("%+v", d)
	}
	if a := turnOf(t, r.URL, "chat", "s", false); a.deployment() == home {
		t.Error("it serves while it rests")
	}
	if a := admin(t, "DELETE", r.URL+"/admin/deployments/"+home+"/cooldown", ""); a.StatusCode != 200 {
		t.Fatal(a.body)
	}
	if d := deployments(t, r.URL)[home]; d.Cooling != nil {
		t.Errorf("%+v", d)
	}
}

// TestLiveState shows shares of traffic and of cached tokens.
func TestLiveState(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	for range 3 {
		post(t, r.URL+route("chat"), ask("chat", false, user(long(3000)), assistant("Yes."), user("Go on")), "X-Session-Id", "s")
	}
	home := events(t, r.URL, 3)[0].Deployment
	for id, d := range deployments(t, r.URL) {
		switch {
		case id == home && (d.Requests != 3 || d.Share == nil || *d.Share != 1 || d.Hits == nil || *d.Hits < 0.5):
			t.Errorf("%+v", d)
		case id != home && d.Requests != 0:
			t.Errorf("%+v", d)
		case strings.HasPrefix(id, "messages-") && d.Share != nil:
			t.Errorf("a model without traffic has shares: %+v", d)
		}
	}
}

// preference is a session's, as the admin API tells it.
type preference struct{ Key, Endpoint, Model, Deployment string }

// TestAffinityByHand looks a session up by both of its ids, points it elsewhere,
// and clears it.
func TestAffinityByHand(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "bolt")
	home := turnOf(t, r.URL, "chat", "s", false).deployment()
	turnOf(t, r.URL, "messages", "s", false)
	events(t, r.URL, 2)
	scoped := scopedOf(t, r.URL, "a", "s")
	found := read[page[preference]](t, r.URL+"/admin/affinity?session_id="+scoped).Entries
	raw := read[page[preference]](t, r.URL+"/admin/affinity?raw_session_id=s&key=a").Entries
	if len(found) != 2 || !slices.Equal(found, raw) {
		t.Fatalf("%v by its scoped id, %v by the caller's", found, raw)
	}
	if other := read[page[preference]](t, r.URL+"/admin/affinity?raw_session_id=s&key=b").Entries; len(other) != 0 {
		t.Errorf("another key's session of that id: %v", other)
	}
	mine := found[slices.IndexFunc(found, func(p preference) bool { return p.Endpoint == "chat" })]
	if mine.Deployment != home || mine.Model != "chat" {
		t.Errorf("%+v", mine)
	}
	elsewhere := "chat-alpha"
	if home == elsewhere {
		elsewhere = "chat-bravo"
	}
	at := r.URL + "/admin/affinity/" + mine.Key
	for _, bad := range []string{`{}`, `{"deployment":"none"}`, `{"deployment":"messages-alpha"}`, `[]`} {
		if a := admin(t, "PUT", at, bad); a.StatusCode != 400 {
			t.Errorf("%s: %d %s", bad, a.StatusCode, a.body)
		}
	}
	if a := admin(t, "PUT", at, `{"deployment":"`+elsewhere+`"}`); a.StatusCode != 200 || a.field("deployment") != elsewhere {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if a := turnOf(t, r.URL, "chat", "s", false); a.affinity() != "hit" || a.deployment() != elsewhere {
		t.Errorf("after it was set: %s by %s", a.affinity(), a.deployment())
	}
	if a := admin(t, "DELETE", at, ""); a.StatusCode != http.StatusNoContent {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if a := turnOf(t, r.URL, "chat", "s", false); a.affinity() != "claimed" {
		t.Errorf("after it was cleared: %s", a.affinity())
	}
	for _, gone := range []string{r.URL + "/admin/affinity/none", strings.Replace(at, mine.Key[:4], "ffff", 1)} {
		if a := admin(t, "DELETE", gone, ""); a.StatusCode != 404 {
			t.Errorf("%s: %d", gone, a.StatusCode)
		}
	}
}

// TestGroupsByHand makes, changes and removes a group by compare-and-swap on the
// document's revision.
func TestGroupsByHand(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "bolt")
	at := r.URL + "/admin/groups/smart"
	revision := admin(t, "GET", r.URL+"/admin/groups", "").Header.Get("ETag")
	if a := admin(t, "PUT", at, `{"members":["chat"]}`); a.StatusCode != 428 {
		t.Errorf("without a revision: %d", a.StatusCode)
	}
	for _, bad := range []string{`{"members":["nobody"]}`, `{"members":[]}`, `{"name":"other","members":["chat"]}`, `{"mebers":["chat"]}`, `[`} {
		if a := admin(t, "PUT", at, bad, "If-Match", revision); a.StatusCode != 400 || !strings.Contains(a.body, `"problems"`) {
			t.Errorf("%s: %d %s", bad, a.StatusCode, a.body)
		}
	}
	made := admin(t, "PUT", at, `{"members":["chat"],"session_affinity":true}`, "If-Match", revision)
	if made.StatusCode != 200 {
		t.Fatalf("%d %s", made.StatusCode, made.body)
	}
	if a := admin(t, "PUT", at, `{"members":["chat"]}`, "If-Match", revision); a.StatusCode != 409 || a.code() != "revision_conflict" {
		t.Errorf("at a stale revision: %d %s", a.StatusCode, a.body)
	}
	body := ask("chat", false, user("Hello"))
	body["model"] = "smart"
	if a := post(t, r.URL+route("chat"), body); a.StatusCode != 200 {
		t.Errorf("the group: %d %s", a.StatusCode, a.body)
	}
	one := admin(t, "GET", at, "")
	if one.StatusCode != 200 || one.field("name") != "smart" || one.Header.Get("ETag") != made.Header.Get("ETag") {
		t.Errorf("%d %s", one.StatusCode, one.body)
	}
	again := admin(t, "PUT", at, one.body, "If-Match", one.Header.Get("ETag")) // what was read may be put
	if again.StatusCode != 200 {
		t.Fatalf("%d %s", again.StatusCode, again.body)
	}
	if a := admin(t, "DELETE", at, "", "If-Match", again.Header.Get("ETag")); a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if a := admin(t, "GET", at, ""); a.StatusCode != 404 {
		t.Errorf("after its end: %d", a.StatusCode)
	}
	if a := post(t, r.URL+route("chat"), body); a.StatusCode != 404 {
		t.Errorf("a request for it: %d", a.StatusCode)
	}
	if trail := admin(t, "GET", r.URL+"/admin/audit/changes", "").body; !strings.Contains(trail, "group.put") || !strings.Contains(trail, "group.remove") {
		t.Errorf("the trail: %s", trail)
	}
}

// TestMetrics reads Prometheus's page: counters by few words, no session, key or
// prompt.
func TestMetrics(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	for range 2 {
		post(t, r.URL+route("chat"), ask("chat", true, user(long(2000)), assistant("Yes."), user(secretWord)), "X-Session-Id", "raw-session")
	}
	post(t, r.URL+route("chat"), `{"model":"none","messages":[]}`)
	events(t, r.URL, 3)
	text := ""
	for range 100 { // counted beside the booking
		if text = admin(t, "GET", r.URL+"/admin/metrics", "").body; strings.Contains(text, `outcome="client_error"} 1`) && strings.Contains(text, `outcome="success"} 2`) {
			break
		}
	}
	for _, want := range []string{
		"# TYPE holdfast_exchanges_total counter", `holdfast_exchanges_total{endpoint="chat",outcome="success"} 2`,
		`holdfast_exchanges_total{endpoint="chat",outcome="client_error"} 1`, `holdfast_affinity_total{outcome="claimed"} 1`, `holdfast_affinity_total{outcome="hit"} 1`,
		"holdfast_cached_token_share 0.", `holdfast_first_byte_seconds_bucket{le="+Inf"} 2`, "holdfast_store_errors_total 0", "holdfast_ledger_lost_total 0",
		"holdfast_ledger_events_total 3", "holdfast_process_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	for _, secret := range []string{"raw-session", secretWord, keyA, "scoped-", `key="a"`} {
		if strings.Contains(text, secret) {
			t.Errorf("the page holds %q", secret)
		}
	}
	names := map[string]bool{}
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "holdfast_") {
			t.Errorf("a line of another kind: %s", line)
		}
		if names[name] && !strings.HasPrefix(line, "#") {
			t.Errorf("%s comes twice", name)
		}
		names[name] = true
	}
}

// collector is a stand-in for an OpenTelemetry collector.
type collector struct {
	mu     sync.Mutex
	bodies []string
	status int
}

func (c *collector) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	var body any
	_ = json.NewDecoder(q.Body).Decode(&body)
	text, _ := json.Marshal(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies = append(c.bodies, q.URL.Path+" "+q.Header.Get("X-Tenant")+" "+string(text))
	if c.status != 0 {
		w.WriteHeader(c.status)
	}
}

// TestTraces sends a span an exchange to a collector, and none where there is no
// collector; one that fails costs nothing but a warning.
func TestTraces(t *testing.T) {
	t.Parallel()
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	r := newAdminRig(t, "memory")
	r.env = append(r.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_HEADERS=X-Tenant=t1")
	r.Stop()
	r.Gateway = r.start()
	for _, a := range r.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Times: 1})
	}
	a := post(t, r.URL+route("chat"), ask("chat", false, user(secretWord)), "X-Session-Id", "raw-session")
	if a.StatusCode != 200 {
		t.Fatal(a.body)
	}
	r.settledLine(1)
	c.mu.Lock()
	if len(c.bodies) != 1 {
		t.Fatalf("%d spans", len(c.bodies))
	}
	span := c.bodies[0]
	c.status = http.StatusInternalServerError
	c.mu.Unlock()
	for _, want := range []string{"/v1/traces t1 ", `"gen_ai.operation.name"`, `"gen_ai.usage.input_tokens"`, `"gen_ai.conversation.id"`, `"holdfast.affinity"`, `"attempt"`, `"holdfast.outcome"`} {
		if !strings.Contains(span, want) {
			t.Errorf("%s is missing in %s", want, span)
		}
	}
	for _, secret := range []string{"raw-session", secretWord, keyA} {
		if strings.Contains(span, secret) {
			t.Errorf("the span holds %q", secret)
		}
	}
	if b := turnOf(t, r.URL, "chat", "s2", false); b.StatusCode != 200 {
		t.Errorf("with a broken collector: %d", b.StatusCode)
	}
	r.settledLine(2)
	if !strings.Contains(r.Log(), "a trace was not exported") {
		t.Error("nobody is told")
	}
}

// settledLine waits for so many lines of exchanges.
func (r *rig) settledLine(n int) { lined(r.t, []*process.Gateway{r.Gateway}, n) }

// TestExplained: an exchange that left the usual way says why, in its line and in
// the audit log; one that did not says so in the audit log alone.
func TestExplained(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	home := turnOf(t, r.URL, "chat", "s", false).deployment()
	r.settledLine(1)
	if strings.Contains(r.Log(), `"explanation"`) {
		t.Error("a plain exchange is explained in the log")
	}
	admin(t, "POST", r.URL+"/admin/deployments/"+home+"/cooldown", `{"seconds":600}`)
	if a := turnOf(t, r.URL, "chat", "s", false); a.deployment() == home {
		t.Fatal("it has not moved")
	}
	r.settledLine(2)
	e := events(t, r.URL, 2)[0]
	cooled := slices.IndexFunc(e.Explanation.Candidates, func(c struct {
		Deployment, Reason string
		Kept               bool
	}) bool {
		return c.Deployment == home && !c.Kept && c.Reason != ""
	})
	if cooled < 0 || !strings.Contains(r.Log(), `"explanation":{`) {
		t.Errorf("%+v\n%s", e.Explanation, r.Log())
	}
}

// TestEmbeddedMetrics: on Lambda an exchange's line carries the numbers that the
// stack's dashboard has names for, in CloudWatch's embedded format; elsewhere it
// does not.
func TestEmbeddedMetrics(t *testing.T) {
	t.Parallel()
	local := newAdminRig(t, "memory")
	turnOf(t, local.URL, "chat", "s", false)
	local.settledLine(1)
	r := newRig(t, onLambda)
	turnOf(t, r.URL, "chat", "s", false)
	r.settledLine(1)
	if !deployed() && strings.Contains(local.Log(), `"_aws"`) {
		t.Error("a process elsewhere writes for CloudWatch")
	}
	type directive struct {
		AWS struct {
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name, Unit string }
			}
		} `json:"_aws"`
	}
	for _, line := range r.Lines() {
		var d directive
		var values map[string]any
		if !strings.Contains(line, `"msg":"exchange"`) || json.Unmarshal([]byte(line), &d) != nil || json.Unmarshal([]byte(line), &values) != nil {
			continue
		}
		if len(d.AWS.CloudWatchMetrics) != 1 || d.AWS.CloudWatchMetrics[0].Namespace != "Holdfast" {
			t.Fatalf("%s", line)
		}
		seen := map[string]bool{}
		for _, m := range d.AWS.CloudWatchMetrics[0].Metrics {
			if _, number := values[m.Name].(float64); !number {
				t.Errorf("%s is %v in the line", m.Name, values[m.Name])
			}
			seen[m.Name] = true
		}
		for _, f := range measure.Filters() {
			if !seen[f.Metric] {
				t.Errorf("%s is on the dashboard and not in the line", f.Metric)
			}
		}
		return
	}
	t.Error("no line of an exchange")
}
