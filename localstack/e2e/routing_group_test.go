package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"holdfast/localstack/accounts"
)

// TestGroup shows that a group chooses among its members' deployments by its own
// weights, keeps a session, goes through its own chain and then through those of
// the members that have failed, and that every way there is found again.
func TestGroup(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{
		store: "bolt", further: []string{"plus", "spare", "last", "big"},
		template: patient + ", fallbacks: {team: [spare-chat], plus-chat: [last-chat]}, context_window_fallbacks: {team: [big-chat]}",
		extra:    "groups: [{name: team, members: [chat, plus-chat], weights: {chat-alpha: 0, plus-chat-alpha: 3}}]\n",
	})
	ask := func(session string, stream bool) answer {
		return post(t, s.URL+route("chat"), member(ask("chat", stream, user("Hello")), "model", "team"), "X-Session-Id", session)
	}
	stays := func(row, session, deployment string) {
		t.Helper()
		a, trail := s.trail(func() answer { return ask(session, true) })
		if a.affinity() != "hit" || len(trail) != 1 || trail[0] != deployment {
			t.Errorf("%s: next turn %s by %v, want a hit by %s", row, a.affinity(), trail, deployment)
		}
	}
	fail := func(models ...string) {
		for _, a := range s.fleet.Accounts() {
			a.ClearFaults()
			for _, model := range models {
				accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Model: model})
			}
		}
	}
	seen := map[string]bool{}
	for n := range 30 {
		first := ask(fmt.Sprint("s", n), false)
		if first.StatusCode != 200 || first.affinity() != "claimed" || first.deployment() == "chat-alpha" {
			t.Fatalf("a first turn: %d %s by %s", first.StatusCode, first.affinity(), first.deployment())
		}
		seen[first.deployment()] = true
		stays("kept", fmt.Sprint("s", n), first.deployment())
	}
	if len(seen) != 5 {
		t.Errorf("30 sessions went to %v, want all five that have a weight", seen)
	}
	rows := []struct {
		name  string
		fail  []string
		calls int // two at each of those that fail, and one
		by    string
	}{
		{"one member fails", []string{"chat"}, 0, "plus-chat-"},
		{"the group's chain", []string{"chat", "plus-chat"}, 11, "spare-chat-"},
		{"the member's chain", []string{"chat", "plus-chat", "spare-chat"}, 17, "last-chat-"},
		{"nobody", []string{"chat", "plus-chat", "spare-chat", "last-chat"}, 22, ""},
	}
	for _, row := range rows {
		fail(row.fail...)
		a, trail := s.trail(func() answer { return ask(row.name, true) })
		if row.calls > 0 && len(trail) != row.calls || !strings.HasPrefix(a.deployment(), row.by) {
			t.Errorf("%s: %d by %s after %v, want %d calls", row.name, a.StatusCode, a.deployment(), trail, row.calls)
		}
		fail()
		if row.by == "" {
			relayed(t, row.name, "chat", a, 500)
			continue
		}
		served(t, row.name, "chat", true, a, a.affinity())
		stays(row.name, row.name, a.deployment())
		s.become(func(*world) {})
		stays(row.name+", restarted", row.name, a.deployment())
	}
	first := ask("long", false)
	a, trail := s.strike(s.owner(first.deployment()), accounts.Fault{Kind: accounts.ContextOverflow}, func() answer { return ask("long", true) })
	if len(trail) != 2 || !strings.HasPrefix(a.deployment(), "big-chat-") {
		t.Errorf("a long prompt: %d by %s after %v", a.StatusCode, a.deployment(), trail)
	}
	stays("a long prompt", "long", a.deployment())
	s.become(func(w *world) { w.extra = "groups: [{name: team, members: [chat]}]\n" }) // nothing leads to the last one now
	a, trail = s.trail(func() answer { return ask("the member's chain", false) })
	served(t, "the member has left", "chat", false, a, "moved")
	if len(trail) != 1 || !strings.HasPrefix(trail[0], "chat-") {
		t.Errorf("the member has left: calls %v, want one at the other member", trail)
	}
}

// TestConvergence shows that many turns of one session which find its deployment
// broken at the same time, in several processes, are all served, and that from
// then on all processes agree.
func TestConvergence(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "dynamodb"})
	gateways := s.gateways(4)
	for _, endpoint := range protocols() {
		home, account := s.home(endpoint, "one")
		id := accounts.InjectT(t, account, accounts.Fault{Kind: accounts.Overloaded})
		var all sync.WaitGroup
		for n := range 24 {
			all.Go(func() {
				a := turnOf(t, gateways[n%len(gateways)], endpoint, "one", n%2 == 0)
				if a.StatusCode != 200 || a.deployment() == home {
					t.Errorf("turn %d: %d %s by %s", n, a.StatusCode, a.affinity(), a.deployment())
				}
			})
		}
		all.Wait()
		account.Remove(id)
		first := s.calmly(gateways[0], endpoint, "one", false)
		if first.deployment() == home {
			t.Errorf("%s: back at %s, which had failed", endpoint, home)
		}
		for _, url := range gateways {
			if a := s.calmly(url, endpoint, "one", true); a.affinity() != "hit" || a.deployment() != first.deployment() {
				t.Errorf("%s: %s by %s, want a hit by %s", endpoint, a.affinity(), a.deployment(), first.deployment())
			}
		}
	}
}
