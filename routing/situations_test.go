package routing_test

import (
	"testing"
	"time"

	"holdfast/routing"
	"holdfast/routing/catalog"
)

// fails answers one deployment badly and all others well.
func fails(id string, class routing.Class) func(routing.Step) routing.Outcome {
	return by(map[string]routing.Outcome{id: {Class: class}})
}

// TestSituations is the table of situations that a conversation with a
// preference on gpt-b meets, and who serves it then.
func TestSituations(t *testing.T) {
	elsewhere := func(tr trace) bool { return tr.called("gpt-b") == 0 && tr.end.Action == routing.Done }
	stays := func(tr trace) bool { return len(tr.calls) == 1 && tr.served() == "gpt-b" }
	rows := []struct {
		name   string
		edit   edit
		known  func(*world)
		answer func(routing.Step) routing.Outcome
		want   func(trace) bool
	}{
		// Price, latency, load or a positive weight change: it stays (S5).
		{name: "nothing changes", want: stays},
		{name: "dearer than all others", edit: func(doc *catalog.Document) {
			doc.Templates[0].Strategy = catalog.Cost
			deployment("gpt-b", func(d *catalog.Deployment) { d.Price = &catalog.Rates{Input: 1000, Output: 1000} })(doc)
		}, want: stays},
		{name: "slower than all others", edit: template(func(t *catalog.Template) { t.Strategy = catalog.Latency }), known: func(w *world) {
			w.conditions["gpt-b"] = routing.Condition{Latency: time.Minute}
		}, want: stays},
		{name: "busier than all others", edit: template(func(t *catalog.Template) { t.Strategy = catalog.LeastUsage }), known: func(w *world) {
			w.conditions["gpt-b"] = routing.Condition{Tokens: 1e9, InFlight: 1000}
		}, want: stays},
		{name: "its turn is not now", edit: template(func(t *catalog.Template) { t.Strategy = catalog.RoundRobin }), want: stays},
		{name: "a small positive weight", edit: template(func(t *catalog.Template) {
			t.ModelRules = map[string]catalog.Rule{"gpt": {Weights: map[string]float64{"gpt-a": 1e6, "gpt-b": 1e-6}}}
		}), want: stays},
		{name: "drained, which concerns new sessions", known: func(w *world) {
			c := w.conditions["gpt-b"]
			c.Rest.Drained = true
			w.conditions["gpt-b"] = c
		}, want: stays},

		// Disabled, deleted, weight 0, cooled, capability lost: passed over (S4).
		{name: "disabled", edit: deployment("gpt-b", func(d *catalog.Deployment) { d.Enabled = pointer(false) }), want: elsewhere},
		{name: "deleted", edit: without("gpt-b"), want: elsewhere},
		{name: "weight 0", edit: deployment("gpt-b", func(d *catalog.Deployment) { d.Weight = pointer(0.0) }), want: elsewhere},
		{name: "weight 0 by the template's rule", edit: template(func(t *catalog.Template) {
			t.ModelRules = map[string]catalog.Rule{"gpt": {Weights: map[string]float64{"gpt-b": 0}}}
		}), want: elsewhere},
		{name: "cooled", known: func(w *world) { w.cool("gpt-b", 60) }, want: elsewhere},
		{name: "endpoint removed", edit: deployment("gpt-b", func(d *catalog.Deployment) { d.Endpoints = []string{catalog.Messages} }), want: elsewhere},
		{name: "capability lost", edit: deployment("gpt-b", func(d *catalog.Deployment) { d.Capabilities.Tools = pointer(false) }), want: elsewhere},
		{name: "credential lost", known: func(w *world) { w.conditions["gpt-b"] = routing.Condition{Refused: routing.NoCredential} }, want: elsewhere},

		// 429, 5xx, replayable network errors: the same first, then others, then fallbacks.
		{name: "429", answer: fails("gpt-b", routing.RateLimited), want: movedAfter(2)},
		{name: "5xx", answer: fails("gpt-b", routing.ServerError), want: movedAfter(2)},
		{name: "connect failure", answer: fails("gpt-b", routing.Unreachable), want: movedAfter(2)},
		{name: "read failure before output", answer: fails("gpt-b", routing.Broken), want: movedAfter(2)},
		{name: "the whole pool fails", answer: byModel(map[string]routing.Outcome{"gpt": {Class: routing.ServerError}}), want: func(tr trace) bool {
			return tr.called("gpt-a") == 2 && tr.called("gpt-b") == 2 && tr.called("gpt-c") == 2 && tr.models() == "gpt claude" && tr.end.Action == routing.Done
		}},

		// Context window and content policy: their own chains, at once.
		{name: "context exceeded", answer: fails("gpt-b", routing.ContextExceeded), want: func(tr trace) bool {
			return len(tr.calls) == 2 && tr.served() == "long-a"
		}},
		{name: "content refused", answer: fails("gpt-b", routing.ContentRefused), want: func(tr trace) bool {
			return len(tr.calls) == 2 && tr.served() == "mild-a"
		}},
		{name: "context exceeded without a chain", edit: template(func(t *catalog.Template) { t.ContextWindowFallbacks = nil }),
			answer: fails("gpt-b", routing.ContextExceeded), want: returned(1)},
		{name: "content refused and its chain switched off", edit: template(func(t *catalog.Template) {
			t.ContentPolicyFallbacks = map[string][]string{"gpt": {}}
		}), answer: fails("gpt-b", routing.ContentRefused), want: returned(1)},

		// Local refusals and plain parameter errors: returned, never a reason to switch.
		{name: "local refusal", answer: always(routing.Outcome{Class: routing.LocalRefusal}), want: returned(1)},
		{name: "plain 400", answer: always(routing.Outcome{Class: routing.Rejected}), want: returned(1)},

		// What a deployment's protocol cannot say: another is asked; none counts as called.
		{name: "cannot be said", answer: fails("gpt-b", routing.Incapable), want: movedAfter(1)},
		{name: "cannot be said by anybody", answer: always(routing.Outcome{Class: routing.Incapable}), want: func(tr trace) bool {
			return tr.end.Action == routing.Relay && tr.end.Relay == 1 && len(tr.end.Candidate.Path) == 0
		}},

		// Output already sent: ended, no second answer.
		{name: "5xx after output", answer: always(routing.Outcome{Class: routing.ServerError, Output: true}), want: aborted},
		{name: "cut after output", answer: always(routing.Outcome{Class: routing.Broken, Output: true}), want: aborted},
		{name: "context error after output", answer: always(routing.Outcome{Class: routing.ContextExceeded, Output: true}), want: aborted},
		{name: "the client left", answer: always(routing.Outcome{Class: routing.Cancelled}), want: aborted},

		// Continuations and side effects: no ordinary switching.
		{name: "continuation, 5xx", known: owned, answer: fails("gpt-b", routing.ServerError), want: returned(1)},
		{name: "continuation, unknown outcome", known: owned, answer: fails("gpt-b", routing.Broken), want: refused("502 upstream_unknown_outcome", 1)},
		{name: "continuation, 429", known: owned, answer: fails("gpt-b", routing.RateLimited), want: returned(2)},
		{name: "continuation, failed connect", known: owned, answer: fails("gpt-b", routing.Unreachable), want: refused("502 upstream_failed", 2)},
		{name: "continuation, context exceeded", known: owned, answer: fails("gpt-b", routing.ContextExceeded), want: returned(1)},
		{name: "continuation, credential refused", known: owned, answer: fails("gpt-b", routing.CredentialRefused), want: refused("502 upstream_credentials", 1)},
		{name: "side effects, 5xx", known: costly, answer: fails("gpt-b", routing.ServerError), want: refused("502 upstream_unknown_outcome", 1)},
		{name: "side effects, broken", known: costly, answer: fails("gpt-b", routing.Broken), want: refused("502 upstream_unknown_outcome", 1)},
		{name: "side effects, stale socket", known: costly, answer: fails("gpt-b", routing.Stale), want: refused("502 upstream_unknown_outcome", 1)},
		{name: "side effects, 429", known: costly, answer: fails("gpt-b", routing.RateLimited), want: movedAfter(2)},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t).pin("gpt-b")
			w.request.Needs.Tools = true
			if row.edit != nil {
				w.configure(row.edit)
			}
			if row.known != nil {
				row.known(w)
			}
			if row.answer == nil {
				row.answer = always(routing.Outcome{})
			}
			if tr := w.drive(row.answer); !row.want(tr) {
				t.Errorf("calls %q, end %s", tr.calls, tr.served())
			}
		})
	}
}

// movedAfter wants n calls of gpt-b, then another deployment of the pool that serves.
func movedAfter(n int) func(trace) bool {
	return func(tr trace) bool {
		return len(tr.calls) == n+1 && tr.called("gpt-b") == n && tr.end.Action == routing.Done && tr.end.Candidate.Target.Model == "gpt"
	}
}

// returned wants the error of the n-th and last call.
func returned(n int) func(trace) bool {
	return func(tr trace) bool {
		return len(tr.calls) == n && tr.called("gpt-b") == n && tr.end.Action == routing.Relay && tr.end.Relay == n
	}
}

// refused wants a refusal of our own after n calls.
func refused(how string, n int) func(trace) bool {
	return func(tr trace) bool { return tr.called("gpt-b") == n && len(tr.calls) == n && tr.served() == how }
}

func aborted(tr trace) bool { return len(tr.calls) == 1 && tr.end.Action == routing.Abort }

func owned(w *world) {
	target := w.catalog.Deployment("gpt-b")
	w.request.Owner = &routing.Owner{Deployment: target.ID, BaseURL: target.BaseURL, Boundary: target.Account.Boundary}
}

func costly(w *world) { w.request.SideEffects = true }
