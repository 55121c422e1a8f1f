package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// TestR9 shows that errors which are the client's own never rest a deployment,
// and that one exchange counts once, and one session once a minute.
func TestR9(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: "allowed_fails: 3, cooldown: 1h, retry_policy: {max_attempts: 3}"})
	for _, endpoint := range protocols() {
		home, account := s.home(endpoint, "mine")
		client := map[string]accounts.Fault{
			"a bad parameter": refusing(),
			"too long":        {Kind: accounts.ContextOverflow},
			"not allowed":     {Kind: accounts.ContentPolicy},
		}
		for name, fault := range client {
			for n := range 4 {
				neighbour := s.neighbour(endpoint, home, fmt.Sprint(name, n, "-"))
				a, trail := s.strike(account, fault, func() answer { return turnOf(t, s.URL, endpoint, neighbour, false) })
				mistaken(t, name, endpoint, a)
				if len(trail) != 1 || trail[0] != home {
					t.Errorf("%s: calls %v, want one at %s", name, trail, home)
				}
			}
			s.quiet()
			s.stays(name, endpoint, "mine", home)
		}
		bad := s.neighbour(endpoint, home, "bad")
		for range 4 { // 36 failures, 12 of them at home
			s.badTurn(endpoint, bad, home)
		}
		s.stays("one bad session", endpoint, "mine", home)
		for n := range 2 { // with two more it is three
			s.stays("less than three", endpoint, "mine", home)
			neighbour := s.neighbour(endpoint, home, fmt.Sprint("neighbour", n))
			s.badTurn(endpoint, neighbour, home)
		}
		a, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, "mine", false) })
		if served(t, "three bad sessions", endpoint, false, a, "moved"); slices.Contains(trail, home) {
			t.Errorf("%s: %v were called after three sessions had failed at %s", endpoint, trail, home)
		}
	}
}

// badTurn is one that fails at all deployments, three times at each, the
// session's own first. Only that one is blamed.
func (s *scene) badTurn(endpoint, session, home string) {
	s.t.Helper()
	for _, a := range s.fleet.Accounts() {
		accounts.InjectT(s.t, a, accounts.Fault{Kind: accounts.ServerError})
	}
	a, trail := s.trail(func() answer { return turnOf(s.t, s.URL, endpoint, session, false) })
	relayed(s.t, "a bad session", endpoint, a, 500)
	if len(trail) != 9 || trail[0] != home {
		s.t.Errorf("%s: a bad session's calls %v", endpoint, trail)
	}
	for _, a := range s.fleet.Accounts() {
		a.ClearFaults()
	}
	s.quiet()
}

// TestR10 shows that an upstream which refuses our credential is left at once,
// and that a client never sees it as a refusal of its own.
func TestR10(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	for _, endpoint := range protocols() {
		for _, status := range []int{401, 402, 403} {
			if endpoint == "messages" && status == 402 {
				continue // Anthropic's billing_error: an account without credit
			}
			session := fmt.Sprint(status)
			home, account := s.home(endpoint, session)
			refused := accounts.Fault{Kind: accounts.Unauthorized, Status: status}
			a, trail := s.strike(account, refused, func() answer { return turnOf(t, s.URL, endpoint, session, true) })
			served(t, session, endpoint, true, a, "moved")
			if !followed(trail, home, 1, a) {
				t.Errorf("%s, %d: calls %v, want one at %s and one elsewhere", endpoint, status, trail, home)
			}
			for _, a := range s.fleet.Accounts() {
				accounts.InjectT(t, a, refused)
			}
			for _, stream := range []bool{false, true} {
				a, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, session, stream) })
				refusalOf(t, endpoint, a)
				if a.StatusCode != 502 || a.code() != "upstream_credentials" || len(trail) != 3 {
					t.Errorf("%s, all %d: %d %s after %v, want 502 after one call each", endpoint, status, a.StatusCode, a.code(), trail)
				}
			}
			for _, a := range s.fleet.Accounts() {
				a.ClearFaults()
			}
			s.stays("accepted again", endpoint, session, a.deployment())
		}
	}
}

// TestNoCredential shows that a connection whose secret is not there is nobody's
// candidate: not claimed, not tried, with its reason in the explanation.
func TestNoCredential(t *testing.T) {
	t.Parallel()
	lost := `{type: bearer, key: "env:LOST_KEY"}`
	s := newScene(t, world{store: "bolt", auth: map[string]string{"alpha": lost}, env: []string{"HOLDFAST_ADMIN_KEY=" + adminKey}})
	explained := admin(t, "POST", s.URL+"/admin/explain", `{"endpoint":"chat","key":"a","headers":{},"body":{"model":"chat","messages":[]}}`)
	if !strings.Contains(explained.body, `"deployment":"chat-alpha","model":"chat","pool":"chat","kept":false,"reason":"no_credential"`) {
		t.Errorf("the explanation: %s", explained.body)
	}
	for n := range 12 {
		a, trail := s.trail(func() answer { return turnOf(t, s.URL, "chat", fmt.Sprint("s", n), false) })
		if a.StatusCode != 200 || a.affinity() != "claimed" || a.Header.Get("X-Holdfast-Attempts") != "1" || len(trail) != 1 || trail[0] == "chat-alpha" {
			t.Errorf("%d after %v\n%s", a.StatusCode, trail, a.body)
		}
	}
	s.become(func(w *world) { w.auth = map[string]string{"alpha": lost, "bravo": lost, "charlie": lost} })
	for _, endpoint := range protocols() {
		a, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, "s0", true) })
		refusalOf(t, endpoint, a)
		if a.StatusCode != 503 || a.code() != "no_eligible_deployment" || len(trail) > 0 {
			t.Errorf("%s: %d %s after %v", endpoint, a.StatusCode, a.code(), trail)
		}
	}
}

// TestExhausted shows that an account without credit, or without the model, is
// left at once and rests for all sessions, and that a pool of one passes the
// provider's error on.
func TestExhausted(t *testing.T) {
	t.Parallel()
	faults := map[string]accounts.Fault{
		"quota":   {Kind: accounts.Quota},
		"billing": {Kind: accounts.Billing},
		"model":   {Kind: accounts.NotFound},
	}
	statuses := map[string]int{"quota": 429, "billing": 429, "model": 404}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, world{template: "retry_policy: {max_attempts: 3}, allowed_fails: 100, cooldown: 1h"})
			for _, endpoint := range protocols() {
				fault.Protocol = endpoint
				home, account := s.home(endpoint, "mine")
				neighbour := s.neighbour(endpoint, home, "neighbour")
				a, trail := s.strike(account, fault, func() answer { return turnOf(t, s.URL, endpoint, "mine", true) })
				served(t, name, endpoint, true, a, "moved")
				if !followed(trail, home, 1, a) {
					t.Errorf("%s: calls %v, want one at %s and one elsewhere", endpoint, trail, home)
				}
				s.quiet()
				b, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, neighbour, false) })
				if served(t, "the neighbour", endpoint, false, b, "moved"); len(trail) != 1 {
					t.Errorf("%s: the neighbour's calls %v while %s rests", endpoint, trail, home)
				}
				for _, a := range s.fleet.Accounts() {
					accounts.InjectT(t, a, fault)
				}
				status := statuses[name]
				if endpoint == "messages" && status == 429 {
					status = 400 // Anthropic's own
				}
				last, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, "mine", true) })
				relayed(t, "the last two", endpoint, last, status)
				if len(trail) != 2 || trail[0] != a.deployment() || all(trail, trail[0]) {
					t.Errorf("%s: calls %v, want one each at those that do not rest", endpoint, trail)
				}
				s.quiet()
				last, trail = s.trail(func() answer { return turnOf(t, s.URL, endpoint, "mine", false) })
				refusalOf(t, endpoint, last)
				if last.code() != "deployments_cooling" || len(trail) > 0 {
					t.Errorf("%s: %d %s after %v, want all to rest", endpoint, last.StatusCode, last.code(), trail)
				}
			}
		})
	}
}

// TestR10Billing shows that an Anthropic account without credit, told by a 402
// as well as by a 400, is left at once and rests; where all are refused the
// client never sees a 402 of its own, and the 400 in Anthropic's own words.
func TestR10Billing(t *testing.T) {
	t.Parallel()
	for _, status := range []int{402, 400} {
		fault := accounts.Fault{Kind: accounts.Unauthorized, Status: 402}
		if status == 400 {
			fault = accounts.Fault{Kind: accounts.Billing}
		}
		for _, stream := range []bool{false, true} {
			s := newScene(t, world{template: "allowed_fails: 100, cooldown: 1h"})
			home, account := s.home("messages", "mine")
			a, trail := s.strike(account, fault, func() answer { return turnOf(t, s.URL, "messages", "mine", stream) })
			served(t, "left at once", "messages", stream, a, "moved")
			if !followed(trail, home, 1, a) {
				t.Errorf("%d: calls %v, want one at %s and one elsewhere", status, trail, home)
			}
			for _, one := range s.fleet.Accounts() {
				accounts.InjectT(t, one, fault)
			}
			s.quiet()
			last, trail := s.trail(func() answer { return turnOf(t, s.URL, "messages", "mine", stream) })
			if len(trail) != 2 {
				t.Errorf("%d: calls %v, want one each at those that do not rest", status, trail)
			}
			switch refusalOf := last.field("error", "type"); {
			case status == 402 && (last.StatusCode != 502 || last.code() != "upstream_credentials"):
				t.Errorf("all refused with 402: %d %s", last.StatusCode, last.body)
			case status == 400 && (last.StatusCode != 400 || refusalOf != "invalid_request_error"):
				t.Errorf("all refused with 400: %d %s", last.StatusCode, last.body)
			}
		}
	}
}
