package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// TestBlockedBridged shows a guardrail that withholds an answer, native or over a
// bridge: a refusal in the client's own form for JSON; of a stream, what the rule
// leaves of the text, then the error event of the client's protocol as its last, in
// order with what was seen, and no clean end.
func TestBlockedBridged(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{extra: "guardrails: [{name: woods, match: \"harbour cinder jetty\", on: output, action: block}]\n"})
	for _, a := range s.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.SlowTokens, Delay: 20 * time.Millisecond})
	}
	const opening = `On "Hello"`
	for _, p := range append(bridges(), pair{"responses", "responses"}, pair{"chat", "chat"}, pair{"messages", "messages"}) {
		whole := s.over(p, "j", false)
		if refusalOf(t, p.client, whole); whole.code() != "guardrail_blocked" || !strings.Contains(whole.body, "woods") || strings.Contains(whole.body, opening) {
			t.Errorf("%s: %d %s", p, whole.StatusCode, whole.body)
		}
		a := s.over(p, "s", true)
		if kind := a.Header.Get("Content-Type"); a.StatusCode != 200 || a.err == nil || kind != eventStream && !strings.HasPrefix(kind, eventStream+";") {
			t.Errorf("%s: %d %q %v\n%s", p, a.StatusCode, kind, a.err, a.body)
		}
		events := follow(t, p.String(), p.client, a.body)
		if len(events) < 2 || errorEvents(p.client, a.body) != 1 {
			t.Errorf("%s: %d events\n%s", p, len(events), a.body)
			continue
		}
		brokenOff(t, p, a, events[len(events)-1])
		// How much was told before the rule struck depends on what has arrived together.
		if text := said(p.client, true, a.body); text == "" || !strings.HasPrefix(text, opening) && !strings.HasPrefix(opening, text) || strings.Contains(text, "cinder jetty") {
			t.Errorf("%s: the client has read %q", p, text)
		}
	}
}

// brokenOff checks the event by which a stream tells its client of a rule.
func brokenOff(t *testing.T, p pair, a answer, last event) {
	t.Helper()
	fault, _ := last.data["error"].(map[string]any)
	sound := last.name == "" && fault["type"] == "invalid_request_error"
	switch p.client {
	case "messages":
		sound = last.name == "error" && last.data["type"] == "error" && last.data["request_id"] == a.Header.Get("X-Holdfast-Request-Id") && fault["type"] == "invalid_request_error"
	case "responses":
		response, _ := last.data["response"].(map[string]any)
		fault, _ = response["error"].(map[string]any)
		id, _ := response["id"].(string)
		sound = last.name == "response.failed" && last.data["type"] == last.name && response["status"] == "failed" && response["object"] == "response" && strings.HasPrefix(id, "resp_")
	}
	if message, _ := fault["message"].(string); !sound || fault["code"] != "guardrail_blocked" || !strings.Contains(message, "woods") {
		t.Errorf("%s: it breaks off by %q %s", p, last.name, last.text)
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
