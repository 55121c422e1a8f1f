package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/infra/measure"
	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
)

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
	for range 1000 { // counted beside the booking
		if text = admin(t, "GET", r.URL+"/admin/metrics", "").body; strings.Contains(text, `outcome="client_error"} 1`) && strings.Contains(text, `outcome="success"} 2`) {
			break
		}
		time.Sleep(10 * time.Millisecond)
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
	r.env = append(r.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_HEADERS=X-Tenant=t%201")
	r.Stop()
	r.Gateway = r.start()
	for _, a := range r.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Times: 1})
	}
	a := post(t, r.URL+route("chat"), ask("chat", false, user(secretWord)), "X-Session-Id", "raw-session", "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
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
	for _, want := range []string{"/v1/traces t 1 ", `"traceId":"4bf92f3577b34da6a3ce929d0e0e4736"`, `"parentSpanId":"00f067aa0ba902b7"`, `"gen_ai.operation.name"`, `"gen_ai.usage.input_tokens"`, `"gen_ai.conversation.id"`, `"holdfast.affinity"`, `"attempt"`, `"holdfast.outcome"`} {
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
