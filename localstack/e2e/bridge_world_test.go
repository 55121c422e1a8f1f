package e2e

import (
	"fmt"
	"testing"

	"holdfast/localstack/accounts"
)

// pair is a client's endpoint with the protocol of the deployments that serve
// it: in the scenes' worlds the model of that name.
type pair struct{ client, target string }

func (p pair) String() string { return p.client + " on " + p.target }

// bridges are the six pairs of which the two sides differ.
func bridges() []pair {
	var all []pair
	for _, client := range protocols() {
		for _, target := range protocols() {
			if client != target {
				all = append(all, pair{client, target})
			}
		}
	}
	return all
}

// ask builds a request of the client's protocol for the target's model.
func (p pair) ask(stream bool, turns ...turn) map[string]any {
	return member(ask(p.client, stream, turns...), "model", p.target)
}

// over sends a turn of a session over a bridge.
func (s *scene) over(p pair, session string, stream bool, headers ...string) answer {
	s.t.Helper()
	return post(s.t, s.URL+route(p.client), p.ask(stream, user("Hello")), append(headers, "X-Session-Id", session)...)
}

// bridged gives a session a preference over a bridge and returns its deployment.
func (s *scene) bridged(p pair, session string) (string, *accounts.Account) {
	s.t.Helper()
	a := s.over(p, session, false)
	if a.StatusCode != 200 || a.affinity() != "claimed" {
		s.t.Fatalf("%s, the first turn of %s: %d %s %s", p, session, a.StatusCode, a.affinity(), a.body)
	}
	return a.deployment(), s.owner(a.deployment())
}

// keeps checks that a session's next turn over a bridge is a hit by its
// deployment.
func (s *scene) keeps(row string, p pair, session, deployment string) {
	s.t.Helper()
	a, trail := s.trail(func() answer { return s.over(p, session, false) })
	if a.StatusCode != 200 || a.affinity() != "hit" || len(trail) != 1 || trail[0] != deployment {
		s.t.Errorf("%s, %s, next turn: %d %s by %v, want a hit by %s\n%.400s", row, p, a.StatusCode, a.affinity(), trail, deployment, a.body)
	}
}

// last is the latest call of an account.
func last(t *testing.T, a *accounts.Account) accounts.Call {
	t.Helper()
	calls := a.Calls()
	if len(calls) == 0 {
		t.Fatal("the account was not called")
	}
	return calls[len(calls)-1]
}

// eachWay runs a check for every bridge, JSON and SSE.
func eachWay(check func(p pair, stream bool, row string)) {
	for _, p := range bridges() {
		for _, stream := range []bool{false, true} {
			check(p, stream, fmt.Sprintf("%s, stream %v", p, stream))
		}
	}
}
