package routing_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// order is the deployments in the order in which a run that always fails tries
// them, once each.
func order(w *world) string {
	var all []string
	for _, s := range w.drive(down).steps {
		if s.Attempt == 1 {
			all = append(all, s.Candidate.Target.ID)
		}
	}
	return strings.Join(all, " ")
}

func strategy(name string) edit {
	return template(func(t *catalog.Template) { t.Strategy, t.Fallbacks = name, nil })
}

func TestStrategies(t *testing.T) {
	rows := []struct {
		name  string
		edits []edit
		known func(*world)
		want  string
	}{
		// 1,000 in and 250 out: a 0.0075, b 0.006, c 0.0015.
		{"cost", []edit{strategy(catalog.Cost)}, nil, "gpt-c gpt-b gpt-a"},
		// 1,000 in and 4,000 out: a 0.045, b 0.051, c 0.009.
		{"cost of long answers", []edit{strategy(catalog.Cost)}, func(w *world) {
			w.request.Needs.Input, w.request.Needs.Output = 1000, 4000
		}, "gpt-c gpt-a gpt-b"},
		{"cost without a price comes last", []edit{strategy(catalog.Cost), deployment("gpt-c", func(d *catalog.Deployment) { d.Price = nil; d.UpstreamModel = "unlisted" })}, nil, "gpt-b gpt-a gpt-c"},
		{"latency, the unmeasured first", []edit{strategy(catalog.Latency)}, func(w *world) {
			w.conditions["gpt-a"] = routing.Condition{Latency: 200 * time.Millisecond}
			w.conditions["gpt-c"] = routing.Condition{Latency: 100 * time.Millisecond}
		}, "gpt-b gpt-c gpt-a"},
		{"usage", []edit{strategy(catalog.LeastUsage)}, func(w *world) {
			w.conditions["gpt-a"] = routing.Condition{Tokens: 10}
			w.conditions["gpt-b"] = routing.Condition{Tokens: 30}
			w.conditions["gpt-c"] = routing.Condition{Tokens: 20}
		}, "gpt-a gpt-c gpt-b"},
		{"round robin, turn 0", []edit{strategy(catalog.RoundRobin)}, nil, "gpt-a gpt-b gpt-c"},
		{"round robin, turn 1", []edit{strategy(catalog.RoundRobin)}, func(w *world) { w.request.Turn = 1 }, "gpt-b gpt-c gpt-a"},
		{"round robin, turn 5 of those that are left", []edit{strategy(catalog.RoundRobin)}, func(w *world) {
			w.request.Turn = 5
			w.cool("gpt-b", 60)
		}, "gpt-c gpt-a"},
		{"weight 0 excludes in every strategy", []edit{strategy(catalog.Cost), deployment("gpt-c", func(d *catalog.Deployment) { d.Weight = pointer(0.0) })}, nil, "gpt-b gpt-a"},
		{"an exact rule for the model", []edit{strategy(catalog.RoundRobin), template(func(t *catalog.Template) {
			t.ModelRules = map[string]catalog.Rule{"gpt": {Strategy: catalog.Cost}}
		})}, nil, "gpt-c gpt-b gpt-a"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, row.edits...)
			if row.known != nil {
				row.known(w)
			}
			if got := order(w); got != row.want {
				t.Errorf("order %q, want %q", got, row.want)
			}
		})
	}
}

// TestCachedShareIsPriced: where the preference itself cannot be followed, the
// part of the request that its cache holds still counts in its price. A cached
// price that is not given is the full one.
func TestCachedShareIsPriced(t *testing.T) {
	w := newWorld(t, strategy(catalog.Cost))
	w.request.Needs.Input, w.request.Needs.Output = 100000, 1000
	rows := map[string]map[string]float64{
		"gpt-a": {"gpt-a": 0.105, "gpt-b": 0.312, "gpt-c": 0.102},
		"gpt-b": {"gpt-a": 0.51, "gpt-b": 0.312, "gpt-c": 0.102},
	}
	for warm, want := range rows {
		w.request.Pin = routing.Pin{Deployment: warm, Pool: "gpt", Cached: 90000}
		w.cool(warm, 60)
		d := routing.Plan(w.request)
		for _, c := range d.Explain().Candidates {
			if usd, priced := want[c.Deployment]; priced && math.Abs(*c.Scores.USD-usd) > 1e-9 {
				t.Errorf("%s is warm: %s costs %v, want %v", warm, c.Deployment, *c.Scores.USD, usd)
			}
		}
	}
}

// TestTiesAreSharedOut: equal scores fall back to the rendezvous, so that
// equal deployments share the sessions.
func TestTiesAreSharedOut(t *testing.T) {
	for _, name := range []string{catalog.Latency, catalog.LeastUsage} {
		w := newWorld(t, strategy(name))
		first := map[string]int{}
		for i := range 300 {
			w.request.Seed = session(i)
			first[strings.Fields(order(w))[0]]++
		}
		for _, id := range []string{"gpt-a", "gpt-b", "gpt-c"} {
			if first[id] < 60 {
				t.Errorf("%s: %s is first for %d of 300 sessions", name, id, first[id])
			}
		}
	}
}

// TestOrderIsTheSameEverywhere pins the hash: another one would move every
// session of a running installation, and old and new processes would disagree.
func TestOrderIsTheSameEverywhere(t *testing.T) {
	rows := map[string]string{
		"":            "gpt-c gpt-a gpt-b",
		"session one": "gpt-b gpt-a gpt-c",
		"session two": "gpt-b gpt-c gpt-a",
	}
	for seed, want := range rows {
		w := newWorld(t, strategy(catalog.Weighted))
		w.request.Seed = []byte(seed)
		if got := order(w); got != want {
			t.Errorf("seed %q: %q, want %q", seed, got, want)
		}
	}
}

// TestWholeOrderByWeight: also the second and third place follow the weights.
func TestWholeOrderByWeight(t *testing.T) {
	w := newWorld(t, strategy(catalog.Weighted), template(func(t *catalog.Template) {
		t.ModelRules = map[string]catalog.Rule{"gpt": {Weights: map[string]float64{"gpt-a": 6, "gpt-b": 3, "gpt-c": 1}}}
	}))
	second := map[string]float64{}
	const sessions = 4000
	for i := range sessions {
		w.request.Seed = session(i)
		second[strings.Fields(order(w))[1]] += 1.0 / sessions
	}
	// P(b second) = P(a first)·3/4 + P(c first)·3/9
	if want := 0.6*3/4 + 0.1*3/9; math.Abs(second["gpt-b"]-want) > 0.025 {
		t.Errorf("gpt-b is second for %.3f of the sessions, want %.3f", second["gpt-b"], want)
	}
}

// TestBigPool: more deployments than are ranked without an allocation.
func TestBigPool(t *testing.T) {
	w := newWorld(t, func(doc *catalog.Document) {
		for i := range 40 {
			doc.Deployments = append(doc.Deployments, catalog.Deployment{
				ID: "big-" + string(rune('A'+i)), Model: "big", Connection: "a", Protocol: catalog.Chat,
			})
		}
	}, strategy(catalog.RoundRobin))
	w.ask("big")
	w.request.Turn = 39
	w.cool("big-A", 60)
	got := strings.Fields(order(w))
	if len(got) != 39 || got[0] != "big-B" || got[38] != "big-h" {
		t.Errorf("%d deployments, from %s to %s", len(got), got[0], got[len(got)-1])
	}
}

// TestLiveHealth: what other processes learn meanwhile acts on the next candidate.
func TestLiveHealth(t *testing.T) {
	w := newWorld(t, strategy(catalog.RoundRobin))
	tr := w.drive(func(s routing.Step) routing.Outcome {
		w.conditions["gpt-a"] = routing.Condition{Rest: cooldown.Status{Until: noon.Add(time.Minute)}} // its own: not cut short
		w.conditions["gpt-b"] = routing.Condition{Rest: cooldown.Status{Until: noon.Add(time.Minute)}}
		return routing.Outcome{Class: routing.ServerError}
	})
	if got := strings.Join(tr.calls, " "); got != "gpt-a gpt-a gpt-c gpt-c" {
		t.Errorf("calls %q", got)
	}
	// A budget that runs out between two attempts does cut them.
	w = newWorld(t, strategy(catalog.RoundRobin))
	tr = w.drive(func(s routing.Step) routing.Outcome {
		for _, id := range []string{"gpt-a", "gpt-b", "gpt-c"} {
			w.conditions[id] = routing.Condition{Refused: routing.Budget}
		}
		return routing.Outcome{Class: routing.ServerError}
	})
	if len(tr.calls) != 1 || tr.served() != "relay 1" {
		t.Errorf("calls %q, end %s", tr.calls, tr.served())
	}
}
