package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/wirefault"
)

// slowWrites makes every write of a rig's store late by a moment that is long
// beside what lies between two turns of a client.
func (s *scene) slowWrites(late time.Duration) {
	s.front.Decide(func(r wirefault.Request) wirefault.Fault {
		if r.Operation == "PutItem" || r.Operation == "UpdateItem" {
			return wirefault.Fault{Kind: wirefault.Slow, Delay: late}
		}
		return wirefault.Fault{}
	})
}

// TestS7Next shows that a session finds its deployment free when its own last turn
// was all that ran there: the place is given back before the client sees the end,
// whether the turn succeeded, failed or moved on.
func TestS7Next(t *testing.T) {
	for _, endpoint := range []string{"chat", "responses"} {
		for _, stream := range []bool{false, true} {
			t.Run(endpoint+map[bool]string{false: " json", true: " sse"}[stream], func(t *testing.T) {
				t.Parallel()
				s := newScene(t, world{store: "dynamodb", each: "limits: {concurrency: 1}", template: patient + ", retry_policy: {max_attempts: 1}"})
				home, account := s.home(endpoint, "mine")
				s.slowWrites(60 * time.Millisecond)
				for range 3 {
					a := turnOf(t, s.URL, endpoint, "mine", stream)
					served(t, "one turn after the other", endpoint, stream, a, "hit")
				}
				a, _ := s.strike(account, refusing(), func() answer { return turnOf(t, s.URL, endpoint, "mine", stream) })
				if a.StatusCode != http.StatusBadRequest {
					t.Errorf("a refused turn: %d %s", a.StatusCode, a.body)
				}
				a = turnOf(t, s.URL, endpoint, "mine", stream)
				served(t, "after a failed turn", endpoint, stream, a, "hit")
				if a.deployment() != home {
					t.Errorf("after a failed turn: %s, want %s", a.deployment(), home)
				}
			})
		}
	}
}

// TestS7Left shows that an exchange that has left a deployment for another one
// keeps no place there while it goes on.
func TestS7Left(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{accounts: []accounts.Config{{Name: "alpha"}, {Name: "bravo"}}, each: "limits: {concurrency: 1}",
		template: patient + ", retry_policy: {max_attempts: 1}"})
	home, account := s.home("chat", "mine")
	neighbour := s.neighbour("chat", home, "neighbour")
	other := s.fleet.Accounts()[0]
	if other == account {
		other = s.fleet.Accounts()[1]
	}
	accounts.InjectT(t, account, accounts.Fault{Kind: accounts.ServerError, Times: 1})
	accounts.InjectT(t, other, accounts.Fault{Kind: accounts.SlowFirstByte, Delay: time.Second, Times: 1})
	before, moving := other.Count(), make(chan answer, 1)
	go func() { moving <- turnOf(t, s.URL, "chat", "mine", true) }()
	if err := other.Await(t.Context(), func(calls []accounts.Call) bool { return len(calls) > before }); err != nil {
		t.Fatal(err)
	}
	served(t, "who finds the left deployment free", "chat", false, turnOf(t, s.URL, "chat", neighbour, false), "hit")
	served(t, "who has left it", "chat", true, <-moving, "moved")
}

// TestMinuteNext shows that a turn that has ended counts for the next one, however
// slow the store writes: a deployment's minute is not overdrawn by turns that come
// one after the other.
func TestMinuteNext(t *testing.T) {
	for _, limit := range []string{"rpm: 2", "tpm: 20"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, world{store: "dynamodb", each: "limits: {" + limit + "}"})
			s.slowWrites(60 * time.Millisecond)
			untilEarly()
			home, _ := s.home("chat", "mine")
			if strings.HasPrefix(limit, "rpm") {
				served(t, "within the limit", "chat", true, turnOf(t, s.URL, "chat", "mine", true), "hit")
			}
			a := turnOf(t, s.URL, "chat", "mine", false)
			if served(t, "beyond the limit", "chat", false, a, "spilled"); a.deployment() == home {
				t.Errorf("beyond the limit: by %s", home)
			}
		})
	}
}

// TestS15Next shows that a key that was limited is not asked again by the next
// turn, however soon that comes.
func TestS15Next(t *testing.T) {
	t.Parallel()
	s := newScene(t, ring("dynamodb"))
	home, used := s.keyed(func() answer { return turnOf(t, s.URL, "chat", "mine", false) })
	s.slowWrites(60 * time.Millisecond)
	accounts.InjectT(t, s.fleet.Account("alpha"), accounts.Fault{Kind: accounts.RateLimit, Key: used[0], RetryAfter: "30"})
	for i, calls := range []int{2, 1, 1} {
		a, used := s.keyed(func() answer { return turnOf(t, s.URL, "chat", "mine", i == 1) })
		served(t, "with a limited key", "chat", i == 1, a, "hit")
		if len(used) != calls || a.deployment() != home.deployment() {
			t.Errorf("turn %d: %d calls, %s, want %d by %s", i, len(used), a.deployment(), calls, home.deployment())
		}
	}
}
