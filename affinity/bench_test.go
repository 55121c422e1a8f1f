package affinity_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/affinity"
)

func BenchmarkPlanHit(b *testing.B) {
	w := newWorld(1)
	r := turn{scope: alice, session: "s"}
	w.serve(b, 0, r, "a")
	s := affinity.New(affinity.Config{Store: w.inner, Now: w.Now})
	request := r.request(b)
	b.ReportAllocs()
	for b.Loop() {
		if p, err := s.Plan(b.Context(), request); err != nil || p.Preference == nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlanHitAndRenew(b *testing.B) {
	w := newWorld(1)
	r := turn{scope: alice, session: "s"}
	w.serve(b, 0, r, "a")
	s := affinity.New(affinity.Config{Store: w.inner, Now: w.Now})
	request, served := r.request(b), target("a")
	b.ReportAllocs()
	for b.Loop() {
		p, err := s.Plan(b.Context(), request)
		if err != nil {
			b.Fatal(err)
		}
		if done, err := p.Commit(b.Context(), served); err != nil || done != affinity.Renewed {
			b.Fatal(done, err)
		}
	}
}

func BenchmarkPlanParallel(b *testing.B) {
	w := newWorld(1)
	s := affinity.New(affinity.Config{Store: w.inner, Now: w.Now})
	request := turn{scope: alice, session: "s"}.request(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Plan(b.Context(), request); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkPublish(b *testing.B) {
	w := newWorld(1)
	s := affinity.New(affinity.Config{Store: w.inner, Now: w.Now})
	body := []byte(strings.Repeat(`{"role":"user","content":"some words of a conversation"} `, 80))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		err := s.Publish(b.Context(), affinity.Publication{
			Scope: alice, ID: fmt.Sprint(i), Owner: creator, Turn: &affinity.Turn{Input: body, Output: body},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// P6: restoring a chain of ten turns, in a small store and in a full one.
func BenchmarkP6History(b *testing.B) {
	for _, others := range []int{10, 10_000} {
		b.Run(fmt.Sprint(others, " responses"), func(b *testing.B) {
			w := newWorld(1)
			body := []byte(strings.Repeat("some words of a conversation ", 40))
			for i := range others {
				w.extend(b, 0, "", fmt.Sprint("o", i), body)
			}
			parent := ""
			var o affinity.Owner
			for i := range 10 {
				id := fmt.Sprint("r", i)
				o = w.extend(b, 0, parent, id, body)
				parent = id
			}
			s := affinity.New(affinity.Config{Store: w.inner, Now: w.Now})
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				if turns, err := s.History(b.Context(), o); err != nil || len(turns) != 10 {
					b.Fatal(err)
				}
			}
		})
	}
}
