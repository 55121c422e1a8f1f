package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// TestBlockedBridged shows a guardrail that breaks a stream off, native or over a
// bridge: in the client's protocol, in order with what it has seen.
func TestBlockedBridged(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{extra: "guardrails: [{name: woods, match: \"harbour cinder jetty\", on: output, action: block}]\n"})
	for _, a := range s.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.SlowTokens, Delay: 10 * time.Millisecond})
	}
	const opening = `On "Hello"`
	for _, p := range append(bridges(), pair{"responses", "responses"}, pair{"chat", "chat"}, pair{"messages", "messages"}) {
		a := s.over(p, "s", true)
		if follow(t, p.String(), p.client, a.body); a.StatusCode != 200 || a.err == nil || errorEvents(p.client, a.body) != 1 || !strings.Contains(a.body, "guardrail_blocked") {
			t.Errorf("%s: %d %v\n%s", p, a.StatusCode, a.err, a.body)
		}
		// How much was told before the rule struck depends on what has arrived together.
		if text := said(p.client, true, a.body); !strings.HasPrefix(text, opening) && !strings.HasPrefix(opening, text) || strings.Contains(text, "cinder jetty") {
			t.Errorf("%s: the client has read %q", p, text)
		}
	}
}

// TestRedactedAndBroken shows that what a guardrail has taken out of an answer is
// not in the event by which that breaks off either, though parts of it were
// finished, and that its number goes on from what the client has seen.
func TestRedactedAndBroken(t *testing.T) {
	t.Parallel()
	plain := newScene(t, world{})
	for _, target := range []string{"messages", "responses"} {
		p := pair{"responses", target} // whose events repeat what they have told
		body := p.ask(true, user("Hello"))
		thinking(p.client, body)
		before := post(t, plain.URL+route(p.client), body)
		thought, _, _ := strings.Cut(gathered(p.client, eventsOf(t, p.String(), before.body)), ">")
		words := strings.Fields(strings.TrimPrefix(thought, "<"))
		if len(words) < 6 {
			t.Fatalf("%s: the account thinks %q", p, thought)
		}
		phrase := words[2] + " " + words[3]
		s := newScene(t, world{extra: fmt.Sprintf("guardrails: [{name: thought, match: %q, on: output, action: redact}]\n", phrase)})
		for _, a := range s.fleet.Accounts() {
			accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ResetAfter, After: 30})
		}
		a := post(t, s.URL+route(p.client), body)
		if follow(t, p.String(), p.client, a.body); a.err == nil || errorEvents(p.client, a.body) != 1 || !strings.Contains(a.body, "[redacted]") {
			t.Errorf("%s: %v\n%s", p, a.err, a.body)
		}
		if strings.Contains(a.body, phrase) {
			t.Errorf("%s: %q has reached the client:\n%s", p, phrase, a.body)
		}
	}
}
