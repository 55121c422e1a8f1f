package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// thought is a conversation with thinking in its history; tools says whether it
// stands between a tool call and its answer.
func thought(signature string, stream, tools bool) map[string]any {
	blocks := []turn{
		{"type": "thinking", "thinking": "Let me see.", "signature": signature},
		{"type": "text", "text": "I think so."},
	}
	last := turn{"role": "user", "content": "And now?"}
	body := ask("messages", stream, user("Think"))
	if tools {
		blocks[1] = turn{"type": "tool_use", "id": "toolu_1", "name": "look", "input": turn{}}
		last["content"] = []turn{{"type": "tool_result", "tool_use_id": "toolu_1", "content": "nothing"}}
		body["tools"] = []turn{{"name": "look", "input_schema": turn{"type": "object"}}}
	}
	body["messages"] = []turn{user("Think"), {"role": "assistant", "content": blocks}, last}
	body["thinking"] = turn{"type": "enabled", "budget_tokens": 1024}
	body["max_tokens"] = 2000
	return body
}

// signature is one that the account behind a deployment takes for its own.
func (s *scene) signature(session string) (deployment, signature string) {
	s.t.Helper()
	body := ask("messages", false, user("Think"))
	body["thinking"], body["max_tokens"] = turn{"type": "enabled", "budget_tokens": 1024}, 2000
	a := post(s.t, s.URL+route("messages"), body, "X-Session-Id", session)
	if a.StatusCode != 200 {
		s.t.Fatalf("thinking: %d %s", a.StatusCode, a.body)
	}
	return a.deployment(), between(s.t, a.body, `"signature":"`, `"`)
}

// thinks reports what an account got of thinking: blocks in the history, and the
// parameter.
func thinks(t *testing.T, c accounts.Call) (blocks, parameter bool) {
	t.Helper()
	var body struct {
		Thinking map[string]any
		Messages []struct{ Content any }
	}
	if err := json.Unmarshal(c.Body, &body); err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(c.Body), `"signature"`), body.Thinking != nil
}

// TestM2 shows that a refused signature is answered by one more call to the same
// deployment, without the thinking blocks, and that nothing of it cools, counts
// or moves.
func TestM2(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: "allowed_fails: 1, cooldown: 1h, retry_policy: {max_attempts: 1}"})
	for name, tools := range map[string]bool{"plain": false, "open tool call": true} {
		for _, stream := range []bool{false, true} {
			home, signature := s.signature(name)
			account := s.owner(home)
			body := thought(signature, stream, tools)
			a, trail := s.strike(account, accounts.Fault{Kind: accounts.BadSignature, Times: 1}, func() answer {
				return post(t, s.URL+route("messages"), body, "X-Session-Id", name)
			})
			served(t, name, "messages", stream, a, "hit")
			if len(trail) != 2 || !all(trail, home) {
				t.Fatalf("%s: calls %v, want two at %s", name, trail, home)
			}
			calls := account.Calls()
			before, after := calls[len(calls)-2], calls[len(calls)-1]
			if blocks, parameter := thinks(t, before); !blocks || !parameter {
				t.Errorf("%s: the thinking was taken out in advance: %s", name, before.Body)
			}
			if blocks, parameter := thinks(t, after); blocks || parameter == tools {
				t.Errorf("%s: the second call was %s", name, after.Body)
			}
			s.quiet()
			s.stays(name, "messages", name, home)
			plain := s.neighbour("messages", home, name) // nobody else was told of a failure
			s.stays(name, "messages", plain, home)
		}
	}
}

// TestM2Twice shows that a signature which is refused once more is the client's
// to know, in the provider's own words, after two calls.
func TestM2Twice(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: "allowed_fails: 1, cooldown: 1h, retry_policy: {max_attempts: 3}" + chain("fallbacks", "spare"), further: []string{"spare"}})
	for _, stream := range []bool{false, true} {
		home, signature := s.signature("mine")
		a, trail := s.strike(s.owner(home), accounts.Fault{Kind: accounts.BadSignature}, func() answer {
			return post(t, s.URL+route("messages"), thought(signature, stream, false), "X-Session-Id", "mine")
		})
		mistaken(t, "refused twice", "messages", a)
		if a.field("error", "message") != "messages.1.content.0: Invalid `signature` in `thinking` block" || a.field("type") != "error" {
			t.Errorf("the client sees %s", a.body)
		}
		if len(trail) != 2 || !all(trail, home) {
			t.Errorf("calls %v, want two at %s", trail, home)
		}
		s.quiet()
		s.stays("refused twice", "messages", "mine", home)
	}
}

// TestM2Moved shows that the repair goes with the deployment that asked for it:
// its retries keep it, and whoever comes next gets the client's own bytes.
func TestM2Moved(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: patient + ", retry_policy: {max_attempts: 2}"})
	home, _ := s.signature("mine")
	account := s.owner(home)
	accounts.InjectT(t, account, accounts.Fault{Kind: accounts.BadSignature, Times: 1})
	accounts.InjectT(t, account, accounts.Fault{Kind: accounts.Overloaded})
	// Redacted thinking has no signature that another account could refuse.
	body := thought("", false, false)
	body["messages"].([]turn)[1]["content"] = []turn{{"type": "text", "text": "I think so."}}
	first, trail := s.trail(func() answer { return post(t, s.URL+route("messages"), body, "X-Session-Id", "mine") })
	served(t, "moved", "messages", false, first, "moved")
	if !followed(trail, home, 3, first) {
		t.Errorf("calls %v, want one, its repair and its retry at %s, then one elsewhere", trail, home)
	}
}

// TestForeignSignature shows that a session which has moved goes on with the
// thinking of its old account: the new one refuses it, and gets it without.
func TestForeignSignature(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	home, signature := s.signature("mine")
	a, trail := s.strike(s.owner(home), accounts.Fault{Kind: accounts.Overloaded}, func() answer {
		return post(t, s.URL+route("messages"), thought(signature, true, false), "X-Session-Id", "mine")
	})
	served(t, "the move", "messages", true, a, "moved")
	if len(trail) != 4 || !all(trail[:2], home) || trail[2] == home || trail[3] != trail[2] || a.deployment() != trail[2] {
		t.Errorf("calls %v, want two at %s, then one elsewhere and its repair", trail, home)
	}
	calls := s.owner(a.deployment()).Calls()
	if blocks, _ := thinks(t, calls[len(calls)-2]); !blocks {
		t.Error("the thinking was taken out before the new account had refused it")
	}
}
