package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// lineage is what these tests read of a booked exchange: what it is part of, and
// who started it.
type lineage struct {
	Session string `json:"session_id"`
	Lane    string
	Parent  string
}

// TestParents shows that who started a sub-agent, or a session of its own, is on
// record by the very names that its own exchanges have there.
func TestParents(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	rows := []struct {
		name    string
		headers []string
		lane    bool   // the exchange is a sub-agent's
		parent  string // row whose session, or lane where it has one, is the parent
	}{
		{"a session", []string{"X-Session-Id", "s"}, false, ""},
		{"its agent", []string{"X-Session-Id", "s", "X-Claude-Code-Agent-Id", "a1"}, true, ""},
		{"the agent's agent", []string{"X-Session-Id", "s", "X-Claude-Code-Agent-Id", "a2", "X-Claude-Code-Parent-Agent-Id", "a1"}, true, "its agent"},
		{"a child session", []string{"X-Session-Id", "c", "X-Parent-Session-Id", "s"}, false, "a session"},
		{"a thread", []string{"Session-Id", "s", "Thread-Id", "t1", "X-Codex-Parent-Thread-Id", "s"}, true, "a session"},
		{"the thread's thread", []string{"Session-Id", "s", "Thread-Id", "t2", "X-Codex-Parent-Thread-Id", "t1"}, true, "a thread"},
	}
	known := map[string]lineage{}
	for i, row := range rows {
		if a := post(t, r.URL+route("messages"), ask("messages", i%2 == 1, user("Hello")), row.headers...); a.StatusCode != 200 {
			t.Fatalf("%s: %d %s", row.name, a.StatusCode, a.body)
		}
		events(t, r.URL, i+1)
		got := paged[lineage](t, r.URL+"/admin/audit/log?limit=1")[0]
		want := known[row.parent].Lane
		if want == "" {
			want = known[row.parent].Session
		}
		if got.Parent != want || (got.Lane != "") != row.lane {
			t.Errorf("%s: parent %q, lane %q; want the parent %q", row.name, got.Parent, got.Lane, want)
		}
		known[row.name] = got
	}
	r.Stop()
	if log := r.Log(); strings.Count(log, `"parent":"`) != 4 {
		t.Errorf("the log has %d parents, want 4", strings.Count(log, `"parent":"`))
	}
}

// TestPlannedNamed shows that a refusal in the place of a deployment that is
// waited for names it: the strict preference and the creator of a response.
func TestPlannedNamed(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: "allowed_fails: 1, cooldown: 60s, session_affinity: strict, retry_policy: {max_attempts: 1}"})
	for _, endpoint := range []string{"chat", "responses"} {
		home, account := s.home(endpoint, "mine")
		body := ask(endpoint, false, user("More"))
		if endpoint == "responses" {
			body["previous_response_id"] = turnOf(t, s.URL, endpoint, "mine", false).field("id")
		}
		s.strike(account, accounts.Fault{Kind: accounts.ServerError}, func() answer { return turnOf(t, s.URL, endpoint, "mine", false) })
		a, trail := s.trail(func() answer { return post(t, s.URL+route(endpoint), body, "X-Session-Id", "mine") })
		if a.StatusCode != 429 || a.deployment() != home || len(trail) > 0 {
			t.Errorf("%s: %d by %q after %v, want 429 that names %s", endpoint, a.StatusCode, a.deployment(), trail, home)
		}
	}
}

// TestOptOutSpelled shows that the opting out is understood in every case.
func TestOptOutSpelled(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	for _, word := range []string{"off", "OFF", "Off"} {
		a := post(t, s.URL+route("chat"), ask("chat", false, user("Hello")), "X-Session-Id", "s", "X-Holdfast-Affinity", word)
		served(t, word, "chat", false, a, "off")
	}
}

// TestEmptyTables shows that fallback tables which are empty, in either way to
// write that, inherit the models' own chains, and that a source with an empty chain
// does not.
func TestEmptyTables(t *testing.T) {
	t.Parallel()
	chains := "models:\n  - {name: chat, fallbacks: [spare-chat]}\n  - {name: messages, fallbacks: [spare-messages]}\n"
	s := newScene(t, world{further: []string{"spare"}, extra: chains,
		template: patient + ", retry_policy: {max_attempts: 1}, fallbacks: [], context_window_fallbacks: [], content_policy_fallbacks: {}"})
	for _, a := range s.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Model: "chat"})
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Model: "messages"})
	}
	a := turnOf(t, s.URL, "chat", "s", false)
	if served(t, "an empty list", "chat", false, a, "moved"); !strings.HasPrefix(a.deployment(), "spare-chat-") {
		t.Errorf("an empty list: served by %s", a.deployment())
	}
	s.become(func(w *world) {
		w.template = patient + ", retry_policy: {max_attempts: 1}, fallbacks: {chat: []}"
	})
	relayed(t, "an empty chain", "chat", turnOf(t, s.URL, "chat", "t", true), 500)
	served(t, "another source", "messages", false, turnOf(t, s.URL, "messages", "t", false), "moved")
}

// TestExplainForesees shows that an explanation tells what the answer will say, and
// takes a header that stands on several lines.
func TestExplainForesees(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	rows := []struct{ headers, word, code string }{
		{`{"X-Session-Id":"s"}`, "claimed", ""},
		{`{"X-Session-Id":["s","s"]}`, "claimed", ""},
		{`{"X-Session-Id":["s","other"]}`, "", "session_conflict"},
		{`{"X-Session-Id":"s","X-Holdfast-Affinity":"off"}`, "off", ""},
		{`{"X-Session-Id":{"s":1}}`, "", "invalid_json"},
	}
	body, _ := json.Marshal(ask("chat", false, user("Hello")))
	for _, row := range rows {
		a := admin(t, "POST", r.URL+"/admin/explain", `{"endpoint":"chat","key":"a","headers":`+row.headers+`,"body":`+string(body)+`}`)
		if word, _ := a.field("affinity").(string); word != row.word || a.code() != row.code {
			t.Errorf("%s: %d %q %s, want %q %s", row.headers, a.StatusCode, word, a.code(), row.word, row.code)
		}
	}
	if a := turnOf(t, r.URL, "chat", "s", false); a.affinity() != "claimed" {
		t.Errorf("the first turn: %s", a.affinity())
	}
}

// TestCacheKeyUnneeded shows that a prompt_cache_key that nobody needs is not held
// against a request, by whichever protocol it is served.
func TestCacheKeyUnneeded(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	for _, p := range append(bridges(), pair{"chat", "chat"}) {
		for _, key := range []any{5, []string{"a"}, "", strings.Repeat("x", 257)} {
			body := p.ask(false, user("Hello"))
			body["prompt_cache_key"] = key
			a := post(t, s.URL+route(p.client), body, "X-Session-Id", "s")
			if a.StatusCode != 200 || sessionOf(a) != "explicit s" {
				t.Errorf("%s, %v: %d %s", p, key, a.StatusCode, a.body)
			}
			if a = post(t, s.URL+route(p.client), body); a.code() != "invalid_session_id" {
				t.Errorf("%s, %v, where it is needed: %d %s", p, key, a.StatusCode, a.body)
			}
		}
	}
}

// TestLostKeyOfRing shows that a key of a connection that is not there is passed
// over for the next, without a call and without moving the session.
func TestLostKeyOfRing(t *testing.T) {
	t.Parallel()
	w := ring("memory")
	w.env = w.env[1:]
	s := newScene(t, w)
	for n := range 9 {
		session := string(rune('a' + n))
		for i, word := range []string{"claimed", "hit"} {
			a, used := s.keyed(func() answer { return turnOf(t, s.URL, "chat", session, i == 1) })
			served(t, session, "chat", i == 1, a, word)
			if len(used) != 1 || a.Header.Get("X-Holdfast-Attempts") != "1" {
				t.Errorf("%s: the keys %v, X-Holdfast-Attempts %s", session, used, a.Header.Get("X-Holdfast-Attempts"))
			}
		}
	}
}
