package e2e

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// chain is a template's table that leads every protocol's model to another one.
func chain(table, to string) string {
	return fmt.Sprintf(", %s: {chat: [%s-chat], responses: [%s-responses], messages: [%s-messages]}", table, to, to, to)
}

// TestR2 shows that a conversation which is too long, or which the provider's
// policy refuses, goes to the chain for that at once, that each has a chain of
// its own, and that neither tells anything about a deployment's health.
func TestR2(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name  string
		fault accounts.Fault
		chain string
	}{
		{"context", accounts.Fault{Kind: accounts.ContextOverflow}, "big"},
		{"context inside of a stream", inside(accounts.ContextOverflow), "big"},
		{"policy", accounts.Fault{Kind: accounts.ContentPolicy}, "mild"},
		{"policy inside of a stream", inside(accounts.ContentPolicy), "mild"},
	}
	s := newScene(t, world{further: []string{"big", "mild", "spare"}, template: "allowed_fails: 1, cooldown: 1h, retry_policy: {max_attempts: 3}" +
		chain("context_window_fallbacks", "big") + chain("content_policy_fallbacks", "mild") + chain("fallbacks", "spare")})
	for _, endpoint := range protocols() {
		for _, row := range rows {
			name := row.name + ", " + endpoint
			home, account := s.home(endpoint, row.name)
			row.fault.Model = endpoint
			stream := row.fault.Kind == accounts.ErrorEvent
			a, trail := s.strike(account, row.fault, func() answer { return turnOf(t, s.URL, endpoint, row.name, stream) })
			served(t, name, endpoint, stream, a, "moved")
			if len(trail) != 2 || trail[0] != home || !strings.HasPrefix(trail[1], row.chain+"-"+endpoint) {
				t.Errorf("%s: calls %v, want one at %s and one at %s", name, trail, home, row.chain)
			}
			s.quiet()
			s.stays(name, endpoint, row.name, a.deployment())
			neighbour := s.neighbour(endpoint, home, row.name) // it does not rest
			s.stays(name, endpoint, neighbour, home)
		}
	}
}

// inside is an error that comes as the first event of a 200 stream.
func inside(kind accounts.Kind) accounts.Fault {
	f := accounts.Fault{Kind: accounts.ErrorEvent, After: -1, Status: 400}
	switch kind {
	case accounts.ContextOverflow:
		f.Code, f.Message = "context_length_exceeded", "prompt is too long: 208310 tokens > 200000 maximum"
	case accounts.ContentPolicy:
		f.Code, f.Message = "content_policy_violation", "Output blocked by content filtering policy"
	}
	return f
}

// TestR2NoChain shows that without the chain for it such an error is the
// client's, after one call, whatever other chains there are.
func TestR2NoChain(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{further: []string{"spare"}, template: "allowed_fails: 1, cooldown: 1h, retry_policy: {max_attempts: 3}" +
		chain("fallbacks", "spare") + chain("content_policy_fallbacks", "spare") + ", context_window_fallbacks: {}"})
	for _, endpoint := range protocols() {
		home, account := s.home(endpoint, "mine")
		for _, stream := range []bool{false, true} {
			a, trail := s.strike(account, accounts.Fault{Kind: accounts.ContextOverflow}, func() answer {
				return turnOf(t, s.URL, endpoint, "mine", stream)
			})
			mistaken(t, "too long", endpoint, a)
			if len(trail) != 1 || trail[0] != home {
				t.Errorf("%s: calls %v, want one at %s", endpoint, trail, home)
			}
			s.quiet()
			s.stays("too long", endpoint, "mine", home)
		}
	}
}

// TestR3 shows that the fallback which has served is preferred on the next turn
// of the model that was asked for, without asking that one, and that the end of
// the chain is the end of it.
func TestR3(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "bolt", further: []string{"spare"}, template: patient + chain("fallbacks", "spare")})
	spares := map[string]string{}
	for _, endpoint := range protocols() {
		home, _ := s.home(endpoint, "mine")
		for _, a := range s.fleet.Accounts() {
			accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Model: endpoint})
		}
		a, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, "mine", true) })
		served(t, "fallback", endpoint, true, a, "moved")
		if len(trail) != 7 || trail[0] != home || !strings.HasPrefix(a.deployment(), "spare-"+endpoint) {
			t.Errorf("%s: served by %s after %v, want two at each of the model's own and a spare one", endpoint, a.deployment(), trail)
		}
		for _, a := range s.fleet.Accounts() {
			a.ClearFaults() // the model itself is well again, and not asked
		}
		s.stays("preferred", endpoint, "mine", a.deployment())
		own := ask(endpoint, false, user("Hello"))
		own["model"] = "spare-" + endpoint
		if b := post(t, s.URL+route(endpoint), own, "X-Session-Id", "mine"); b.affinity() != "claimed" {
			t.Errorf("%s: the spare model itself: %s, want a preference of its own", endpoint, b.affinity())
		}
		spares[endpoint] = a.deployment()
	}
	s.become(func(*world) {}) // another process
	for _, endpoint := range protocols() {
		s.stays("after a restart", endpoint, "mine", spares[endpoint])
	}
	s.become(func(w *world) { w.template = patient })
	for _, endpoint := range protocols() {
		a, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, "mine", false) })
		served(t, "without the chain", endpoint, false, a, "moved")
		if len(trail) != 1 || !strings.HasPrefix(trail[0], endpoint) {
			t.Errorf("%s without the chain: calls %v, want one at the model's own", endpoint, trail)
		}
		s.stays("without the chain", endpoint, "mine", a.deployment())
	}
}

// TestR3Forbidden shows that a preferred fallback which the key may no longer
// use is passed over, and that no chain widens what a key may do.
func TestR3Forbidden(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "bolt", further: []string{"spare"}, template: patient + chain("fallbacks", "spare")})
	s.home("chat", "mine")
	fail := func() {
		for _, a := range s.fleet.Accounts() {
			accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Model: "chat"})
		}
	}
	fail()
	if a := turnOf(t, s.URL, "chat", "mine", false); !strings.HasPrefix(a.deployment(), "spare-") {
		t.Fatalf("the fallback: %d by %s", a.StatusCode, a.deployment())
	}
	s.become(func(w *world) { w.key = "models: [chat]" })
	a, trail := s.trail(func() answer { return turnOf(t, s.URL, "chat", "mine", true) })
	relayed(t, "forbidden", "chat", a, 500)
	if len(trail) != 6 || strings.Contains(fmt.Sprint(trail), "spare") {
		t.Errorf("calls %v, want only those that the key may use", trail)
	}
	for _, a := range s.fleet.Accounts() {
		a.ClearFaults()
	}
	a, trail = s.trail(func() answer { return turnOf(t, s.URL, "chat", "mine", false) })
	served(t, "passed over", "chat", false, a, "moved")
	if len(trail) != 1 || !strings.HasPrefix(trail[0], "chat-") {
		t.Errorf("calls %v, want one at the model's own", trail)
	}
	s.become(func(w *world) { w.key = "models: [spare-chat]" })
	a, trail = s.trail(func() answer { return turnOf(t, s.URL, "chat", "mine", false) })
	if refusalOf(t, "chat", a); a.code() != "model_forbidden" || len(trail) > 0 {
		t.Errorf("the model itself forbidden: %d %s after %v", a.StatusCode, a.code(), trail)
	}
}

// TestR4 shows that disable_fallbacks, in the request or in the template, keeps
// an exchange on its own model: also in the middle of a conversation that
// prefers a fallback, also for streams, and without a word of it upstream.
func TestR4(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "bolt", further: []string{"spare"}, template: patient + chain("fallbacks", "spare")})
	only := func(endpoint, session string, stream bool) answer {
		return post(t, s.URL+route(endpoint), member(ask(endpoint, stream, user("Hello")), "disable_fallbacks", true), "X-Session-Id", session)
	}
	fail := func(endpoint string) {
		for _, a := range s.fleet.Accounts() {
			accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Model: endpoint})
		}
	}
	mend := func() {
		for _, a := range s.fleet.Accounts() {
			a.ClearFaults()
		}
	}
	for _, endpoint := range protocols() {
		for _, stream := range []bool{false, true} {
			session := fmt.Sprint("s", stream)
			fail(endpoint)
			fallback := turnOf(t, s.URL, endpoint, session, stream)
			if !strings.HasPrefix(fallback.deployment(), "spare-") {
				t.Fatalf("the fallback: %d by %s", fallback.StatusCode, fallback.deployment())
			}
			a, trail := s.trail(func() answer { return only(endpoint, session, stream) })
			relayed(t, session, endpoint, a, 500)
			if len(trail) != 6 || strings.Contains(fmt.Sprint(trail), "spare") {
				t.Errorf("%s: calls %v, want two at each of the model's own", endpoint, trail)
			}
			mend()
			s.stays("a failure changes nothing", endpoint, session, fallback.deployment())
			a, trail = s.trail(func() answer { return only(endpoint, session, stream) })
			served(t, session, endpoint, stream, a, "moved")
			if len(trail) != 1 || !strings.HasPrefix(trail[0], endpoint) {
				t.Errorf("%s: calls %v, want one at the model's own", endpoint, trail)
			}
			for _, c := range s.owner(a.deployment()).Calls() {
				if strings.Contains(string(c.Body), "disable_fallbacks") {
					t.Fatalf("the upstream got %s", c.Body)
				}
			}
		}
		fail(endpoint)
		if a := turnOf(t, s.URL, endpoint, "later", false); !strings.HasPrefix(a.deployment(), "spare-") {
			t.Fatalf("the fallback: %d by %s", a.StatusCode, a.deployment())
		}
		mend()
	}
	s.become(func(w *world) { w.template += ", disable_fallbacks: true" })
	for _, endpoint := range protocols() {
		a, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, "later", true) })
		served(t, "by the template", endpoint, true, a, "moved")
		if len(trail) != 1 || !strings.HasPrefix(trail[0], endpoint) {
			t.Errorf("%s: calls %v, want one at the model's own", endpoint, trail)
		}
		fail(endpoint)
		a, trail = s.trail(func() answer { return turnOf(t, s.URL, endpoint, "later", false) })
		if relayed(t, "by the template", endpoint, a, 500); len(trail) != 6 {
			t.Errorf("%s: calls %v, want two at each of the model's own", endpoint, trail)
		}
		mend()
	}
}
