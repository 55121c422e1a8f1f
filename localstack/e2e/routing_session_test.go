package e2e

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// TestS4 shows that a deployment which the configuration rules out is left on
// the next request, by sessions that prefer it and by new ones alike.
func TestS4(t *testing.T) {
	t.Parallel()
	changes := []struct {
		name   string
		change func(w *world, home string)
	}{
		{"disabled", func(w *world, home string) { w.only = map[string]string{home: "enabled: false"} }},
		{"deleted", func(w *world, home string) { w.only = map[string]string{home: "-"} }},
		{"weight 0", func(w *world, home string) { w.only = map[string]string{home: "weight: 0"} }},
		{"weight 0 in the template", func(w *world, home string) {
			w.template = patient + ", model_rules: {chat: {weights: {" + home + ": 0}}}"
		}},
		{"endpoint removed", func(w *world, home string) { w.only = map[string]string{home: "endpoints: [messages]"} }},
		{"no streams any more", func(w *world, home string) { w.only = map[string]string{home: "capabilities: {stream: false}"} }},
	}
	s := newScene(t, world{store: "bolt"})
	homes := make([]string, len(changes))
	for i, c := range changes {
		homes[i], _ = s.home("chat", c.name)
	}
	for i, c := range changes {
		s.become(func(w *world) { c.change(w, homes[i]) })
		a, trail := s.trail(func() answer { return turnOf(t, s.URL, "chat", c.name, true) })
		served(t, c.name, "chat", true, a, "moved")
		if len(trail) != 1 || trail[0] == homes[i] || trail[0] != a.deployment() {
			t.Errorf("%s: %v were called by a session at %s", c.name, trail, homes[i])
		}
		s.stays(c.name, "chat", c.name, a.deployment())
		for n := range 8 {
			if a := turnOf(t, s.URL, "chat", fmt.Sprint(c.name, n), true); a.StatusCode != 200 || a.deployment() == homes[i] {
				t.Errorf("%s: a new session: %d by %s", c.name, a.StatusCode, a.deployment())
			}
		}
	}
}

// TestS4Cooled shows that a preference is left, without a call, as soon as the
// deployment rests, and that what comes back from its rest stays left.
func TestS4Cooled(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	moved := map[string]string{}
	for _, endpoint := range protocols() {
		home, account := s.home(endpoint, "mine")
		neighbour := s.neighbour(endpoint, home, "neighbour")
		a, trail := s.strike(account, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "3", Times: 1}, func() answer {
			return turnOf(t, s.URL, endpoint, neighbour, true)
		})
		served(t, "the neighbour", endpoint, true, a, "moved")
		if !followed(trail, home, 1, a) {
			t.Errorf("%s: the neighbour's calls %v, want one at %s and one elsewhere", endpoint, trail, home)
		}
		s.quiet()
		a, trail = s.trail(func() answer { return turnOf(t, s.URL, endpoint, "mine", false) })
		served(t, endpoint, endpoint, false, a, "moved")
		if len(trail) != 1 || trail[0] == home {
			t.Errorf("%s: %v were called while %s rests", endpoint, trail, home)
		}
		moved[endpoint] = a.deployment()
	}
	time.Sleep(3 * time.Second) // the pause that the provider has asked for
	for endpoint, deployment := range moved {
		s.stays("after the rest", endpoint, "mine", deployment)
	}
}

// neighbour makes a session, named by a prefix, whose preference is a given
// deployment.
func (s *scene) neighbour(endpoint, home, prefix string) string {
	s.t.Helper()
	for n := range 64 {
		session := fmt.Sprint(prefix, n)
		if turnOf(s.t, s.URL, endpoint, session, false).deployment() == home {
			return session
		}
	}
	s.t.Fatalf("none of 64 sessions went to %s", home)
	return ""
}

// TestS5 shows that price, latency, load and positive weights change where new
// sessions go, and never where a session is.
func TestS5(t *testing.T) {
	t.Parallel()
	const session, away = "settled", 9
	s := newScene(t, world{store: "bolt"})
	home, account := s.home("chat", session)
	changes := []struct {
		name   string
		change func(w *world)
		atHome int // at most so many of the new sessions may go there
	}{
		{"dearer than the others", func(w *world) {
			w.template = patient + ", strategy: cost"
			w.each = "price: {input: 1, output: 1}"
			w.only = map[string]string{home: "price: {input: 900, output: 900}"}
		}, 0},
		{"of less weight", func(w *world) { w.only = map[string]string{home: "weight: 0.000001"} }, 0},
		{"of less weight in the template", func(w *world) {
			w.template = patient + ", model_rules: {chat: {weights: {" + home + ": 0.000001}}}"
		}, 0},
		{"busier", func(w *world) { w.template = patient + ", strategy: usage" }, 0},
		{"not in turn", func(w *world) { w.template = patient + ", strategy: round_robin" }, away / 3},
		{"slower", func(w *world) { w.template = patient + ", strategy: latency" }, 0},
	}
	for _, c := range changes {
		s.become(func(w *world) { c.change(w) })
		id := accounts.InjectT(t, account, accounts.Fault{Kind: accounts.SlowFirstByte, Delay: 60 * time.Millisecond})
		untilEarly()
		for range 5 { // of which each of the others gets as many before it is as busy
			s.stays(c.name, "chat", session, home)
		}
		moved := 0
		for n := range away {
			s.quiet()
			if turnOf(t, s.URL, "chat", fmt.Sprint(c.name, n), false).deployment() == home {
				moved++
			}
		}
		if moved > c.atHome {
			t.Errorf("%s: %d of %d new sessions went to it, want at most %d: the change had no effect", c.name, moved, away, c.atHome)
		}
		s.stays(c.name, "chat", session, home)
		account.Remove(id)
	}
}

// untilEarly waits for the next minute when little of this one is left: what is
// counted by the minute starts anew there.
func untilEarly() {
	if left := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)); left < 10*time.Second {
		time.Sleep(left)
	}
}

// TestS6 shows that nothing leads back to a deployment that an exchange has
// exhausted, and that the error of all is the preference's.
func TestS6(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{further: []string{"spare"}, template: patient +
		", retry_policy: {max_attempts: 2}, fallbacks: {chat: [spare-chat], responses: [spare-responses], messages: [spare-messages]}"})
	for _, endpoint := range protocols() {
		for _, stream := range []bool{false, true} {
			session := fmt.Sprint("s", stream)
			home, _ := s.home(endpoint, session)
			for _, a := range s.fleet.Accounts() {
				accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Message: a.Name() + " has failed"})
			}
			a, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, session, stream) })
			relayed(t, session, endpoint, a, 500)
			if want := s.owner(home).Name() + " has failed"; a.field("error", "message") != want {
				t.Errorf("%s: the error %s, want the preference's", endpoint, a.body)
			}
			if len(trail) != 12 || trail[0] != home || a.Header.Get("X-Holdfast-Attempts") != "12" {
				t.Errorf("%s: calls %v, want two at each of six, %s first; X-Holdfast-Attempts %s", endpoint, trail, home, a.Header.Get("X-Holdfast-Attempts"))
			}
			for i := 0; i+1 < len(trail); i += 2 {
				if trail[i] != trail[i+1] || i > 0 && strings.Contains(strings.Join(trail[:i], " ")+" ", trail[i]+" ") {
					t.Errorf("%s: calls %v come back to %s", endpoint, trail, trail[i])
				}
			}
			for _, a := range s.fleet.Accounts() {
				a.ClearFaults()
			}
			s.stays("after failing", endpoint, session, home)
		}
	}
}

// TestS13 shows that new sessions split by the weights, each decided for itself,
// and that a deployment which joins takes its share and moves nobody else.
func TestS13(t *testing.T) {
	t.Parallel()
	sessions := 2000
	if deployed() {
		sessions = 400 // each takes a bootstrap milliseconds for its calls of the store
	}
	weights := map[string]string{"chat-alpha": "weight: 3", "chat-bravo": "weight: 1", "chat-charlie": "weight: 0"}
	s := newScene(t, world{only: weights})
	before := s.spread(sessions)
	split(t, before, map[string]float64{"chat-alpha": 0.75, "chat-bravo": 0.25})

	weights["chat-charlie"] = "weight: 4"
	s.become(func(w *world) { w.only = weights })
	after := s.spread(sessions)
	split(t, after, map[string]float64{"chat-alpha": 0.375, "chat-bravo": 0.125, "chat-charlie": 0.5})
	for i := range before {
		if after[i] != before[i] && after[i] != "chat-charlie" {
			t.Errorf("session %d went from %s to %s when charlie joined", i, before[i], after[i])
		}
	}
}

// spread sends the first turns of many sessions and returns who served them.
func (s *scene) spread(sessions int) []string {
	who := make([]string, sessions)
	var all sync.WaitGroup
	const clients = 8
	for c := range clients {
		all.Go(func() {
			for i := c; i < sessions; i += clients {
				who[i] = turnOf(s.t, s.URL, "chat", fmt.Sprint("many", i), false).deployment()
			}
		})
	}
	all.Wait()
	return who
}

// split holds counts to shares: within five standard deviations, so that a
// sound hash fails once in a million.
func split(t *testing.T, who []string, shares map[string]float64) {
	t.Helper()
	counts := map[string]int{}
	for _, deployment := range who {
		counts[deployment]++
	}
	n := float64(len(who))
	for deployment, share := range shares {
		if off := math.Abs(float64(counts[deployment]) - n*share); off > 5*math.Sqrt(n*share*(1-share)) {
			t.Errorf("%s got %d of %d sessions, want about %.0f", deployment, counts[deployment], len(who), n*share)
		}
	}
	if len(counts) != len(shares) {
		t.Errorf("served by %v, want %v", counts, shares)
	}
}

// TestS14 shows that a claim whose first turn fails ties nobody: what serves
// next becomes the preference, whoever had been claimed.
func TestS14(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "bolt"})
	for _, endpoint := range protocols() {
		var ids []string
		for _, a := range s.fleet.Accounts() {
			ids = append(ids, accounts.InjectT(t, a, accounts.Fault{Kind: accounts.Overloaded}))
		}
		first, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, "new", true) })
		if first.StatusCode < 500 || len(trail) != 6 {
			t.Fatalf("%s: %d after %v", endpoint, first.StatusCode, trail)
		}
		claimed := trail[0]
		for i, a := range s.fleet.Accounts() {
			if a != s.owner(claimed) {
				a.Remove(ids[i])
			}
		}
		a, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, "new", true) })
		served(t, "the next turn", endpoint, true, a, "moved")
		if !followed(trail, claimed, 2, a) {
			t.Errorf("%s: calls %v, want two at the claimed %s and one elsewhere", endpoint, trail, claimed)
		}
		s.owner(claimed).ClearFaults()
		s.stays("after the move", endpoint, "new", a.deployment())
	}
	home, account := s.home("chat", "refused") // a first turn that is refused
	a, trail := s.strike(account, refusing(), func() answer { return turnOf(t, s.URL, "chat", "refused", false) })
	mistaken(t, "refused", "chat", a)
	if len(trail) != 1 {
		t.Errorf("a refused request was sent to %v", trail)
	}
	s.become(func(w *world) { w.only = map[string]string{home: "enabled: false"} })
	if a := turnOf(t, s.URL, "chat", "refused", false); a.StatusCode != 200 || a.affinity() != "moved" {
		t.Errorf("after the claimed deployment has gone: %d %s", a.StatusCode, a.affinity())
	}
}
