package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// transients are the faults that the same deployment may survive, by name.
func transients() map[string]accounts.Fault {
	return map[string]accounts.Fault{
		"429":             {Kind: accounts.RateLimit},
		"500":             {Kind: accounts.ServerError},
		"502":             {Kind: accounts.ServerError, Status: 502},
		"503":             {Kind: accounts.Overloaded},
		"504":             {Kind: accounts.ServerError, Status: 504},
		"408":             {Kind: accounts.ServerError, Status: 408},
		"no body":         {Kind: accounts.Empty},
		"a redirect":      {Kind: accounts.Redirect},
		"half an answer":  {Kind: accounts.Cut, After: -1},
		"broken JSON":     {Kind: accounts.Garbage, After: -1},
		"a lost read":     {Kind: accounts.ResetAfter, After: -1},
		"an error inside": {Kind: accounts.ErrorEvent, After: -1},
	}
}

// TestR1 shows that a preferred deployment gets exactly max_attempts calls, and
// then the next one of the pool, in every protocol and for every failure that
// passes by itself.
func TestR1(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: patient + ", retry_policy: {max_attempts: 3}"})
	for i, endpoint := range protocols() {
		for n, name := range slices.Sorted(maps.Keys(transients())) {
			stream := (i+n)%2 == 0
			home, account := s.home(endpoint, name)
			a, trail := s.strike(account, transients()[name], func() answer { return turnOf(t, s.URL, endpoint, name, stream) })
			row := fmt.Sprintf("%s, %s, stream=%v", name, endpoint, stream)
			served(t, row, endpoint, stream, a, "moved")
			if !followed(trail, home, 3, a) || a.Header.Get("X-Holdfast-Attempts") != "4" {
				t.Errorf("%s: calls %v (X-Holdfast-Attempts %s), want three at %s and one elsewhere", row, trail, a.Header.Get("X-Holdfast-Attempts"), home)
			}
			s.stays(row, endpoint, name, a.deployment())
		}
	}
}

// TestR1Down shows the same for an account that nobody can connect to, and for
// one that cuts connections: those that had been used before are tried once more
// on a fresh one.
func TestR1Down(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: patient + ", retry_policy: {max_attempts: 2}"})
	for _, endpoint := range protocols() {
		home, account := s.home(endpoint, "cut")
		a, trail := s.strike(account, accounts.Fault{Kind: accounts.ResetBefore}, func() answer {
			return turnOf(t, s.URL, endpoint, "cut", true)
		})
		served(t, "reset", endpoint, true, a, "moved")
		if !followed(trail, home, 3, a) { // the first of them on the reused connection
			t.Errorf("%s reset: calls %v, want three at %s and one elsewhere", endpoint, trail, home)
		}
		home, account = s.home(endpoint, "down")
		if err := s.fleet.Down(account.Name()); err != nil {
			t.Fatal(err)
		}
		a, trail = s.trail(func() answer { return turnOf(t, s.URL, endpoint, "down", false) })
		served(t, "down", endpoint, false, a, "moved")
		if len(trail) != 1 || trail[0] == home {
			t.Errorf("%s down: calls %v, want one elsewhere", endpoint, trail)
		}
		if err := s.fleet.Up(account.Name()); err != nil {
			t.Fatal(err)
		}
		s.stays("up again", endpoint, "down", a.deployment())
	}
}

// TestR6 shows that a pause which the provider asks for is waited for where it
// is short, and that a longer one moves the request on at once.
func TestR6(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	later := time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)
	rows := []struct {
		name, endpoint string
		fault          accounts.Fault
		wait           time.Duration // 0: it moves
	}{
		{"a second", "chat", accounts.Fault{RetryAfter: "1"}, time.Second},
		{"700 ms", "chat", accounts.Fault{RetryAfterMS: 700}, 700 * time.Millisecond},
		{"the exact one of two", "chat", accounts.Fault{RetryAfterMS: 700, RetryAfter: "60"}, 700 * time.Millisecond},
		{"a minute", "messages", accounts.Fault{RetryAfter: "60"}, 0},
		{"a minute in ms", "responses", accounts.Fault{RetryAfterMS: 60_000}, 0},
		{"a date", "chat", accounts.Fault{RetryAfter: later}, 0},
	}
	for _, row := range rows {
		for _, kind := range []accounts.Kind{accounts.RateLimit, accounts.Overloaded} {
			if kind == accounts.Overloaded && row.wait == 0 {
				continue // one deployment of three rests by now
			}
			session := row.name + string(kind)
			home, account := s.home(row.endpoint, session)
			row.fault.Kind, row.fault.Times = kind, 1
			begun := time.Now()
			a, trail := s.strike(account, row.fault, func() answer { return turnOf(t, s.URL, row.endpoint, session, true) })
			took := time.Since(begun)
			switch {
			case row.wait == 0:
				served(t, row.name, row.endpoint, true, a, "moved")
				if !followed(trail, home, 1, a) {
					t.Errorf("%s: calls %v, want one at %s and one elsewhere", row.name, trail, home)
				}
			case took < row.wait:
				t.Errorf("%s: answered after %v", row.name, took)
			default:
				served(t, row.name, row.endpoint, true, a, "hit")
				if len(trail) != 2 || !all(trail, home) {
					t.Errorf("%s: calls %v, want two at %s", row.name, trail, home)
				}
			}
			s.stays(row.name, row.endpoint, session, a.deployment())
		}
	}
}

// TestR6First shows that a session's first turn waits as well, at the deployment
// that it has claimed, and that words which are no time are no pause.
func TestR6First(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	for _, a := range s.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "1", Times: 1, Match: "patiently"})
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "soon", Times: 1, Match: "at once"})
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "-5", Times: 1, Match: "at once"})
	}
	begun := time.Now()
	a, trail := s.trail(func() answer { return post(t, s.URL+route("chat"), ask("chat", false, user("patiently"))) })
	served(t, "patiently", "chat", false, a, "claimed")
	if len(trail) != 2 || !all(trail, a.deployment()) || time.Since(begun) < time.Second {
		t.Errorf("calls %v in %v, want two at the claimed deployment, a second apart", trail, time.Since(begun))
	}
	a, trail = s.trail(func() answer { return post(t, s.URL+route("chat"), ask("chat", false, user("at once"))) })
	if relayed(t, "at once", "chat", a, 429); len(trail) != 6 || retryAfter(t, a) < 1 {
		t.Errorf("calls %v, want two at each, and a time to come back", trail)
	}
}

// TestR7 shows that a cooldown only ever extends: a shorter pause which is
// learned later does not end it, in whichever process.
func TestR7(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "dynamodb", accounts: []accounts.Config{{Name: "alpha"}}})
	other := s.start()
	for _, endpoint := range protocols() {
		account := s.fleet.Account("alpha")
		accounts.InjectT(t, account, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "5", Match: "Slowly", Delay: time.Second, Protocol: endpoint})
		accounts.InjectT(t, account, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "300", Match: "Hello", Protocol: endpoint})
		late := make(chan answer, 1)
		calls := account.Count()
		go func() { late <- post(t, s.URL+route(endpoint), ask(endpoint, false, user("Slowly"))) }()
		if err := account.Await(t.Context(), func(all []accounts.Call) bool { return len(all) > calls }); err != nil {
			t.Fatal(err)
		}
		a := turnOf(t, other.URL, endpoint, "first", false)
		relayed(t, "the longer pause", endpoint, a, 429)
		if a = <-late; a.Header.Get("Retry-After") != "5" {
			t.Errorf("the shorter pause: %d, Retry-After %s", a.StatusCode, a.Header.Get("Retry-After"))
		}
		s.settledAll(other)
		for _, url := range []string{s.URL, other.URL} {
			a, trail := s.trail(func() answer { return turnOf(t, url, endpoint, "next", true) })
			refusalOf(t, endpoint, a)
			if n := retryAfter(t, a); a.code() != "deployments_cooling" || n < 200 || n > 300 || len(trail) > 0 {
				t.Errorf("%s: %s after %v, Retry-After %d, want what is left of 300", endpoint, a.code(), trail, n)
			}
		}
	}
}

// retryAfter is the pause that an answer asks for, in seconds.
func retryAfter(t *testing.T, a answer) int {
	t.Helper()
	n, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if err != nil {
		t.Errorf("Retry-After %q of %d %s", a.Header.Get("Retry-After"), a.StatusCode, a.body)
	}
	return n
}

// TestR8 shows that a request which finds everybody resting is told the earliest
// end, as 429, without a call.
func TestR8(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	for i, a := range s.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: []string{"300", "100", "200"}[i]})
	}
	for _, endpoint := range protocols() {
		a, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, "first", false) })
		relayed(t, "all limited", endpoint, a, 429)
		if len(trail) != 3 || retryAfter(t, a) > 100 {
			t.Errorf("%s: calls %v, Retry-After %d, want each asked once and the earliest end", endpoint, trail, retryAfter(t, a))
		}
		s.quiet()
		for _, stream := range []bool{false, true} {
			for _, session := range []string{"first", "another"} {
				a, trail := s.trail(func() answer { return turnOf(t, s.URL, endpoint, session, stream) })
				refusalOf(t, endpoint, a)
				if n := retryAfter(t, a); a.StatusCode != 429 || a.code() != "deployments_cooling" || n < 50 || n > 100 || len(trail) > 0 {
					t.Errorf("%s: %d %s, Retry-After %d after %v, want what is left of 100", endpoint, a.StatusCode, a.code(), n, trail)
				}
			}
		}
	}
}
