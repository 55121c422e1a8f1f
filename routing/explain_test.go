package routing_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// TestExplain compares whole explanations with those in testdata, as the admin
// API shows them.
func TestExplain(t *testing.T) {
	rows := map[string]func() *world{
		"preference.json": func() *world {
			w := newWorld(t, deployment("gpt-c", func(d *catalog.Deployment) { d.Enabled = pointer(false) })).pin("gpt-b")
			w.conditions["gpt-a"] = routing.Condition{
				Latency: 1500 * time.Millisecond, Tokens: 42,
				Rest: cooldown.Status{Until: noon.Add(time.Minute)},
			}
			return w
		},
		"spilled.json": func() *world {
			w := newWorld(t, limits("gpt-b", catalog.Limits{Concurrency: 1}), template(func(t *catalog.Template) {
				t.ModelRules = map[string]catalog.Rule{"gpt": {Strategy: catalog.Cost}}
				t.Fallbacks = nil
			})).pin("gpt-b")
			w.conditions["gpt-b"] = routing.Condition{InFlight: 1}
			return w
		},
		"fallback.json": func() *world {
			w := newWorld(t, chains(map[string][]string{"smart": {"long"}, "claude": {"mild"}}, nil, nil), func(doc *catalog.Document) {
				doc.Keys[0].Models = []string{"smart", "mild"}
			})
			w.ask("smart")
			w.request.Pin = routing.Pin{Deployment: "long-a", Pool: "long", Path: []string{"smart"}}
			return w
		},
		"continuation.json": func() *world {
			w := newWorld(t)
			owned(w)
			w.request.Owner.Boundary = "elsewhere"
			return w
		},
		"nobody.json": func() *world {
			w := newWorld(t, without("gpt-a"), without("gpt-c"), template(func(t *catalog.Template) {
				t.Fallbacks, t.ContextWindowFallbacks, t.ContentPolicyFallbacks = nil, nil, nil
			})).pin("gone")
			w.cool("gpt-b", 60)
			return w
		},
	}
	const file = "testdata/explain.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range archive.Files {
		want[f.Name] = string(f.Data)
	}
	if len(want) != len(rows) {
		t.Errorf("%s holds %d explanations for %d rows", file, len(want), len(rows))
	}
	for name, build := range rows {
		d := routing.Plan(build().request)
		got, err := json.MarshalIndent(d.Explain(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[name], string(got)+"\n"); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestExplainAfterTheFact: asking changes nothing.
func TestExplainAfterTheFact(t *testing.T) {
	w := newWorld(t).pin("gpt-b")
	tr := w.drive(fails("gpt-b", routing.ServerError))
	plain := routing.Plan(w.request)
	if diff := cmp.Diff(plain.Explain(), tr.decision.Explain()); diff != "" {
		t.Errorf("before and after the run (-before +after):\n%s", diff)
	}
}
