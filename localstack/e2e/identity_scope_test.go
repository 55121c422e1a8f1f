package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// moreKeys are callers whose ids could be taken for another's id and session.
func moreKeys(ids ...string) (entries string, keys map[string]string) {
	keys = map[string]string{}
	for i, id := range ids {
		keys[id] = fmt.Sprintf("sk-test-caller-%02d-00000000", i)
		entries += fmt.Sprintf("  - {id: %q, key: %q}\n", id, keys[id])
	}
	return entries, keys
}

// bearer are the headers of a request by another caller.
func bearer(key string, more ...string) []string {
	return append([]string{"Authorization", "Bearer " + key}, more...)
}

// TestI11 shows that one session id under two keys is two sessions: no shared
// preference, response or log group, however ids are put together.
func TestI11(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{{"a|b", "c"}, {"a", "b|c"}, {"a:b", "c"}, {"a", "b:c"}, {"a/b", "c"}, {"a", "b/c"}, {"ab", "c"}, {"a", "bc"}, {"key:a", "c"}, {"a", "key:a c"}}
	var ids []string
	for _, p := range pairs {
		if p[0] != "a" && !slices.Contains(ids, p[0]) {
			ids = append(ids, p[0])
		}
	}
	entries, keys := moreKeys(ids...)
	keys["a"] = keyA
	r := newRig(t, "bolt", func(d *document) { d.extra = entries })
	for _, endpoint := range protocols() {
		for _, p := range pairs {
			a := post(t, r.URL+route(endpoint), ask(endpoint, false, user("Hello")), bearer(keys[p[0]], "X-Session-Id", p[1])...)
			if a.StatusCode != http.StatusOK || sessionOf(a) != "explicit "+p[1] || a.affinity() != "claimed" {
				t.Errorf("%s, key %s, session %s: %d %q %s, want a claim of its own", endpoint, p[0], p[1], a.StatusCode, sessionOf(a), a.affinity())
			}
		}
	}
	groups := map[string]string{}
	for _, line := range exchanges(t, r) {
		pair := line.Key + " in " + line.Session
		if other := groups[line.Session]; line.Session == "" || other != "" && other != pair {
			t.Errorf("the log puts %s and %s together", other, pair)
		}
		groups[line.Session] = pair
	}
	if len(groups) != len(pairs) {
		t.Errorf("%d log groups, want %d", len(groups), len(pairs))
	}
}

// TestI11Response shows that another caller's response is answered as one that
// never was.
func TestI11Response(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	url := r.URL + route("responses")
	mine := post(t, url, ask("responses", false, user("Hello")), "X-Session-Id", "shared")
	id, _ := mine.field("id").(string)
	if mine.StatusCode != http.StatusOK || id == "" {
		t.Fatalf("first turn: %d %s", mine.StatusCode, mine.body)
	}
	before := r.calls()
	follow := func(id string) map[string]any {
		return member(ask("responses", false, user("More")), "previous_response_id", id)
	}
	foreign := post(t, url, follow(id), bearer(keyB, "X-Session-Id", "shared")...)
	unknown := post(t, url, follow("resp_neverwas"), bearer(keyB, "X-Session-Id", "shared")...)
	for _, a := range []answer{foreign, unknown} {
		refusalOf(t, "responses", a)
		if a.code() != "previous_response_not_found" || a.body != foreign.body {
			t.Errorf("a foreign response: %s %s", a.code(), a.body)
		}
	}
	if n := r.calls() - before; n != 0 {
		t.Errorf("%d calls for a foreign response", n)
	}
	own := post(t, url, follow(id))
	if own.StatusCode != http.StatusOK || sessionOf(own) != "parent shared" || own.affinity() != "required" {
		t.Errorf("the caller's own continuation: %d %q %s", own.StatusCode, sessionOf(own), own.affinity())
	}
}

// logged is what these tests read of an exchange's line.
type logged struct {
	Msg, Key, Session, Lane, Endpoint string
	Affinity, Deployment              string
	Status                            int
}

// exchanges are the log's lines of exchanges, after the gateway has stopped: a
// line is written after its answer.
func exchanges(t *testing.T, r *rig) []logged {
	t.Helper()
	if code := r.Stop(); code != 0 {
		t.Fatalf("the gateway stopped with %d", code)
	}
	var list []logged
	for _, line := range r.Lines() {
		if !strings.HasPrefix(line, "{") {
			continue // a warning about the document
		}
		var l logged
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("log line: %v: %s", err, line)
		}
		if l.Msg == "exchange" {
			list = append(list, l)
		}
	}
	return list
}

// TestI10Lanes shows that a sub-agent has its own preference inside of its
// session, and that many of them do not pile onto one deployment.
func TestI10Lanes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt")
	const session = "70061f92-98fc-4c23-ac93-f2a0c667693d"
	headers := map[string]func(agent string) []string{
		"messages":  func(agent string) []string { return []string{"X-Claude-Code-Agent-Id", agent} },
		"responses": func(agent string) []string { return []string{"Session-Id", session, "Thread-Id", agent} },
	}
	for endpoint, lane := range headers {
		own := []string{"X-Session-Id", session}
		body := ask(endpoint, false, user("Hello"))
		main := post(t, r.URL+route(endpoint), body, own...)
		if endpoint == "responses" { // the main thread's id is the session's
			main = post(t, r.URL+route(endpoint), body, append(lane(session), own...)...)
			if main.affinity() != "hit" {
				t.Errorf("%s: the main thread's turn is a %s", endpoint, main.affinity())
			}
		}
		served := map[string]int{}
		for i := range 20 {
			agent := fmt.Sprintf("a1fde2749e31a8%03d", i)
			first := post(t, r.URL+route(endpoint), body, append(lane(agent), own...)...)
			again := post(t, r.URL+route(endpoint), body, append(lane(agent), own...)...)
			if sessionOf(first) != "explicit "+session || first.affinity() != "claimed" {
				t.Errorf("%s, agent %d: %q %s, want a claim of its own", endpoint, i, sessionOf(first), first.affinity())
			}
			if again.affinity() != "hit" || again.deployment() != first.deployment() {
				t.Errorf("%s, agent %d again: %s by %s, want a hit by %s", endpoint, i, again.affinity(), again.deployment(), first.deployment())
			}
			served[first.deployment()]++
		}
		if len(served) < 2 {
			t.Errorf("%s: twenty agents were all served by %v", endpoint, served)
		}
		if a := post(t, r.URL+route(endpoint), body, own...); a.affinity() != "hit" || a.deployment() != main.deployment() {
			t.Errorf("%s: the main thread is then a %s by %s, want a hit by %s", endpoint, a.affinity(), a.deployment(), main.deployment())
		}
	}
	sessions, lanes := map[string]bool{}, map[string]bool{}
	for _, l := range exchanges(t, r) {
		sessions[l.Session], lanes[l.Endpoint+l.Lane] = true, true
	}
	if len(sessions) != 1 || len(lanes) != 42 {
		t.Errorf("%d log groups with %d lanes, want 1 with 42", len(sessions), len(lanes))
	}
}

// TestInferredLanes shows that people who share a key and an opening keep their
// own preference, and that their names say nothing where the session is told.
func TestInferredLanes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	for _, field := range []string{"user", "safety_identifier"} {
		body := ask("chat", false, user("Hello "+field))
		plain := post(t, r.URL+route("chat"), body)
		served := map[string]bool{}
		for i := range 12 {
			a := post(t, r.URL+route("chat"), member(body, field, fmt.Sprintf("person-%d", i)))
			if sessionOf(a) != sessionOf(plain) || a.affinity() != "claimed" {
				t.Errorf("%s %d: %q %s, want a claim of its own in %q", field, i, sessionOf(a), a.affinity(), sessionOf(plain))
			}
			served[a.deployment()] = true
		}
		if len(served) < 2 {
			t.Errorf("%s: twelve people were all served by one deployment", field)
		}
		told := []string{"X-Session-Id", "told-" + field}
		post(t, r.URL+route("chat"), member(body, field, "person-1"), told...)
		if a := post(t, r.URL+route("chat"), member(body, field, "person-2"), told...); a.affinity() != "hit" {
			t.Errorf("%s in a session that is told: %s, want a hit", field, a.affinity())
		}
	}
}

// TestAliases shows that a model's aliases share its preference.
func TestAliases(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) { d.extra = "models: [{name: chat, aliases: [chat-high, chat-low]}]\n" })
	body := ask("chat", false, user("Hello"))
	first := post(t, r.URL+route("chat"), member(body, "model", "chat-high"))
	for _, name := range []string{"chat", "chat-low", "chat-high"} {
		a := post(t, r.URL+route("chat"), member(body, "model", name))
		if first.affinity() != "claimed" || a.affinity() != "hit" || a.deployment() != first.deployment() {
			t.Errorf("%s: %s by %s, want a hit by %s", name, a.affinity(), a.deployment(), first.deployment())
		}
	}
}

// TestCacheKey shows what a prompt_cache_key amounts to: a session where
// nothing stronger names one, checked only then.
func TestCacheKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	sum := sha256.Sum256([]byte("qwen-code:5f0c"))
	want := "cache_key cache:v1:" + hex.EncodeToString(sum[:])
	for _, endpoint := range protocols() {
		for i, words := range []string{"Hello", "Something else"} {
			a := post(t, r.URL+route(endpoint), member(ask(endpoint, false, user(words)), "prompt_cache_key", "qwen-code:5f0c"))
			if affinity := []string{"claimed", "hit"}[i]; a.StatusCode != http.StatusOK || sessionOf(a) != want || a.affinity() != affinity {
				t.Errorf("%s: %d %q %s, want %q %s", endpoint, a.StatusCode, sessionOf(a), a.affinity(), want, affinity)
			}
			calls := r.owner(a.deployment()).Calls()
			if got := string(calls[len(calls)-1].Body); !strings.Contains(got, `"prompt_cache_key":"qwen-code:5f0c"`) {
				t.Errorf("%s: the client's own key did not reach the account: %s", endpoint, got)
			}
		}
		before := r.calls()
		for _, key := range []any{"", " x", 7, strings.Repeat("k", 257)} {
			body := member(ask(endpoint, false, user("Hello")), "prompt_cache_key", key)
			if a := post(t, r.URL+route(endpoint), body); a.code() != "invalid_session_id" {
				t.Errorf("%s, the key %v: %d %s", endpoint, key, a.StatusCode, a.code())
			}
			if r.calls() != before {
				t.Fatalf("%s, the key %v: the account was called", endpoint, key)
			}
		}
		unneeded := member(ask(endpoint, false, user("Hello")), "prompt_cache_key", " x")
		if a := post(t, r.URL+route(endpoint), unneeded, "X-Session-Id", "told"); sessionOf(a) != "explicit told" {
			t.Errorf("%s, a key that is not needed: %d %q", endpoint, a.StatusCode, sessionOf(a))
		}
	}
}
