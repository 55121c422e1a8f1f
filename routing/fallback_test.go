package routing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/routing"
	"holdfast/routing/catalog"
)

// chains sets the three tables of the template.
func chains(general, context, content map[string][]string) edit {
	return template(func(t *catalog.Template) {
		t.Fallbacks, t.ContextWindowFallbacks, t.ContentPolicyFallbacks = general, context, content
	})
}

// plenty adds models m0 … m(n-1) with one deployment each, m0-a and so on.
func plenty(n int) edit {
	return func(doc *catalog.Document) {
		for i := range n {
			name := fmt.Sprintf("m%d", i)
			doc.Deployments = append(doc.Deployments, catalog.Deployment{ID: name + "-a", Model: name, Connection: "a", Protocol: catalog.Chat})
		}
	}
}

var down = always(routing.Outcome{Class: routing.ServerError})

func TestGeneralChains(t *testing.T) {
	type table = map[string][]string
	rows := []struct {
		name    string
		edits   []edit
		request string
		want    string // models in the order of calls, when all fail
	}{
		{"the requested model's chain, in its order", []edit{chains(table{"gpt": {"mini", "claude"}}, nil, nil)}, "gpt", "gpt mini claude"},
		{"then those of the failed, in the order in which they failed", []edit{plenty(4), chains(table{"m0": {"m1", "m2"}, "m1": {"m3"}, "m2": {"mini"}}, nil, nil)}, "m0", "m0 m1 m2 m3 mini"},
		{"no loops", []edit{chains(table{"gpt": {"claude"}, "claude": {"gpt", "mini"}, "mini": {"claude", "gpt"}}, nil, nil)}, "gpt", "gpt claude mini"},
		{"no table inherits the model's own", []edit{chains(nil, nil, nil), func(doc *catalog.Document) {
			doc.Models = []catalog.Model{{Name: "gpt", Fallbacks: []string{"mini"}}}
		}}, "gpt", "gpt mini"},
		{"an empty table inherits as well", []edit{chains(table{}, nil, nil), func(doc *catalog.Document) {
			doc.Models = []catalog.Model{{Name: "gpt", Fallbacks: []string{"mini"}}}
		}}, "gpt", "gpt mini"},
		{"a source mapped to nothing is switched off", []edit{chains(table{"gpt": {}}, nil, nil), func(doc *catalog.Document) {
			doc.Models = []catalog.Model{{Name: "gpt", Fallbacks: []string{"mini"}}}
		}}, "gpt", "gpt"},
		{"at most eight models", []edit{plenty(12), chains(table{"m0": {"m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10", "m11"}}, nil, nil)}, "m0", "m0 m1 m2 m3 m4 m5 m6 m7"},
		{"at most eight models, one leading to the next", []edit{plenty(12), func(doc *catalog.Document) {
			doc.Templates[0].Fallbacks = table{}
			for i := range 11 {
				doc.Templates[0].Fallbacks[fmt.Sprintf("m%d", i)] = []string{fmt.Sprintf("m%d", i+1)}
			}
		}}, "m0", "m0 m1 m2 m3 m4 m5 m6 m7"},
		{"a chain may name a group", []edit{chains(table{"gpt": {"smart"}}, nil, nil), attempts(1), without("claude-b"), func(doc *catalog.Document) {
			doc.Groups[0].Strategy = catalog.RoundRobin
		}}, "gpt", "gpt mini claude"},
		{"the model's permission is its own", []edit{chains(table{"gpt": {"mini", "claude"}}, nil, nil), func(doc *catalog.Document) {
			doc.Keys[0].Models = []string{"gpt", "claude"}
		}}, "gpt", "gpt claude"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, row.edits...)
			w.ask(row.request)
			tr := w.drive(down)
			if tr.models() != row.want || tr.served() != "relay 2" && tr.served() != "relay 1" {
				t.Errorf("%q, end %s; want %q and the primary's error", tr.models(), tr.served(), row.want)
			}
		})
	}
}

// TestGroupChains: the group's name is the source first, then the members in
// the order in which they failed.
func TestGroupChains(t *testing.T) {
	rows := []struct {
		name  string
		table map[string][]string
		want  string
	}{
		{"both", map[string][]string{"smart": {"long"}, "mini": {"mild"}, "claude": {"gpt"}}, "mini claude long mild gpt"},
		{"the group's only", map[string][]string{"smart": {"long"}}, "mini claude long"},
		{"the group switched off", map[string][]string{"smart": {}, "mini": {"mild"}}, "mini claude mild"},
		{"members that point at each other", map[string][]string{"mini": {"claude"}, "claude": {"mini"}}, "mini claude"},
	}
	for _, row := range rows {
		w := newWorld(t, chains(row.table, nil, nil), func(doc *catalog.Document) { doc.Groups[0].Strategy = catalog.RoundRobin })
		w.ask("smart")
		tr := w.drive(down)
		if tr.models() != row.want {
			t.Errorf("%s: %q, want %q", row.name, tr.models(), row.want)
		}
		for _, s := range tr.steps {
			c := s.Candidate
			if c.Target.Model == "mild" && strings.Join(c.Path, " ") != "smart mini" || c.Target.Model == "long" && strings.Join(c.Path, " ") != "smart" {
				t.Errorf("%s: %s was reached by %q", row.name, c.Target.ID, c.Path)
			}
		}
	}
}

// TestEveryServedPathIsAccepted: whatever serves is a legal preference next
// time, from any class of chain, groups included.
func TestEveryServedPathIsAccepted(t *testing.T) {
	w := newWorld(t, plenty(3), chains(
		map[string][]string{"smart": {"m0"}, "mini": {"mild"}, "m0": {"m1"}, "claude": {"smart", "long"}},
		map[string][]string{"claude": {"m2"}, "m2": {"gpt"}},
		map[string][]string{"smart": {"gpt"}}))
	for _, name := range []string{"smart", "claude", "gpt"} {
		for _, class := range []routing.Class{routing.ServerError, routing.ContextExceeded, routing.ContentRefused} {
			w.request.Pin = routing.Pin{}
			w.ask(name)
			for _, s := range w.drive(always(routing.Outcome{Class: class})).steps {
				c := s.Candidate
				w.request.Pin = routing.Pin{Deployment: c.Target.ID, Pool: c.Pool, Path: c.Path}
				d := routing.Plan(w.request)
				if held, ok := d.Pinned(); !ok || held.Target != c.Target || held.Pool != c.Pool || !slices.Equal(held.Path, c.Path) {
					t.Errorf("%s reached from %s by %q: passed over as %q", c.Target.ID, name, c.Path, d.Passed())
				}
			}
		}
	}
}

func TestForgedPaths(t *testing.T) {
	w := newWorld(t, chains(map[string][]string{"gpt": {"claude"}, "claude": {"mini"}}, nil, nil))
	rows := map[string]routing.Pin{
		"another source":       {Deployment: "mini-a", Pool: "mini", Path: []string{"claude"}},
		"a source beside":      {Deployment: "claude-m", Pool: "claude", Path: []string{"long"}},
		"a step left out":      {Deployment: "mini-a", Pool: "mini", Path: []string{"gpt"}},
		"a step that is none":  {Deployment: "mini-a", Pool: "mini", Path: []string{"gpt", "long"}},
		"an unknown step":      {Deployment: "mini-a", Pool: "mini", Path: []string{"gpt", "nothing"}},
		"an unknown pool":      {Deployment: "mini-a", Pool: "nothing", Path: []string{"gpt", "claude"}},
		"a pool beside":        {Deployment: "long-a", Pool: "mini", Path: []string{"gpt", "claude"}},
		"longer than any":      {Deployment: "mini-a", Pool: "mini", Path: slices.Repeat([]string{"gpt"}, 9)},
		"no path to elsewhere": {Deployment: "mini-a", Pool: "gpt"},
	}
	for name, pin := range rows {
		w.request.Pin = pin
		if d := routing.Plan(w.request); d.Passed() != routing.ChainRemoved {
			t.Errorf("%s: reason %q", name, d.Passed())
		}
	}
	w.request.Pin = routing.Pin{Deployment: "mini-a", Pool: "mini", Path: []string{"gpt", "claude"}}
	if d := routing.Plan(w.request); d.Passed() != "" {
		t.Errorf("the true path: reason %q", d.Passed())
	}
}

// TestForbiddenFallbackPreference: passed over, with its reason; the call is
// neither refused nor widened.
func TestForbiddenFallbackPreference(t *testing.T) {
	w := newWorld(t, func(doc *catalog.Document) { doc.Keys[0].Models = []string{"gpt"} })
	w.request.Pin = routing.Pin{Deployment: "claude-m", Pool: "claude", Path: []string{"gpt"}}
	tr := w.drive(always(routing.Outcome{}))
	if tr.decision.Passed() != routing.ModelForbidden || tr.models() != "gpt" {
		t.Errorf("reason %q, served by %s", tr.decision.Passed(), tr.served())
	}
}

func TestOwnChains(t *testing.T) {
	type table = map[string][]string
	// In each row the first model's calls fail as told, all others with a server error.
	rows := []struct {
		name    string
		edits   []edit
		request string
		answer  map[string]routing.Outcome
		want    string
		end     string
	}{
		{"context: its chain only, not the pool's others, not the general one", []edit{chains(table{"gpt": {"claude"}}, table{"gpt": {"long", "mild"}}, nil)},
			"gpt", map[string]routing.Outcome{"gpt": {Class: routing.ContextExceeded}}, "gpt long mild", "relay 1"},
		{"context in the chain as well: the next of it", []edit{chains(nil, table{"gpt": {"long", "mild"}}, nil)},
			"gpt", map[string]routing.Outcome{"gpt": {Class: routing.ContextExceeded}, "long": {Class: routing.ContextExceeded}}, "gpt long mild", "relay 1"},
		{"the general chain of what the context chain led to", []edit{chains(table{"long": {"mini"}}, table{"gpt": {"long"}}, nil)},
			"gpt", map[string]routing.Outcome{"gpt": {Class: routing.ContextExceeded}}, "gpt long mini", "relay 1"},
		{"context on a fallback target: the requested model's chain", []edit{chains(table{"gpt": {"claude"}}, table{"gpt": {"long"}}, nil), attempts(1)},
			"gpt", map[string]routing.Outcome{"claude": {Class: routing.ContextExceeded}}, "gpt claude long", "relay 1"},
		{"context on a fallback target: its own chain", []edit{chains(table{"gpt": {"claude"}}, table{"claude": {"long"}}, nil), attempts(1)},
			"gpt", map[string]routing.Outcome{"claude": {Class: routing.ContextExceeded}}, "gpt claude long", "relay 1"},
		{"context on a fallback target: before what is left of the general chain", []edit{chains(table{"gpt": {"claude", "mini"}}, table{"claude": {"long"}}, nil), attempts(1)},
			"gpt", map[string]routing.Outcome{"claude": {Class: routing.ContextExceeded}}, "gpt claude long mini", "relay 1"},
		{"context on a fallback target without a chain: returned", []edit{chains(table{"gpt": {"claude"}}, nil, nil), attempts(1)},
			"gpt", map[string]routing.Outcome{"claude": {Class: routing.ContextExceeded}}, "gpt claude", "relay 4"},
		{"group first, then the failed member", []edit{chains(nil, table{"smart": {"long"}, "mini": {"mild"}, "claude": {"gpt"}}, nil), func(doc *catalog.Document) { doc.Groups[0].Strategy = catalog.RoundRobin }},
			"smart", map[string]routing.Outcome{"mini": {Class: routing.ContextExceeded}}, "mini long mild", "relay 1"},
		{"policy", []edit{chains(table{"gpt": {"claude"}}, table{"gpt": {"long"}}, table{"gpt": {"mild"}})},
			"gpt", map[string]routing.Outcome{"gpt": {Class: routing.ContentRefused}}, "gpt mild", "relay 1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, row.edits...)
			w.ask(row.request)
			tr := w.drive(func(s routing.Step) routing.Outcome {
				if o, ok := row.answer[s.Candidate.Target.Model]; ok {
					return o
				}
				return routing.Outcome{Class: routing.ServerError}
			})
			if tr.models() != row.want || tr.served() != row.end {
				t.Errorf("%q, end %s; want %q, %s", tr.models(), tr.served(), row.want, row.end)
			}
		})
	}
}

// TestTooLongForThePool: a request that fits nowhere in the pool goes to the
// context chain without a call.
func TestTooLongForThePool(t *testing.T) {
	small := func(id string) edit {
		return deployment(id, func(d *catalog.Deployment) { d.Capabilities.Context = 1000 })
	}
	w := newWorld(t, small("gpt-a"), small("gpt-b"), small("gpt-c")).pin("gpt-b")
	w.request.Needs.Input = 5000
	tr := w.drive(always(routing.Outcome{}))
	if tr.served() != "long-a" || tr.decision.Passed() != routing.CapabilityMissing || !slices.Equal(tr.end.Candidate.Path, []string{"gpt"}) {
		t.Errorf("served by %s, reason %q", tr.served(), tr.decision.Passed())
	}
	w.configure(small("gpt-a"), small("gpt-b"))
	if tr := w.drive(always(routing.Outcome{})); tr.served() != "gpt-c" {
		t.Errorf("one has room: served by %s", tr.served())
	}
	w.cool("gpt-c", 60)
	if tr := w.drive(always(routing.Outcome{})); tr.models() != "claude" {
		t.Errorf("the one that has room only cools: served by %s, want the general chain", tr.served())
	}
}

// TestEmptyPoolFallsBack: a pool in which nobody may serve goes to the general
// chain at once.
func TestEmptyPoolFallsBack(t *testing.T) {
	w := newWorld(t).pin("gpt-b")
	for _, id := range []string{"gpt-a", "gpt-b", "gpt-c"} {
		w.cool(id, 60)
	}
	if tr := w.drive(always(routing.Outcome{})); tr.models() != "claude" || len(tr.calls) != 1 {
		t.Errorf("calls %q", tr.calls)
	}
}

// TestEmptyGroupFallsBack: where no member could be tried, the chains of all of
// them count.
func TestEmptyGroupFallsBack(t *testing.T) {
	w := newWorld(t, chains(map[string][]string{"claude": {"mild"}}, nil, nil))
	w.ask("smart")
	for _, id := range []string{"mini-a", "claude-m", "claude-b"} {
		w.cool(id, 60)
	}
	if tr := w.drive(always(routing.Outcome{})); tr.served() != "mild-a" {
		t.Errorf("served by %s", tr.served())
	}
}
