package routing_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// classes are all classes of outcomes, to be drawn from.
func classes() []routing.Class {
	var all []routing.Class
	for c := routing.Success; c.String() != "unknown"; c++ {
		all = append(all, c)
	}
	return all
}

// scenario draws a configuration with chains among up to twelve models, a state
// of health, and a request.
func scenario(t *rapid.T, outer testing.TB) *world {
	models := []string{"gpt", "long", "mild", "claude", "mini", "smart", "m0", "m1", "m2", "m3", "m4", "m5"}
	chain := func(label string) map[string][]string {
		table := map[string][]string{}
		for _, source := range models {
			if rapid.Bool().Draw(t, label+" "+source) {
				continue
			}
			targets := rapid.SliceOfNDistinct(rapid.SampledFrom(models), 0, 4, rapid.ID[string]).Draw(t, "targets")
			table[source] = slices.DeleteFunc(targets, func(m string) bool { return m == source })
		}
		return table
	}
	w := newWorld(outer, plenty(6), chains(chain("general"), chain("context"), chain("content")), func(doc *catalog.Document) {
		d := &doc.Templates[0]
		d.RetryPolicy.MaxAttempts = rapid.IntRange(1, 4).Draw(t, "max_attempts")
		d.Strategy = rapid.SampledFrom([]string{"", catalog.Cost, catalog.Latency, catalog.LeastUsage, catalog.RoundRobin}).Draw(t, "strategy")
		d.SessionAffinity = rapid.SampledFrom([]catalog.Stickiness{catalog.Sticky, catalog.Strict, catalog.NotSticky}).Draw(t, "affinity")
		for i := range doc.Deployments {
			switch rapid.IntRange(0, 11).Draw(t, "state of "+doc.Deployments[i].ID) {
			case 0:
				doc.Deployments[i].Enabled = pointer(false)
			case 1:
				doc.Deployments[i].Weight = pointer(0.0)
			case 2:
				doc.Deployments[i].Capabilities.Tools = pointer(false)
			case 3:
				doc.Deployments[i].Limits.Concurrency = 1
			}
		}
	})
	for _, pool := range w.catalog.Public() {
		for _, d := range pool.Deployments {
			switch rapid.IntRange(0, 8).Draw(t, "health of "+d.ID) {
			case 0:
				w.cool(d.ID, rapid.IntRange(1, 5).Draw(t, "seconds"))
			case 1:
				w.conditions[d.ID] = routing.Condition{InFlight: 1}
			case 2:
				w.conditions[d.ID] = routing.Condition{Rest: cooldown.Status{Drained: true}}
			}
		}
	}
	w.ask(rapid.SampledFrom([]string{"gpt", "smart", "claude", "m0"}).Draw(t, "requested"))
	w.request.Seed = session(rapid.IntRange(0, 1000).Draw(t, "seed"))
	w.request.Needs.Tools = rapid.Bool().Draw(t, "tools")
	w.request.SideEffects = rapid.IntRange(0, 5).Draw(t, "side effects") == 0
	w.request.DisableFallbacks = rapid.IntRange(0, 5).Draw(t, "no fallbacks") == 0
	if rapid.Bool().Draw(t, "deadline") {
		w.request.Deadline = noon.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
	}
	someone := rapid.SampledFrom([]string{"gpt-a", "gpt-b", "claude-m", "mini-a", "m0-a"})
	switch rapid.IntRange(0, 3).Draw(t, "session") {
	case 0:
		w.pin(someone.Draw(t, "pin"))
	case 1:
		target := w.catalog.Deployment(someone.Draw(t, "owner"))
		w.request.Owner = &routing.Owner{Deployment: target.ID, BaseURL: target.BaseURL, Boundary: target.Account.Boundary}
	}
	return w
}

func outcome(t *rapid.T) routing.Outcome {
	return routing.Outcome{
		Class:      rapid.SampledFrom(classes()).Draw(t, "class"),
		RetryAfter: time.Duration(rapid.SampledFrom([]int{0, 0, 0, 300, 1500, 2000, 60000}).Draw(t, "retry after")) * time.Millisecond,
		Output:     rapid.IntRange(0, 15).Draw(t, "output") == 0,
		OtherKey:   rapid.IntRange(0, 3).Draw(t, "other key") == 0,
	}
}

// TestRunProperties: whatever the configuration and the outcomes, a run ends;
// no deployment is tried more often than it may, none that eligibility refuses
// is tried at all, none comes back once it was left; nothing follows an answer.
func TestRunProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := scenario(rt, t)
		decision := routing.Plan(w.request)
		maxAttempts := w.request.Caller.Policy.MaxAttempts
		var (
			now                    = noon
			counted, resent, order = map[string]int{}, map[string]int{}, []string{}
			models                 = map[string]bool{}
			waited                 time.Duration
		)
		run, step := decision.Start(now)
		for step.Action == routing.Try {
			c := step.Candidate
			id := c.Target.ID
			if len(order) == 0 || order[len(order)-1] != id {
				if slices.Contains(order, id) {
					rt.Fatalf("%s comes back after %q", id, order)
				}
				order = append(order, id)
			}
			if !c.Pinned && !eligible(w, c, now) {
				rt.Fatalf("%s is tried, which eligibility refuses", id)
			}
			if step.Attempt < 1 || step.Attempt > maxAttempts {
				rt.Fatalf("attempt %d of %d on %s", step.Attempt, maxAttempts, id)
			}
			if step.Wait < 0 || step.Wait > 2*time.Second {
				rt.Fatalf("wait %v", step.Wait)
			}
			waited += step.Wait
			models[c.Target.Model] = true
			now = now.Add(step.Wait)
			if !w.request.Deadline.IsZero() && step.Wait > 0 && !now.Before(w.request.Deadline) {
				rt.Fatal("waits beyond the deadline")
			}
			o := outcome(rt)
			next := run.Next(now, o)
			// A deployment that had no room was not called.
			if next.Action == routing.Try && next.Candidate.Target == c.Target && next.Attempt == step.Attempt {
				resent[id]++
			}
			if o.Class != routing.AtLimit {
				counted[id]++
			}
			if next.Action == routing.Try && harmful(w.request, o.Class) {
				rt.Fatalf("replayed after %v", o.Class)
			}
			if next.Action == routing.Try && o.Output {
				rt.Fatal("another attempt after output")
			}
			step = next
		}
		if len(models) > routing.MaxModels {
			rt.Fatalf("%d models", len(models))
		}
		for id, n := range counted {
			if n > maxAttempts+resent[id] {
				rt.Fatalf("%d calls of %s with %d attempts and %d free resends", n, id, maxAttempts, resent[id])
			}
		}
		if w.request.Owner != nil && len(order) > 1 {
			rt.Fatalf("a continuation tried %q", order)
		}
		wellFormed(rt, step, run.Calls())
		if again := run.Next(now, routing.Outcome{}); fmt.Sprint(again) != fmt.Sprint(step) {
			rt.Fatalf("after its end the run says %+v, not %+v", again, step)
		}
		atMostOneFailure(rt, run.Failures())
	})
}

// eligible asks for the candidate as a new session of its own pool would.
func eligible(w *world, c routing.Candidate, now time.Time) bool {
	plain := w.request
	plain.Pin, plain.Owner, plain.Now = routing.Pin{}, nil, now
	plain.Pool = w.catalog.Pool(c.Pool)
	d := routing.Plan(plain)
	return slices.ContainsFunc(d.Explain().Candidates, func(row routing.Considered) bool {
		return row.Deployment == c.Target.ID && row.Chain == "" && row.Kept
	})
}

// harmful reports whether another call after that outcome could do harm.
func harmful(r routing.Request, c routing.Class) bool {
	switch c {
	case routing.Broken, routing.ServerError:
		return r.SideEffects || r.Owner != nil
	case routing.Stale:
		return r.SideEffects
	}
	return false
}

func wellFormed(t *rapid.T, end routing.Step, calls int) {
	switch end.Action {
	case routing.Done, routing.Abort:
		if end.Candidate.Target == nil {
			t.Fatalf("%v without a candidate", end.Action)
		}
	case routing.Relay:
		if end.Relay < 1 {
			t.Fatalf("relays attempt %d", end.Relay)
		}
	case routing.Refuse:
		f := end.Refusal
		if f.Code == "" || f.Status < 400 {
			t.Fatalf("refusal %+v", f)
		}
		if (f.Status == 429 || f.Status == 503) && f.RetryAfter < time.Second {
			t.Fatalf("%s without a Retry-After after %d calls", f.Code, calls)
		}
	default:
		t.Fatalf("ends with %v", end.Action)
	}
}

// atMostOneFailure: beside those that cool by themselves, one failure counts.
func atMostOneFailure(t *rapid.T, failures []cooldown.Failure) {
	counting := 0
	for _, f := range failures {
		if f.RetryAfter <= 2*time.Second && f.Cause != cooldown.Exhausted {
			counting++
		}
	}
	if counting > 1 {
		t.Fatalf("%d failures count: %+v", counting, failures)
	}
}

// TestPlanIsAFunction: equal requests give equal steps, and no map order or
// process decides anything.
func TestPlanIsAFunction(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := scenario(rt, t)
		one, other := w.drive(down), w.drive(down)
		if !slices.Equal(one.calls, other.calls) || one.served() != other.served() {
			rt.Fatalf("%q %s, then %q %s", one.calls, one.served(), other.calls, other.served())
		}
		// The explanation's ranks are the order in which all that fail are tried. One
		// that was resting may wake while they are.
		var ranked []string
		for _, c := range one.decision.Explain().Candidates {
			if c.Kept && (c.Chain == "" || c.Chain == routing.GeneralChain) {
				ranked = append(ranked, c.Deployment)
			}
		}
		var tried []string
		for _, s := range one.steps {
			if s.Attempt == 1 && slices.Contains(ranked, s.Candidate.Target.ID) {
				tried = append(tried, s.Candidate.Target.ID)
			}
		}
		own := w.request.Pool.Deployments
		for i := range min(len(tried), len(ranked)) {
			inPool := slices.ContainsFunc(own, func(d *catalog.Target) bool { return d.ID == tried[i] })
			if tried[i] != ranked[i] && inPool {
				rt.Fatalf("tried %q, explained %q", tried, ranked)
			}
		}
	})
}

// TestShares: a session's first choice follows the weights whatever they are.
func TestShares(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		weights := map[string]float64{}
		sum := 0.0
		for _, id := range []string{"gpt-a", "gpt-b", "gpt-c"} {
			weights[id] = rapid.Float64Range(0.1, 10).Draw(rt, id)
			sum += weights[id]
		}
		w := newWorld(t, template(func(t *catalog.Template) { t.ModelRules = map[string]catalog.Rule{"gpt": {Weights: weights}} }))
		const sessions = 1000
		offset := rapid.IntRange(0, 1<<20).Draw(rt, "offset")
		got := map[string]float64{}
		for i := range sessions {
			w.request.Seed = session(offset + i)
			d := routing.Plan(w.request)
			_, step := d.Start(noon)
			got[step.Candidate.Target.ID] += 1.0 / sessions
		}
		for id, weight := range weights {
			// Five standard deviations of a share of 1,000 are at most 0.08.
			if diff := got[id] - weight/sum; diff > 0.08 || diff < -0.08 {
				rt.Fatalf("%s: weight %.3f of %.3f, share %.3f", id, weight, sum, got[id])
			}
		}
	})
}
