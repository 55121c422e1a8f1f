package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
)

// TestS7 shows that a deployment at its own concurrency limit lets the overflow
// go elsewhere, across processes, and that the preference stays.
func TestS7(t *testing.T) {
	for _, store := range rigs("memory", "dynamodb") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store, func(d *document) { d.each = "    limits: {concurrency: 1}\n" })
			second := r.Gateway
			if store == "dynamodb" {
				second = r.start()
			}
			other := second.URL
			first := turnOf(t, r.URL, "chat", "s", false)
			home := r.owner(first.deployment())
			r.settled()
			accounts.InjectT(t, home, accounts.Fault{Kind: accounts.SlowTokens, Delay: 60 * time.Millisecond, Times: 1})
			slow := make(chan answer, 1)
			go func() { slow <- turnOf(t, r.URL, "chat", "s", true) }()
			if err := home.Await(t.Context(), func(calls []accounts.Call) bool { return len(calls) == 2 }); err != nil {
				t.Fatal(err)
			}
			over := turnOf(t, other, "chat", "s", false)
			if over.StatusCode != 200 || over.affinity() != "spilled" || over.deployment() == first.deployment() {
				t.Errorf("the overflow: %d %s by %s", over.StatusCode, over.affinity(), over.deployment())
			}
			if a := <-slow; !whole("chat", a) || a.deployment() != first.deployment() {
				t.Errorf("the running turn: %s by %s", a.affinity(), a.deployment())
			}
			r.settledAll(second)
			if a := turnOf(t, other, "chat", "s", false); a.affinity() != "hit" || a.deployment() != first.deployment() {
				t.Errorf("the next turn: %s by %s, want a hit by %s", a.affinity(), a.deployment(), first.deployment())
			}
		})
	}
}

// TestLeasesAreExact shows that no more calls than allowed run at once, however
// many ask, and that every place is given back.
func TestLeasesAreExact(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb", func(d *document) { d.each = "    limits: {concurrency: 2}\n" })
	other := r.start()
	for _, a := range r.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.SlowFirstByte, Delay: 20 * time.Millisecond})
	}
	done := make(chan answer)
	for i := range 24 {
		go func() {
			url := []string{r.URL, other.URL}[i%2]
			done <- turnOf(t, url, "chat", fmt.Sprint("s", i), false)
		}()
	}
	served := 0
	for range 24 {
		switch a := <-done; {
		case a.StatusCode == 200:
			served++
		case a.StatusCode != 429 || a.code() != "deployments_cooling" || a.Header.Get("Retry-After") == "":
			t.Errorf("without a place: %d %s", a.StatusCode, a.body)
		}
	}
	if served < 6 {
		t.Errorf("%d of 24 were served, want at least the 6 places", served)
	}
	// A store that does not answer in time lets everybody in, and says so.
	uncounted := strings.Count(r.Log()+other.Log(), "a place was not counted")
	for _, a := range r.fleet.Accounts() {
		if n := overlap(a.Calls()); n > 2+uncounted {
			t.Errorf("%s: %d calls ran at once, want at most 2 and the %d that were not counted", a.Name(), n, uncounted)
		}
	}
	for i := range 12 { // all places are free again
		r.settledAll(other)
		if a := turnOf(t, r.URL, "chat", fmt.Sprint("later", i), false); a.StatusCode != 200 {
			t.Errorf("later: %d %s", a.StatusCode, a.body)
		}
	}
}

// settledAll is settled over the logs of several gateways.
func (r *rig) settledAll(others ...*process.Gateway) {
	r.t.Helper()
	for range 5000 {
		seen := strings.Count(r.Log(), `"outcome":"`)
		for _, g := range others {
			if g != r.Gateway {
				seen += strings.Count(g.Log(), `"outcome":"`)
			}
		}
		if seen >= r.calls() {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	r.t.Fatal("an exchange has no line in the log")
}

// overlap is the largest number of calls that ran at the same time, as far as
// the journal's order tells: an account notes the begin of each.
func overlap(calls []accounts.Call) int {
	most := 0
	for i, c := range calls {
		n := 0
		for _, earlier := range calls[:i+1] {
			if c.Time.Sub(earlier.Time) < 15*time.Millisecond { // an answer takes 20
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TestMinuteLimits shows that a deployment's requests a minute are counted by
// all processes, and that the overflow spills without moving the preference.
func TestMinuteLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb", func(d *document) { d.each = "    limits: {rpm: 3}\n" })
	untilEarly()
	first := turnOf(t, r.URL, "chat", "s", false)
	words := map[string]int{first.affinity(): 1}
	var spilled answer
	for range 5 {
		r.settled()
		a := turnOf(t, r.URL, "chat", "s", false)
		words[a.affinity()]++
		if a.affinity() == "spilled" {
			spilled = a
		}
	}
	if words["claimed"] != 1 || words["hit"] != 2 || words["spilled"] != 3 {
		t.Errorf("affinities %v, want 1 claim, 2 hits and 3 spilled", words)
	}
	if spilled.Response == nil || spilled.StatusCode != 200 || spilled.deployment() == first.deployment() {
		t.Error("the overflow was served by the full deployment")
	}
}

// TestLatencyStrategy shows that new sessions go where the first byte was
// quickest, as all processes have measured it, and that a preference stays.
func TestLatencyStrategy(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb", func(d *document) {
		d.extra = "templates: [{id: quick, strategy: latency}]\nplatform: {template: quick}\n"
	})
	other := r.start()
	for _, name := range []string{"alpha", "charlie"} {
		accounts.InjectT(t, r.fleet.Account(name), accounts.Fault{Kind: accounts.SlowFirstByte, Delay: 150 * time.Millisecond})
	}
	measured := map[string]bool{}
	old := turnOf(t, r.URL, "chat", "first", false) // what was never measured is measured first
	measured[old.deployment()] = true
	for i := range 2 {
		r.settled()
		measured[turnOf(t, r.URL, "chat", fmt.Sprint("measure", i), false).deployment()] = true
	}
	if len(measured) != 3 {
		t.Fatalf("measured %v, want each deployment once", measured)
	}
	r.settled()
	for i := range 5 {
		if a := turnOf(t, other.URL, "chat", fmt.Sprint("new", i), false); a.deployment() != "chat-bravo" {
			t.Errorf("a new session went to %s, want the quickest", a.deployment())
		}
	}
	if a := turnOf(t, other.URL, "chat", "first", false); a.affinity() != "hit" || a.deployment() != old.deployment() {
		t.Errorf("the old session: %s by %s, want a hit by %s", a.affinity(), a.deployment(), old.deployment())
	}
}
