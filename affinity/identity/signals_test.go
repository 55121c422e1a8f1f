package identity_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/affinity/identity"
)

const uuid1, uuid2 = "0fa70483-62be-4fd6-956a-167fd042b81d", "91192fe0-6156-4e34-bf3c-69701c7bf816"

// TestCore: I1 and I2, the strict signals.
func TestCore(t *testing.T) {
	const header, field = "X-Session-Id", "session_id"
	conflict := func(signal string) string { return "session_conflict " + signal + " differs" }
	invalid := func(signal, reason string) string { return "invalid_session_id " + signal + " " + reason }
	long := strings.Repeat("x", 256)
	for _, c := range []struct {
		name    string
		headers []string // values of X-Session-Id
		body    string   // raw session_id
		want    string   // the id
		refused string
	}{
		{"header", []string{"chat-2026-11-30"}, ``, "chat-2026-11-30", ""},
		{"body", nil, `"s1"`, "s1", ""},
		{"equal header lines", []string{"s1", "s1"}, ``, "s1", ""},
		{"equal header and body", []string{"s1"}, `"s\u0031"`, "s1", ""},
		{"null in the body counts as absent", []string{"s1"}, ` null `, "s1", ""},
		{"256 bytes", []string{long}, ``, long, ""},
		{"256 bytes in the body", nil, quote(t, long), long, ""},
		{"256 bytes of UTF-8", []string{strings.Repeat("é", 128)}, ``, strings.Repeat("é", 128), ""},
		{"256 bytes as escapes", nil, `"` + strings.Repeat(`\u0078`, 256) + `"`, long, ""},
		{"white space inside", []string{"a b\u2003c"}, ``, "a b\u2003c", ""},
		{"different header lines", []string{"session-1", "session-2"}, ``, "", conflict(header)},
		{"the third line differs", []string{"session-1", "session-1", "session-2"}, `"session-1"`, "", conflict(header)},
		{"header and body differ", []string{"session-1"}, `"session-2"`, "", conflict(field)},
		{"letter case differs", []string{"session-a"}, `"session-A"`, "", conflict(field)},
		{"invalid before conflict", []string{"session-1", "session-2", ""}, ``, "", invalid(header, "empty")},
		{"invalid body before conflict", []string{"session-1", "session-2"}, `""`, "", invalid(field, "empty")},
		{"empty header", []string{""}, ``, "", invalid(header, "empty")},
		{"an empty line beside a good one", []string{"session-1", ""}, ``, "", invalid(header, "empty")},
		{"257 bytes", []string{long + "x"}, ``, "", invalid(header, "too_long")},
		{"257 bytes in the body", nil, quote(t, long+"x"), "", invalid(field, "too_long")},
		{"very long in the body", nil, quote(t, strings.Repeat(long, 99)), "", invalid(field, "too_long")},
		{"tab inside", []string{"session\t1"}, ``, "", invalid(header, "control_character")},
		{"line break, X4", []string{"session-1\r\nX-Evil: 1"}, ``, "", invalid(header, "control_character")},
		{"line break in the body, X4", nil, `"session-1\r\nX-Evil: 1"`, "", invalid(field, "control_character")},
		{"NUL", nil, `"session\u0000one"`, "", invalid(field, "control_character")},
		{"DEL", []string{"session\x7fone"}, ``, "", invalid(header, "control_character")},
		{"C1", []string{"session\u0085one"}, ``, "", invalid(header, "control_character")},
		{"C1 at the end", []string{"session-one\u009f"}, ``, "", invalid(header, "control_character")},
		{"trailing space", nil, `"session-1 "`, "", invalid(field, "white_space")},
		{"leading no-break space", []string{"\u00a0session-1"}, ``, "", invalid(header, "white_space")},
		{"trailing ideographic space", []string{"session-1\u3000"}, ``, "", invalid(header, "white_space")},
		{"only white space", nil, `" "`, "", invalid(field, "white_space")},
		{"not UTF-8", []string{"session-\xff"}, ``, "", invalid(header, "not_utf8")},
		{"half a surrogate pair", nil, `"session-\ud800"`, "", invalid(field, "not_utf8")},
		{"number", nil, `12345678901`, "", invalid(field, "not_a_string")},
		{"object", nil, `{"id":"session-1"}`, "", invalid(field, "not_a_string")},
		{"false", nil, `false`, "", invalid(field, "not_a_string")},
		{"a lone quote", nil, `"`, "", invalid(field, "not_utf8")},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := identity.Request{Endpoint: "chat", Header: map[string][]string{}, Member: func(name string) []byte {
				if name == field && c.body != "" {
					return []byte(c.body)
				}
				return nil
			}}
			if c.headers != nil {
				q.Header[header] = c.headers
			}
			signals, err := resolver(t).Read(q)
			if got := refusal(t, err, append(c.headers, strings.Trim(c.body, `"`))...); got != c.refused {
				t.Fatalf("refused with %q, want %q", got, c.refused)
			}
			if c.refused != "" {
				return
			}
			s, err := signals.Session(nil)
			if err != nil || s.ID != c.want || s.Source != identity.Explicit {
				t.Errorf("got %+v, %v", s, err)
			}
			if want := map[bool]string{true: header, false: field}[c.headers != nil]; s.Signal != want {
				t.Errorf("signal %s, want %s", s.Signal, want)
			}
		})
	}
}

// TestHeaderSpelling: a header is found whatever its case, two spellings are two
// lines of one header, and an underscore is no hyphen.
func TestHeaderSpelling(t *testing.T) {
	r := resolver(t)
	for _, name := range []string{"x-session-id", "X-SESSION-ID", "X-Session-Id"} {
		if got := session(t, r, identity.Request{Header: map[string][]string{name: {"s1"}}}); got.ID != "s1" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	_, err := r.Read(identity.Request{Header: map[string][]string{"x-session-id": {"session-1"}, "X-Session-Id": {"session-2"}}})
	if got := refusal(t, err); got != "session_conflict X-Session-Id differs" {
		t.Errorf("two spellings: %q", got)
	}
	for _, name := range []string{"X_Session_Id", "X-Session-Id-" + strings.Repeat("x", 200), "X-Sessıon-Id"} {
		if got := session(t, r, identity.Request{Header: map[string][]string{name: {"s1"}}}); got.Source != identity.Generated {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestRegistry: what known clients send, in its order, leniently.
func TestRegistry(t *testing.T) {
	oldUser := "user_" + strings.Repeat("d0", 32) + "_account_" + uuid2 + "_session_" + uuid1
	newUser := `{"device_id":"d0d0","account_uuid":"` + uuid2 + `","session_id":"` + uuid1 + `"}`
	everything := []string{
		"X-Claude-Code-Session-Id: h1", "X-Opencode-Session: h2", "Session-Id: h3", "Session_id: h4", "Conversation_id: h5",
		"X-Session-Affinity: h6", "X-Litellm-Session-Id: h7", "Helicone-Session-Id: h8", "Agent-Session-Id: h9",
	}
	body := `{"metadata":{"session_id":"b2","sessionId":"b3","user_id":` + quote(t, oldUser) + `},"litellm_session_id":"b4","conversation":"b5"}`
	rows := []struct {
		name       string
		headers    []string
		body       string
		id, signal string
		skipped    []identity.Skip
	}{
		{"core wins over the registry without a conflict", append(everything, "X-Session-Id: core"), body, "core", "X-Session-Id", nil},
		{"old user_id", nil, body, uuid1, "metadata.user_id", nil},
		{"new user_id", nil, `{"metadata":{"user_id":` + quote(t, newUser) + `}}`, uuid1, "metadata.user_id", nil},
		{"user_id without a session, never the device or account", nil, `{"metadata":{"user_id":` + quote(t, `{"device_id":"d0","account_uuid":"`+uuid2+`"}`) + `}}`,
			"", "", []identity.Skip{{"metadata.user_id", identity.NoSessionUUID}}},
		{"user_id with a session twice", nil, `{"metadata":{"user_id":` + quote(t, `{"session_id":"a","session_id":"b"}`) + `}}`,
			"", "", []identity.Skip{{"metadata.user_id", identity.Malformed}}},
		{"user_id with an empty account", nil, `{"metadata":{"user_id":"user_d0_account__session_` + uuid1 + `"}}`, uuid1, "metadata.user_id", nil},
		{"user_id that ends in an account", nil, `{"metadata":{"user_id":"user_d0_account_` + uuid1 + `"}}`, "", "", []identity.Skip{{"metadata.user_id", identity.NoSessionUUID}}},
		{"user_id with something behind the session", nil, `{"metadata":{"user_id":"user_d0_session_` + uuid1 + `_x"}}`, "", "", []identity.Skip{{"metadata.user_id", identity.NoSessionUUID}}},
		{"user_id that is a user", nil, `{"metadata":{"user_id":"test-user"}}`, "", "", []identity.Skip{{"metadata.user_id", identity.NoSessionUUID}}},
		{"user_id that is a number", nil, `{"metadata":{"user_id":7,"session_id":"b2"}}`, "b2", "metadata.session_id", []identity.Skip{{"metadata.user_id", identity.NotString}}},
		{"user_id out of bounds", nil, `{"metadata":{"user_id":` + quote(t, strings.Repeat("x", 20000)+"_session_"+uuid1) + `}}`, "", "", []identity.Skip{{"metadata.user_id", identity.TooLong}}},
		{"user_id a little out of bounds", nil, `{"metadata":{"user_id":` + quote(t, strings.Repeat("x", 2048)+"_session_"+uuid1) + `}}`, "", "", []identity.Skip{{"metadata.user_id", identity.TooLong}}},
		{"metadata.session_id", nil, `{"metadata":{"sessionId":"b3","session_id":"b2"},"litellm_session_id":"b4","conversation":"b5"}`, "b2", "metadata.session_id", nil},
		{"metadata.sessionId", nil, `{"metadata":{"sessionId":"b3"},"litellm_session_id":"b4","conversation":"b5"}`, "b3", "metadata.sessionId", nil},
		{"litellm_session_id", nil, `{"metadata":{"user_id":null},"litellm_session_id":"b4","conversation":"b5"}`, "b4", "litellm_session_id", nil},
		{"conversation", nil, `{"metadata":null,"conversation":"conv_1"}`, "conv_1", "conversation", nil},
		{"conversation object", nil, `{"metadata":[],"conversation":{"name":"x","id":"conv_1"}}`, "conv_1", "conversation", nil},
		{"conversation without id", nil, `{"conversation":{"name":"x"}}`, "", "", []identity.Skip{{"conversation", identity.NotString}}},
		{"surrounding white space is trimmed", []string{"Session-Id: \t s1 \u2003"}, ``, "s1", "Session-Id", nil},
		{"white space in the body too", nil, `{"metadata":{"session_id":" s1\n"}}`, "s1", "metadata.session_id", nil},
		{"equal lines", []string{"Session-Id: s1", "Session-Id:  s1 "}, ``, "s1", "Session-Id", nil},
		{"an invalid one gives way", []string{"X-Claude-Code-Session-Id: " + strings.Repeat("x", 257), "Session-Id: a\tb", "Session_id: ", "Conversation_id: \xff", "X-Session-Affinity: s6"}, ``, "s6", "X-Session-Affinity",
			[]identity.Skip{{"X-Claude-Code-Session-Id", identity.TooLong}, {"Session-Id", identity.ControlCharacter}, {"Session_id", identity.Empty}, {"Conversation_id", identity.NotUTF8}}},
		{"lines that differ give way", []string{"Session-Id: s1", "Session-Id: s2", "Agent-Session-Id: s9"}, ``, "s9", "Agent-Session-Id", []identity.Skip{{"Session-Id", identity.Differs}}},
		{"X-Client-Request-Id is no session", []string{"X-Client-Request-Id: s1", "X-Request-Id: s2", "Traceparent: s3", "Idempotency-Key: s4"}, ``, "", "", nil},
	}
	for i, name := range everything { // each one wins over all that come after it
		rows = append(rows, struct {
			name       string
			headers    []string
			body       string
			id, signal string
			skipped    []identity.Skip
		}{name, everything[i:], body, name[strings.Index(name, ": ")+2:], name[:strings.Index(name, ": ")], nil})
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := resolver(t, func(rules *identity.Rules) { rules.AutoDetect = false })
			signals, err := r.Read(identity.Request{Endpoint: "responses", Header: headers(row.headers...), Member: members(t, row.body)})
			if err != nil {
				t.Fatal(err)
			}
			want := identity.Session{ID: row.id, Source: identity.Explicit, Signal: row.signal}
			got, err := signals.Session(nil)
			if row.id == "" {
				want = identity.Session{ID: got.ID, Source: identity.Generated}
			}
			if err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
			if diff := cmp.Diff(row.skipped, signals.Skipped); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestConversationElsewhere: conversation is a signal on responses only.
func TestConversationElsewhere(t *testing.T) {
	q := identity.Request{Endpoint: "chat", Member: members(t, `{"conversation":"conv_1"}`)}
	if got := session(t, resolver(t), q); got.Source != identity.Generated {
		t.Errorf("got %+v", got)
	}
}

// TestParent: the previous response's session, and what must agree with it.
func TestParent(t *testing.T) {
	const body = `{"previous_response_id":"resp_1","prompt_cache_key":7,"input":"More"}`
	for _, c := range []struct {
		name    string
		headers []string
		parent  *identity.Parent
		want    identity.Session
		refused string
	}{
		{"inherited", nil, &identity.Parent{Session: "s1"}, identity.Session{ID: "s1", Source: identity.Inherited, Signal: "previous_response_id"}, ""},
		{"C2, explicit agrees: still the parent's", []string{"X-Session-Id: s1"}, &identity.Parent{Session: "s1"}, identity.Session{ID: "s1", Source: identity.Inherited, Signal: "previous_response_id"}, ""},
		{"C2, explicit disagrees", []string{"X-Session-Id: session-two"}, &identity.Parent{Session: "session-one"}, identity.Session{}, "session_conflict previous_response_id differs"},
		{"a registry value that differs is ignored", []string{"Session-Id: s2"}, &identity.Parent{Session: "s1"}, identity.Session{ID: "s1", Source: identity.Inherited, Signal: "previous_response_id"}, ""},
		{"no record is never a guess", []string{"X-Session-Id: s1"}, nil, identity.Session{}, "previous_response_not_found previous_response_id unknown"},
		{"a parent made without identity", []string{"X-Session-Id: s1"}, &identity.Parent{}, identity.Session{ID: "s1", Source: identity.Explicit, Signal: "X-Session-Id"}, ""},
		{"the same with a client's own signal", []string{"Session-Id: s2"}, &identity.Parent{}, identity.Session{ID: "s2", Source: identity.Explicit, Signal: "Session-Id"}, ""},
		{"the same without any: an increment alone is not linked", nil, &identity.Parent{}, identity.Session{ID: "01010101-0101-4101-8101-010101010101", Source: identity.Generated}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			signals, err := resolver(t).Read(identity.Request{Endpoint: "responses", Header: headers(c.headers...), Member: members(t, body)})
			if err != nil || signals.ParentResponse != "resp_1" {
				t.Fatalf("read %+v, %v", signals, err)
			}
			got, err := signals.Session(c.parent)
			if refused := refusal(t, err, "session-one", "session-two"); refused != c.refused || got != c.want {
				t.Errorf("got %+v, refused with %q", got, refused)
			}
			again, _ := signals.Session(c.parent)
			if again != got {
				t.Errorf("asked twice: %+v, then %+v", got, again)
			}
		})
	}
}

// TestParentForms: what previous_response_id may look like, and where it counts.
func TestParentForms(t *testing.T) {
	long := "resp_" + strings.Repeat("x", 1019)
	const refused = "previous_response_not_found previous_response_id "
	for _, c := range []struct{ name, endpoint, raw, want, refused string }{
		{"id", "responses", `"resp_1"`, "resp_1", ""},
		{"null", "responses", `null`, "", ""},
		{"1024 bytes", "responses", quote(t, long), long, ""},
		{"on chat", "chat", `"resp_1"`, "", ""},
		{"on messages", "messages", `7`, "", ""},
		{"1025 bytes", "responses", quote(t, long+"x"), "", refused + "too_long"},
		{"empty", "responses", `""`, "", refused + "empty"},
		{"number", "responses", `7`, "", refused + "not_a_string"},
		{"line break", "responses", `"resp_1\n"`, "", refused + "control_character"},
	} {
		for _, enabled := range []bool{true, false} { // ownership does not depend on identification
			r := resolver(t, func(rules *identity.Rules) { rules.Enabled = enabled })
			signals, err := r.Read(identity.Request{Endpoint: c.endpoint, Member: members(t, `{"previous_response_id":`+c.raw+`}`)})
			if got := refusal(t, err); got != c.refused || signals.ParentResponse != c.want {
				t.Errorf("%s: %q, refused with %q", c.name, signals.ParentResponse, got)
			}
		}
	}
}

// TestCacheKey: prompt_cache_key is hashed, and checked only when it is needed.
func TestCacheKey(t *testing.T) {
	const id = "cache:v1:2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683" // printf key | sha256sum
	r := resolver(t)
	for _, c := range []struct {
		name, header, raw string
		want              identity.Session
		refused           string
	}{
		{"key", "", `"key"`, identity.Session{ID: id, Source: identity.CacheKey, Signal: "prompt_cache_key"}, ""},
		{"escaped", "", `"k\u0065y"`, identity.Session{ID: id, Source: identity.CacheKey, Signal: "prompt_cache_key"}, ""},
		{"null falls to the opening", "", `null`, identity.Session{ID: "prompt:v1:d8503c1d66745f8e0efe2dea45fc52e0f3114cc0e8e01d1c59fe47e3902ece4d", Source: identity.Prompt}, ""},
		{"not needed, not checked", "X-Session-Id: s1", `7`, identity.Session{ID: "s1", Source: identity.Explicit, Signal: "X-Session-Id"}, ""},
		{"not needed beside the registry", "Session-Id: s1", `""`, identity.Session{ID: "s1", Source: identity.Explicit, Signal: "Session-Id"}, ""},
		{"empty", "", `""`, identity.Session{}, "invalid_session_id prompt_cache_key empty"},
		{"white space", "", `" key-of-client"`, identity.Session{}, "invalid_session_id prompt_cache_key white_space"},
		{"number", "", `7`, identity.Session{}, "invalid_session_id prompt_cache_key not_a_string"},
		{"too long", "", quote(t, strings.Repeat("x", 257)), identity.Session{}, "invalid_session_id prompt_cache_key too_long"},
	} {
		q := identity.Request{Endpoint: "chat", Member: members(t, `{"messages":[{"role":"user","content":"Hello"}],"prompt_cache_key":`+c.raw+`}`)}
		if c.header != "" {
			q.Header = headers(c.header)
		}
		signals, err := r.Read(q)
		if got := refusal(t, err, c.raw); got != c.refused {
			t.Errorf("%s: refused with %q", c.name, got)
		}
		if err != nil {
			continue
		}
		got, err := signals.Session(nil)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, diff)
		}
	}
}

// TestSwitches: enabled, auto_detect and builtin_rules.
func TestSwitches(t *testing.T) {
	opening := identity.Request{Endpoint: "chat", Header: headers("Session-Id: s3"),
		Member: members(t, `{"messages":[{"role":"user","content":"Hello"}],"metadata":{"session_id":"b2"}}`)}
	broken := identity.Request{Endpoint: "chat", Header: headers("X-Session-Id: "), Member: members(t, `{"prompt_cache_key":7}`)}

	off := resolver(t, func(r *identity.Rules) { r.Enabled = false })
	for _, q := range []identity.Request{opening, broken} {
		if got := session(t, off, q); got != (identity.Session{}) {
			t.Errorf("switched off: %+v", got)
		}
	}
	foreign := resolver(t, func(r *identity.Rules) { r.Builtin = false })
	if got := session(t, foreign, opening); got.Source != identity.Prompt {
		t.Errorf("without built-in rules: %+v", got)
	}
	neither := resolver(t, func(r *identity.Rules) { r.Builtin, r.AutoDetect = false, false })
	if got := session(t, neither, opening); got.Source != identity.Generated {
		t.Errorf("without detection: %+v", got)
	}
	if got := session(t, neither, identity.Request{Header: headers("X-Session-Id: s1")}); got.ID != "s1" {
		t.Errorf("the core needs no switch: %+v", got)
	}
	var zero identity.Signals
	if got, err := zero.Session(nil); got != (identity.Session{}) || err != nil {
		t.Errorf("zero signals: %+v, %v", got, err)
	}
}

// TestLogs: X3, what is logged shows no id and no person.
func TestLogs(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	q := identity.Request{Endpoint: "responses", Header: headers("Session-Id: bad\tid-one", "X-Parent-Session-Id: id-two", "X-Claude-Code-Agent-Id: id-three"),
		Member: members(t, `{"conversation":"id-four","user":"id-five","input":"id-six"}`)}
	signals, err := resolver(t).Read(q)
	if err != nil {
		t.Fatal(err)
	}
	s, err := signals.Session(nil)
	if err != nil || s.ID != "id-four" || s.Lane != "id-three" || s.ParentAgent != "id-two" {
		t.Fatalf("got %+v, %v", s, err)
	}
	log.Info("exchange", "session", s, "signals", signals)
	if got := out.String(); strings.Contains(got, "id-") || !strings.Contains(got, "control_character") || !strings.Contains(got, `"conversation"`) {
		t.Errorf("logged %s", got)
	}
}
