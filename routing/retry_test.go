package routing_test

import (
	"testing"
	"time"

	"holdfast/routing"
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

// TestLongRetryAfterMovesOn: also where it is not the first deployment that asks.
func TestLongRetryAfterMovesOn(t *testing.T) {
	w := newWorld(t).pin("gpt-b")
	tr := w.drive(always(routing.Outcome{Class: routing.RateLimited, RetryAfter: time.Minute}))
	for _, id := range []string{"gpt-a", "gpt-b", "gpt-c", "claude-m", "claude-b"} {
		if tr.called(id) != 1 {
			t.Errorf("%d calls of %s, which asks for a minute", tr.called(id), id)
		}
	}
	// All of them cool at once, and the client is told when the first is back.
	if n := len(tr.run.Failures()); n != 5 || tr.served() != "relay 1" || tr.end.RetryAfter != time.Minute {
		t.Errorf("%d failures, end %s after %v", n, tr.served(), tr.end.RetryAfter)
	}
}

// TestComeBack: Retry-After goes with the primary's error when all only wait.
func TestComeBack(t *testing.T) {
	w := newWorld(t).pin("gpt-b")
	w.request.DisableFallbacks = true
	w.request.Jitter = func() float64 { return 0 }
	w.cool("gpt-c", 7)
	limited := func(last routing.Class) func(routing.Step) routing.Outcome {
		return func(s routing.Step) routing.Outcome {
			if s.Candidate.Target.ID == "gpt-a" {
				return routing.Outcome{Class: last}
			}
			return routing.Outcome{Class: routing.RateLimited, RetryAfter: 30 * time.Second}
		}
	}
	rows := map[routing.Class]time.Duration{
		routing.ServerError: 7 * time.Second, // gpt-c is the first to be back
		routing.Exhausted:   0,               // waiting is no cure for everybody
	}
	for last, want := range rows {
		if tr := w.drive(limited(last)); tr.served() != "relay 1" || tr.end.RetryAfter != want {
			t.Errorf("%v: end %s after %v, want %v", last, tr.served(), tr.end.RetryAfter, want)
		}
	}
	// Without any hint it is a second, for some clients give up without one.
	delete(w.conditions, "gpt-c")
	if tr := w.drive(always(routing.Outcome{Class: routing.ServerError})); tr.end.RetryAfter != time.Second {
		t.Errorf("no hints: %v", tr.end.RetryAfter)
	}
}

// TestCoolsByItselfBesideTheCounted: one failure counts, and who asks for a
// long pause cools all the same.
func TestCoolsByItselfBesideTheCounted(t *testing.T) {
	tr := newWorld(t).pin("gpt-b").drive(func(s routing.Step) routing.Outcome {
		if s.Candidate.Target.ID == "gpt-b" {
			return routing.Outcome{Class: routing.ServerError}
		}
		return routing.Outcome{Class: routing.RateLimited, RetryAfter: time.Minute}
	})
	f := tr.run.Failures()
	if len(f) != 5 || f[0].Deployment != "gpt-b" || f[0].RetryAfter != 0 || f[1].RetryAfter != time.Minute {
		t.Errorf("failures %+v", f)
	}
}

func TestDeadline(t *testing.T) {
	w := newWorld(t)
	w.request.Deadline = noon
	if tr := w.drive(always(routing.Outcome{})); tr.served() != "504 deadline_exceeded" || len(tr.calls) != 0 {
		t.Errorf("no time at all: %s after %q", tr.served(), tr.calls)
	}
	w.request.Deadline = noon.Add(time.Minute)
	if tr := w.drive(always(routing.Outcome{Class: routing.Expired})); tr.served() != "504 deadline_exceeded" || len(tr.calls) != 1 {
		t.Errorf("the attempt ran into it: %s", tr.served())
	}
	// The last attempt took all the time that was left: the primary's error.
	d := routing.Plan(w.request)
	run, _ := d.Start(noon)
	if end := run.Next(noon.Add(time.Minute), routing.Outcome{Class: routing.ServerError}); end.Action != routing.Relay || end.Relay != 1 {
		t.Errorf("no time for another: %+v", end)
	}
}
