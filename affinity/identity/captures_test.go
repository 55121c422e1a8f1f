package identity_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"holdfast/affinity/identity"
)

// conversation is a run of recorded requests that are one session.
type conversation struct {
	files  []string // below testdata/captures
	id     string   // empty: the fingerprint's
	source identity.Source
	signal string
}

// conversations are all recorded requests. Every entry is another session,
// unless opened by the same words.
func conversations() []conversation {
	const claude, user = "X-Claude-Code-Session-Id", "metadata.user_id"
	return []conversation{
		{in("claude-code", "01-turn1-first-request", "02-turn1-after-tool", "03-turn2-resume", "04-turn3-continue"), "d491f84d-9e9e-44e9-80b6-f64439ef6073", identity.Explicit, claude},
		{in("claude-code", "05-other-session"), "91192fe0-6156-4e34-bf3c-69701c7bf816", identity.Explicit, claude},
		{in("claude-code", "06-parent", "07-subagent-child", "08-compaction", "09-after-compaction"), "70061f92-98fc-4c23-ac93-f2a0c667693d", identity.Explicit, claude},
		{in("claude-code", "11-interactive-title-request", "12-interactive-turn1", "13-interactive-turn2"), "7986f2ee-d5ea-474b-a5b4-3bcef773e123", identity.Explicit, claude},
		{in("claude-code", "14-interactive-after-clear"), "422b1276-3b77-41d2-b3d0-39fbe17b0c2d", identity.Explicit, claude},
		{in("claude-code", "15-count-tokens"), "0fa70483-62be-4fd6-956a-167fd042b81d", identity.Explicit, claude},
		{in("claude-code", "17-non-streaming-fallback"), "fde16146-bf92-48d6-8bed-0e541e4e9e47", identity.Explicit, claude},
		{in("claude-code-2.0.60", "01-turn1", "02-after-tool", "03-next-process", "04-side-request-haiku"), "e1ef7ed2-2241-4b8c-8b87-de358fef4507", identity.Explicit, user},

		{in("codex", "01-turn1-first-request", "02-turn1-after-tool", "03-turn2-resume"), "01a22a8b-ae08-78d0-a788-6448edc4cbf6", identity.Explicit, "Session-Id"},
		{in("codex", "04-other-session"), "01a22a8b-7b14-7783-b3ef-52f8ab5570cf", identity.Explicit, "Session-Id"},
		{in("codex", "05-parent", "06-subagent-child"), "01a22a8b-e3e2-7fd1-81af-a67f0591f4ce", identity.Explicit, "Session-Id"},
		{in("codex", "07-turn-state-echo"), "01a22a8e-22bd-7db2-a146-34099a5fd76b", identity.Explicit, "Session-Id"},
		{in("codex", "08-cut-first", "09-cut-retry"), "01a22a8c-4f20-7473-8ada-4bb595ac84b8", identity.Explicit, "Session-Id"},
		{in("codex", "10-compaction", "11-after-compaction"), "01a22a8f-71a5-7521-b813-d0123661b304", identity.Explicit, "Session-Id"},
		{in("codex", "12-fork"), "01a22aad-2671-7241-9eee-759294845ff5", identity.Explicit, "Session-Id"},
		{in("codex-0.47.0", "01-turn1", "02-after-tool"), "01a22aab-bfb8-74c3-a957-84f1f125e46e", identity.Explicit, "Session_id"},

		{in("opencode", "chat-01-title-request", "chat-02-turn1", "chat-03-turn1-after-tool", "chat-04-turn2"), "ses_dd568f5b0ffeSJQHVB1vH8gOEN", identity.Explicit, "X-Session-Id"},
		{in("opencode", "chat-05-subagent-parent"), "ses_dd567f657ffeQOKhAowJxPz6Pr", identity.Explicit, "X-Session-Id"},
		{in("opencode", "chat-06-subagent-child"), "ses_dd567f093ffetk50NC71F7Uv0P", identity.Explicit, "X-Session-Id"},
		{in("opencode", "messages-01-title-request", "messages-02-turn1", "messages-03-turn1-after-tool", "messages-04-turn2"), "ses_dd5688117ffeLldJZW14qW2gY5", identity.Explicit, "X-Session-Id"},
		{in("opencode", "responses-01-title-request", "responses-02-turn1", "responses-03-turn1-after-tool", "responses-04-turn2"), "ses_dd568a6c0ffeysN7igyHNj7USF", identity.Explicit, "X-Session-Id"},

		{in("pi", "responses-01-turn1", "responses-02-turn1-after-tool", "responses-03-turn2-continue"), "01a22a9c-26f3-7454-8c35-2337ebc154ab", identity.Explicit, "Session_id"},
		{in("pi", "responses-04-other-session"), "01a22a9c-2ddd-7769-99f7-62492684d7f7", identity.Explicit, "Session_id"},
		{in("pi", "chat-05-affinity-headers-on"), "01a22a9c-7f43-75c4-a619-4dc5affbebe4", identity.Explicit, "Session_id"},
		// The chat and messages modes send no signal; their openings are the same.
		{in("pi", "chat-01-turn1", "chat-02-turn1-after-tool", "chat-03-turn2-continue", "messages-01-turn1", "messages-02-turn1-after-tool", "messages-03-turn2-continue"), "", identity.Prompt, ""},
		{in("pi", "chat-04-other-session", "messages-04-other-session"), "", identity.Prompt, ""},

		// SDKs send none either: the same words make the same session on each protocol.
		{append(append(append(
			in("ai-sdk", "chat-01-turn1", "chat-02-turn2-stream", "compat-01-turn1", "compat-02-turn2-stream", "messages-01-turn1", "messages-02-turn2-stream"),
			in("anthropic-js", "01-turn1", "02-turn2-stream")...),
			in("openai-js", "01-chat-turn1", "02-chat-turn2-stream")...),
			in("openai-js", "05-responses-turn1", "06-responses-turn2-stream")...), "", identity.Prompt, ""},
		{append(append(
			in("ai-sdk", "chat-03-tool-call", "chat-04-tool-result", "compat-03-tool-call", "compat-04-tool-result", "messages-03-tool-call", "messages-04-tool-result", "responses-03-tool-call", "responses-04-tool-result"),
			in("anthropic-js", "03-tool-call", "04-tool-result")...),
			in("openai-js", "03-chat-tool-call", "04-chat-tool-result")...), "", identity.Prompt, ""},
		{in("ai-sdk", "responses-01-turn1", "responses-02-turn2-stream"), "", identity.Prompt, ""}, // a developer turn
		{in("anthropic-js", "05-count-tokens"), "", identity.Prompt, ""},
		{in("openai-js", "07-responses-stored-turn1"), "", identity.Prompt, ""},
	}
}

func in(client string, names ...string) []string {
	files := make([]string, len(names))
	for i, name := range names {
		files[i] = client + "/" + name + ".json"
	}
	return files
}

// capture reads a recorded request.
func capture(t *testing.T, file string) identity.Request {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/captures", file))
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
		Body    jsontext.Value    `json:"body"`
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	q := identity.Request{Header: map[string][]string{}, Member: members(t, string(recorded.Body))}
	for name, value := range recorded.Headers {
		q.Header[name] = []string{value}
	}
	for part, endpoint := range map[string]string{"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"} {
		if strings.Contains(recorded.Path, part) {
			q.Endpoint = endpoint
		}
	}
	return q
}

// TestCaptures: I10 over everything that was recorded. One id over the turns of
// a conversation, title and side requests included; another for each other one.
func TestCaptures(t *testing.T) {
	r, owner := resolver(t), map[string]int{}
	for i, c := range conversations() {
		for _, file := range c.files {
			got := session(t, r, capture(t, file))
			if c.id == "" {
				c.id = got.ID
			}
			if got.ID != c.id || got.Source != c.source || got.Signal != c.signal {
				t.Errorf("%s: %+v, want %s by %s %s", file, got, c.id, c.source, c.signal)
			}
			if before, known := owner[got.ID]; known && before != i {
				t.Errorf("%s shares its session with %s", file, conversations()[before].files[0])
			}
			owner[got.ID] = i
		}
	}
}

// TestCapturesComplete: no recorded request is left out of the tests here.
func TestCapturesComplete(t *testing.T) {
	others := in("claude-code", "10-interactive-preconnect", "16-models-discovery") // no body, no conversation
	others = append(others, in("openai-js", "08-responses-previous-id", "09-responses-previous-id-stream")...)
	used := map[string]bool{}
	for _, c := range conversations() {
		for _, file := range c.files {
			used[file] = true
		}
	}
	for _, file := range others {
		used[file] = true
	}
	paths, err := filepath.Glob("testdata/captures/*/*.json")
	if err != nil || len(paths) != len(used) {
		t.Errorf("%d files, %d used: %v", len(paths), len(used), err)
	}
	for _, path := range paths {
		if file := strings.TrimPrefix(path, "testdata/captures/"); !used[file] {
			t.Errorf("%s is not used", file)
		}
	}
}

// TestCapturedLanes: I10, a sub-agent shares the session, not the lane.
func TestCapturedLanes(t *testing.T) {
	r := resolver(t)
	type lane struct{ Lane, Parent string }
	want := map[string]lane{
		"claude-code/07-subagent-child.json":   {Lane: "a1fde2749e31a8228"},
		"codex/06-subagent-child.json":         {"01a22a8b-e4cb-7e31-8da8-d2553275f1f8", "01a22a8b-e3e2-7fd1-81af-a67f0591f4ce"},
		"opencode/chat-06-subagent-child.json": {Parent: "ses_dd567f657ffeQOKhAowJxPz6Pr"},
	}
	got := map[string]lane{}
	for _, c := range conversations() {
		for _, file := range c.files {
			if s := session(t, r, capture(t, file)); s.Lane != "" || s.ParentAgent != "" {
				got[file] = lane{s.Lane, s.ParentAgent}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestCapturedOpenings: the turns of real clients keep one fingerprint where all
// their signals are taken away: moved cache markers, collapsed blocks and the
// rotating attribution do not count.
func TestCapturedOpenings(t *testing.T) {
	seen := map[string]string{}
	for _, files := range [][]string{
		in("claude-code", "01-turn1-first-request", "02-turn1-after-tool", "03-turn2-resume", "04-turn3-continue"),
		in("claude-code", "05-other-session", "17-non-streaming-fallback"), // the same words in two sessions
		in("claude-code", "06-parent", "08-compaction"),
		in("claude-code", "07-subagent-child"),
		in("claude-code", "12-interactive-turn1", "13-interactive-turn2"),
		in("claude-code-2.0.60", "01-turn1", "02-after-tool", "03-next-process"),
		in("codex", "01-turn1-first-request", "02-turn1-after-tool", "03-turn2-resume"),
		in("codex-0.47.0", "01-turn1", "02-after-tool"),
		in("opencode", "chat-02-turn1", "chat-03-turn1-after-tool", "chat-04-turn2"),
		in("opencode", "messages-02-turn1", "messages-03-turn1-after-tool", "messages-04-turn2"),
		in("opencode", "responses-02-turn1", "responses-03-turn1-after-tool", "responses-04-turn2"),
	} {
		var id string
		for _, file := range files {
			q := capture(t, file)
			body := q.Member
			q.Header, q.Member = nil, func(name string) []byte {
				if name == "metadata" || name == "prompt_cache_key" {
					return nil
				}
				return body(name)
			}
			got := session(t, resolver(t), q)
			if id == "" {
				id = got.ID
			}
			if got.Source != identity.Prompt || got.ID != id {
				t.Errorf("%s: %+v, want %s", file, got, id)
			}
		}
		if before := seen[id]; before != "" {
			t.Errorf("%s has the opening of %s", files[0], before)
		}
		seen[id] = files[0]
	}
}

// TestCapturedContinuation: a previous response decides, whatever the increment
// looks like.
func TestCapturedContinuation(t *testing.T) {
	for file, parent := range map[string]string{
		"openai-js/08-responses-previous-id.json":        "resp_mock00008512",
		"openai-js/09-responses-previous-id-stream.json": "resp_mock00008515",
	} {
		signals, err := resolver(t).Read(capture(t, file))
		if err != nil || signals.ParentResponse != parent {
			t.Fatalf("%s: %q, %v", file, signals.ParentResponse, err)
		}
		got, err := signals.Session(&identity.Parent{Session: "s-1"})
		want := identity.Session{ID: "s-1", Source: identity.Inherited, Signal: "previous_response_id"}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", file, got, err)
		}
	}
}
