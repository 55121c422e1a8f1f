package routing_test

import (
	"testing"
	"time"

	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

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
	t.Run("the wait for the cooldown is one of them", func(t *testing.T) {
		w := newWorld(t, strict, attempts(9)).pin("gpt-b")
		w.cool("gpt-b", 1)
		tr := w.drive(always(routing.Outcome{Class: routing.RateLimited, RetryAfter: 700 * time.Millisecond}))
		if waited := tr.now.Sub(noon); len(tr.calls) != 2 || waited != 1700*time.Millisecond {
			t.Errorf("%d calls in %v", len(tr.calls), waited)
		}
	})
	t.Run("a limit from outside that resets shortly is waited for", func(t *testing.T) {
		w := newWorld(t, strict).pin("gpt-b")
		w.conditions["gpt-b"] = routing.Condition{Refused: routing.Limit, Reset: noon.Add(time.Second)}
		if tr := w.drive(always(routing.Outcome{})); tr.served() != "gpt-b" || tr.steps[0].Wait != time.Second {
			t.Errorf("calls %q, end %s", tr.calls, tr.served())
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
