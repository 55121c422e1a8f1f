package e2e

import (
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// TestS16 shows that a strict session waits for its deployment as long as
// max_wait allows, or is refused with the time to come back, and that its
// preference stays.
func TestS16(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name   string
		fault  accounts.Fault
		status int // 200: it is waited for
		calls  int
		after  time.Duration // the least that it takes
	}{
		{"a short pause", accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "1", Times: 1}, 200, 2, time.Second},
		{"a hiccup", accounts.Fault{Kind: accounts.ServerError, Times: 1}, 200, 2, 0},
		{"limited", accounts.Fault{Kind: accounts.RateLimit}, 429, 2, 0},
		{"failing", accounts.Fault{Kind: accounts.ServerError}, 503, 2, 0},
		{"overloaded", accounts.Fault{Kind: accounts.Overloaded}, 503, 2, 0},
		{"torn", accounts.Fault{Kind: accounts.Cut, After: -1}, 503, 2, 0},
	}
	s := newScene(t, world{template: patient + ", session_affinity: strict"})
	for _, row := range rows {
		for i, endpoint := range protocols() {
			stream := i != 1
			home, account := s.home(endpoint, row.name)
			begun := time.Now()
			a, trail := s.strike(account, row.fault, func() answer { return turnOf(t, s.URL, endpoint, row.name, stream) })
			if len(trail) != row.calls || !all(trail, home) || a.StatusCode != row.status || time.Since(begun) < row.after {
				t.Errorf("%s, %s: %d after %v in %v, want %d after %d calls at %s\n%.300s", row.name, endpoint,
					a.StatusCode, trail, time.Since(begun), row.status, row.calls, home, a.body)
			}
			if row.status == 200 {
				served(t, row.name, endpoint, stream, a, "hit")
			} else if retryAfter(t, a) < 1 {
				t.Errorf("%s: no Retry-After on %d", row.name, a.StatusCode)
			}
			s.stays(row.name, endpoint, row.name, home)
		}
	}
}

// TestS16Rests shows the same for a deployment that rests: a short rest is
// waited for, a long one refused without a call.
func TestS16Rests(t *testing.T) {
	t.Parallel()
	const endpoint = "messages"
	s := newScene(t, world{template: patient + ", session_affinity: strict", affinity: "max_wait: 3s"})
	home, account := s.home(endpoint, "mine")
	neighbour := s.neighbour(endpoint, home, "neighbour")
	a, trail := s.strike(account, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "4"}, func() answer {
		return turnOf(t, s.URL, endpoint, neighbour, false)
	})
	if relayed(t, "a long pause", endpoint, a, 429); len(trail) != 1 {
		t.Errorf("calls %v, want one: the pause is longer than anybody waits", trail)
	}
	begun := time.Now()
	s.quiet()
	a, trail = s.trail(func() answer { return turnOf(t, s.URL, endpoint, "mine", true) })
	if time.Since(begun) < 900*time.Millisecond { // it still rests for more than three seconds
		refusalOf(t, endpoint, a)
		if a.code() != "deployments_cooling" || len(trail) > 0 {
			t.Errorf("%d %s after %v, want 429 without a call", a.StatusCode, a.code(), trail)
		}
	}
	time.Sleep(1500 * time.Millisecond)
	s.stays("waited for", endpoint, "mine", home)
	if waited := time.Since(begun); waited < 3500*time.Millisecond {
		t.Errorf("answered after %v, before the end of the rest", waited)
	}
}

// TestS16Limit shows that a strict session waits for a place at its deployment.
func TestS16Limit(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: patient + ", session_affinity: strict", each: "limits: {concurrency: 1}"})
	home, account := s.home("chat", "mine")
	s.quiet()
	accounts.InjectT(t, account, accounts.Fault{Kind: accounts.SlowFirstByte, Delay: 600 * time.Millisecond, Times: 1})
	slow := make(chan answer, 1)
	go func() { slow <- turnOf(t, s.URL, "chat", "mine", true) }()
	calls := account.Count()
	if err := account.Await(t.Context(), func(all []accounts.Call) bool { return len(all) > calls }); err != nil {
		t.Fatal(err)
	}
	a := turnOf(t, s.URL, "chat", "mine", false)
	served(t, "waited for a place", "chat", false, a, "hit")
	if n := a.Header.Get("X-Holdfast-Attempts"); n != "1" {
		t.Errorf("X-Holdfast-Attempts %s, want the one call", n)
	}
	if b := <-slow; a.deployment() != home || b.deployment() != home {
		t.Errorf("served by %s and %s, want %s", a.deployment(), b.deployment(), home)
	}
}

// TestLimitRetry shows that an exchange takes one place for all its attempts: a
// deployment that takes one call at a time is retried as others are.
func TestLimitRetry(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{each: "limits: {concurrency: 1}"})
	for _, endpoint := range protocols() {
		home, account := s.home(endpoint, "mine")
		for n := range 2 {
			s.quiet()
			a, trail := s.strike(account, accounts.Fault{Kind: accounts.ServerError, Times: 1}, func() answer {
				return turnOf(t, s.URL, endpoint, "mine", n == 0)
			})
			served(t, "retried", endpoint, n == 0, a, "hit")
			if len(trail) != 2 || !all(trail, home) {
				t.Errorf("%s: calls %v, want two at %s", endpoint, trail, home)
			}
		}
	}
}

// TestS16Gone shows that a strict session is bound anew when its deployment is
// gone for good: by configuration, by its credential, by its account.
func TestS16Gone(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "bolt", template: patient + ", session_affinity: strict", further: []string{"spare"}})
	for name, fault := range map[string]accounts.Fault{
		"used up":  {Kind: accounts.Quota, Model: "chat"},
		"refused":  {Kind: accounts.Unauthorized, Model: "responses"},
		"no model": {Kind: accounts.NotFound, Model: "messages"},
	} {
		home, account := s.home(fault.Model, name)
		a, trail := s.strike(account, fault, func() answer { return turnOf(t, s.URL, fault.Model, name, true) })
		served(t, name, fault.Model, true, a, "moved")
		if !followed(trail, home, 1, a) {
			t.Errorf("%s: calls %v, want one at %s and one elsewhere", name, trail, home)
		}
		s.stays(name, fault.Model, name, a.deployment())
	}
	ask := func() answer {
		body := ask("chat", true, user("Hello"))
		body["model"] = "spare-chat"
		return post(t, s.URL+route("chat"), body, "X-Session-Id", "mine")
	}
	home := ask().deployment()
	for change, fields := range map[string]string{"disabled": "enabled: false", "weight 0": "weight: 0", "deleted": "-"} {
		s.become(func(w *world) { w.only = map[string]string{home: fields} })
		a := ask()
		served(t, change, "chat", true, a, "moved")
		if a.deployment() == home || !strings.HasPrefix(a.deployment(), "spare-chat") {
			t.Errorf("%s: served by %s", change, a.deployment())
		}
		if b := ask(); b.affinity() != "hit" || b.deployment() != a.deployment() {
			t.Errorf("%s, next turn: %s by %s, want a hit by %s", change, b.affinity(), b.deployment(), a.deployment())
		}
		home = a.deployment()
	}
}
