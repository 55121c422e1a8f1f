package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
	"holdfast/localstack/wirefault"
)

// nativeBody is a request as a provider reads it, with what only it knows.
func nativeBody(endpoint string, stream bool, turns ...turn) map[string]any {
	body := ask(endpoint, stream, turns...)
	body["a_new_field"], body["session_id"] = map[string]any{"x": 1}, "s"
	if endpoint == "responses" {
		body["include"], body["reasoning"] = []string{"reasoning.encrypted_content"}, map[string]any{"effort": "high"}
	}
	return body
}

// TestBypassFidelity shows bytes, query and headers going to the provider as they
// are, and its answer coming back as it is: streamed and whole, ciphertext
// included, with usage read on the way.
func TestBypassFidelity(t *testing.T) {
	for _, store := range rigs("memory", "dynamodb") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store)
			alpha := r.fleet.Account("alpha")
			for _, endpoint := range protocols() {
				for _, stream := range []bool{false, true} {
					body := encoded(t, nativeBody(endpoint, stream, user(secretWord+long(50))))
					body = strings.Replace(body, `{`, "{ \n", 1) // as no encoder writes it
					path := strings.TrimPrefix(route(endpoint), "/v1")
					for _, prefix := range []string{"/bypass/alpha/v1", "/bypass/alpha"} {
						a := post(t, r.URL+prefix+path+"?beta=true&x=%2F", body, "Openai-Beta", "b=1", "Anthropic-Beta", "c", "Anthropic-Version", "2023-06-01", "X-Evil", "no", "Openai-Organization", "org-other")
						calls := alpha.Calls()
						last := calls[len(calls)-1]
						if a.StatusCode != 200 || string(last.Body) != body || !strings.HasSuffix(last.Path, "/v1"+path+"?beta=true&x=%2F") || last.Stream != stream {
							t.Fatalf("%s %s: %d; %s was sent %q", prefix, path, a.StatusCode, last.Path, last.Body)
						}
						if last.Headers.Get("Openai-Beta") != "b=1" || last.Headers.Get("Anthropic-Beta") != "c" || last.Headers.Get("X-Evil") != "" || last.Headers.Get("Openai-Organization") != "" {
							t.Errorf("%s: headers %v", path, last.Headers)
						}
						if a.Header.Get("X-Session-Id") != "s" || a.deployment() != endpoint+"-alpha" || a.Header.Get("X-Holdfast-History-Mode") != "" {
							t.Errorf("%s: %v", path, a.Header)
						}
						if endpoint == "responses" && !strings.Contains(a.body, `"encrypted_content":"`) {
							t.Errorf("the ciphertext is gone: %s", a.body)
						}
						if stream && strings.Count(a.body, "\n\n") != last.Events {
							t.Errorf("%s: %d events came of %d", path, strings.Count(a.body, "\n\n"), last.Events)
						}
					}
				}
			}
			if r.calls() != 12 || alpha.Count() != 12 {
				t.Errorf("%d calls, %d of them at the named account; want 12", r.calls(), alpha.Count())
			}
			if store == onLambda {
				return
			}
			if code := r.Stop(); code != 0 {
				t.Fatal(code)
			}
			for _, endpoint := range protocols() {
				lines := 0
				for _, line := range r.Lines() {
					if strings.Contains(line, `"endpoint":"bypass/`+endpoint+`","model":"`+endpoint+`"`) && strings.Contains(line, `"usage":{`) && strings.Contains(line, `"cost_usd":`) {
						lines++
					}
				}
				if lines != 4 { // of streams that do not tell it, as an estimate
					t.Errorf("%s: usage in %d lines, want 4", endpoint, lines)
				}
			}
		})
	}
}

// TestC7 shows that ciphertext goes to the account that made it, under a name that
// leads there, or nowhere.
func TestC7(t *testing.T) {
	for _, store := range rigs("memory", "bolt", "dynamodb") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store, func(d *document) {
				url := d.fleet.URL("alpha") + "/v1"
				d.connections = "  - {id: twin, provider: openai-compatible, base_url: " + url + ", auth: {type: bearer, key: \"env:UPSTREAM_KEY\"}, allow_private_network: true, boundary: alpha}\n"
				d.more = "  - {id: responses-twin, model: responses, connection: twin, protocol: responses}\n"
			})
			first := post(t, r.URL+"/bypass/alpha/v1/responses", nativeBody("responses", true, user("Hello")))
			items := outputItems(t, first)
			body := nativeBody("responses", false, append(append([]turn{user("Hello")}, items...), user("More"))...)
			if first.StatusCode != 200 || !strings.Contains(encoded(t, items), "encrypted_content") {
				t.Fatalf("%d: %s", first.StatusCode, first.body)
			}
			url := r.URL
			if store == "bolt" || store == "dynamodb" {
				r.Kill()
				url = r.start().URL
			}
			for name, want := range map[string]string{"alpha": "responses-alpha", "twin": "responses-twin", "openai-compatible": "responses-alpha"} {
				// What serves becomes the owner: go back to the first.
				post(t, url+"/bypass/alpha/v1/responses", nativeBody("responses", false, user("Hello")))
				a := post(t, url+"/bypass/"+name+"/v1/responses", body)
				if a.StatusCode != 200 || a.affinity() != "required" || a.deployment() != want {
					t.Errorf("%s: %d %s by %s: %s", name, a.StatusCode, a.affinity(), a.deployment(), a.body)
				}
			}
			post(t, url+"/bypass/alpha/v1/responses", nativeBody("responses", false, user("Hello")))
			before := r.calls()
			other := member(body, "session_id", "another")
			unnamed := member(body, "session_id", nil)
			for name, a := range map[string]answer{
				"another account":  post(t, url+"/bypass/bravo/v1/responses", body),
				"another session":  post(t, url+"/bypass/alpha/v1/responses", other),
				"no session":       post(t, url+"/bypass/alpha/v1/responses", unnamed, "X-Holdfast-Affinity", "off"),
				"another caller":   post(t, url+"/bypass/alpha/v1/responses", body, "Authorization", "Bearer "+keyB),
				"a compaction":     post(t, url+"/bypass/bravo/v1/responses/compact", body),
				"streamed, a form": post(t, url+"/bypass/bravo/responses", member(body, "stream", true)),
			} {
				if a.StatusCode != 409 || a.code() != "start_new_conversation" {
					t.Errorf("%s: %d %s: %s", name, a.StatusCode, a.code(), a.body)
				}
			}
			if n := r.calls() - before; n != 0 {
				t.Errorf("%d calls with ciphertext that has no owner", n)
			}
			if r.front == nil {
				return
			}
			r.front.Decide(failing)
			if a := post(t, url+"/bypass/alpha/v1/responses", body); a.StatusCode != 503 || a.code() != "ownership_unavailable" || r.calls() != before {
				t.Errorf("without the store: %d %s", a.StatusCode, a.code())
			}
			if a := post(t, url+"/bypass/alpha/v1/responses", nativeBody("responses", false, user("Hello"))); a.StatusCode != 200 || a.affinity() != "degraded" {
				t.Errorf("without the store and without ciphertext: %d %s", a.StatusCode, a.affinity())
			}
		})
	}
}

// TestBypassContinuation shows previous_response_id on the bypass: its own
// responses' and its own caller's, by the name that they were made under.
func TestBypassContinuation(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt")
	made := post(t, r.URL+"/bypass/alpha/v1/responses", nativeBody("responses", false, user("Hello")))
	id, _ := made.field("id").(string)
	unified := post(t, r.URL+"/v1/responses", ask("responses", false, user("Hello")))
	next := func(name, id, key string) answer {
		return post(t, r.URL+"/bypass/"+name+"/v1/responses", map[string]any{"model": "responses", "input": "More", "previous_response_id": id}, "Authorization", "Bearer "+key)
	}
	if a := next("alpha", id, keyA); a.StatusCode != 200 || a.affinity() != "required" || a.Header.Get("X-Session-Id") != "s" || a.Header.Get("X-Holdfast-Session-Source") != "parent" {
		t.Errorf("%d %s: %s", a.StatusCode, a.affinity(), a.body)
	}
	before := r.calls()
	for name, a := range map[string]answer{
		"foreign": next("alpha", id, keyB), "unknown": next("alpha", "resp_unknown", keyA), "elsewhere": next("bravo", id, keyA), "unified": next("alpha", unified.field("id").(string), keyA),
	} {
		if a.StatusCode != 400 || a.code() != "previous_response_not_found" {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
	at := "/bypass/alpha/v1/responses/" + id
	for name, a := range map[string]answer{
		"foreign": call(t, "GET", r.URL+at, keyB), "unknown": call(t, "GET", r.URL+"/bypass/alpha/v1/responses/resp_unknown", keyA),
		"elsewhere": call(t, "GET", r.URL+"/bypass/bravo/v1/responses/"+id, keyA),
	} {
		if a.StatusCode != 400 || a.code() != "previous_response_not_found" {
			t.Errorf("retrieve, %s: %d %s", name, a.StatusCode, a.body)
		}
	}
	if n := r.calls() - before; n != 0 {
		t.Errorf("%d calls", n)
	}
	if a := call(t, "GET", r.URL+at, keyA); a.StatusCode != 200 || a.field("id") != id || a.affinity() != "required" {
		t.Errorf("retrieve: %d %s", a.StatusCode, a.body)
	}
	if a := call(t, "GET", r.URL+at+"/input_items", keyA); a.StatusCode != 200 || a.field("object") != "list" {
		t.Errorf("input items: %d %s", a.StatusCode, a.body)
	}
	if a := call(t, "DELETE", r.URL+at, keyA); a.StatusCode != 200 {
		t.Errorf("delete: %d %s", a.StatusCode, a.body)
	}
	if a := next("alpha", id, keyA); a.StatusCode != 400 {
		t.Errorf("after deletion: %d", a.StatusCode)
	}
}

// TestBypassRights shows what a key may do there: what its models allow, by the
// upstream's names; and without a model only where all are allowed.
func TestBypassRights(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) {
		d.key = ", models: [chat, mine]"
		d.more = "  - {id: mine-bravo, model: mine, upstream_model: secret-name, connection: bravo}\n  - {id: theirs-bravo, model: theirs, upstream_model: other-name, connection: bravo}\n"
		d.connections = "  - {id: own, provider: xai, base_url: " + d.fleet.URL("charlie") + "/v1, auth: {type: none}, allow_private_network: true}\n"
		d.more += "  - {id: own-chat, model: mine, upstream_model: grok, connection: own}\n"
	})
	for _, row := range []struct {
		name, model string
		status      int
		code        string
	}{
		{"bravo", "secret-name", 200, ""}, {"bravo", "chat", 200, ""}, {"own", "grok", 200, ""}, {"xai", "grok", 200, ""},
		{"bravo", "mine", 403, "model_forbidden"}, {"bravo", "other-name", 403, "model_forbidden"}, {"bravo", "responses", 403, "model_forbidden"},
		{"alpha", "secret-name", 403, "model_forbidden"}, {"bravo", "nothing", 403, "model_forbidden"},
		{"nobody", "chat", 404, "route_not_found"}, {"groq", "chat", 404, "route_not_found"},
	} {
		before := r.calls()
		body := ask("chat", false, user("Hello"))
		body["model"] = row.model
		a := post(t, r.URL+"/bypass/"+row.name+"/v1/chat/completions", body)
		if a.StatusCode != row.status || a.code() != row.code || (r.calls() > before) != (row.status == 200) {
			t.Errorf("%s %s: %d %s after %d calls", row.name, row.model, a.StatusCode, a.code(), r.calls()-before)
		}
	}
	before := r.calls()
	for name, a := range map[string]answer{
		"a list":       call(t, "GET", r.URL+"/bypass/bravo/v1/models", keyA),
		"not JSON":     post(t, r.URL+"/bypass/bravo/v1/chat/completions", encoded(t, ask("other-name", false)), "Content-Type", "text/plain"),
		"no key":       call(t, "GET", r.URL+"/bypass/bravo/v1/models", "sk-none"),
		"a path":       call(t, "GET", r.URL+"/bypass/bravo/v1/%2e%2e/control/calls", keyA),
		"a collection": call(t, "GET", r.URL+"/bypass/alpha/v1/conversations", keyB),
	} {
		if a.StatusCode < 400 || a.StatusCode >= 500 || a.code() == "" {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
	if n := r.calls() - before; n != 0 {
		t.Errorf("%d calls", n)
	}
	for _, url := range []string{"/bypass/own/v1/models", "/bypass/own/models"} {
		if a := call(t, "GET", r.URL+url, keyA); a.StatusCode != 200 || a.field("object") != "list" {
			t.Errorf("all of a connection's models are this key's: %d %s", a.StatusCode, a.body)
		}
	}
	if a := call(t, "GET", r.URL+"/bypass/bravo/v1/models?limit=3", keyB); a.StatusCode != 200 {
		t.Errorf("a key that may use everything: %d %s", a.StatusCode, a.body)
	}
	if a := call(t, "GET", r.URL+"/bypass/bravo/v1/nothing/here", keyB); a.StatusCode != 404 || !strings.Contains(a.body, "Invalid URL") {
		t.Errorf("the provider's own 404: %d %s", a.StatusCode, a.body)
	}
}

// TestBypassX1 shows that a body cannot choose host, credential or headers there
// either, and that no redirect is followed.
func TestBypassX1(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	for _, member := range []string{`"api_base":"http://x"`, `"base_url":"http://x"`, `"api_key":"x"`, `"extra_headers":{}`, `"model":"chat"`} {
		for _, path := range []string{"/bypass/alpha/v1/chat/completions", "/bypass/alpha/v1/other", "/bypass/openai-compatible/v1/responses"} {
			if a := post(t, r.URL+path, `{"model":"chat",`+member+`,"messages":[]}`); a.StatusCode != 400 {
				t.Errorf("%s %s: %d", path, member, a.StatusCode)
			}
		}
	}
	if a := postForm(t, r.URL+"/bypass/alpha/v1/audio/transcriptions", "s", "model", "chat", "api_base", "http://x"); a.StatusCode != 400 {
		t.Errorf("a form: %d", a.StatusCode)
	}
	if a := post(t, r.URL+"/bypass/alpha/v1/chat/completions", "x", "Content-Encoding", "gzip"); a.StatusCode != 415 {
		t.Errorf("compressed: %d", a.StatusCode)
	}
	if n := r.calls(); n != 0 {
		t.Errorf("%d calls", n)
	}
	accounts.InjectT(t, r.fleet.Account("alpha"), accounts.Fault{Kind: accounts.Redirect})
	if a := call(t, "GET", r.URL+"/bypass/alpha/v1/models", keyA); a.StatusCode != 502 || a.Header.Get("Location") != "" || r.calls() != 1 {
		t.Errorf("a redirect: %d after %d calls, %v", a.StatusCode, r.calls(), a.Header)
	}
}

// TestBypassProvider shows a provider's name standing for its connections: a session
// stays with one over processes, sessions spread, and a failure moves on.
func TestBypassProvider(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb")
	second := r.start().URL
	served := map[string]bool{}
	for i := range 12 {
		body := member(ask("chat", i%2 == 0, user("Hello")), "session_id", fmt.Sprint("s", i))
		first := post(t, r.URL+"/bypass/openai-compatible/v1/chat/completions", body)
		again := post(t, second+"/bypass/openai-compatible/v1/chat/completions", body)
		if first.affinity() != "claimed" || again.affinity() != "hit" || again.deployment() != first.deployment() {
			t.Errorf("%s by %s, then %s by %s", first.affinity(), first.deployment(), again.affinity(), again.deployment())
		}
		served[first.deployment()] = true
		list := func(url string) string {
			return call(t, "GET", url+"/bypass/openai-compatible/v1/models", keyB, "X-Session-Id", fmt.Sprint("s", i)).deployment()
		}
		if a, b := list(r.URL), list(second); a != b || a == "" {
			t.Errorf("without a model: %s, then %s", a, b)
		}
	}
	if len(served) != 3 {
		t.Errorf("sessions are on %v", served)
	}
	body := member(ask("chat", false, user("Hello")), "session_id", "s0")
	first := post(t, r.URL+"/bypass/openai-compatible/v1/chat/completions", body)
	accounts.InjectT(t, r.owner(first.deployment()), accounts.Fault{Kind: accounts.ServerError})
	if a := post(t, r.URL+"/bypass/openai-compatible/v1/chat/completions", body); a.StatusCode != 200 || a.affinity() != "moved" {
		t.Errorf("after a failure: %d %s", a.StatusCode, a.affinity())
	}
	if a := post(t, r.URL+"/bypass/"+r.owner(first.deployment()).Name()+"/v1/chat/completions", member(body, "session_id", "other")); a.StatusCode != 500 {
		t.Errorf("a connection stands for itself: %d", a.StatusCode)
	}
}

// encoded is a value as JSON.
func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// outputItems are those of a streamed response.
func outputItems(t *testing.T, a answer) []turn {
	t.Helper()
	_, event, found := strings.Cut(a.body, "event: response.completed\ndata: ")
	var last struct {
		Response struct{ Output []turn }
	}
	if !found || json.Unmarshal([]byte(strings.TrimSpace(event)), &last) != nil || len(last.Response.Output) == 0 {
		t.Fatalf("no whole response: %s", a.body)
	}
	return last.Response.Output
}

// failing is a store that answers nothing.
func failing(wirefault.Request) wirefault.Fault { return wirefault.Fault{Kind: wirefault.Error} }
