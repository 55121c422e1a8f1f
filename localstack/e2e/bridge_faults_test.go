package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// TestR5Bridged shows that an answer of another protocol which breaks before its
// first output moves on unseen, in JSON and as a stream: the client gets one whole
// answer in its own protocol, of the target that is named.
func TestR5Bridged(t *testing.T) {
	t.Parallel()
	faults := map[string]accounts.Fault{
		"an error event first":             {Kind: accounts.ErrorEvent, After: -1},
		"an error event after the start":   {Kind: accounts.ErrorEvent},
		"a rate limit inside":              {Kind: accounts.ErrorEvent, Status: 429, RetryAfter: "0.01"},
		"an error event of the plain kind": {Kind: accounts.ErrorEvent, PlainError: true},
		"garbage first":                    {Kind: accounts.Garbage, After: -1},
		"garbage after the start":          {Kind: accounts.Garbage},
		"nothing at all":                   {Kind: accounts.Cut, After: -1},
		"an end after the start":           {Kind: accounts.Cut},
		"half an event":                    {Kind: accounts.Cut, AfterBytes: 40},
		"a reset after the start":          {Kind: accounts.ResetAfter},
		"a reset before a byte":            {Kind: accounts.ResetBefore},
		"an empty body":                    {Kind: accounts.Empty},
		"a redirect":                       {Kind: accounts.Redirect},
		"trouble":                          {Kind: accounts.ServerError},
		"too much to do":                   {Kind: accounts.Overloaded},
	}
	if aside("TestR5Bridged: a reset before a byte") {
		delete(faults, "a reset before a byte")
	}
	s := newScene(t, world{template: patient + ", retry_policy: {max_attempts: 2}"})
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		eachWay(func(p pair, stream bool, row string) {
			row = name + ", " + row
			home, account := s.bridged(p, row)
			a, trail := s.strike(account, faults[name], func() answer { return s.over(p, row, stream) })
			served(t, row, p.client, stream, a, "moved")
			calls := 2
			if faults[name].Kind == accounts.ResetBefore {
				calls = 3 // the first died on a connection that had been used before
			}
			if !followed(trail, home, calls, a) {
				t.Errorf("%s: calls %v, want %d at %s and one elsewhere", row, trail, calls, home)
			}
			if n := starts(p.client, a.body); stream && n != 1 || errorEvents(p.client, a.body) != 0 {
				t.Errorf("%s: %d answers were begun:\n%s", row, n, a.body)
			}
			s.keeps(row, p, row, a.deployment())
		})
	}
}

// TestR5BridgedOutput shows that a stream of another protocol which breaks after
// output ends with one error event of the client's protocol and a torn
// connection: no second target, no commit, no end that looks whole.
func TestR5BridgedOutput(t *testing.T) {
	t.Parallel()
	faults := map[string]accounts.Fault{
		"an error event":  {Kind: accounts.ErrorEvent, After: 2},
		"a plain error":   {Kind: accounts.ErrorEvent, After: 2, PlainError: true},
		"garbage":         {Kind: accounts.Garbage, After: 2},
		"a cut":           {Kind: accounts.Cut, After: 2},
		"a reset":         {Kind: accounts.ResetAfter, After: 2},
		"half an event":   {Kind: accounts.Cut, AfterBytes: 3000},
		"a limit":         {Kind: accounts.ErrorEvent, After: 2, Status: 429},
		"a context error": {Kind: accounts.ErrorEvent, After: 2, Status: 400, Code: "context_length_exceeded", Message: "prompt is too long"},
	}
	s := newScene(t, world{further: []string{"spare"},
		template: patient + ", retry_policy: {max_attempts: 3}" + chain("context_window_fallbacks", "spare") + chain("fallbacks", "spare")})
	for _, p := range bridges() {
		for _, name := range slices.Sorted(maps.Keys(faults)) {
			row := name + ", " + p.String()
			home, account := s.bridged(p, row)
			a, trail := s.strike(account, faults[name], func() answer { return s.over(p, row, true) })
			if len(trail) != 1 || trail[0] != home {
				t.Errorf("%s: calls %v, want one", row, trail)
			}
			if a.StatusCode != 200 || a.err == nil || starts(p.client, a.body) != 1 || errorEvents(p.client, a.body) != 1 {
				t.Errorf("%s: %d, read error %v, %d error events, %d starts\n%s", row, a.StatusCode, a.err, errorEvents(p.client, a.body), starts(p.client, a.body), a.body)
			}
			follow(t, row, p.client, a.body)
			s.keeps(row, p, row, home)
		}
	}
}

// TestR6Bridged shows Retry-After of another protocol's account: a moment is
// waited for, a minute is not, and where all say so the client is told when to
// come back.
func TestR6Bridged(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: patient})
	eachWay(func(p pair, stream bool, row string) {
		home, account := s.bridged(p, row)
		a, trail := s.strike(account, accounts.Fault{Kind: accounts.RateLimit, RetryAfterMS: 20, Times: 1}, func() answer { return s.over(p, row, stream) })
		served(t, row, p.client, stream, a, "hit")
		if len(trail) != 2 || !all(trail, home) {
			t.Errorf("%s: calls %v, want two at %s", row, trail, home)
		}
		a, trail = s.strike(account, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "1", Times: 1}, func() answer { return s.over(p, row, stream) })
		served(t, row+", a second", p.client, stream, a, a.affinity())
		if len(trail) != 2 {
			t.Errorf("%s: calls %v, want two", row, trail)
		}
	})
}

// TestR10Bridged shows another protocol's refusal of the gateway's credentials:
// the next deployment, and 502 where all refuse.
func TestR10Bridged(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	eachWay(func(p pair, stream bool, row string) {
		home, account := s.bridged(p, row)
		a, trail := s.strike(account, accounts.Fault{Kind: accounts.Unauthorized}, func() answer { return s.over(p, row, stream) })
		served(t, row, p.client, stream, a, "moved")
		if len(trail) != 2 || trail[0] != home {
			t.Errorf("%s: calls %v, want one at %s and one elsewhere", row, trail, home)
		}
		for _, other := range s.fleet.Accounts() {
			accounts.InjectT(t, other, accounts.Fault{Kind: accounts.Unauthorized})
		}
		if a := s.over(p, row, stream); a.StatusCode != 502 || a.code() != "upstream_credentials" {
			t.Errorf("%s: all refuse: %d %s %s", row, a.StatusCode, a.code(), a.body)
		} else {
			refusalOf(t, p.client, a)
		}
		for _, other := range s.fleet.Accounts() {
			other.ClearFaults()
		}
	})
}

// TestR2Bridged shows that another protocol's words for too long a conversation
// and for a refused content lead to the chain for each, and without one become
// the client's own error with the code that its libraries know.
func TestR2Bridged(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, chain, code string
		fault             accounts.Fault
	}{
		{"context", "big", "context_length_exceeded", accounts.Fault{Kind: accounts.ContextOverflow}},
		{"policy", "mild", "content_policy_violation", accounts.Fault{Kind: accounts.ContentPolicy}},
		{"context inside of a stream", "big", "context_length_exceeded", inside(accounts.ContextOverflow)},
		{"policy inside of a stream", "mild", "content_policy_violation", inside(accounts.ContentPolicy)},
	}
	s := newScene(t, world{further: []string{"big", "mild"}, template: patient + chain("context_window_fallbacks", "big") + chain("content_policy_fallbacks", "mild")})
	alone := newScene(t, world{})
	for _, row := range rows {
		eachWay(func(p pair, stream bool, name string) {
			if row.fault.Kind == accounts.ErrorEvent && !stream {
				return
			}
			name = row.name + ", " + name
			home, account := s.bridged(p, name)
			row.fault.Model = p.target
			a, trail := s.strike(account, row.fault, func() answer { return s.over(p, name, stream) })
			served(t, name, p.client, stream, a, "moved")
			if len(trail) != 2 || trail[0] != home || !strings.HasPrefix(trail[1], row.chain+"-"+p.target) {
				t.Errorf("%s: calls %v, want one at %s and one at %s", name, trail, home, row.chain)
			}
			s.keeps(name, p, name, a.deployment())

			_, account = alone.bridged(p, name)
			a, trail = alone.strike(account, row.fault, func() answer { return alone.over(p, name, stream) })
			if a.StatusCode != 400 || len(trail) != 1 || a.code() != row.code || a.field("error", "code") != row.code {
				t.Errorf("%s, no chain: %d %s after %v, want %s\n%s", name, a.StatusCode, a.code(), trail, row.code, a.body)
			}
			if kind := a.field("error", "type"); kind != "invalid_request_error" {
				t.Errorf("%s, no chain: type %v", name, kind)
			}
			if words, _ := a.field("error", "message").(string); row.chain == "big" && !strings.Contains(words, "prompt is too long") {
				t.Errorf("%s: %q does not say that the prompt is too long, which clients shorten the conversation for", name, words)
			}
		})
	}
}

// TestBridgedRefusal shows a provider's refusal of the request itself: in the
// client's own form, in the provider's words, but without what points at the
// account.
func TestBridgedRefusal(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	words := `temperature: must be at most 2 (organization "org-9f8e7d6c5b4a", project=proj_1a2b3c4d5e, see https://platform.example/org-9f8e7d6c5b4a, or {"account":"acct_0011223344"})`
	eachWay(func(p pair, stream bool, row string) {
		home, account := s.bridged(p, row)
		fault := accounts.Fault{Kind: accounts.ContextOverflow, Code: "invalid_value", Message: words}
		a, trail := s.strike(account, fault, func() answer { return s.over(p, row, stream) })
		message, _ := a.field("error", "message").(string)
		if a.StatusCode != 400 || len(trail) != 1 || a.field("error", "type") != "invalid_request_error" || !strings.Contains(message, "temperature: must be at most 2") {
			t.Errorf("%s: %d after %v\n%s", row, a.StatusCode, trail, a.body)
		}
		if p.client == "messages" && (a.field("type") != "error" || a.field("request_id") == nil) {
			t.Errorf("%s: not in the client's form: %s", row, a.body)
		}
		for _, secret := range []string{"9f8e7d", "1a2b3c", "platform.example", "001122", s.fleet.URL(account.Name())} {
			if strings.Contains(a.body, secret) {
				t.Errorf("%s: %q has reached the client: %s", row, secret, a.body)
			}
		}
		s.keeps(row, p, row, home)
	})
}
