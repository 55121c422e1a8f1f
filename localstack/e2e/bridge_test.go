package e2e

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// everyPath is a world in which each protocol's model can be reached by itself,
// through a group, and as the fallback of one whose accounts always fail.
func everyPath(store string) world {
	return world{
		store: store, further: []string{"down"},
		template: patient + ", fallbacks: {down-chat: [chat], down-responses: [responses], down-messages: [messages]}",
		extra:    "groups: [{name: group-chat, members: [chat]}, {name: group-responses, members: [responses]}, {name: group-messages, members: [messages]}]\n",
	}
}

// TestS17 shows every path that can succeed (three endpoints, JSON and SSE, on
// native and on bridged deployments, asked by name, through a group, by a
// fallback) committing under the very key that it looks up: the second turn is a
// hit by the same deployment, with one call.
func TestS17(t *testing.T) {
	t.Parallel()
	for _, store := range rigs("memory", "dynamodb") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, everyPath(store))
			for _, a := range s.fleet.Accounts() {
				for _, protocol := range protocols() {
					if _, err := a.Inject(accounts.Fault{Kind: accounts.ServerError, Model: "down-" + protocol}); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, endpoint := range protocols() {
				for _, protocol := range protocols() {
					for path, prefix := range map[string]string{"direct": "", "group": "group-", "fallback": "down-"} {
						for _, stream := range []bool{false, true} {
							s.twice(path, endpoint, prefix+protocol, protocol, stream)
						}
					}
				}
			}
		})
	}
}

// twice takes two turns of one conversation, the first on a new session.
func (s *scene) twice(path, endpoint, model, protocol string, stream bool) {
	s.t.Helper()
	row := fmt.Sprintf("%s on %s, %s, stream %v", endpoint, protocol, path, stream)
	body := ask(endpoint, stream, user("Say hello."))
	body["model"] = model
	first := post(s.t, s.URL+route(endpoint), body, "X-Session-Id", row)
	word := "claimed"
	if path == "fallback" {
		word = "moved"
	}
	served(s.t, row, endpoint, stream, first, word)
	if !strings.HasPrefix(first.deployment(), protocol+"-") {
		s.t.Errorf("%s: served by %s", row, first.deployment())
	}
	s.quiet()
	body = ask(endpoint, stream, user("Say hello."), assistant("Hello."), user("And again."))
	body["model"] = model
	second, trail := s.trail(func() answer { return post(s.t, s.URL+route(endpoint), body, "X-Session-Id", row) })
	served(s.t, row+", second turn", endpoint, stream, second, "hit")
	if len(trail) != 1 || trail[0] != first.deployment() {
		s.t.Errorf("%s: the second turn called %v, want one call at %s", row, trail, first.deployment())
	}
}
