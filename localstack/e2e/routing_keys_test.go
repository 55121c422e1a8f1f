package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// ring is one account with three keys, and another account with one.
func ring(store string) world {
	return world{
		store: store, accounts: []accounts.Config{{Name: "alpha"}, {Name: "bravo"}},
		only: map[string]string{"chat-bravo": "weight: 0.0001", "messages-bravo": "weight: 0.0001", "responses-bravo": "weight: 0.0001"},
		auth: map[string]string{"alpha": `{type: bearer, keys: ["env:RING_0", "env:RING_1", "env:RING_2"]}`},
		env:  []string{"RING_0=" + ringKey(0), "RING_1=" + ringKey(1), "RING_2=" + ringKey(2)},
	}
}

// ringKey is a key of the account that has three.
func ringKey(n int) string { return fmt.Sprintf("sk-upstream-ring-key-%d-123456", n) }

// keyed sends one turn and returns the keys, by their hashes, with which the
// account alpha was called for it.
func (s *scene) keyed(turn func() answer) (answer, []string) {
	s.t.Helper()
	alpha := s.fleet.Account("alpha")
	before := int64(alpha.Count())
	a := turn()
	var keys []string
	for _, c := range alpha.Calls() {
		if c.Seq > before {
			keys = append(keys, c.Key)
		}
	}
	return a, keys
}

// TestS15 shows that a session keeps its key of an account with several over
// processes, endpoints and restarts, and that sessions spread over the keys.
func TestS15(t *testing.T) {
	t.Parallel()
	const sessions = 18
	s := newScene(t, ring("dynamodb"))
	other := s.start()
	keys, users := map[string]string{}, map[string]int{}
	turn := func(url, endpoint, session string, stream bool) {
		a, used := s.keyed(func() answer { return turnOf(t, url, endpoint, session, stream) })
		if a.StatusCode != 200 || len(used) != 1 || used[0] == "" {
			t.Fatalf("%s: %d by %s with the keys %v", session, a.StatusCode, a.deployment(), used)
		}
		if before, known := keys[session]; known && before != used[0] {
			t.Errorf("%s has another key for %s", session, endpoint)
		}
		keys[session] = used[0]
	}
	for n := range sessions {
		session := fmt.Sprint("s", n)
		turn(s.URL, "chat", session, false)
		turn(other.URL, "chat", session, true)
		turn(s.URL, protocols()[n%3], session, true)
		users[keys[session]]++
	}
	if len(users) != 3 || slices.Max([]int{users[accounts.KeyHash(ringKey(0))], users[accounts.KeyHash(ringKey(1))], users[accounts.KeyHash(ringKey(2))]}) > sessions*2/3 {
		t.Errorf("%d sessions use the keys %v, want them spread over three", sessions, users)
	}
	s.Kill()
	s.Gateway = s.start()
	for n := range sessions {
		turn(s.URL, "chat", fmt.Sprint("s", n), false)
	}
}

// TestS15PassedOver shows that a key which is refused or limited is passed over
// within the request and while it rests, by every process, and that neither the
// preference moves nor the deployment rests.
func TestS15PassedOver(t *testing.T) {
	t.Parallel()
	w := ring("dynamodb")
	w.template = "allowed_fails: 1, cooldown: 2s, retry_policy: {max_attempts: 1}"
	s := newScene(t, w)
	other := s.start()
	rows := []struct {
		name, endpoint string
		fault          accounts.Fault
		rest           time.Duration // 0: not waited for
	}{
		{"limited for a while", "chat", accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "3"}, 3 * time.Second},
		{"limited", "responses", accounts.Fault{Kind: accounts.RateLimit}, 0},
		{"refused", "messages", accounts.Fault{Kind: accounts.Unauthorized}, 2 * time.Second},
		{"used up", "responses", accounts.Fault{Kind: accounts.Quota}, 0},
	}
	for _, row := range rows {
		turn := func(url string) (answer, []string) {
			return s.keyed(func() answer { return turnOf(t, url, row.endpoint, row.name, true) })
		}
		first, used := turn(s.URL)
		served(t, row.name, row.endpoint, true, first, "claimed")
		own := used[0]
		row.fault.Key = own
		id := accounts.InjectT(t, s.fleet.Account("alpha"), row.fault)
		begun := time.Now()
		a, used := turn(s.URL)
		served(t, row.name, row.endpoint, true, a, "hit")
		if len(used) != 2 || used[0] != own || used[1] == own || a.deployment() != first.deployment() {
			t.Fatalf("%s: %s by %s with the keys %v, want its own and another", row.name, a.affinity(), a.deployment(), used)
		}
		s.settledAll(other)
		s.fleet.Account("alpha").Remove(id)
		b, again := turn(other.URL)
		served(t, row.name, row.endpoint, true, b, "hit")
		if time.Since(begun) < 2*time.Second && (len(again) != 1 || again[0] != used[1]) {
			t.Errorf("%s, another process: the keys %v while one rests, want %s", row.name, again, used[1])
		}
		if row.rest > 0 {
			time.Sleep(row.rest + time.Second)
			if _, back := turn(other.URL); len(back) != 1 || back[0] != own {
				t.Errorf("%s: the keys %v after the rest, want its own again", row.name, back)
			}
		}
	}
}

// TestS15AllRefused shows that a deployment none of whose keys is accepted is
// left after one call with each, and that all of them make one 502.
func TestS15AllRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, ring("memory"))
	first, _ := s.home("messages", "mine")
	id := accounts.InjectT(t, s.fleet.Account("alpha"), accounts.Fault{Kind: accounts.Unauthorized})
	a, trail := s.trail(func() answer { return turnOf(t, s.URL, "messages", "mine", false) })
	served(t, "all keys refused", "messages", false, a, "moved")
	if !followed(trail, first, 3, a) {
		t.Errorf("calls %v, want three at %s and one elsewhere", trail, first)
	}
	accounts.InjectT(t, s.fleet.Account("bravo"), accounts.Fault{Kind: accounts.Unauthorized})
	b := turnOf(t, s.URL, "messages", "mine", true)
	if refusalOf(t, "messages", b); b.code() != "upstream_credentials" {
		t.Errorf("everybody refuses: %d %s", b.StatusCode, b.code())
	}
	s.fleet.Account("alpha").Remove(id)
}

// TestS15RoundRobin shows that keys take turns where sessions are not to keep
// theirs.
func TestS15RoundRobin(t *testing.T) {
	t.Parallel()
	w := ring("memory")
	w.auth["alpha"] = `{type: bearer, keys: ["env:RING_0", "env:RING_1", "env:RING_2"], session_sticky_keys: false}`
	s := newScene(t, w)
	users := map[string]int{}
	for range 9 {
		_, used := s.keyed(func() answer { return turnOf(t, s.URL, "chat", "one", false) })
		users[fmt.Sprint(used)]++
	}
	if len(users) != 3 {
		t.Errorf("nine turns of one session used %v, want each key three times", users)
	}
	for keys, n := range users {
		if n != 3 {
			t.Errorf("the key %s had %d of nine turns", keys, n)
		}
	}
}
