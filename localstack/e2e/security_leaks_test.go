package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"holdfast/localstack/accounts"
)

// raw are values that a client sends and that must not be written down.
func raw() []string {
	return []string{"raw-session-4711", "raw-cache-key-4711", "raw-agent-4711", "raw-person-4711", "raw-metadata-4711", secretWord}
}

// confidential sends requests that carry all of raw, good ones and bad ones.
func confidential(t *testing.T, r *rig) []answer {
	t.Helper()
	var all []answer
	for _, endpoint := range protocols() {
		body := member(ask(endpoint, false, user("Say "+secretWord)), "metadata", turn{"session_id": "raw-metadata-4711"})
		body = member(member(body, "user", "raw-person-4711"), "safety_identifier", "raw-person-4711")
		keyed := member(body, "prompt_cache_key", "raw-cache-key-4711")
		told := []string{"X-Session-Id", "raw-session-4711", "X-Claude-Code-Agent-Id", "raw-agent-4711"}
		send := func(body map[string]any, headers ...string) answer {
			a := post(t, r.URL+route(endpoint), body, headers...)
			all = append(all, a)
			return a
		}
		for range 2 {
			send(keyed, told...)
			send(member(keyed, "metadata", turn{}))
			send(body)
			send(member(body, "stream", true), told...)
		}
		if endpoint == "responses" {
			id, _ := send(member(body, "store", true), told...).field("id").(string)
			send(member(body, "previous_response_id", id), told...)
			send(member(body, "previous_response_id", "resp_raw-session-4711"), told...)
		}
		send(member(body, "session_id", "raw-session-4711 "))
		send(member(body, "session_id", secretWord), told...)
		send(member(body, "model", secretWord), told...)
		send(member(body, "stream", secretWord), told...)
		send(member(body, "api_key", secretWord), told...)
		send(body, append(told, "Authorization", "Bearer "+secretWord)...)
		words := "your key " + upstreamKey + " at https://inner.example/v1"
		if endpoint == "messages" { // what Anthropic says passes as it is, the key apart
			words = "your key " + upstreamKey
		}
		for _, kind := range []accounts.Kind{accounts.ServerError, accounts.Unauthorized, accounts.Garbage, accounts.Cut, accounts.ErrorEvent} {
			for _, a := range r.fleet.Accounts() {
				accounts.InjectT(t, a, accounts.Fault{Kind: kind, Times: 2, Message: words})
			}
			send(body, told...)
			send(member(body, "stream", true), told...)
			for _, a := range r.fleet.Accounts() {
				a.ClearFaults()
			}
		}
	}
	return all
}

// TestX3 shows that neither answers, nor logs at their most talkative, nor the
// store's keys hold anything confidential, and that no secret is on disk at all.
func TestX3(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt")
	r.Kill()
	r.env = append(r.env, "HOLDFAST_LOG_LEVEL=debug")
	r.Gateway = r.start()
	answers := confidential(t, r)
	good := 0
	for _, a := range answers {
		if a.StatusCode == http.StatusOK {
			good++
			continue // the prompt's own words may be part of an answer
		}
		for _, secret := range append(raw(), keyA, keyB, upstreamKey, "127.0.0.1:", "inner.example") {
			if strings.Contains(a.body, secret) {
				t.Errorf("%d %s: the body holds %q: %s", a.StatusCode, a.code(), secret, a.body)
			}
		}
		for name, values := range a.Header {
			for _, secret := range append(raw(), keyA, upstreamKey, "127.0.0.1:") {
				if name != "X-Session-Id" && strings.Contains(strings.Join(values, " "), secret) {
					t.Errorf("%d: the header %s holds %q", a.StatusCode, name, secret)
				}
			}
		}
	}
	if good < 20 || good == len(answers) {
		t.Fatalf("%d of %d requests were answered: this proves little", good, len(answers))
	}
	if code := r.Stop(); code != 0 {
		t.Fatalf("the gateway stopped with %d", code)
	}
	for _, secret := range append(raw(), "raw-session") {
		if strings.Contains(r.Log(), secret) || strings.Contains(r.Output(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	onDisk(t, filepath.Join(r.data, "data", "holdfast.db"))
}

// onDisk checks a store's file: its keys, and all of its bytes.
func onDisk(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{keyA, keyB, upstreamKey, secretWord} {
		if bytes.Contains(content, []byte(secret)) {
			t.Errorf("the store's file holds %q", secret)
		}
	}
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	keys := 0
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(key, _ []byte) error {
				keys++
				for _, secret := range append(raw(), "ann", "resp_") {
					if bytes.Contains(key, []byte(secret)) {
						t.Errorf("a key of the store holds %q: %q", secret, key)
					}
				}
				return nil
			})
		})
	})
	if err != nil || keys < 20 {
		t.Errorf("%d keys were read: %v", keys, err)
	}
}

// TestX3Hints shows that a provider learns of a session what it needs to route
// by, never the id, and that a client's own value is left alone.
func TestX3Hints(t *testing.T) {
	t.Parallel()
	fleet := accounts.StartT(t, "alpha")
	config := "connections:\n"
	deployments := "deployments:\n"
	for _, provider := range []string{"openai", "openrouter", "mistral", "fireworks"} {
		config += "  - {id: " + provider + ", provider: " + provider + ", base_url: " + fleet.URL("alpha") + "/v1, auth: {type: bearer, key: \"env:UPSTREAM_KEY\"}, allow_private_network: true}\n"
		deployments += "  - {id: d-" + provider + ", model: " + provider + ", connection: " + provider + ", protocol: chat}\n"
	}
	r := rigOf(t, fleet, config+deployments+"keys: [{id: a, key: \""+keyA+"\"}, {id: b, key: \""+keyB+"\"}]\n", "memory")
	hint := func(model, key string, body map[string]any, headers ...string) string {
		t.Helper()
		a := post(t, r.URL+route("chat"), member(body, "model", model), bearer(key, headers...)...)
		if a.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", model, a.StatusCode, a.body)
		}
		calls := fleet.Account("alpha").Calls()
		call := calls[len(calls)-1]
		if model == "openai" {
			_, after, _ := strings.Cut(string(call.Body), `"prompt_cache_key":"`)
			value, _, _ := strings.Cut(after, `"`)
			return value
		}
		name := map[string]string{"openrouter": "X-Session-Id", "mistral": "X-Affinity", "fireworks": "X-Session-Affinity"}[model]
		return call.Headers.Get(name)
	}
	body := ask("chat", false, user("Hello"))
	told := []string{"X-Session-Id", "raw-session-4711"}
	for _, model := range []string{"openai", "openrouter", "mistral", "fireworks"} {
		one := hint(model, keyA, body, told...)
		if one == "" || len(one) > 64 || strings.Contains(one, "raw") {
			t.Errorf("%s: the hint is %q", model, one)
		}
		if again := hint(model, keyA, ask("chat", true, user("Other words")), told...); again != one {
			t.Errorf("%s: the session's hint is %q, then %q", model, one, again)
		}
		others := map[string]string{
			"another caller":  hint(model, keyB, body, told...),
			"another session": hint(model, keyA, body, "X-Session-Id", "raw-session-4712"),
			"a sub-agent":     hint(model, keyA, body, append(told, "X-Claude-Code-Agent-Id", "a1")...),
		}
		for name, other := range others {
			if other == one || other == "" {
				t.Errorf("%s: %s has the hint %q", model, name, other)
			}
		}
	}
	if own := hint("openai", keyA, member(body, "prompt_cache_key", "mine"), told...); own != "mine" {
		t.Errorf("the client's own key became %q", own)
	}
}

// hostile answers as its query asks, with headers that are none of a client's
// business.
func hostile(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for _, name := range []string{"Set-Cookie", "Location", "Server", "Via", "X-Powered-By", "Access-Control-Allow-Origin", "X-Internal", "Content-Encoding", "Alt-Svc", "Www-Authenticate"} {
		h.Set(name, "evil")
	}
	for _, name := range []string{"X-Session-Id", "X-Holdfast-Affinity", "X-Holdfast-Deployment", "X-Holdfast-Session-Source", "X-Holdfast-Error", "X-Holdfast-Attempts"} {
		h.Set(name, "evil")
	}
	h.Set("X-Ratelimit-Remaining-Tokens", "7")
	var status int
	var kind, body string
	_, _ = fmt.Sscanf(r.URL.Query().Get("answer"), "%d %s", &status, &kind)
	switch kind {
	case "html":
		h.Set("Content-Type", "text/html")
		body = "<html><h1>" + http.StatusText(status) + "</h1>nginx at https://inner.example/v1 " + upstreamKey + "</html>"
	case "text":
		h.Set("Content-Type", "text/plain")
		body = "upstream connect error at 10.0.0.7:443, key " + upstreamKey
	case "list":
		h.Set("Content-Type", "application/json")
		body = `[{"error":{"code":` + fmt.Sprint(status) + `,"message":"no","status":"FAILED"}}]`
	case "cut":
		h.Set("Content-Type", "application/json")
		body = `{"error":{"message":"half`
	case "good":
		h.Set("Content-Type", "application/json")
		body = `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"content":[],"stop_reason":"end_turn","status":"completed","output":[]}`
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// TestX3Providers shows that of what a provider answers only what belongs to the
// protocol comes through, and that its errors are told in the client's form
// whatever they come as.
func TestX3Providers(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(hostile))
	t.Cleanup(provider.Close)
	rows := []string{
		"200 good", "400 html", "400 text", "400 list", "400 cut", "400 empty", "404 html", "413 html", "418 text", "422 empty", "429 html", "429 empty",
		"500 html", "500 empty", "502 html", "503 text", "504 html", "401 html", "403 html", "204 empty", "301 html", "304 empty", "206 html",
	}
	config := "connections: [{id: c, provider: openai-compatible, base_url: \"" + provider.URL + "/v1\", auth: {type: bearer, key: \"env:UPSTREAM_KEY\"}, allow_private_network: true}]\ndeployments:\n"
	for _, endpoint := range protocols() {
		for i := range rows { // each its own: a failure is no other row's cooldown
			config += fmt.Sprintf("  - {id: d-%s-%d, model: %s-%d, connection: c, protocol: %s}\n", endpoint, i, endpoint, i, endpoint)
		}
	}
	r := rigOf(t, accounts.StartT(t), config+"keys: [{id: a, key: \""+keyA+"\"}]\n", "memory")
	for _, endpoint := range protocols() {
		for i, row := range rows {
			body := member(ask(endpoint, false, user("Hello")), "model", fmt.Sprintf("%s-%d", endpoint, i))
			a := post(t, r.URL+route(endpoint)+"?answer="+strings.ReplaceAll(row, " ", "%20"), body, "X-Session-Id", "s")
			own(t, row, a)
			if row == "200 good" {
				if a.StatusCode != http.StatusOK || a.Header.Get("X-Ratelimit-Remaining-Tokens") != "7" || sessionOf(a) != "explicit s" {
					t.Errorf("%s: %d %q, remaining tokens %q", endpoint, a.StatusCode, sessionOf(a), a.Header.Get("X-Ratelimit-Remaining-Tokens"))
				}
				continue
			}
			if a.StatusCode < 400 || a.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s, %s: %d %s", endpoint, row, a.StatusCode, a.Header.Get("Content-Type"))
			}
			if _, form := a.field("error", "message").(string); !form || (a.field("type") == "error") != (endpoint == "messages") {
				t.Errorf("%s, %s: %d is no error of the protocol: %s", endpoint, row, a.StatusCode, a.body)
			}
			if waits := a.StatusCode == 429 || a.StatusCode == 503; waits && a.Header.Get("Retry-After") == "" {
				t.Errorf("%s, %s: %d without Retry-After", endpoint, row, a.StatusCode)
			}
		}
	}
}

// own checks that nothing of a provider's own is in an answer.
func own(t *testing.T, row string, a answer) {
	t.Helper()
	for name, values := range a.Header {
		if strings.Contains(strings.Join(values, " "), "evil") {
			t.Errorf("%s: the provider's %s came through", row, name)
		}
	}
	for _, secret := range []string{upstreamKey, "inner.example", "10.0.0.7", "nginx"} {
		if strings.Contains(a.body, secret) {
			t.Errorf("%s: the answer holds %q: %s", row, secret, a.body)
		}
	}
}
