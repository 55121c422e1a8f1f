package e2e

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"holdfast/localstack/accounts"
)

// hint is where one provider takes the identity of a session.
type hint struct {
	provider, endpoint string
	header, field      string // one of the two; "": none
}

// hints is the list of all providers that have one, and of some that have none.
func hints() []hint {
	return []hint{
		{"openai", "chat", "", "prompt_cache_key"}, {"openai", "responses", "", "prompt_cache_key"},
		{"azure", "chat", "", "prompt_cache_key"}, {"azure", "responses", "", "prompt_cache_key"},
		{"openrouter", "chat", "X-Session-Id", ""}, {"openrouter", "messages", "X-Session-Id", ""},
		{"fireworks", "chat", "X-Session-Affinity", ""}, {"deepinfra", "chat", "X-Session-Affinity", ""},
		{"workers-ai", "chat", "X-Session-Affinity", ""}, {"workers-ai", "responses", "X-Session-Affinity", ""},
		{"mistral", "chat", "X-Affinity", ""}, {"xai", "chat", "X-Grok-Conv-Id", ""}, {"xai", "responses", "X-Grok-Conv-Id", ""},
		{"vertex", "messages", "X-Vertex-Ai-Session-Id", ""}, {"vertex", "chat", "", ""},
		{"anthropic", "messages", "", ""}, {"gemini", "chat", "", ""}, {"deepseek", "chat", "", ""}, {"groq", "chat", "", ""},
		{"together", "chat", "", ""}, {"bedrock", "chat", "", ""}, {"openai-compatible", "chat", "", ""}, {"vllm", "chat", "", ""}, {"ollama", "chat", "", ""},
	}
}

// model is the one that a hint's provider serves.
func (h hint) model() string { return h.provider + "-" + h.endpoint }

// withProviders makes a deployment of every provider on one account, and one with
// hints switched off.
func withProviders(d *document) {
	d.more = ""
	at := d.fleet.URL("alpha") + "/v1"
	connections := ""
	for _, h := range hints() {
		for _, off := range []string{"", "-off"} {
			line := "  - {id: " + h.model() + off + ", provider: " + h.provider + ", base_url: " + at + ", auth: {type: bearer, key: \"env:UPSTREAM_KEY\"}, allow_private_network: true"
			if off != "" {
				line += ", hints: false"
			}
			connections += line + "}\n"
			d.more += "  - {id: d-" + h.model() + off + ", model: " + h.model() + off + ", connection: " + h.model() + off + ", protocol: " + h.endpoint + "}\n"
		}
	}
	d.connections = connections
}

// TestHints shows each provider being told the session in its own way: a hash of
// at most 64 characters, equal over turns and unlike another's, never the id; and
// not at all where it has no such place, or the connection has it off.
func TestHints(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", withProviders)
	for _, h := range hints() {
		told := func(off, session string, headers ...string) (string, accounts.Call) {
			body := ask(h.endpoint, false, user("Hello"))
			body["model"] = h.model() + off
			if a := post(t, r.URL+route(h.endpoint), body, append(headers, "X-Session-Id", session)...); a.StatusCode != 200 {
				t.Fatalf("%s: %d %s", h.model(), a.StatusCode, a.body)
			}
			return r.told(t, h)
		}
		first, call := told("", "raw-session-4711")
		again, _ := told("", "raw-session-4711")
		other, _ := told("", "raw-session-4712")
		off, _ := told("-off", "raw-session-4711")
		if strings.Contains(string(call.Body), "raw-session") || off != "" {
			t.Errorf("%s: hint %q where it is off; body %s", h.model(), off, call.Body)
		}
		for name, values := range call.Headers {
			if strings.Contains(strings.Join(values, ""), "raw-session") {
				t.Errorf("%s: the raw id in %s", h.model(), name)
			}
		}
		if h.header == "" && h.field == "" {
			if strings.Contains(string(call.Body), "prompt_cache_key") || call.Headers.Get("X-Vertex-Ai-Session-Id") != "" || call.Headers.Get("X-Session-Affinity") != "" {
				t.Errorf("%s was told: %v %s", h.model(), call.Headers, call.Body)
			}
			continue
		}
		if first == "" || first != again || first == other || len(first) > 64 {
			t.Errorf("%s: %q, then %q, another session %q", h.model(), first, again, other)
		}
		if h.header != "" && h.header != "X-Session-Id" { // that one names the session to the gateway
			for _, switched := range []string{"", "-off"} {
				if own, _ := told(switched, "raw-session-4711", h.header, "the client's own"); own != "the client's own" {
					t.Errorf("%s%s: the client's own value became %q", h.model(), switched, own)
				}
			}
		}
	}
}

// told is what the last call of a provider's account was told of the session.
func (r *rig) told(t *testing.T, h hint) (string, accounts.Call) {
	t.Helper()
	calls := r.fleet.Account("alpha").Calls()
	last := calls[len(calls)-1]
	if h.field == "" {
		return last.Headers.Get(h.header), last
	}
	var body map[string]any
	if err := json.Unmarshal(last.Body, &body); err != nil {
		t.Fatal(err)
	}
	text, _ := body[h.field].(string)
	return text, last
}

// TestHintsOfTheClient shows values in the body that the client has given itself.
func TestHintsOfTheClient(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", withProviders)
	for _, h := range hints() {
		switch {
		case h.field != "":
			body := member(ask(h.endpoint, false, user("Hello")), h.field, "the client's own")
			body["model"] = h.model()
			if a := post(t, r.URL+route(h.endpoint), body); a.StatusCode != 200 {
				t.Fatalf("%s: %d %s", h.model(), a.StatusCode, a.body)
			}
			if got, _ := r.told(t, h); got != "the client's own" {
				t.Errorf("%s: %q", h.model(), got)
			}
		case h.provider == "openrouter":
			body := member(ask(h.endpoint, false, user("Hello")), "session_id", "own")
			body["model"] = h.model()
			post(t, r.URL+route(h.endpoint), body)
			if got, call := r.told(t, h); got != "" || !strings.Contains(string(call.Body), `"session_id":"own"`) {
				t.Errorf("%s: header %q, body %s", h.model(), got, call.Body)
			}
		}
	}
}
