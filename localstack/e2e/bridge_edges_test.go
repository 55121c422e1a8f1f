package e2e

import (
	"slices"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// across runs a check for each endpoint on deployments of each other protocol.
func across(check func(endpoint, protocol, row string)) {
	for _, endpoint := range protocols() {
		for _, protocol := range protocols() {
			if endpoint != protocol {
				check(endpoint, protocol, endpoint+" on "+protocol)
			}
		}
	}
}

// on asks for a model of another protocol than the endpoint's.
func on(endpoint, protocol string, stream bool) map[string]any {
	body := ask(endpoint, stream, user("Hello"))
	body["model"] = protocol
	return body
}

// TestBridgedBreaks shows that a bridged stream which breaks before its first
// output moves on unseen, and that one which breaks after output ends with one
// error event of the client's protocol and a torn connection, without a second
// target and without a commit.
func TestBridgedBreaks(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: patient + ", retry_policy: {max_attempts: 1}"})
	across(func(endpoint, protocol, row string) {
		for name, fault := range map[string]accounts.Fault{
			"an error event": {Kind: accounts.ErrorEvent}, "a cut": {Kind: accounts.Cut}, "a reset": {Kind: accounts.ResetAfter}, "garbage": {Kind: accounts.Garbage},
		} {
			for _, after := range []int{0, 2} {
				session := row + ", " + name + map[int]string{0: " before output", 2: " after output"}[after]
				first := post(t, s.URL+route(endpoint), on(endpoint, protocol, false), "X-Session-Id", session)
				fault.After = after
				a, trail := s.strike(s.owner(first.deployment()), fault, func() answer {
					return post(t, s.URL+route(endpoint), on(endpoint, protocol, true), "X-Session-Id", session)
				})
				if starts(endpoint, a.body) != 1 {
					t.Errorf("%s: %d answers were begun\n%s", session, starts(endpoint, a.body), a.body)
				}
				next := a.deployment()
				if after == 0 {
					served(t, session, endpoint, true, a, "moved")
				} else if next = first.deployment(); a.err == nil || errorEvents(endpoint, a.body) != 1 || len(trail) != 1 {
					t.Errorf("%s: calls %v, read error %v\n%s", session, trail, a.err, a.body)
				}
				if a := post(t, s.URL+route(endpoint), on(endpoint, protocol, false), "X-Session-Id", session); a.affinity() != "hit" || a.deployment() != next {
					t.Errorf("%s: the next turn is a %s of %s, not of %s", session, a.affinity(), a.deployment(), next)
				}
			}
		}
	})
}

// TestBridgedDropped shows that what the target cannot be told is named to the
// client, in JSON and on streams, and does not reach the target.
func TestBridgedDropped(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	across(func(endpoint, protocol, row string) {
		for _, stream := range []bool{false, true} {
			body := on(endpoint, protocol, stream)
			body["x_unheard_of"] = 1
			a := post(t, s.URL+route(endpoint), body)
			if a.StatusCode != 200 || a.Header.Get("X-Holdfast-Dropped") != "x_unheard_of" {
				t.Errorf("%s: %d, dropped %q", row, a.StatusCode, a.Header.Get("X-Holdfast-Dropped"))
			}
			if a := post(t, s.URL+route(endpoint), on(endpoint, protocol, stream)); a.StatusCode != 200 || len(a.Header["X-Holdfast-Dropped"]) > 0 {
				t.Errorf("%s: %d, dropped %q of nothing", row, a.StatusCode, a.Header.Get("X-Holdfast-Dropped"))
			}
		}
	})
	for _, a := range s.fleet.Accounts() {
		for _, c := range a.Calls() {
			if strings.Contains(string(c.Body), "x_unheard_of") {
				t.Errorf("%s got %s", c.Protocol, c.Body)
			}
		}
	}
}

// TestBridgedRefused shows that what would mean something else on another
// protocol's deployments is refused by name, without a call.
func TestBridgedRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	across(func(endpoint, protocol, row string) {
		body := on(endpoint, protocol, false)
		param := ""
		switch endpoint {
		case "chat":
			body["n"], param = 2, "n"
		case "responses":
			body["conversation"], param = "conv_1", "conversation"
		case "messages":
			source := map[string]any{"type": "file", "file_id": "file_1"}
			body["messages"] = []turn{{"role": "user", "content": []turn{{"type": "image", "source": source}}}}
		}
		a, trail := s.trail(func() answer { return post(t, s.URL+route(endpoint), body) })
		refusalOf(t, endpoint, a)
		got, _ := a.field("error", "param").(string)
		if a.StatusCode != 400 || len(trail) > 0 || got != param || endpoint != "responses" && a.code() != "capability_missing" {
			t.Errorf("%s: %d %s about %q after calls %v\n%s", row, a.StatusCode, a.code(), got, trail, a.body)
		}
	})
}

// TestBridgedStops shows that a stop sequence ends an answer on every protocol's
// deployments, those included that know of none.
func TestBridgedStops(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	for _, endpoint := range []string{"chat", "messages"} {
		for _, stream := range []bool{false, true} {
			body := on(endpoint, "responses", stream)
			whole := post(t, s.URL+route(endpoint), body)
			words := strings.Fields(said(endpoint, stream, whole.body))
			if len(words) < 3 {
				t.Fatalf("%s says %q", endpoint, words)
			}
			at := slices.IndexFunc(words[1:], func(w string) bool { return w != words[0] }) + 1
			body[map[string]string{"chat": "stop", "messages": "stop_sequences"}[endpoint]] = []string{words[at]}
			a := post(t, s.URL+route(endpoint), body)
			served(t, endpoint, endpoint, stream, a, a.affinity())
			if got := strings.Fields(said(endpoint, stream, a.body)); !slices.Equal(got, words[:at]) || a.Header.Get("X-Holdfast-Dropped") != "" {
				t.Errorf("%s, stream %v, stopped at %q: %q of %q", endpoint, stream, words[at], got, words)
			}
		}
	}
}
