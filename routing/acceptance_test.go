package routing_test

import (
	"math"
	"testing"
	"time"

	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// R1: max_attempts 3 means exactly three calls on the preferred, then the next.
func TestR1MaxAttempts(t *testing.T) {
	for n := 1; n <= 4; n++ {
		w := newWorld(t, attempts(n)).pin("gpt-b")
		tr := w.drive(fails("gpt-b", routing.ServerError))
		if !movedAfter(n)(tr) {
			t.Errorf("max_attempts %d: calls %q, end %s", n, tr.calls, tr.served())
		}
		for i, s := range tr.steps[:n] {
			if s.Attempt != i+1 || s.Number != i+1 {
				t.Errorf("max_attempts %d: call %d has attempt %d, number %d", n, i+1, s.Attempt, s.Number)
			}
		}
	}
}

// R2: context and policy errors go to their own chain at once; neither cools.
func TestR2OwnChainsCoolNobody(t *testing.T) {
	for _, class := range []routing.Class{routing.ContextExceeded, routing.ContentRefused} {
		tr := newWorld(t).pin("gpt-b").drive(fails("gpt-b", class))
		if len(tr.calls) != 2 || len(tr.run.Failures()) != 0 {
			t.Errorf("%v: calls %q, failures %v", class, tr.calls, tr.run.Failures())
		}
	}
}

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

// R6: a Retry-After within the budget waits and stays; a long one moves on.
func TestR6RetryAfter(t *testing.T) {
	after := func(d time.Duration) func(routing.Step) routing.Outcome {
		return func(s routing.Step) routing.Outcome {
			if s.Number == 1 {
				return routing.Outcome{Class: routing.RateLimited, RetryAfter: d}
			}
			return routing.Outcome{}
		}
	}
	w := newWorld(t).pin("gpt-b")
	w.request.Deadline = noon.Add(time.Minute)
	tr := w.drive(after(time.Second))
	if tr.served() != "gpt-b" || tr.steps[1].Wait != time.Second || tr.steps[1].Attempt != 2 {
		t.Errorf("1 s: served by %s after %v", tr.served(), tr.steps[1].Wait)
	}
	tr = w.drive(after(60 * time.Second))
	if tr.served() == "gpt-b" || len(tr.calls) != 2 || tr.steps[1].Wait != 0 {
		t.Errorf("60 s: calls %q, waited %v", tr.calls, tr.steps[1].Wait)
	}
	if f := tr.run.Failures(); len(f) != 1 || f[0].Deployment != "gpt-b" || f[0].RetryAfter != time.Minute {
		t.Errorf("60 s: failures %+v", f)
	}
	w.request.Deadline = noon.Add(500 * time.Millisecond)
	if tr = w.drive(after(time.Second)); tr.served() == "gpt-b" {
		t.Error("waited past the exchange's deadline")
	}
}

func TestBackoff(t *testing.T) {
	w := newWorld(t, attempts(12)).pin("gpt-b")
	draws := []float64{0, 0.5, 0.999}
	for _, draw := range draws {
		w.request.Jitter = func() float64 { return draw }
		tr := w.drive(fails("gpt-b", routing.ServerError))
		for i, s := range tr.steps[1:12] {
			longest := min(50*time.Millisecond<<i, 2*time.Second)
			if want := time.Duration(draw * float64(longest)); s.Wait != want {
				t.Errorf("draw %v, after %d failures: %v, want %v", draw, i+1, s.Wait, want)
			}
		}
	}
	// On a deployment that is not the first, Retry-After is not waited for.
	tr := w.drive(byModel(map[string]routing.Outcome{"gpt": {Class: routing.RateLimited, RetryAfter: time.Second}}))
	if first, second := tr.steps[1].Wait, tr.steps[13].Wait; first != time.Second || second >= 50*time.Millisecond {
		t.Errorf("first deployment waited %v, second %v", first, second)
	}
}

// R8: all cooling is 429 with the earliest reset.
func TestR8AllCooling(t *testing.T) {
	w := newWorld(t).pin("gpt-b")
	for i, id := range []string{"gpt-a", "gpt-b", "gpt-c", "claude-m", "claude-b"} {
		w.cool(id, 30+i)
	}
	tr := w.drive(always(routing.Outcome{}))
	if tr.served() != "429 deployments_cooling" || tr.end.Refusal.RetryAfter != 30*time.Second {
		t.Errorf("%s after %v", tr.served(), tr.end.Refusal.RetryAfter)
	}
	w.conditions["claude-b"] = routing.Condition{Refused: routing.Limit, Reset: noon.Add(10 * time.Second)}
	if tr = w.drive(always(routing.Outcome{})); tr.end.Refusal.RetryAfter != 10*time.Second {
		t.Errorf("with a limit that resets earlier: %v", tr.end.Refusal.RetryAfter)
	}
}

// R9: a client's errors never count; an exchange counts one failure at most.
func TestR9WhatCounts(t *testing.T) {
	counts := map[routing.Class]int{
		routing.RateLimited: 1, routing.ServerError: 1, routing.Unreachable: 1, routing.Broken: 1, routing.CredentialRefused: 1,
		routing.Stale: 1, routing.Exhausted: 3, routing.UnknownModel: 3,
		routing.ContextExceeded: 0, routing.ContentRefused: 0, routing.Rejected: 0, routing.Repairable: 0,
		routing.LocalRefusal: 0, routing.AtLimit: 0, routing.Cancelled: 0, routing.Expired: 0, routing.Success: 0,
	}
	w := newWorld(t)
	w.request.DisableFallbacks = true
	for class, want := range counts {
		tr := w.drive(always(routing.Outcome{Class: class}))
		if got := len(tr.run.Failures()); got != want {
			t.Errorf("%v: %d failures of %q, want %d", class, got, tr.calls, want)
		}
	}
	tr := w.drive(always(routing.Outcome{Class: routing.ServerError}))
	f := tr.run.Failures()[0]
	if f.Deployment != tr.calls[0] || f.Session != 7 || !f.At.Equal(noon) || f.Cause != cooldown.Failing {
		t.Errorf("the failure is %+v", f)
	}
}

// R10: a refused credential goes to the next; all refused is 502.
func TestR10Credentials(t *testing.T) {
	w := newWorld(t).pin("gpt-b")
	if tr := w.drive(fails("gpt-b", routing.CredentialRefused)); !movedAfter(1)(tr) {
		t.Errorf("calls %q, end %s", tr.calls, tr.served())
	}
	if tr := w.drive(always(routing.Outcome{Class: routing.CredentialRefused})); tr.served() != "502 upstream_credentials" || tr.called("gpt-b") != 1 {
		t.Errorf("all refused: calls %q, end %s", tr.calls, tr.served())
	}
	// Where anything else was said, that is told rather than our credentials.
	tr := w.drive(func(s routing.Step) routing.Outcome {
		if s.Candidate.Target.ID == "gpt-b" {
			return routing.Outcome{Class: routing.CredentialRefused}
		}
		return routing.Outcome{Class: routing.ServerError}
	})
	if tr.end.Action != routing.Relay || tr.steps[tr.end.Relay-1].Candidate.Target.ID == "gpt-b" {
		t.Errorf("mixed: end %s", tr.served())
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
	if tr.end.Action != routing.Done || tr.served() == "gpt-b" || !tr.run.Spilled() || tr.run.Calls() != 1 || tr.end.Number != 1 {
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

// S16: strict affinity waits or refuses, and leaves only what is gone.
func TestS16Strict(t *testing.T) {
	t.Run("cooling shortly is waited for", func(t *testing.T) {
		w := newWorld(t, strict).pin("gpt-b")
		w.cool("gpt-b", 2)
		if tr := w.drive(always(routing.Outcome{})); tr.served() != "gpt-b" || tr.steps[0].Wait != 2*time.Second {
			t.Errorf("%s after %v", tr.served(), tr.steps[0].Wait)
		}
	})
	t.Run("cooling for long is refused", func(t *testing.T) {
		w := newWorld(t, strict).pin("gpt-b")
		w.cool("gpt-b", 30)
		if tr := w.drive(always(routing.Outcome{})); tr.served() != "429 deployments_cooling" || tr.end.Refusal.RetryAfter != 30*time.Second || len(tr.calls) != 0 {
			t.Errorf("%s after %v", tr.served(), tr.end.Refusal.RetryAfter)
		}
	})
	t.Run("limited without a slot is refused after max_wait", func(t *testing.T) {
		tr := newWorld(t, strict).pin("gpt-b").drive(always(routing.Outcome{Class: routing.AtLimit}))
		if waited := tr.now.Sub(noon); tr.served() != "429 deployments_cooling" || waited != 2*time.Second || tr.called("gpt-b") != len(tr.calls) {
			t.Errorf("%s after %v, calls %q", tr.served(), waited, tr.calls)
		}
	})
	t.Run("limited until a slot comes free", func(t *testing.T) {
		w := newWorld(t, strict, limits("gpt-b", catalog.Limits{Concurrency: 1})).pin("gpt-b")
		w.conditions["gpt-b"] = routing.Condition{InFlight: 1}
		tr := w.drive(func(s routing.Step) routing.Outcome {
			if len(w.conditions) > 0 {
				delete(w.conditions, "gpt-b")
				return routing.Outcome{Class: routing.AtLimit}
			}
			return routing.Outcome{}
		})
		if tr.served() != "gpt-b" || tr.run.Calls() != 1 || tr.run.Spilled() {
			t.Errorf("%s after %d calls", tr.served(), tr.run.Calls())
		}
	})
	t.Run("429 is retried, then returned", func(t *testing.T) {
		tr := newWorld(t, strict).pin("gpt-b").drive(always(routing.Outcome{Class: routing.RateLimited, RetryAfter: 1500 * time.Millisecond}))
		if !returned(2)(tr) || tr.end.RetryAfter != 1500*time.Millisecond || tr.steps[1].Wait != 1500*time.Millisecond {
			t.Errorf("calls %q, end %s after %v", tr.calls, tr.served(), tr.end.RetryAfter)
		}
	})
	t.Run("all waits together stay within max_wait", func(t *testing.T) {
		tr := newWorld(t, strict, attempts(9)).pin("gpt-b").drive(always(routing.Outcome{Class: routing.RateLimited, RetryAfter: 900 * time.Millisecond}))
		if waited := tr.now.Sub(noon); len(tr.calls) != 3 || waited != 1800*time.Millisecond {
			t.Errorf("%d calls in %v", len(tr.calls), waited)
		}
	})
	t.Run("5xx is retried, then 503", func(t *testing.T) {
		tr := newWorld(t, strict).pin("gpt-b").drive(always(routing.Outcome{Class: routing.ServerError}))
		if !refused("503 no_eligible_deployment", 2)(tr) || tr.end.Refusal.RetryAfter < time.Second {
			t.Errorf("calls %q, end %s", tr.calls, tr.served())
		}
	})
	gone := map[string]edit{
		"disabled": deployment("gpt-b", func(d *catalog.Deployment) { d.Enabled = pointer(false) }),
		"deleted":  without("gpt-b"),
		"weight 0": deployment("gpt-b", func(d *catalog.Deployment) { d.Weight = pointer(0.0) }),
	}
	for name, e := range gone {
		t.Run(name+" is left", func(t *testing.T) {
			w := newWorld(t, strict, e).pin("gpt-b")
			if tr := w.drive(always(routing.Outcome{})); tr.end.Action != routing.Done || tr.called("gpt-b") != 0 {
				t.Errorf("calls %q, end %s", tr.calls, tr.served())
			}
		})
	}
	for _, class := range []routing.Class{routing.CredentialRefused, routing.Exhausted, routing.UnknownModel} {
		t.Run(class.String()+" is left", func(t *testing.T) {
			if tr := newWorld(t, strict).pin("gpt-b").drive(fails("gpt-b", class)); !movedAfter(1)(tr) {
				t.Errorf("calls %q, end %s", tr.calls, tr.served())
			}
		})
	}
	t.Run("cooling because its account is empty is left", func(t *testing.T) {
		w := newWorld(t, strict).pin("gpt-b")
		w.conditions["gpt-b"] = routing.Condition{Rest: cooldown.Status{Until: noon.Add(time.Second), Cause: cooldown.Exhausted}}
		if tr := w.drive(always(routing.Outcome{})); tr.end.Action != routing.Done || tr.called("gpt-b") != 0 {
			t.Errorf("calls %q, end %s", tr.calls, tr.served())
		}
	})
	t.Run("a new session is not held", func(t *testing.T) {
		tr := newWorld(t, strict).drive(func(s routing.Step) routing.Outcome {
			if s.Number <= 2 {
				return routing.Outcome{Class: routing.ServerError}
			}
			return routing.Outcome{}
		})
		if tr.end.Action != routing.Done || len(tr.calls) != 3 {
			t.Errorf("calls %q, end %s", tr.calls, tr.served())
		}
	})
}

// C4: the creator or nobody, unless the protocol lets a peer of the boundary serve.
func TestC4Continuation(t *testing.T) {
	var (
		moved   = func(o *routing.Owner) { o.BaseURL = "https://elsewhere.example/v1" }
		foreign = func(o *routing.Owner) { o.Boundary = "elsewhere" }
		peers   = func(o *routing.Owner) { o.Peers = []string{"gpt-c", "gpt-a"} } // gpt-c has another boundary
	)
	off := deployment("gpt-b", func(d *catalog.Deployment) { d.Enabled = pointer(false) })
	const gone = "409 continuation_unavailable"
	rows := []struct {
		name  string
		edit  edit
		known func(*world)
		owner func(*routing.Owner)
		want  string
	}{
		{"as it was", nil, nil, nil, "gpt-b"},
		{"disabled", off, nil, nil, gone},
		{"deleted", without("gpt-b"), nil, nil, gone},
		{"weight 0", deployment("gpt-b", func(d *catalog.Deployment) { d.Weight = pointer(0.0) }), nil, nil, gone},
		{"base URL changed", nil, nil, moved, gone},
		{"boundary changed", nil, nil, foreign, gone},
		{"disabled, with a peer", off, nil, peers, "gpt-a"},
		{"deleted, with a peer", without("gpt-b"), nil, peers, "gpt-a"},
		{"credential lost, with a peer", nil, func(w *world) { w.conditions["gpt-b"] = routing.Condition{Refused: routing.NoCredential} }, peers, "gpt-a"},
		{"disabled, its peer as well", off, func(w *world) { w.cool("gpt-a", 9) }, peers, gone},
		{"boundary changed, with peers", nil, nil, func(o *routing.Owner) { peers(o); foreign(o) }, gone},
		{"cooling shortly", nil, func(w *world) { w.cool("gpt-b", 1) }, nil, "gpt-b"},
		{"cooling for long", nil, func(w *world) { w.cool("gpt-b", 9) }, nil, "429 deployments_cooling"},
		{"cooling for long, with a peer", nil, func(w *world) { w.cool("gpt-b", 9) }, peers, "gpt-a"},
		{"drained", nil, func(w *world) { w.conditions["gpt-b"] = routing.Condition{Rest: cooldown.Status{Drained: true}} }, nil, "gpt-b"},
		{"tools lost", deployment("gpt-b", func(d *catalog.Deployment) { d.Capabilities.Tools = pointer(false) }), nil, nil, "400 capability_missing"},
		{"endpoint lost", deployment("gpt-b", func(d *catalog.Deployment) { d.Endpoints = []string{catalog.Messages} }), nil, nil, "400 endpoint_unsupported"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			owned(w)
			if row.owner != nil {
				row.owner(w.request.Owner)
			}
			w.request.Needs.Tools = true
			w.request.Pin = routing.Pin{Deployment: "gpt-c", Pool: "gpt"} // a preference has no say
			if row.edit != nil {
				w.configure(row.edit)
			}
			if row.known != nil {
				row.known(w)
			}
			if tr := w.drive(always(routing.Outcome{})); tr.served() != row.want || len(tr.calls) > 1 {
				t.Errorf("%s with calls %q, want %s", tr.served(), tr.calls, row.want)
			}
		})
	}
	// One that was created on a fallback target stays there, whatever the chains say now.
	w := newWorld(t, template(func(t *catalog.Template) { t.Fallbacks = nil }))
	target := w.catalog.Deployment("claude-m")
	w.request.Owner = &routing.Owner{Deployment: target.ID, BaseURL: target.BaseURL, Boundary: target.Account.Boundary}
	if tr := w.drive(always(routing.Outcome{})); tr.served() != "claude-m" {
		t.Errorf("creator outside the pool: %s", tr.served())
	}
}

// M2: one repaired resend on the same deployment, outside max_attempts.
func TestM2Repair(t *testing.T) {
	w := newWorld(t, attempts(1)).pin("gpt-b")
	tr := w.drive(func(s routing.Step) routing.Outcome {
		if !s.Repair {
			return routing.Outcome{Class: routing.Repairable}
		}
		return routing.Outcome{}
	})
	if tr.served() != "gpt-b" || len(tr.calls) != 2 || tr.end.Attempt != 1 || len(tr.run.Failures()) != 0 {
		t.Errorf("calls %q, end %s", tr.calls, tr.served())
	}
	if tr = w.drive(always(routing.Outcome{Class: routing.Repairable})); !returned(2)(tr) {
		t.Errorf("a repair that does not help: calls %q, end %s", tr.calls, tr.served())
	}
}

// TestStaleSocket: an attempt that dies on a reused connection is resent once,
// not counted; the resend is an attempt like any other.
func TestStaleSocket(t *testing.T) {
	w := newWorld(t, attempts(1)).pin("gpt-b")
	tr := w.drive(func(s routing.Step) routing.Outcome {
		if s.Fresh {
			return routing.Outcome{}
		}
		return routing.Outcome{Class: routing.Stale}
	})
	if tr.served() != "gpt-b" || len(tr.calls) != 2 || tr.end.Attempt != 1 || tr.steps[1].Wait != 0 {
		t.Errorf("calls %q, end %s", tr.calls, tr.served())
	}
	if tr = w.drive(fails("gpt-b", routing.Stale)); !movedAfter(2)(tr) {
		t.Errorf("dead twice: calls %q, end %s", tr.calls, tr.served())
	}
	owned(w)
	if tr = w.drive(always(routing.Outcome{Class: routing.Stale})); tr.served() != "502 upstream_unknown_outcome" || len(tr.calls) != 2 {
		t.Errorf("continuation: calls %q, end %s", tr.calls, tr.served())
	}
}
