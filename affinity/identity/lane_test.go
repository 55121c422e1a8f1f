package identity_test

import (
	"strings"
	"testing"

	"holdfast/affinity/identity"
)

// TestLanes: who inside a session is speaking, and who started it.
func TestLanes(t *testing.T) {
	r := resolver(t)
	for _, c := range []struct {
		name         string
		headers      []string
		lane, parent string
	}{
		{"main", nil, "", ""},
		{"agent", []string{"X-Claude-Code-Agent-Id: a1"}, "a1", ""},
		{"agent started by another", []string{"X-Claude-Code-Agent-Id: a2", "X-Claude-Code-Parent-Agent-Id: a1"}, "a2", "a1"},
		{"thread", []string{"Session-Id: s1", "Thread-Id: t1", "X-Codex-Parent-Thread-Id: s1"}, "t1", "s1"},
		{"the session's own thread", []string{"Session-Id: s1", "Thread-Id: s1"}, "", ""},
		{"its own thread in the old spelling", []string{"Session_id: s1", "Thread-Id: s1"}, "", ""},
		{"its own thread under another core id", []string{"X-Session-Id: pinned", "Session-Id: s1", "Thread-Id: s1"}, "", ""},
		{"a sub-agent's thread under another core id", []string{"X-Session-Id: pinned", "Session-Id: s1", "Thread-Id: t1"}, "t1", ""},
		{"a thread that is the session", []string{"X-Session-Id: s1", "Thread-Id: s1"}, "", ""},
		{"parent session", []string{"X-Parent-Session-Id: s0"}, "", "s0"},
		{"invalid ids are ignored", []string{"X-Claude-Code-Agent-Id: a\tb", "Thread-Id: " + strings.Repeat("x", 257), "X-Codex-Parent-Thread-Id: "}, "", ""},
		{"lines that differ are ignored", []string{"X-Claude-Code-Agent-Id: a1", "X-Claude-Code-Agent-Id: a2", "Thread-Id: t1"}, "t1", ""},
	} {
		got := session(t, r, identity.Request{Endpoint: "chat", Header: headers(c.headers...)})
		if got.Lane != c.lane || got.ParentAgent != c.parent {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestLaneOfContinuation: the lane goes by the session that the parent gave.
func TestLaneOfContinuation(t *testing.T) {
	signals, err := resolver(t).Read(identity.Request{Endpoint: "responses", Header: headers("Thread-Id: s1"), Member: members(t, `{"previous_response_id":"resp_1"}`)})
	if err != nil {
		t.Fatal(err)
	}
	for parent, lane := range map[string]string{"s1": "", "s2": "s1"} {
		if got, err := signals.Session(&identity.Parent{Session: parent}); err != nil || got.Lane != lane {
			t.Errorf("parent %s: %+v, %v", parent, got, err)
		}
	}
}

// TestPeople: people who share a key and an opening have one session and a lane
// each, but only where the session is a guess.
func TestPeople(t *testing.T) {
	r := resolver(t)
	lane := func(q identity.Request) string {
		t.Helper()
		return session(t, r, q).Lane
	}
	guess := func(extra string, lines ...string) identity.Request {
		return identity.Request{Endpoint: "chat", Header: headers(lines...), Member: members(t, `{"messages":[{"role":"user","content":"Hello"}]`+extra+`}`)}
	}
	nobody, alice, bob := guess(``), guess(`,"user":"alice"`), guess(`,"user":"bob"`)
	if a, b := session(t, r, alice), session(t, r, bob); a.ID != b.ID || a.Source != identity.Prompt {
		t.Errorf("people split the session: %+v, %+v", a, b)
	}
	lanes := map[string]string{}
	for name, q := range map[string]identity.Request{
		"nobody": nobody, "alice": alice, "bob": bob,
		"alice by safety_identifier": guess(`,"safety_identifier":"alice"`),
		"alice by both":              guess(`,"user":"alice","safety_identifier":"alice"`),
		"alice's agent":              guess(`,"user":"alice"`, "X-Claude-Code-Agent-Id: a1"),
		"bob's agent":                guess(`,"user":"bob"`, "X-Claude-Code-Agent-Id: a1"),
		"an agent":                   guess(``, "X-Claude-Code-Agent-Id: a1"),
	} {
		got := lane(q)
		if other := lanes[got]; other != "" {
			t.Errorf("%s and %s share the lane %q", name, other, got)
		}
		lanes[got] = name
		if strings.Contains(got, "alice") || strings.Contains(got, "bob") {
			t.Errorf("X3: the lane shows a person: %s", got)
		}
	}
	if lane(alice) != lane(guess(`,"user":" alice "`)) || lanes[""] != "nobody" {
		t.Error("one person, two lanes")
	}
	for name, q := range map[string]identity.Request{
		"explicit":         guess(`,"user":"alice"`, "X-Session-Id: s1"),
		"registry":         guess(`,"user":"alice"`, "Session-Id: s1"),
		"cache key":        guess(`,"user":"alice","prompt_cache_key":"k"`),
		"no valid user":    guess(`,"user":7,"safety_identifier":""`),
		"a user too large": guess(`,"user":` + quote(t, strings.Repeat("x", 300))),
	} {
		if got := lane(q); got != "" {
			t.Errorf("%s: lane %q", name, got)
		}
	}

	// A continuation of the guessed session stays in the lane of its first turn.
	signals, err := r.Read(identity.Request{Endpoint: "responses", Member: members(t, `{"previous_response_id":"resp_1","user":"alice"}`)})
	if err != nil {
		t.Fatal(err)
	}
	for parent, want := range map[string]string{session(t, r, alice).ID: lane(alice), "s1": ""} {
		if got, err := signals.Session(&identity.Parent{Session: parent}); err != nil || got.Lane != want {
			t.Errorf("parent %s: %+v, %v", parent, got, err)
		}
	}
}
