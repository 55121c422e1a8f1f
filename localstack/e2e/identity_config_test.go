package e2e

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
)

// run runs the built command to its end and returns what it printed and its
// exit code.
func run(t *testing.T, env []string, args ...string) (output string, code int) {
	t.Helper()
	if err := process.Sources(binary); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, binary, args...)
	command.Dir, command.Env = t.TempDir(), append([]string{"PATH=" + os.Getenv("PATH"), "UPSTREAM_KEY=" + upstreamKey}, env...)
	out, err := command.CombinedOutput()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return string(out), ended.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), 0
}

// TestI12 shows that a session header which carries credentials, or changes
// with every request, stops the start and fails the check, by its name and path.
func TestI12(t *testing.T) {
	t.Parallel()
	fleet := accounts.StartT(t, "alpha")
	for _, header := range []string{
		"Authorization", "authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "Api-Key", "x_api_key",
		"X-Auth-Token", "X-Amz-Security-Token", "X-Request-Id", "Traceparent", "not a name",
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		config := document{fleet: fleet, extra: "session: {headers: [{header: X-My-Session}, {header: \"" + header + "\"}]}\n"}.String()
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"-check", "-config", file}, {"-store", "memory", "-addr", "127.0.0.1:0", "-config", file}} {
			out, code := run(t, nil, args...)
			if code != 1 || !strings.Contains(out, "session.headers[1].header: ") || header != "not a name" && !strings.Contains(out, header) {
				t.Errorf("%s with %s: exit code %d, want 1 and the header's path and name:\n%s", header, args[0], code, out)
			}
			if strings.Contains(out, keyA) || strings.Contains(out, upstreamKey) {
				t.Errorf("%s with %s: a secret was printed", header, args[0])
			}
		}
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(document{fleet: fleet}.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-check", "-config", file}, {"-store", "memory", "-addr", "127.0.0.1:0", "-config", file}} {
		if out, code := run(t, []string{"SESSION_HEADER_1=Authorization"}, args...); code != 1 || !strings.Contains(out, "SESSION_HEADER_1") {
			t.Errorf("SESSION_HEADER_1 with %s: exit code %d:\n%s", args[0], code, out)
		}
	}
}

// TestSessionHeaders shows the registry in its order, over a real server that
// must not lose the names with underscores.
func TestSessionHeaders(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) {
		d.extra = "session: {headers: [{header: X-My-Session}, {header: X-My-User, transform: session-uuid}]}\n"
	})
	const id = "0191e0c4-3a9b-7b3a-9a0d-2f6d5f1c0a11"
	order := []struct{ name, value, want string }{
		{"X-My-Session", "mine", "mine"}, {"X-My-User", "user_1_session_" + id, id},
		{"X-Claude-Code-Session-Id", "claude", "claude"}, {"X-Opencode-Session", "opencode", "opencode"},
		{"Session-Id", "codex", "codex"}, {"Session_id", "old-codex", "old-codex"}, {"Conversation_id", "older", "older"},
		{"X-Session-Affinity", "  kilo  ", "kilo"}, {"X-Litellm-Session-Id", "litellm", "litellm"},
		{"Helicone-Session-Id", "helicone", "helicone"}, {"Agent-Session-Id", "agent", "agent"},
	}
	meta := member(ask("chat", false, user("Hello")), "metadata", turn{"user_id": `{"device_id":"d","session_id":"` + id + `"}`})
	for i, row := range order {
		var headers []string
		for _, weaker := range order[i:] {
			headers = append(headers, weaker.name, weaker.value)
		}
		if a := post(t, r.URL+route("chat"), meta, headers...); a.StatusCode != http.StatusOK || sessionOf(a) != "explicit "+row.want {
			t.Errorf("%s first: %d %q, want %q", row.name, a.StatusCode, sessionOf(a), row.want)
		}
		spelled := []string{strings.ToLower(row.name), row.value}
		if a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello")), spelled...); sessionOf(a) != "explicit "+row.want {
			t.Errorf("%s alone: %q", row.name, sessionOf(a))
		}
		for _, invalid := range []string{"", "a\tb", strings.Repeat("x", 257), "a\xff"} { // passed over, never refused
			if invalid == "a\xff" && aside("TestSessionHeaders: no UTF-8") {
				continue
			}
			headers[1] = invalid
			want := "explicit " + id
			if i+1 < len(order) {
				want = "explicit " + order[i+1].want
			}
			if a := post(t, r.URL+route("chat"), meta, headers...); a.StatusCode != http.StatusOK || sessionOf(a) != want {
				t.Errorf("%s as %.9q: %d %q, want %q", row.name, invalid, a.StatusCode, sessionOf(a), want)
			}
		}
		headers[1] = row.value
		if a := post(t, r.URL+route("chat"), meta, append(headers, "X-Session-Id", "core")...); sessionOf(a) != "explicit core" {
			t.Errorf("%s beside a core signal: %q", row.name, sessionOf(a))
		}
	}
	for _, header := range []string{"X-Client-Request-Id", "X-Request-Id", "Traceparent", "Thread-Id", "X-Parent-Session-Id"} {
		if a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello")), header, id); !strings.HasPrefix(sessionOf(a), "prompt ") {
			t.Errorf("%s is taken for a session: %q", header, sessionOf(a))
		}
	}
}

// TestSessionFields shows the body's signals in their order.
func TestSessionFields(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	const id = "0191e0c4-3a9b-7b3a-9a0d-2f6d5f1c0a11"
	rows := []struct {
		name, endpoint, field string
		value                 any
		want                  string // "": nothing of it is a session
	}{
		{"user_id as JSON", "messages", "metadata", turn{"user_id": `{"device_id":"d","account_uuid":"","session_id":"` + id + `"}`}, id},
		{"user_id as text", "messages", "metadata", turn{"user_id": "user_0f_account__session_" + id}, id},
		{"a plain user_id", "messages", "metadata", turn{"user_id": id}, ""},
		{"user_id before the others", "chat", "metadata", turn{"sessionId": "c", "session_id": "b", "user_id": "user_0f_account__session_" + id}, id},
		{"session_id", "chat", "metadata", turn{"session_id": "b", "sessionId": "c"}, "b"},
		{"sessionId", "chat", "metadata", turn{"sessionId": "c", "promptId": "p"}, "c"},
		{"invalid ones are passed over", "chat", "metadata", turn{"user_id": 5, "session_id": "", "sessionId": "c"}, "c"},
		{"litellm_session_id", "chat", "litellm_session_id", "lite", "lite"},
		{"a conversation is for responses", "chat", "conversation", "conv_1", ""},
		{"user is a person", "chat", "user", "someone", ""},
	}
	for _, row := range rows {
		a := post(t, r.URL+route(row.endpoint), member(ask(row.endpoint, false, user("Hello")), row.field, row.value))
		source := a.Header.Get("X-Holdfast-Session-Source")
		if a.StatusCode != http.StatusOK || row.want != "" && sessionOf(a) != "explicit "+row.want || row.want == "" && source != "prompt" {
			t.Errorf("%s: %d %q, want %q\n%.200s", row.name, a.StatusCode, sessionOf(a), row.want, a.body)
		}
		calls := r.owner(a.deployment()).Calls()
		if kept := strings.Contains(string(calls[len(calls)-1].Body), `"`+row.field+`"`); kept == (row.field == "litellm_session_id") {
			t.Errorf("%s: on the account %s is there: %v", row.name, row.field, kept)
		}
	}
}

// TestSessionSwitches shows what can be switched off, in the document and by
// the environment, which has the last word.
func TestSessionSwitches(t *testing.T) {
	t.Parallel()
	signal := []string{"Session-Id", "codex"}
	rows := []struct {
		name, session, env string
		plain, signalled   string // sources; "": no session at all
	}{
		{"off", "{enabled: false}", "", "", ""},
		{"no detection", "{auto_detect: false}", "", "generated", "explicit"},
		{"no registry", "{builtin_rules: false}", "", "prompt", "prompt"},
		{"off by the environment", "{enabled: true}", "SESSION_KEEPING_ENABLED=false", "", ""},
		{"on by the environment", "{auto_detect: false}", "SESSION_AUTO_DETECT=true", "prompt", "explicit"},
	}
	fleet := accounts.StartT(t, "alpha", "bravo", "charlie")
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g, err := process.Start(process.Options{
				Binary: binary, Config: document{fleet: fleet, extra: "session: " + row.session + "\n"}.String(),
				Data: t.TempDir(), Env: []string{"UPSTREAM_KEY=" + upstreamKey, row.env},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Kill()
			for want, headers := range map[string][]string{"plain " + row.plain: nil, "signalled " + row.signalled: signal} {
				a := post(t, g.URL+route("chat"), ask("chat", false, user("Hello")), headers...)
				_, want, _ = strings.Cut(want, " ")
				if _, named := a.Header["X-Session-Id"]; a.StatusCode != http.StatusOK || a.Header.Get("X-Holdfast-Session-Source") != want || named != (want != "") {
					t.Errorf("%d %q from %q, want a session from %q", a.StatusCode, a.Header.Get("X-Session-Id"), a.Header.Get("X-Holdfast-Session-Source"), want)
				}
			}
			strict := post(t, g.URL+route("chat"), ask("chat", false, user("Hello")), "X-Session-Id", "a", "X-Session-Id", "b")
			if refused := strict.code() == "session_conflict"; refused != (row.plain != "") {
				t.Errorf("two sessions: %d %s", strict.StatusCode, strict.code())
			}
		})
	}
}

// TestX4Config shows that nothing of a document which becomes a header can
// break one: such a document is refused, with the path of every such part.
func TestX4Config(t *testing.T) {
	t.Parallel()
	const evil = `"a\r\nX-Evil: 1"`
	config := `
connections:
  - {id: ` + evil + `, provider: openai-compatible, base_url: ` + evil + `, auth: {type: none}}
  - {id: c, provider: openai-compatible, base_url: "http://127.0.0.1:1/v1", auth: {type: bearer, key: ` + evil + `}, headers: {X-A: ` + evil + `, ` + evil + `: a}}
deployments:
  - {id: ` + evil + `, model: ` + evil + `, upstream_model: ` + evil + `, connection: c, protocol: chat}
groups: [{name: ` + evil + `, members: []}]
keys: [{id: ` + evil + `, key: "` + keyA + `", user: ` + evil + `}]
session: {headers: [{header: ` + evil + `}]}
`
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := run(t, nil, "-check", "-config", file)
	for _, path := range []string{
		"connections[0].id", "connections[0].base_url", "connections[1].auth.key", "connections[1].headers.X-A", "connections[1].headers[",
		"deployments[0].id", "deployments[0].model", "deployments[0].upstream_model", "groups[0].name", "keys[0].id", "keys[0].user", "session.headers[0].header",
	} {
		if !strings.Contains(out, "\n"+path) && !strings.HasPrefix(out, path) {
			t.Errorf("%s passes", path)
		}
	}
	if code != 1 || strings.Contains(out, "\nX-Evil") {
		t.Errorf("exit code %d, want 1 and one line for each problem:\n%s", code, out)
	}
}
