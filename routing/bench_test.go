package routing_test

import (
	"fmt"
	"testing"

	"holdfast/routing"
	"holdfast/routing/catalog"
)

// pool is a world with a model of n deployments.
func pool(t testing.TB, n int) *world {
	w := newWorld(t, func(doc *catalog.Document) {
		for i := range n {
			doc.Deployments = append(doc.Deployments, catalog.Deployment{
				ID: fmt.Sprintf("deployment-%02d", i), Model: "sized", Connection: "a", Protocol: catalog.Chat,
			})
		}
	})
	w.ask("sized")
	return w
}

// first plans a request and starts its run, as every exchange does.
func first(r routing.Request) routing.Action {
	d := routing.Plan(r)
	_, step := d.Start(noon)
	return step.Action
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1, 3, 10, 50} {
		w := pool(b, n)
		b.Run(fmt.Sprintf("new session of %d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if first(w.request) != routing.Try {
					b.Fatal("nobody serves")
				}
			}
		})
		held := pool(b, n).pin("deployment-00")
		b.Run(fmt.Sprintf("preference of %d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if first(held.request) != routing.Try {
					b.Fatal("nobody serves")
				}
			}
		})
	}
}

func BenchmarkFailover(b *testing.B) {
	w := newWorld(b).pin("gpt-b")
	b.ReportAllocs()
	for b.Loop() {
		d := routing.Plan(w.request)
		run, step := d.Start(noon)
		for step.Action == routing.Try {
			o := routing.Outcome{}
			if step.Candidate.Target.ID == "gpt-b" {
				o.Class = routing.ServerError
			}
			step = run.Next(noon, o)
		}
	}
}

func BenchmarkExplain(b *testing.B) {
	w := newWorld(b).pin("gpt-b")
	b.ReportAllocs()
	for b.Loop() {
		d := routing.Plan(w.request)
		if len(d.Explain().Candidates) == 0 {
			b.Fatal("nothing explained")
		}
	}
}

// TestPlanningDoesNotAllocate: neither for a preference that holds nor for a
// new session in a small pool, where the decision is part of an exchange.
func TestPlanningDoesNotAllocate(t *testing.T) {
	exchange := new(struct {
		decision routing.Decision
		run      routing.Run
		step     routing.Step
	})
	for _, n := range []int{1, 10} {
		fresh, held := pool(t, n), pool(t, n).pin("deployment-00")
		for name, w := range map[string]*world{"new session": fresh, "preference": held} {
			got := testing.AllocsPerRun(100, func() {
				exchange.decision = routing.Plan(w.request)
				exchange.run, exchange.step = exchange.decision.Start(noon)
				exchange.step = exchange.run.Next(noon, routing.Outcome{})
			})
			if got > 0 || exchange.step.Action != routing.Done {
				t.Errorf("%s of %d: %v allocations", name, n, got)
			}
		}
	}
}
