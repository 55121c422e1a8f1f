package e2e

import (
	"fmt"
	"sync"
	"testing"

	"holdfast/localstack/accounts"
)

// TestS1 shows that parallel first turns make one preference that every later
// turn follows, and that the conversation is written to one cache only.
func TestS1(t *testing.T) {
	for _, store := range rigs("memory", "bolt", "dynamodb") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store)
			gateways := []string{r.URL}
			if store == "dynamodb" {
				for range 3 {
					gateways = append(gateways, r.start().URL)
				}
			}
			prompt := user(secretWord + " " + long(3000))
			served := make([]string, 32)
			var all sync.WaitGroup
			for i := range served {
				all.Go(func() {
					a := post(t, gateways[i%len(gateways)]+"/v1/chat/completions", ask("chat", i%2 == 0, prompt))
					if a.StatusCode != 200 {
						t.Errorf("status %d: %s", a.StatusCode, a.body)
					}
					served[i] = a.deployment()
				})
			}
			all.Wait()
			for i, d := range served {
				if d != served[0] || d == "" {
					t.Fatalf("turn %d was served by %q, turn 0 by %q", i, d, served[0])
				}
			}
			writes := 0
			for _, a := range r.fleet.Accounts() {
				if a.Count() > 0 {
					writes++
				}
			}
			if writes != 1 {
				t.Errorf("%d accounts were asked, want 1", writes)
			}
			for i := range 4 {
				a := post(t, gateways[i%len(gateways)]+"/v1/chat/completions", ask("chat", false, prompt, assistant("ok"), user(fmt.Sprint(i))))
				if a.affinity() != "hit" || a.deployment() != served[0] {
					t.Errorf("later turn: %s by %s, want a hit by %s", a.affinity(), a.deployment(), served[0])
				}
			}
		})
	}
}

// TestS2 shows that a preference which fails past its attempts is left within
// the same request, and that the one that served is next time's.
func TestS2(t *testing.T) {
	for _, endpoint := range []string{"chat", "responses", "messages"} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", endpoint, stream), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, "memory")
				url := r.URL + route(endpoint)
				body := ask(endpoint, stream, user("Hello"))
				first := post(t, url, body)
				if first.affinity() != "claimed" {
					t.Fatalf("first turn: %s %s", first.affinity(), first.body)
				}
				broken := r.owner(first.deployment())
				id := accounts.InjectT(t, broken, accounts.Fault{Kind: accounts.ServerError})
				before := broken.Count()
				second := post(t, url, body)
				if second.StatusCode != 200 || second.affinity() != "moved" || second.deployment() == first.deployment() {
					t.Fatalf("second turn: %d %s by %s\n%s", second.StatusCode, second.affinity(), second.deployment(), second.body)
				}
				if n := broken.Count() - before; n != 2 {
					t.Errorf("the broken deployment was asked %d times, want its 2 attempts", n)
				}
				broken.Remove(id)
				third := post(t, url, body)
				if third.affinity() != "hit" || third.deployment() != second.deployment() {
					t.Errorf("third turn: %s by %s, want a hit by %s", third.affinity(), third.deployment(), second.deployment())
				}
			})
		}
	}
}
