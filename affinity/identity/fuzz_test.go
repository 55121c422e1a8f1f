package identity_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"

	"holdfast/affinity/identity"
)

func endpoints() []string { return []string{"chat", "messages", "responses", "embeddings"} }

// FuzzRead: whatever arrives, nothing panics, an id that comes out is valid and
// can stand in a header (X4), and an error shows no value (X3).
func FuzzRead(f *testing.F) {
	f.Add(byte(0), "X-Session-Id", "s1", "s2", `"s1"`, `{"user_id":"user_d0_account__session_0fa70483-62be-4fd6-956a-167fd042b81d"}`, `"k"`, `[{"role":"user","content":"Hello"}]`)
	f.Add(byte(2), "session-id", " s1 ", "\xff", `"\ud800"`, `{"user_id":"{\"session_id\":\"x\"}"}`, `7`, `"`)
	f.Add(byte(2), "Thread-Id", "t\r\n", "", `"`, `{"sessionId":`, `"\"`, `{"id":`)
	f.Fuzz(func(t *testing.T, endpoint byte, name, value1, value2, session, metadata, key, other string) {
		bodies := map[string][]byte{"session_id": []byte(session), "metadata": []byte(metadata), "prompt_cache_key": []byte(key)}
		for _, member := range []string{"messages", "input", "system", "instructions", "conversation", "litellm_session_id", "user", "safety_identifier", "previous_response_id"} {
			bodies[member] = []byte(other)
		}
		q := identity.Request{Endpoint: endpoints()[endpoint%4], Header: map[string][]string{name: {value1, value2}}, Member: func(member string) []byte { return bodies[member] }}
		signals, err := resolver(t).Read(q)
		if err == nil {
			var parent *identity.Parent
			if signals.ParentResponse != "" {
				parent = &identity.Parent{Session: "parent"}
			}
			var s identity.Session
			if s, err = signals.Session(parent); err == nil {
				fine(t, s.ID)
				return
			}
		}
		var refused *identity.Error
		if !errors.As(err, &refused) {
			t.Fatalf("error of another kind: %v", err)
		}
		// The text is made of these three alone.
		known(t, refused.Signal, "X-Session-Id", "session_id", "previous_response_id", "prompt_cache_key")
		known(t, refused.Code, identity.CodeInvalid, identity.CodeConflict, identity.CodeParentNotFound)
		known(t, string(refused.Reason), "empty", "too_long", "not_utf8", "control_character", "white_space", "not_a_string", "differs", "unknown")
	})
}

func known(t *testing.T, word string, words ...string) {
	t.Helper()
	if !slices.Contains(words, word) {
		t.Errorf("an error says %q", word)
	}
}

// fine checks a session id against the rules, written a second time.
func fine(t *testing.T, id string) {
	t.Helper()
	bad := func(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }
	if id == "" || len(id) > 256 || !utf8.ValidString(id) || strings.ContainsFunc(id, bad) || strings.TrimFunc(id, unicode.IsSpace) != id {
		t.Errorf("an id that is none: %q", id)
	}
}

// FuzzFingerprint: any body gives what the reference gives; what is appended,
// and what does not count, changes nothing.
func FuzzFingerprint(f *testing.F) {
	paths, err := filepath.Glob("testdata/fingerprint/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			for i, endpoint := range endpoints() {
				if strings.HasPrefix(file.Name, endpoint) {
					f.Add(byte(i), file.Data)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, e byte, data []byte) {
		endpoint := endpoints()[e%4]
		opened := func(member func(string) []byte) string {
			s := session(t, resolver(t), identity.Request{Endpoint: endpoint, Member: member})
			if s.Source != identity.Prompt {
				return ""
			}
			return s.ID
		}
		var raw map[string]jsontext.Value
		if !jsontext.Value(data).IsValid() || json.Unmarshal(data, &raw) != nil {
			opened(func(name string) []byte { // must not panic
				if name == "messages" || name == "input" || name == "system" || name == "instructions" {
					return data
				}
				return nil
			})
			return
		}
		for _, stronger := range []string{"session_id", "metadata", "litellm_session_id", "conversation", "prompt_cache_key", "previous_response_id"} {
			delete(raw, stronger)
		}
		id := opened(func(name string) []byte { return raw[name] })
		decoded := map[string]any{}
		for name, value := range raw {
			var v any
			if err := json.Unmarshal(value, &v); err != nil {
				t.Fatal(err)
			}
			decoded[name] = v
		}
		if endpoint == "embeddings" {
			if id != "" {
				t.Fatalf("%s: a fingerprint", endpoint)
			}
			return
		}
		if want := reference(t, endpoint, decoded); id != want {
			t.Fatalf("%s: %q, the reference gives %q", data, id, want)
		}
		if id == "" {
			return
		}
		changed := decorate(decoded)
		if got := opened(members(t, string(canonicalJSON(t, changed)))); got != id {
			t.Fatalf("%s: %q after changes that do not count: %s", data, got, canonicalJSON(t, changed))
		}
	})
}

// decorate appends turns, marks blocks, and changes tools and model.
func decorate(body map[string]any) map[string]any {
	changed := maps.Clone(body)
	for _, list := range []string{"messages", "input"} {
		turns, is := body[list].([]any)
		if !is {
			continue
		}
		marked := make([]any, 0, len(turns)+3)
		for _, turn := range turns {
			marked = append(marked, mark(turn))
		}
		changed[list] = append(marked,
			map[string]any{"role": "assistant", "content": "Hi"},
			map[string]any{"role": "system", "content": []any{map[string]any{"type": "strange"}}},
			map[string]any{"role": "user", "content": "And more"})
	}
	changed["tools"] = []any{map[string]any{"name": "x"}}
	changed["model"], changed["temperature"] = "other", 0.5
	return changed
}

// mark puts cache markers on the blocks of a turn, and ids on the turn.
func mark(turn any) any {
	m, is := turn.(map[string]any)
	if !is {
		return turn
	}
	m = maps.Clone(m)
	m["id"], m["status"], m["output_config"] = "msg_1", "completed", map[string]any{"effort": "low"}
	blocks, is := m["content"].([]any)
	if !is {
		return m
	}
	marked := make([]any, len(blocks))
	for i, block := range blocks {
		if b, is := block.(map[string]any); is {
			b = maps.Clone(b)
			b["cache_control"], b["annotations"] = map[string]any{"type": "ephemeral"}, []any{}
			block = b
		}
		marked[i] = block
	}
	m["content"] = marked
	return m
}

// TestHostileBodies: deep, huge and truncated members end without a fingerprint
// and in time that grows with their size only.
func TestHostileBodies(t *testing.T) {
	const much = 1 << 20
	deep := bytes.Repeat([]byte(`[`), much)
	hello := []byte(`[{"role":"user","content":"Hello"}]`)
	for name, raw := range map[string][]byte{
		"deep":              deep,
		"deep and closed":   append(bytes.Repeat([]byte(`[`), much), bytes.Repeat([]byte(`]`), much)...),
		"deep content":      []byte(`[{"role":"user","content":` + string(deep) + `}]`),
		"backslashes":       []byte(`["` + strings.Repeat(`\\`, much) + `"]`),
		"escaped quotes":    []byte(`["` + strings.Repeat(`\"`, much) + `"]`),
		"open string":       []byte(`["` + strings.Repeat(`\"`, much)),
		"many names":        []byte(`[{` + strings.Repeat(`"\u0061":1,`, much/8) + `"a":1}]`),
		"many turns":        []byte(`[` + strings.Repeat(`{"role":"assistant"},`, much/16) + `{}]`),
		"many system turns": []byte(`[` + strings.Repeat(`{"role":"system","content":[]},`, much/16) + `{}]`),
		"many blank blocks": []byte(`[{"role":"user","content":[` + strings.Repeat(`" ",`, much/4) + `" "]}]`),
	} {
		for _, endpoint := range endpoints() {
			q := identity.Request{Endpoint: endpoint, Member: func(member string) []byte {
				if member == "messages" || member == "input" || member == "metadata" || member == "conversation" {
					return raw
				}
				return nil
			}}
			if got := session(t, resolver(t), q); got.Source != identity.Generated {
				t.Errorf("%s on %s: %+v", name, endpoint, got)
			}
		}
	}
	for end := range hello { // truncated anywhere
		q := identity.Request{Endpoint: "chat", Member: func(name string) []byte {
			return map[string][]byte{"messages": hello[:end]}[name]
		}}
		session(t, resolver(t), q)
	}
}

// TestUnvalidated: input that validation would have refused gives no fingerprint
// and no session, whatever part of it is broken.
func TestUnvalidated(t *testing.T) {
	for raw, want := range map[string]identity.Reason{
		`[{"role":"user","content":"\q"}]`:                                  identity.Malformed,
		`[{"role":"user","content":"Hello \ud83d"}]`:                        identity.Malformed,
		`[{"role":"user","content":"\ud83d\ud83d"}]`:                        identity.Malformed,
		`[{"role":"user","content":"\u12"}]`:                                identity.Malformed,
		`[{"role":"user","content":"\u12g4"}]`:                              identity.Malformed,
		`[{"role":"user","content":[{"type":"text","text":"a"},"\ud83d"]}]`: identity.Malformed,
		`[{"role" "user"}]`:                                                 identity.Malformed,
		`[{5:"user"}]`:                                                      identity.Malformed,
		`[{"role":`:                                                         identity.Malformed,
		`[{"role":}]`:                                                       identity.Malformed,
		`[{"role":"user"},`:                                                 identity.Malformed,
		`[{"ro\ud83dle":"user","content":"Hello"}]`:                         identity.UnknownContent,
		`[{"role":"user","content":[{"type":"text"}`:                        identity.Malformed,
		`[{"role":"user","content":["\ud83d" "x"`:                           identity.Malformed,
		`[{"role":"user","content":[{"type":nul}]},5`:                       identity.UnknownContent,
	} {
		signals, err := resolver(t).Read(identity.Request{Endpoint: "chat", Member: func(name string) []byte {
			return map[string][]byte{"messages": []byte(raw)}[name]
		}})
		if err != nil || len(signals.Skipped) != 1 || signals.Skipped[0].Reason != want {
			t.Errorf("%s: %v, %v, want %s", raw, signals.Skipped, err, want)
		}
	}
}
