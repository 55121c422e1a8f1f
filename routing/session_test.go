package routing_test

import (
	"math"
	"testing"

	"holdfast/routing"
	"holdfast/routing/catalog"
)

// R3: a preference on a fallback target holds while the chain reaches it.
func TestR3FallbackPreference(t *testing.T) {
	w := newWorld(t)
	tr := w.drive(byModel(map[string]routing.Outcome{"gpt": {Class: routing.ServerError}}))
	served := tr.end.Candidate
	if served.Target.Model != "claude" || served.Pool != "claude" || len(served.Path) != 1 || served.Path[0] != "gpt" {
		t.Fatalf("served by %+v", served)
	}
	w.request.Pin = routing.Pin{Deployment: served.Target.ID, Pool: served.Pool, Path: served.Path}
	next := w.drive(always(routing.Outcome{}))
	if len(next.calls) != 1 || next.served() != served.Target.ID || !next.end.Candidate.Pinned {
		t.Errorf("next turn: calls %q, want the fallback target first", next.calls)
	}
	// The same fallback target failing: back to the requested pool.
	back := w.drive(byModel(map[string]routing.Outcome{"claude": {Class: routing.RateLimited}}))
	if back.models() != "claude gpt" || back.end.Action != routing.Done {
		t.Errorf("when the fallback target fails: %q, end %s", back.models(), back.served())
	}
	rows := map[string]edit{
		"chain removed":       template(func(t *catalog.Template) { t.Fallbacks = nil }),
		"class switched off":  template(func(t *catalog.Template) { t.Fallbacks = map[string][]string{"gpt": {}} }),
		"fallbacks disabled":  template(func(t *catalog.Template) { t.DisableFallbacks = true }),
		"target moved away":   deployment(served.Target.ID, func(d *catalog.Deployment) { d.Model = "mini" }),
		"chain points beside": template(func(t *catalog.Template) { t.Fallbacks = map[string][]string{"gpt": {"mini"}} }),
	}
	for name, e := range rows {
		w.configure(e)
		d := routing.Plan(w.request)
		if reason := d.Passed(); reason != routing.ChainRemoved {
			t.Errorf("%s: reason %q", name, reason)
		}
		if tr := w.drive(always(routing.Outcome{})); tr.models() != "gpt" {
			t.Errorf("%s: served by %q", name, tr.models())
		}
	}
	w.configure()
	w.request.SideEffects = true
	if d := routing.Plan(w.request); d.Passed() != routing.ChainRemoved {
		t.Errorf("a call that cannot be replayed: reason %q", d.Passed())
	}
}

// R4: disable_fallbacks, by template or by the request's own word.
func TestR4DisableFallbacks(t *testing.T) {
	pool := byModel(map[string]routing.Outcome{"gpt": {Class: routing.ServerError}})
	byTemplate := newWorld(t, template(func(t *catalog.Template) { t.DisableFallbacks = true }))
	byRequest := newWorld(t)
	byRequest.request.DisableFallbacks = true
	for name, w := range map[string]*world{"template": byTemplate, "request": byRequest} {
		w.pin("gpt-b")
		if tr := w.drive(pool); tr.models() != "gpt" || len(tr.calls) != 6 || tr.served() != "relay 2" {
			t.Errorf("%s: calls %q, end %s; want the pool's attempts and the primary's error", name, tr.calls, tr.served())
		}
		if tr := w.drive(fails("gpt-b", routing.ContextExceeded)); !returned(1)(tr) {
			t.Errorf("%s, context: calls %q, end %s", name, tr.calls, tr.served())
		}
		w.request.Pin = routing.Pin{Deployment: "claude-m", Pool: "claude", Path: []string{"gpt"}}
		if tr := w.drive(always(routing.Outcome{})); tr.models() != "gpt" || tr.decision.Passed() != routing.ChainRemoved {
			t.Errorf("%s: cross-model preference: %q, reason %q", name, tr.calls, tr.decision.Passed())
		}
	}
}

// S2, S6: past its attempts the preferred one is left, and not asked again.
func TestS2S6FailoverDoesNotComeBack(t *testing.T) {
	tr := newWorld(t).pin("gpt-b").drive(always(routing.Outcome{Class: routing.ServerError}))
	left := false
	for _, c := range tr.calls {
		if c != "gpt-b" {
			left = true
		} else if left {
			t.Fatalf("calls %q go back to the exhausted preference", tr.calls)
		}
	}
	w := newWorld(t).pin("gpt-b")
	w.request.Tried = []string{"gpt-b", "gpt-a"}
	if tr := w.drive(always(routing.Outcome{})); tr.served() != "gpt-c" || tr.decision.Passed() != routing.AlreadyTried {
		t.Errorf("with two tried before: %s, reason %q", tr.served(), tr.decision.Passed())
	}
}

// S7: at its own limit the preference stays and the request goes elsewhere.
func TestS7Spill(t *testing.T) {
	rows := map[string]struct {
		limits catalog.Limits
		known  routing.Condition
	}{
		"concurrency": {catalog.Limits{Concurrency: 2}, routing.Condition{InFlight: 2}},
		"rpm":         {catalog.Limits{RPM: 60}, routing.Condition{Requests: 60}},
		"tpm":         {catalog.Limits{TPM: 1000}, routing.Condition{Tokens: 1000}},
		"injected":    {catalog.Limits{}, routing.Condition{Refused: routing.Limit}},
	}
	for name, row := range rows {
		w := newWorld(t, limits("gpt-b", row.limits)).pin("gpt-b")
		w.conditions["gpt-b"] = row.known
		tr := w.drive(always(routing.Outcome{}))
		if tr.called("gpt-b") != 0 || tr.end.Action != routing.Done || !tr.run.Spilled() || !tr.decision.Spilled() || tr.decision.Passed() != routing.Limit {
			t.Errorf("%s: calls %q, spilled %v", name, tr.calls, tr.run.Spilled())
		}
		w.conditions["gpt-b"] = routing.Condition{}
		if tr := w.drive(always(routing.Outcome{})); tr.served() != "gpt-b" || tr.run.Spilled() {
			t.Errorf("%s: the next turn went to %s", name, tr.served())
		}
	}
	// The lease, asked for at the attempt, has no room: the same, without a call.
	tr := newWorld(t).pin("gpt-b").drive(fails("gpt-b", routing.AtLimit))
	if tr.end.Action != routing.Done || tr.served() == "gpt-b" || !tr.run.Spilled() || tr.run.Calls() != 1 || tr.end.Number != 2 {
		t.Errorf("lease: served by %s, spilled %v, %d calls", tr.served(), tr.run.Spilled(), tr.run.Calls())
	}
	// A preference that cools is left, not spilled over.
	w := newWorld(t).pin("gpt-b")
	w.cool("gpt-b", 60)
	if tr := w.drive(always(routing.Outcome{})); tr.run.Spilled() {
		t.Error("a cooling preference counts as spilled")
	}
	if tr := newWorld(t).drive(always(routing.Outcome{Class: routing.AtLimit})); tr.served() != "429 deployments_cooling" || tr.run.Calls() != 0 || tr.run.Spilled() {
		t.Errorf("no room anywhere: %s after %d calls", tr.served(), tr.run.Calls())
	}
}

// S13: sessions are shared out by weight, and a newcomer moves its share only.
func TestS13Shares(t *testing.T) {
	const sessions = 10000
	weights := func(table map[string]float64) edit {
		return template(func(t *catalog.Template) { t.ModelRules = map[string]catalog.Rule{"gpt": {Weights: table}} })
	}
	first := func(w *world) []string {
		chosen := make([]string, sessions)
		for i := range chosen {
			w.request.Seed = session(i)
			d := routing.Plan(w.request)
			_, step := d.Start(noon)
			chosen[i] = step.Candidate.Target.ID
		}
		return chosen
	}
	share := func(chosen []string, id string) float64 {
		n := 0
		for _, c := range chosen {
			if c == id {
				n++
			}
		}
		return float64(n) / sessions
	}
	two := first(newWorld(t, weights(map[string]float64{"gpt-a": 3, "gpt-b": 1, "gpt-c": 0})))
	if a, b := share(two, "gpt-a"), share(two, "gpt-b"); math.Abs(a-0.75) > 0.02 || math.Abs(b-0.25) > 0.02 {
		t.Errorf("3:1 became %.3f:%.3f", a, b)
	}
	three := first(newWorld(t, weights(map[string]float64{"gpt-a": 3, "gpt-b": 1, "gpt-c": 1})))
	for i := range two {
		if two[i] != three[i] && three[i] != "gpt-c" {
			t.Fatalf("session %d moved from %s to %s when gpt-c joined", i, two[i], three[i])
		}
	}
	if c := share(three, "gpt-c"); math.Abs(c-0.2) > 0.02 {
		t.Errorf("the newcomer of weight 1 in 5 has %.3f", c)
	}
}

// S15: a session keeps its key, sessions spread, and a key that is limited or
// refused is passed over while the deployment stays.
func TestS15Keys(t *testing.T) {
	ids := []string{"env:C1", "env:C2", "env:C3"}
	count := make([]int, 3)
	for i := range 3000 {
		order := routing.KeyOrder(session(i), ids)
		count[order[0]]++
		fewer := routing.KeyOrder(session(i), ids[:2])
		if order[0] != 2 && fewer[0] != order[0] {
			t.Fatal("a session lost its key when another key went away")
		}
	}
	for i, n := range count {
		if n < 900 || n > 1100 {
			t.Errorf("key %d has %d of 3000 sessions", i, n)
		}
	}
	if a, b := routing.KeyRotation(4, 3), []int{1, 2, 0}; a[0] != b[0] || a[1] != b[1] || a[2] != b[2] {
		t.Errorf("rotation %v", a)
	}
	w := newWorld(t).pin("gpt-c") // its connection has three keys
	for _, class := range []routing.Class{routing.RateLimited, routing.CredentialRefused, routing.Exhausted} {
		tr := w.drive(func(s routing.Step) routing.Outcome {
			if s.Number <= 2 {
				return routing.Outcome{Class: class, OtherKey: true}
			}
			return routing.Outcome{}
		})
		if tr.served() != "gpt-c" || len(tr.calls) != 3 || !tr.steps[1].NextKey || !tr.steps[2].NextKey || tr.end.Attempt != 1 || len(tr.run.Failures()) != 0 {
			t.Errorf("%v: calls %q, end %s, failures %v", class, tr.calls, tr.served(), tr.run.Failures())
		}
	}
	// Whoever claims to have ever more keys still comes to an end.
	tr := w.drive(always(routing.Outcome{Class: routing.RateLimited, OtherKey: true}))
	if n := tr.called("gpt-c"); n != 2+2 {
		t.Errorf("%d calls with three keys and two attempts, want 4", n)
	}
}
