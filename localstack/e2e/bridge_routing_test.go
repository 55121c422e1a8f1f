package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// mixed is a world with a group whose members speak one protocol each.
func mixed() world {
	return world{extra: "groups: [{name: any, members: [chat, responses, messages]}]\n"}
}

// of sends a turn of a session to a model through an endpoint.
func (s *scene) of(endpoint, model, session string, stream bool, more ...func(map[string]any)) answer {
	s.t.Helper()
	body := member(ask(endpoint, stream, user("Hello")), "model", model)
	for _, m := range more {
		m(body)
	}
	return post(s.t, s.URL+route(endpoint), body, "X-Session-Id", session)
}

// down makes models fail at every account, and all others well.
func (s *scene) down(models ...string) {
	s.t.Helper()
	for _, a := range s.fleet.Accounts() {
		a.ClearFaults()
		for _, model := range models {
			accounts.InjectT(s.t, a, accounts.Fault{Kind: accounts.ServerError, Model: model})
		}
	}
}

// others are the protocols that are not the given one.
func others(protocol string) []string {
	return slices.DeleteFunc(protocols(), func(p string) bool { return p == protocol })
}

// TestMixedGroup shows a group whose members speak different protocols: sessions
// go to all of them, one whose native deployments fail is served over a bridge
// within the request, stays there once they are well again, and comes back when
// the other side fails.
func TestMixedGroup(t *testing.T) {
	t.Parallel()
	s := newScene(t, mixed())
	for _, endpoint := range protocols() {
		seen := map[string]bool{}
		for n := range 24 {
			a := s.of(endpoint, "any", fmt.Sprint("s", n), false)
			seen[a.deployment()] = a.StatusCode == 200
		}
		if len(seen) < 8 {
			t.Errorf("%s: 24 sessions went to %d of 9 deployments", endpoint, len(seen))
		}
		for _, stream := range []bool{false, true} {
			row, session := fmt.Sprintf("%s, stream %v", endpoint, stream), fmt.Sprint("moves", stream)
			s.down(others(endpoint)...)
			if a := s.of(endpoint, "any", session, stream); !strings.HasPrefix(a.deployment(), endpoint) {
				t.Fatalf("%s: only the native ones are well: %d by %s", row, a.StatusCode, a.deployment())
			}
			s.down(endpoint)
			bridged := s.of(endpoint, "any", session, stream)
			served(t, row, endpoint, stream, bridged, "moved")
			s.down()
			again := s.of(endpoint, "any", session, stream)
			served(t, row, endpoint, stream, again, "hit")
			if strings.HasPrefix(bridged.deployment(), endpoint) || again.deployment() != bridged.deployment() {
				t.Errorf("%s: the native ones fail: %s, then %s", row, bridged.deployment(), again.deployment())
			}
			s.down(others(endpoint)...)
			home := s.of(endpoint, "any", session, stream)
			if served(t, row, endpoint, stream, home, "moved"); !strings.HasPrefix(home.deployment(), endpoint) {
				t.Errorf("%s: the bridged ones fail: %s", row, home.deployment())
			}
			s.down()
		}
	}
}

// TestMixedChain shows a chain from a model of one protocol to one of another:
// preferred on the next turn, left for a client that forbids it, JSON and SSE.
func TestMixedChain(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: patient + ", fallbacks: {chat: [messages], responses: [chat], messages: [responses]}"})
	to := map[string]string{"chat": "messages", "responses": "chat", "messages": "responses"}
	alone := func(body map[string]any) { body["disable_fallbacks"] = true }
	for _, endpoint := range protocols() {
		for _, stream := range []bool{false, true} {
			row, session := fmt.Sprintf("%s, stream %v", endpoint, stream), fmt.Sprint(stream)
			s.down(endpoint)
			a := s.of(endpoint, endpoint, session, stream)
			served(t, row, endpoint, stream, a, "moved")
			if !strings.HasPrefix(a.deployment(), to[endpoint]+"-") {
				t.Errorf("%s: the fallback is %s", row, a.deployment())
			}
			relayed(t, row+", alone", endpoint, s.of(endpoint, endpoint, session, stream, alone), 500)
			s.down()
			if b := s.of(endpoint, endpoint, session, stream); b.affinity() != "hit" || b.deployment() != a.deployment() {
				t.Errorf("%s, next turn: %s by %s, want a hit by %s", row, b.affinity(), b.deployment(), a.deployment())
			}
			if b := s.of(endpoint, endpoint, session, stream, alone); b.affinity() != "moved" || !strings.HasPrefix(b.deployment(), endpoint) {
				t.Errorf("%s, alone: %s by %s", row, b.affinity(), b.deployment())
			}
		}
	}
}

// TestS4Bridged shows a preference over a bridge being left for what lets go of
// any: disabled, deleted, weight 0, a capability that the request needs.
// Two pairs share a target, so that one of its three deployments is left.
func TestS4Bridged(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "bolt"})
	homes := map[pair]string{}
	tools := func(p pair) func(map[string]any) {
		return func(body map[string]any) { body["tools"] = []any{toolOf(p.client, "f")} }
	}
	for _, change := range []string{"enabled: false", "-", "weight: 0", "capabilities: {tools: false}"} {
		s.become(func(w *world) { w.only = nil })
		for _, p := range bridges() {
			homes[p], _ = s.bridged(p, change)
		}
		s.become(func(w *world) {
			w.only = map[string]string{}
			for _, home := range homes {
				w.only[home] = change
			}
		})
		for _, p := range bridges() {
			a, trail := s.trail(func() answer { return s.of(p.client, p.target, change, true, tools(p)) })
			served(t, change+", "+p.String(), p.client, true, a, "moved")
			if len(trail) != 1 || trail[0] == homes[p] {
				t.Errorf("%s, %s: calls %v, home was %s", change, p, trail, homes[p])
			}
			if a, trail := s.trail(func() answer { return s.of(p.client, p.target, change, false, tools(p)) }); a.affinity() != "hit" || len(trail) != 1 {
				t.Errorf("%s, %s: next turn %s after %v", change, p, a.affinity(), trail)
			}
		}
	}
}

// unsayable are parts of a request, by its endpoint, that not every protocol can
// say, with the protocols that can.
func unsayable() []struct {
	endpoint, name string
	part           map[string]any
	can            []string
} {
	return []struct {
		endpoint, name string
		part           map[string]any
		can            []string
	}{
		{"chat", "several answers", map[string]any{"n": 2}, []string{"chat"}},
		{"chat", "sound", map[string]any{"messages": []any{says(turn{"type": "input_audio", "input_audio": turn{"data": "d2F2", "format": "wav"}})}}, []string{"chat", "responses"}},
		{"chat", "spoken answers", map[string]any{"modalities": []string{"text", "audio"}, "audio": turn{"voice": "v", "format": "wav"}}, []string{"chat"}},
		{"responses", "a document by address", map[string]any{"input": []any{says(turn{"type": "input_file", "file_url": "https://i.example/a.pdf"})}}, []string{"responses", "messages"}},
		{"responses", "sound", map[string]any{"input": []any{says(turn{"type": "input_audio", "input_audio": turn{"data": "d2F2", "format": "wav"}})}}, []string{"chat", "responses"}},
		{"messages", "a document by address", map[string]any{"messages": []any{says(turn{"type": "document", "source": turn{"type": "url", "url": "https://i.example/a.pdf"}})}}, []string{"responses", "messages"}},
		{"messages", "a file of the account", map[string]any{"messages": []any{says(turn{"type": "document", "source": turn{"type": "file", "file_id": "file_1"}})}}, []string{"messages"}},
	}
}

// TestUnsayable shows what one protocol cannot say going to a deployment of
// another that can, without a call at those that cannot, and being refused
// without any call where there is none.
func TestUnsayable(t *testing.T) {
	t.Parallel()
	s := newScene(t, mixed())
	for _, row := range unsayable() {
		for _, stream := range []bool{false, true} {
			name := fmt.Sprintf("%s, %s, stream %v", row.name, row.endpoint, stream)
			part := func(body map[string]any) {
				for member, value := range row.part {
					body[member] = value
				}
			}
			for n := range 8 {
				a, trail := s.trail(func() answer { return s.of(row.endpoint, "any", fmt.Sprint(name, n), stream, part) })
				if protocol, _, _ := strings.Cut(a.deployment(), "-"); len(trail) == 0 || !slices.Contains(row.can, protocol) {
					t.Errorf("%s: %d by %s after %v, want one of %v\n%s", name, a.StatusCode, a.deployment(), trail, row.can, a.body)
				}
				for _, called := range trail {
					if protocol, _, _ := strings.Cut(called, "-"); !slices.Contains(row.can, protocol) {
						t.Errorf("%s: %s was asked for what it cannot be told", name, called)
					}
				}
			}
			for _, target := range protocols() {
				if slices.Contains(row.can, target) {
					continue
				}
				before := s.calls()
				a := s.of(row.endpoint, target, name, stream, part)
				if a.StatusCode != 400 || a.code() != "capability_missing" || a.affinity() == "moved" || s.calls() != before || a.Header.Get("Retry-After") != "" {
					t.Errorf("%s on %s: %d %s after %d calls\n%s", name, target, a.StatusCode, a.code(), s.calls()-before, a.body)
				} else {
					refusalOf(t, row.endpoint, a)
				}
			}
		}
	}
}
