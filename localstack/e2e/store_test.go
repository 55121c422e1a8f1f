package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/wirefault"
)

// fleetOf starts three more gateways over the rig's store.
func (r *rig) gateways(n int) []string {
	urls := []string{r.URL}
	for range n - 1 {
		urls = append(urls, r.start().URL)
	}
	return urls
}

// turnOf sends one turn of a named session.
func turnOf(t *testing.T, url, endpoint, session string, stream bool) answer {
	t.Helper()
	return post(t, url+route(endpoint), ask(endpoint, stream, user("Hello")), "X-Session-Id", session)
}

// TestS9 shows that a process which takes over from a killed one keeps every
// session where it was.
func TestS9(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb")
	other := r.start()
	served := map[string]string{}
	for i := range 12 {
		session := fmt.Sprint("s", i)
		served[session] = turnOf(t, r.URL, "chat", session, i%2 == 0).deployment()
	}
	r.Kill()
	for session, deployment := range served {
		if a := turnOf(t, other.URL, "chat", session, false); a.affinity() != "hit" || a.deployment() != deployment {
			t.Errorf("%s: %s by %s, want a hit by %s", session, a.affinity(), a.deployment(), deployment)
		}
	}
}

// TestS12 shows that exchanges go on while the store is away, that every process
// picks the same deployment without it, that what needs ownership is refused,
// and that the shared record rules when it is back.
func TestS12(t *testing.T) {
	for name, fault := range map[string]wirefault.Kind{"refusing": wirefault.Error, "silent": wirefault.Silence, "dead": wirefault.Reset} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "dynamodb")
			gateways := r.gateways(4)
			before := map[string]string{}
			for i := range 4 {
				session := fmt.Sprint("old", i)
				before[session] = turnOf(t, gateways[i], "chat", session, false).deployment()
			}
			parent := turnOf(t, r.URL, "responses", "c", false)
			id, _ := parent.field("id").(string)

			r.front.Decide(func(wirefault.Request) wirefault.Fault { return wirefault.Fault{Kind: fault} })
			for i := range 6 {
				session, first := fmt.Sprint("new", i), ""
				for g, url := range gateways {
					a := turnOf(t, url, "chat", session, g%2 == 0)
					if a.StatusCode != 200 || a.affinity() != "degraded" {
						t.Fatalf("without the store: %d %s %s", a.StatusCode, a.affinity(), a.body)
					}
					if first == "" {
						first = a.deployment()
					}
					if a.deployment() != first {
						t.Errorf("%s: process %d chose %s, process 0 %s", session, g, a.deployment(), first)
					}
				}
			}
			calls := r.calls()
			next := map[string]any{"model": "responses", "previous_response_id": id, "input": "And then?"}
			if a := post(t, r.URL+route("responses"), next); a.StatusCode != 503 || a.code() != "ownership_unavailable" || a.Header.Get("Retry-After") == "" {
				t.Errorf("a continuation without the store: %d %s %v", a.StatusCode, a.body, a.Header)
			}
			if r.calls() != calls {
				t.Error("a continuation was sent without knowing its owner")
			}

			if a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello")), "Authorization", "Bearer sk-nobody"); a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
				t.Errorf("an unknown key without the store: %d %s, want 503: never 401", a.StatusCode, a.body)
			}
			r.front.Decide(nil)
			for _, url := range gateways {
				r.recovered(url)
			}
			for session, deployment := range before {
				for _, url := range gateways {
					a := turnOf(t, url, "chat", session, false)
					for range 4 { // each environment finds out by itself that the store is back
						if a.affinity() == "degraded" && deployed() {
							a = turnOf(t, url, "chat", session, false)
						}
					}
					if a.affinity() != "hit" || a.deployment() != deployment {
						t.Errorf("%s after recovery: %s by %s, want a hit by %s", session, a.affinity(), a.deployment(), deployment)
					}
				}
			}
			// Nothing was written back: what was new while the store was away still is.
			if a := turnOf(t, r.URL, "chat", "new0", false); a.affinity() != "claimed" {
				t.Errorf("a session of the dark time: %s, want a first claim", a.affinity())
			}
			a := post(t, r.URL+route("responses"), next)
			for range 4 {
				if a.StatusCode == 503 && deployed() {
					a = post(t, r.URL+route("responses"), next)
				}
			}
			if a.StatusCode != 200 || a.affinity() != "required" {
				t.Errorf("the continuation after recovery: %d %s %s", a.StatusCode, a.affinity(), a.body)
			}
		})
	}
}

// recovered waits until a gateway uses the store again: all of its environments,
// which are used in turn and find that out each by itself.
func (r *rig) recovered(url string) {
	r.t.Helper()
	need := 1
	if deployed() {
		need = 8
	}
	for row, n := 0, 0; n < 400; n++ {
		if turnOf(r.t, url, "chat", "probe", false).affinity() == "degraded" {
			row = 0
			time.Sleep(10 * time.Millisecond) // probes are spaced in real time
			continue
		}
		if row++; row == need {
			return
		}
	}
	r.t.Fatal("the store is back, and the gateway does not use it")
}

// TestP4Wire counts requests on the DynamoDB wire: one read before the upstream
// on a hit and one write after it; one write more on a first turn.
func TestP4Wire(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb")
	turnOf(t, r.URL, "chat", "warm", false)
	count := func(session string) string {
		r.settled()
		r.front.ResetCounts()
		if a := turnOf(t, r.URL, "chat", session, false); a.StatusCode != 200 {
			t.Fatal(a.body)
		}
		r.settled()
		return fmt.Sprint(r.front.Counts())
	}
	if got, want := count("s"), "map[BatchGetItem:1 PutItem:2]"; got != want {
		t.Errorf("first turn: %s, want %s", got, want)
	}
	if got, want := count("s"), "map[BatchGetItem:1 PutItem:1]"; got != want {
		t.Errorf("hit: %s, want %s", got, want)
	}
}

// settled waits until the gateway has logged every attempt that was made: an
// exchange's line is written after all else.
func (r *rig) settled() {
	r.t.Helper()
	for range 5000 {
		if strings.Count(r.Log(), `"outcome":"`) >= r.calls() {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	r.t.Fatal("an exchange has no line in the log")
}

// TestContinuation holds C1 to C3 over two processes.
func TestContinuation(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb")
	other := r.start()
	for _, stream := range []bool{false, true} {
		first := post(t, r.URL+route("responses"), ask("responses", stream, user("Hello")), "X-Session-Id", "mine")
		id := responseID(t, first)
		next := map[string]any{"model": "responses", "previous_response_id": id, "input": "And then?", "stream": stream}
		second := post(t, other.URL+route("responses"), next) // C1: at once, from another process
		if second.StatusCode != 200 || second.affinity() != "required" || second.deployment() != first.deployment() {
			t.Fatalf("continuation: %d %s by %s\n%s", second.StatusCode, second.affinity(), second.deployment(), second.body)
		}
		if source := second.Header.Get("X-Holdfast-Session-Source"); source != "parent" || second.Header.Get("X-Session-Id") != "mine" {
			t.Errorf("session %q from %q, want the parent's", second.Header.Get("X-Session-Id"), source)
		}
		agreed := post(t, r.URL+route("responses"), next, "X-Session-Id", "mine") // C2
		if agreed.StatusCode != 200 || agreed.Header.Get("X-Holdfast-Session-Source") != "parent" {
			t.Errorf("agreeing session: %d %s", agreed.StatusCode, agreed.body)
		}
		if a := post(t, r.URL+route("responses"), next, "X-Session-Id", "other"); a.StatusCode != 400 || a.code() != "session_conflict" {
			t.Errorf("contradicting session: %d %s", a.StatusCode, a.body)
		}
		calls := r.calls()
		refusals := map[string]answer{ // C3
			"unknown":   post(t, r.URL+route("responses"), map[string]any{"model": "responses", "previous_response_id": "resp_nobody", "input": "x"}),
			"foreign":   post(t, r.URL+route("responses"), next, "Authorization", "Bearer "+keyB),
			"oversized": post(t, r.URL+route("responses"), map[string]any{"model": "responses", "previous_response_id": strings.Repeat("r", 250), "input": "x"}),
		}
		for name, a := range refusals {
			if a.StatusCode != 400 || a.code() != "previous_response_not_found" || a.body != refusals["unknown"].body {
				t.Errorf("%s: %d %s, want the one refusal %s", name, a.StatusCode, a.body, refusals["unknown"].body)
			}
		}
		if r.calls() != calls {
			t.Error("a refused continuation was sent upstream")
		}
	}
}

// responseID is the id that an answer announces.
func responseID(t *testing.T, a answer) string {
	t.Helper()
	if id, ok := a.field("id").(string); ok {
		return id
	}
	_, rest, found := strings.Cut(a.body, `"id":"resp_`)
	id, _, whole := strings.Cut(rest, `"`)
	if !found || !whole {
		t.Fatalf("no response id in %s", a.body)
	}
	return "resp_" + id
}

// TestC4 shows that a continuation whose creator is disabled, or has another
// address now, is refused without a call.
func TestC4(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt")
	first := post(t, r.URL+route("responses"), ask("responses", false, user("Hello")))
	id, home := responseID(t, first), first.deployment()
	next := map[string]any{"model": "responses", "previous_response_id": id, "input": "And then?"}
	config := r.config
	account := r.owner(home).Name()
	changes := map[string]string{
		"disabled":     strings.Replace(config, "  - id: "+home+"\n", "  - id: "+home+"\n    enabled: false\n", 1),
		"new address":  strings.ReplaceAll(config, r.fleet.URL(account)+"/v1", r.fleet.URL(account)+"/v1/"+"v1"),
		"new boundary": strings.Replace(config, "{id: "+account+",", "{id: "+account+", boundary: elsewhere,", 1),
	}
	for name, changed := range changes {
		if changed == config {
			t.Fatalf("%s changes nothing", name)
		}
		r.Stop()
		r.config = changed
		r.Gateway = r.start("-config-force")
		calls := r.calls()
		a := post(t, r.URL+route("responses"), next)
		if a.StatusCode != 409 || a.code() != "continuation_unavailable" || r.calls() != calls {
			t.Errorf("%s: %d %s after %d calls", name, a.StatusCode, a.body, r.calls()-calls)
		}
	}
	returns := map[string]string{
		"the creator itself":                     config,
		"another deployment of the same account": strings.Replace(config, "  - id: "+home+"\n", "  - id: renamed\n", 1),
	}
	for name, config := range returns {
		r.Stop()
		r.config = config
		r.Gateway = r.start("-config-force")
		if a := post(t, r.URL+route("responses"), next); a.StatusCode != 200 || a.affinity() != "required" {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
}

// TestL5 shows that a conditional write whose answer was lost, and that is sent
// again, is a success and no conflict, through the whole gateway.
func TestL5(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{true, false} {
		r := newRig(t, "dynamodb")
		r.front.Inject(wirefault.Rule{Operation: "PutItem", Fault: wirefault.Fault{Kind: wirefault.Drop, Applied: applied}})
		first := turnOf(t, r.URL, "chat", "s", false)
		if first.StatusCode != 200 || first.affinity() != "claimed" {
			t.Errorf("applied=%v: %d %s", applied, first.StatusCode, first.affinity())
		}
		r.settled()
		if a := turnOf(t, r.URL, "chat", "s", false); a.affinity() != "hit" || a.deployment() != first.deployment() {
			t.Errorf("applied=%v: next turn %s by %s", applied, a.affinity(), a.deployment())
		}
	}
}

// TestCooldownIsShared holds R7's sharing: a deployment that one process has
// seen failing rests for all.
func TestCooldownIsShared(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb", func(d *document) {
		d.extra = "templates: [{id: t, allowed_fails: 1, cooldown: 1h}]\nplatform: {template: t}\n"
	})
	other := r.start()
	first := turnOf(t, r.URL, "chat", "s", false)
	sick := r.owner(first.deployment())
	accounts.InjectT(t, sick, accounts.Fault{Kind: accounts.ServerError})
	if a := turnOf(t, r.URL, "chat", "s", false); a.affinity() != "moved" {
		t.Fatal(a.affinity(), a.body)
	}
	r.settled()
	calls := sick.Count()
	for i := range 12 {
		if a := turnOf(t, other.URL, "chat", fmt.Sprint("fresh", i), false); a.StatusCode != 200 || a.deployment() == first.deployment() {
			t.Errorf("the other process asked the resting deployment: %d %s", a.StatusCode, a.deployment())
		}
	}
	if sick.Count() != calls {
		t.Errorf("%d calls reached the resting deployment", sick.Count()-calls)
	}
}
