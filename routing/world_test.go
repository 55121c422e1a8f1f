package routing_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// document has three accounts that serve gpt alike, one more model for each
// class of failure, and a group over two models.
const document = `
connections:
  - {id: a, provider: openai, auth: {key: "env:A"}, boundary: acme}
  - {id: b, provider: openai, auth: {key: "env:B"}, boundary: acme}
  - {id: c, provider: openai, auth: {keys: ["env:C1", "env:C2", "env:C3"]}}
  - {id: m, provider: anthropic, auth: {key: "env:M"}}
deployments:
  - {id: gpt-a, model: gpt, connection: a, protocol: chat, price: {input: 5, cached_input: 0.5, output: 10}}
  - {id: gpt-b, model: gpt, connection: b, protocol: chat, price: {input: 3, output: 12}}
  - {id: gpt-c, model: gpt, connection: c, protocol: chat, price: {input: 1, output: 2}}
  - {id: long-a, model: long, connection: a, protocol: chat}
  - {id: mild-a, model: mild, connection: a, protocol: chat}
  - {id: claude-m, model: claude, connection: m, protocol: messages}
  - {id: claude-b, model: claude, connection: m, protocol: messages}
  - {id: mini-a, model: mini, connection: a, protocol: chat}
groups:
  - {name: smart, members: [mini, claude]}
templates:
  - id: standard
    retry_policy: {max_attempts: 2}
    fallbacks: {gpt: [claude]}
    context_window_fallbacks: {gpt: [long]}
    content_policy_fallbacks: {gpt: [mild]}
platform: {template: standard}
keys:
  - {id: demo, key_sha256: "` + "0000000000000000000000000000000000000000000000000000000000000001" + `"}
`

// world is a configuration and what is known of its deployments.
type world struct {
	t          testing.TB
	catalog    *catalog.Catalog
	conditions conditions
	request    routing.Request
}

type conditions map[string]routing.Condition

func (c conditions) Of(deployment string) routing.Condition { return c[deployment] }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func every(string, string) bool { return true }

// edit changes the document before it is compiled.
type edit func(*catalog.Document)

func newWorld(t testing.TB, edits ...edit) *world {
	t.Helper()
	w := &world{t: t, conditions: conditions{}}
	w.request = routing.Request{
		Endpoint: catalog.Chat, Bridges: every, Health: w.conditions, Seed: []byte("session one"), Session: 7, Now: noon,
	}
	w.configure(edits...)
	w.ask("gpt")
	return w
}

// configure replaces the configuration, as a new revision does.
func (w *world) configure(edits ...edit) {
	w.t.Helper()
	doc, problems := catalog.Load([]byte(document))
	if catalog.HasErrors(problems) {
		w.t.Fatalf("the document: %v", problems)
	}
	for _, e := range edits {
		e(doc)
	}
	w.catalog, problems = catalog.Compile(doc, "r", nil)
	if catalog.HasErrors(problems) {
		w.t.Fatalf("the edited document: %v", problems)
	}
	w.request.Catalog, w.request.Caller = w.catalog, w.catalog.Caller("demo")
	if w.request.Pool != nil {
		w.ask(w.request.Pool.Name)
	}
}

func (w *world) ask(name string) {
	w.request.Pool = w.catalog.Pool(name)
}

// cool lets a deployment rest for some seconds.
func (w *world) cool(deployment string, seconds int) {
	w.conditions[deployment] = routing.Condition{Rest: cooldown.Status{
		Until: noon.Add(time.Duration(seconds) * time.Second), Cause: cooldown.Asked,
	}}
}

func deployment(id string, change func(*catalog.Deployment)) edit {
	return func(doc *catalog.Document) {
		for i := range doc.Deployments {
			if doc.Deployments[i].ID == id {
				change(&doc.Deployments[i])
				return
			}
		}
		panic("no deployment " + id)
	}
}

func without(id string) edit {
	return func(doc *catalog.Document) {
		var kept []catalog.Deployment
		for _, d := range doc.Deployments {
			if d.ID != id {
				kept = append(kept, d)
			}
		}
		doc.Deployments = kept
	}
}

func template(change func(*catalog.Template)) edit {
	return func(doc *catalog.Document) { change(&doc.Templates[0]) }
}

func strict(doc *catalog.Document) { doc.Templates[0].SessionAffinity = catalog.Strict }

func attempts(n int) edit {
	return template(func(t *catalog.Template) { t.RetryPolicy.MaxAttempts = n })
}

func limits(id string, l catalog.Limits) edit {
	return deployment(id, func(d *catalog.Deployment) { d.Limits = l })
}

func pointer[T any](v T) *T { return &v }

// pin is a preference on a deployment of the requested pool.
func (w *world) pin(deployment string) *world {
	w.request.Pin = routing.Pin{Deployment: deployment, Pool: w.request.Pool.Name}
	return w
}

// trace is what a run did: its calls, and how it ended.
type trace struct {
	calls    []string // deployments in the order of calls
	steps    []routing.Step
	end      routing.Step
	run      routing.Run
	decision *routing.Decision
	now      time.Time
}

// drive runs an exchange: answer says what each call comes to. Waits pass at
// once on the exchange's clock.
func (w *world) drive(answer func(routing.Step) routing.Outcome) trace {
	w.t.Helper()
	decision := routing.Plan(w.request)
	return w.finish(&decision, answer)
}

func (w *world) finish(d *routing.Decision, answer func(routing.Step) routing.Outcome) trace {
	w.t.Helper()
	tr := trace{decision: d, now: w.request.Now}
	run, step := d.Start(tr.now)
	for step.Action == routing.Try {
		if len(tr.calls) > 1000 {
			w.t.Fatal("the run does not end")
		}
		tr.now = tr.now.Add(step.Wait)
		tr.calls = append(tr.calls, step.Candidate.Target.ID)
		tr.steps = append(tr.steps, step)
		step = run.Next(tr.now, answer(step))
	}
	tr.end, tr.run = step, run
	return tr
}

// always answers every call alike.
func always(o routing.Outcome) func(routing.Step) routing.Outcome {
	return func(routing.Step) routing.Outcome { return o }
}

// by answers by deployment; those that are not named succeed.
func by(outcomes map[string]routing.Outcome) func(routing.Step) routing.Outcome {
	return func(s routing.Step) routing.Outcome { return outcomes[s.Candidate.Target.ID] }
}

// byModel answers by model; those that are not named succeed.
func byModel(outcomes map[string]routing.Outcome) func(routing.Step) routing.Outcome {
	return func(s routing.Step) routing.Outcome { return outcomes[s.Candidate.Target.Model] }
}

// served is the deployment that served, or how the run ended.
func (tr trace) served() string {
	switch tr.end.Action {
	case routing.Done:
		return tr.end.Candidate.Target.ID
	case routing.Relay:
		return fmt.Sprintf("relay %d", tr.end.Relay)
	case routing.Refuse:
		return fmt.Sprintf("%d %s", tr.end.Refusal.Status, tr.end.Refusal.Code)
	}
	return "abort"
}

// models are the models of the calls, repeats left out.
func (tr trace) models() string {
	var models []string
	for _, s := range tr.steps {
		if m := s.Candidate.Target.Model; len(models) == 0 || models[len(models)-1] != m {
			models = append(models, m)
		}
	}
	return strings.Join(models, " ")
}

func (tr trace) called(deployment string) int {
	n := 0
	for _, c := range tr.calls {
		if c == deployment {
			n++
		}
	}
	return n
}

// session is the seed of the i-th of many sessions.
func session(i int) []byte {
	sum := sha256.Sum256(fmt.Append(nil, "session ", i))
	return sum[:]
}
