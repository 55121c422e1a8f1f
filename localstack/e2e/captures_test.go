package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"holdfast/localstack/accounts"
)

// recorded is a request that a real client sent, as it was recorded.
type recorded struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

// loadCapture reads a recorded request.
func loadCapture(t *testing.T, file string) recorded {
	t.Helper()
	var r recorded
	if err := json.Unmarshal(testdata(t, "captures/"+file+".json"), &r); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return r
}

// endpoint is which protocol the request speaks; its model has the same name.
func (r recorded) endpoint() string {
	for part, endpoint := range map[string]string{"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"} {
		if strings.Contains(r.Path, part) {
			return endpoint
		}
	}
	return ""
}

// lane is the thread inside the session that the request belongs to.
func (r recorded) lane() string {
	if agent := r.Headers["x-claude-code-agent-id"]; agent != "" {
		return agent
	}
	return r.Headers["thread-id"]
}

// send replays the request with a key in the place of the recorded one.
func (r recorded) send(t *testing.T, base, key string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), r.Method, base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range r.Headers {
		request.Header.Set(name, strings.ReplaceAll(value, "sk-test", key))
	}
	return do(t, request)
}

// span is where a member or an element of a JSON document stands.
type span struct {
	name       string // "" in an array
	start, end int    // of the value
}

// spansOf lists the members or elements of a container.
func spansOf(t *testing.T, raw []byte) []span {
	t.Helper()
	decoder := jsontext.NewDecoder(bytes.NewReader(raw))
	open, err := decoder.ReadToken()
	if err != nil {
		t.Fatal(err)
	}
	var list []span
	for decoder.PeekKind() != '}' && decoder.PeekKind() != ']' {
		var s span
		if open.Kind() == '{' {
			name, err := decoder.ReadToken()
			if err != nil {
				t.Fatal(err)
			}
			s.name = name.String()
		}
		value, err := decoder.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		s.end = int(decoder.InputOffset())
		s.start = s.end - len(value)
		list = append(list, s)
	}
	return list
}

// withText returns a body with another value of a top-level string member.
func withText(t *testing.T, raw []byte, name, text string) []byte {
	t.Helper()
	for _, s := range spansOf(t, raw) {
		if s.name == name {
			return slices.Concat(raw[:s.start], []byte(`"`+text+`"`), raw[s.end:])
		}
	}
	t.Fatalf("the body has no %s", name)
	return nil
}

// captureConfig is a document whose Messages accounts are Anthropic's own, and
// whose upstream models have names of their own.
func captureConfig(fleet *accounts.Fleet) string {
	var b strings.Builder
	b.WriteString("connections:\n")
	for _, a := range fleet.Accounts() {
		url := fleet.URL(a.Name())
		b.WriteString("  - {id: " + a.Name() + ", provider: openai-compatible, base_url: " + url + "/v1, auth: {type: bearer, key: \"env:UPSTREAM_KEY\"}, allow_private_network: true}\n")
		b.WriteString("  - {id: anthropic-" + a.Name() + ", provider: anthropic, base_url: " + url + ", auth: {type: x-api-key, key: \"env:UPSTREAM_KEY\"}, allow_private_network: true}\n")
	}
	b.WriteString("deployments:\n")
	for _, a := range fleet.Accounts() {
		for _, protocol := range []string{"chat", "responses", "messages"} {
			connection := a.Name()
			if protocol == "messages" {
				connection = "anthropic-" + connection
			}
			b.WriteString("  - {id: " + protocol + "-" + a.Name() + ", model: " + protocol + ", upstream_model: upstream-" + protocol +
				", connection: " + connection + ", protocol: " + protocol + "}\n")
		}
	}
	return b.String() + "keys: [{id: a, key: \"" + keyA + "\"}, {id: b, key: \"" + keyB + "\"}]\n"
}

// replayRig is accounts that take recorded ciphertext, behind a gateway.
func replayRig(t *testing.T) *rig {
	t.Helper()
	fleet := accounts.StartConfigT(t,
		accounts.Config{Name: "alpha", AnySeal: true}, accounts.Config{Name: "bravo", AnySeal: true}, accounts.Config{Name: "charlie", AnySeal: true})
	return rigOf(t, fleet, captureConfig(fleet), "memory")
}

// TestI10 replays what real clients sent: one session over the turns of a
// conversation, another for each other one, one deployment for each thread of
// it, and nothing changed on the way but what is ours.
func TestI10(t *testing.T) {
	t.Parallel()
	r := replayRig(t)
	seen := map[string]string{}
	for _, c := range recordedConversations() {
		t.Run(c.files[0], func(t *testing.T) {
			served := map[string]string{}
			for _, file := range c.files {
				request := loadCapture(t, file)
				request.Body = withText(t, request.Body, "model", request.endpoint())
				a := request.send(t, r.URL, keyA)
				if a.StatusCode != http.StatusOK || a.err != nil {
					t.Fatalf("%s: %d %v %s", file, a.StatusCode, a.err, a.body)
				}
				id := a.Header.Get("X-Session-Id")
				if c.id == "" {
					c.id = id
				}
				if id != c.id || a.Header.Get("X-Holdfast-Session-Source") != c.source {
					t.Errorf("%s: session %q from %s, want %q from %s", file, id, a.Header.Get("X-Holdfast-Session-Source"), c.id, c.source)
				}
				thread, want := request.endpoint()+" "+request.lane(), "hit"
				if served[thread] == "" {
					served[thread], want = a.deployment(), "claimed"
				}
				if a.affinity() != want || a.deployment() != served[thread] {
					t.Errorf("%s: %s by %s, want %s by %s", file, a.affinity(), a.deployment(), want, served[thread])
				}
				request.checkEnd(t, file, a)
				request.checkArrival(t, r.owner(a.deployment()), file)
			}
			if other := seen[c.id]; other != "" {
				t.Errorf("the session is that of %s", other)
			}
			seen[c.id] = c.files[0]
		})
	}
}

// checkEnd checks that the answer has the end that its protocol asks for.
func (r recorded) checkEnd(t *testing.T, file string, a answer) {
	t.Helper()
	if a.Header.Get("Content-Encoding") != "" {
		t.Errorf("%s: the answer is encoded: %s", file, a.Header.Get("Content-Encoding"))
	}
	if !bytes.Contains(r.Body, []byte(`"stream": true`)) {
		if !json.Valid([]byte(a.body)) {
			t.Errorf("%s: the answer is no JSON: %.200s", file, a.body)
		}
		return
	}
	end := map[string]string{"chat": "data: [DONE]", "responses": "event: response.completed", "messages": "event: message_stop"}[r.endpoint()]
	if strings.Contains(a.body, `"usage":{`) != bytes.Contains(r.Body, []byte(`"include_usage": true`)) && r.endpoint() == "chat" {
		t.Errorf("%s: the client gets the usage that it did not ask for, or not what it did", file)
	}
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") || !strings.Contains(a.body, end) {
		t.Errorf("%s: no stream to its end: %s\n%.300s", file, a.Header.Get("Content-Type"), a.body)
	}
}

// checkArrival checks what last reached the account: the client's own bytes but for the
// model, and of its headers none but the protocol's.
func (r recorded) checkArrival(t *testing.T, account *accounts.Account, file string) {
	t.Helper()
	calls := account.Calls()
	call := calls[len(calls)-1]
	want, got := withText(t, r.Body, "model", "upstream-"+r.endpoint()), call.Body
	streams, asks := bytes.Contains(want, []byte(`"stream": true`)), bytes.Contains(want, []byte(`"stream_options"`))
	if r.endpoint() == "chat" && streams && !asks { // usage is asked for where the client did not
		added := []byte(`,"stream_options":{"include_usage":true}`)
		if !bytes.Contains(got, added) {
			t.Errorf("%s: the account was not asked for usage", file)
		}
		got = bytes.Replace(got, added, nil, 1)
	}
	reasoning := bytes.Contains(want, []byte(reasoningItem))
	if diff := cmp.Diff(bodyPieces(t, want, reasoning), bodyPieces(t, got, reasoning)); diff != "" {
		t.Errorf("%s: the body has changed on its way (-sent +arrived):\n%s", file, diff)
	}
	if _, query, _ := strings.Cut(r.Path, "?"); !strings.HasSuffix(call.Path, query) {
		t.Errorf("%s: path %s, want the query %q", file, call.Path, query)
	}
	passes := []string{
		"Accept", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent", "Authorization", "X-Api-Key",
		"Anthropic-Version", "Anthropic-Beta", "Anthropic-Dangerous-Direct-Browser-Access",
		"Openai-Beta", "Originator", "X-Client-Request-Id", "X-Codex-Beta-Features", "X-Codex-Turn-State",
	}
	for name, values := range call.Headers {
		if !slices.Contains(passes, name) {
			t.Errorf("%s: the account was sent %s: %s", file, name, values)
		}
	}
	if call.Key != accounts.KeyHash(upstreamKey) || call.Headers.Get("Accept-Encoding") != "identity" {
		t.Errorf("%s: key %s, Accept-Encoding %q", file, call.Key, call.Headers.Get("Accept-Encoding"))
	}
}

// bodyPieces are a body as it is compared: its very bytes. Reasoning items, whose
// ciphertext has rules of its own, are left out of the input; what stands
// around them is then taken piece by piece.
func bodyPieces(t *testing.T, body []byte, reasoning bool) []string {
	t.Helper()
	if !reasoning {
		return []string{string(body)}
	}
	var list []string
	for _, s := range spansOf(t, body) {
		value := body[s.start:s.end]
		if s.name != "input" {
			list = append(list, s.name+string(value))
			continue
		}
		for _, e := range spansOf(t, value) {
			if item := value[e.start:e.end]; !bytes.Contains(item, []byte(reasoningItem)) {
				list = append(list, string(item))
			}
		}
	}
	return list
}

// reasoningItem is in every recorded reasoning item and nowhere else.
const reasoningItem = `"type": "reasoning"`

// TestI10Continuation replays a stored conversation of the openai package: each
// turn names the response before it and sends nothing else of the history.
func TestI10Continuation(t *testing.T) {
	t.Parallel()
	r := replayRig(t)
	var first, before answer
	for i, file := range []string{"07-responses-stored-turn1", "08-responses-previous-id", "09-responses-previous-id-stream"} {
		request := loadCapture(t, "openai-js/"+file)
		request.Body = withText(t, request.Body, "model", "responses")
		if i > 0 {
			id, _ := before.field("id").(string)
			request.Body = withText(t, request.Body, "previous_response_id", id)
		}
		before = request.send(t, r.URL, keyA)
		if i == 0 {
			first = before
			continue
		}
		request.checkEnd(t, file, before)
		request.checkArrival(t, r.owner(first.deployment()), file)
		want := "parent " + first.Header.Get("X-Session-Id")
		if before.StatusCode != http.StatusOK || sessionOf(before) != want || before.affinity() != "required" || before.deployment() != first.deployment() {
			t.Errorf("%s: %d %q %s by %s, want %q by %s", file, before.StatusCode, sessionOf(before), before.affinity(), before.deployment(), want, first.deployment())
		}
	}
}

// TestI10SideRoutes shows what Claude Code and Codex ask for beside their
// turns, with or without a key as they do.
func TestI10SideRoutes(t *testing.T) {
	t.Parallel()
	r := replayRig(t)
	for _, file := range []string{"claude-code/10-interactive-preconnect", "claude-code/16-models-discovery"} {
		if a := loadCapture(t, file).send(t, r.URL, keyA); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", file, a.StatusCode, a.body)
		}
	}
	old := recorded{Method: http.MethodHead, Path: "/", Headers: map[string]string{"user-agent": "Bun/1.2.8"}}
	if a := old.send(t, r.URL, ""); a.StatusCode != http.StatusOK || a.body != "" {
		t.Errorf("HEAD /: %d %q", a.StatusCode, a.body)
	}
	models := loadCapture(t, "claude-code/16-models-discovery").send(t, r.URL, keyA)
	var page struct {
		Data []struct {
			Type        string `json:"type"`
			ID          string `json:"id"`
			DisplayName string `json:"display_name"`
			CreatedAt   string `json:"created_at"`
		} `json:"data"`
		HasMore *bool  `json:"has_more"`
		FirstID string `json:"first_id"`
		LastID  string `json:"last_id"`
	}
	if err := json.Unmarshal([]byte(models.body), &page); err != nil {
		t.Fatal(err)
	}
	if page.HasMore == nil || *page.HasMore || len(page.Data) != 3 || page.FirstID != page.Data[0].ID || page.LastID != page.Data[2].ID {
		t.Errorf("no page of Anthropic's form: %s", models.body)
	}
	for _, m := range page.Data {
		if m.Type != "model" || m.ID == "" || m.DisplayName == "" || m.CreatedAt == "" {
			t.Errorf("no model of Anthropic's form: %+v", m)
		}
	}
	upgrade := recorded{Method: http.MethodGet, Path: "/v1/responses", Headers: map[string]string{
		"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13", "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
		"openai-beta": "responses_websockets=2026-02-06", "authorization": "Bearer sk-test",
	}}
	for _, key := range []string{keyA, "sk-unknown"} {
		if a := upgrade.send(t, r.URL, key); a.StatusCode != http.StatusUpgradeRequired || a.code() != "upgrade_required" {
			t.Errorf("an upgrade to WebSocket: %d %s, want 426", a.StatusCode, a.code())
		}
	}
	if n := r.calls(); n != 0 {
		t.Errorf("%d calls reached the accounts, want none", n)
	}
}
