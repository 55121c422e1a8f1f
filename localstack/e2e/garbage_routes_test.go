package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// plain sends a request without a body, with headers given as NAME, VALUE
// pairs. The path stays as it is written.
func plain(t *testing.T, method, url string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	return do(t, request)
}

// protocolOf is whose form a refusal on a path has.
func protocolOf(path string) string {
	if strings.HasPrefix(strings.TrimPrefix(path, "/v1"), "/messages") {
		return "messages"
	}
	return "chat"
}

// TestRoutesUnknown shows that a path which is none is a 404, however close it
// is to one, with a key and without.
func TestRoutesUnknown(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	for _, path := range []string{
		"/v1", "/v2/chat/completions", "/v1/v1/chat/completions", "/v1chat/completions", "/v1models", "/chat", "/v1/chat", "/v1/chat/completions/", "/v1/chat/completions/x",
		"/v1/Chat/Completions", "/v1/completions", "/v1/engines", "/nothing", "/v1/nothing", "/v1/messages/nothing", "/messages/x/y", "/v1/chat/completions.json",
		"//v1/chat/completions", "/v1//chat/completions", "/v1/chat//completions", "/v1/./chat/completions", "/v1/../v1/chat/completions", "/x/../v1/chat/completions",
		"/v1/%2e%2e/v1/chat/completions", "/v1/..%2fv1/chat/completions", "/v1/chat/completions%00", "/v1/chat/completions%20", "/v1/chat/completions%0d%0aX-Evil:%201",
		"/v1/models/..", "/v1/models/../chat/completions", "/v1/models//chat", "/.env", "/healthz/x", "/api", "/api/hello/..", "/control/faults", "/%2e%2e/%2e%2e/etc/passwd",
	} {
		for _, method := range []string{"GET", "POST"} {
			for _, key := range []string{keyA, "sk-unknown"} {
				a := plain(t, method, r.URL+path, "Authorization", "Bearer "+key)
				if a.StatusCode != http.StatusNotFound || a.code() != "route_not_found" {
					t.Errorf("%s %s: %d %s, want 404 route_not_found", method, path, a.StatusCode, a.code())
				}
				refusalOf(t, protocolOf(path), a)
			}
		}
	}
	asAnthropic := plain(t, "GET", r.URL+"/v1/nothing", "Anthropic-Version", "2023-06-01")
	refusalOf(t, "messages", asAnthropic)
	if n := r.calls(); n != 0 {
		t.Errorf("%d calls reached the accounts", n)
	}
}

// TestRoutesMethods shows that a route says which methods it takes.
func TestRoutesMethods(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	takes := map[string]string{
		"/v1/chat/completions": "POST", "/chat/completions": "POST", "/v1/messages": "POST", "/messages": "POST",
		"/v1/models": "GET, HEAD", "/models": "GET, HEAD", "/v1/models/chat": "GET, HEAD", "/healthz": "GET, HEAD", "/": "GET, HEAD", "/api/hello": "GET, HEAD",
		"/v1/responses": "POST",
	}
	for path, allow := range takes {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "post"} {
			a := plain(t, method, r.URL+path, "Authorization", "Bearer "+keyA)
			if slices.Contains(strings.Split(allow, ", "), method) {
				if a.StatusCode == http.StatusMethodNotAllowed || a.Header.Get("X-Request-Id") == "" {
					t.Errorf("%s %s: %d", method, path, a.StatusCode)
				}
				continue
			}
			if a.StatusCode != http.StatusMethodNotAllowed || a.code() != "method_not_allowed" || a.Header.Get("Allow") != allow {
				t.Errorf("%s %s: %d %s, Allow %q, want 405 with %q", method, path, a.StatusCode, a.code(), a.Header.Get("Allow"), allow)
			}
			refusalOf(t, protocolOf(path), a)
		}
	}
	for _, path := range []string{"/healthz", "/", "/api/hello"} {
		for _, method := range []string{"GET", "HEAD"} {
			if a := plain(t, method, r.URL+path); a.StatusCode != http.StatusOK || len(a.body) > 200 || a.Header.Get("X-Request-Id") == "" {
				t.Errorf("%s %s without a key: %d %q", method, path, a.StatusCode, a.body)
			}
		}
	}
	if n := r.calls(); n != 0 {
		t.Errorf("%d calls reached the accounts", n)
	}
}

// callers are further keys: switched off, run out, and one that may use a part.
const callers = `  - {id: off, key: "sk-test-switched-off-00", enabled: false}
  - {id: old, key: "sk-test-run-out-0000000", expires: "2020-01-01"}
  - {id: few, key: "sk-test-only-chat-00000", models: [chat]}
`

// TestKeys shows how a caller is let in and how one is not, before anything of
// the body is looked at, in the form of the route's protocol.
func TestKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) { d.extra = callers })
	rows := []struct {
		name    string
		headers []string
		status  int
		code    string
	}{
		{"none", []string{"Authorization", ""}, 401, "invalid_api_key"},
		{"unknown", []string{"Authorization", "Bearer sk-unknown"}, 401, "invalid_api_key"},
		{"another scheme", []string{"Authorization", "Basic " + keyA}, 401, "invalid_api_key"},
		{"no scheme", []string{"Authorization", keyA}, 401, "invalid_api_key"},
		{"cut short", []string{"Authorization", "Bearer " + keyA[:len(keyA)-1]}, 401, "invalid_api_key"},
		{"too long", []string{"Authorization", "Bearer " + keyA + strings.Repeat("0", 10000)}, 401, "invalid_api_key"},
		{"unknown x-api-key", []string{"Authorization", "", "X-Api-Key", "sk-unknown"}, 401, "invalid_api_key"},
		{"the gateway's own upstream key", []string{"Authorization", "Bearer " + upstreamKey}, 401, "invalid_api_key"},
		{"in a cookie", []string{"Authorization", "", "Cookie", "key=" + keyA}, 401, "invalid_api_key"},
		{"switched off", []string{"Authorization", "Bearer sk-test-switched-off-00"}, 403, "key_disabled"},
		{"run out", []string{"Authorization", "", "Api-Key", "sk-test-run-out-0000000"}, 403, "key_expired"},
	}
	for _, endpoint := range protocols() {
		for _, row := range rows {
			for _, body := range []any{ask(endpoint, false, user("Hello "+secretWord)), "{broken", ""} {
				a := post(t, r.URL+route(endpoint), body, row.headers...)
				if a.StatusCode != row.status || a.code() != row.code {
					t.Errorf("%s, %s: %d %s, want %d %s", endpoint, row.name, a.StatusCode, a.code(), row.status, row.code)
				}
				refusalOf(t, endpoint, a)
			}
		}
		few := post(t, r.URL+route(endpoint), ask(endpoint, false, user("Hello")), bearer("sk-test-only-chat-00000")...)
		if endpoint != "chat" {
			refusalOf(t, endpoint, few)
			if few.code() != "model_forbidden" {
				t.Errorf("%s for a key of chat only: %d %s, want 403 model_forbidden", endpoint, few.StatusCode, few.code())
			}
		}
		unknown := post(t, r.URL+route(endpoint), member(ask(endpoint, false, user("Hello")), "model", "no-such-"+secretWord))
		refusalOf(t, endpoint, unknown)
		if unknown.code() != "model_not_found" || unknown.Header.Get("X-Session-Id") == "" {
			t.Errorf("%s, an unknown model: %d %s, session %q", endpoint, unknown.StatusCode, unknown.code(), unknown.Header.Get("X-Session-Id"))
		}
	}
	for _, path := range []string{"/v1/chat%2Fcompletions", "/v1%2Fchat/completions", "/%761/responses", "/v1/m%65ssages"} { // no way around the check
		if a := post(t, r.URL+path, ask("chat", false, user("Hello")), "Authorization", ""); a.StatusCode != http.StatusUnauthorized && a.StatusCode != http.StatusNotFound {
			t.Errorf("%s without a key: %d %s", path, a.StatusCode, a.body)
		}
	}
	if n := r.calls(); n != 1 {
		t.Errorf("%d calls reached the accounts, want that of the key for chat", n)
	}
	for _, headers := range [][]string{
		{"Authorization", "Bearer " + keyA}, {"Authorization", "bearer " + keyA}, {"Authorization", "", "X-Api-Key", keyA}, {"Authorization", "", "Api-Key", keyA},
	} {
		if a := post(t, r.URL+route("messages"), ask("messages", false, user("Hello")), headers...); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", headers[0], a.StatusCode, a.code())
		}
	}
}

// TestModels shows that a key sees what it may use, and what is hidden from it
// is not told from what is not there.
func TestModels(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) { d.extra = callers + "groups: [{name: vendor/group, members: [chat, messages]}]\n" })
	all := plain(t, "GET", r.URL+"/v1/models", "Authorization", "Bearer "+keyA)
	for _, name := range []string{`"chat"`, `"responses"`, `"messages"`, `"vendor/group"`, `"object":"list"`} {
		if all.StatusCode != http.StatusOK || !strings.Contains(all.body, name) {
			t.Errorf("the list has no %s: %d %s", name, all.StatusCode, all.body)
		}
	}
	few := plain(t, "GET", r.URL+"/models", "Authorization", "Bearer sk-test-only-chat-00000")
	if !strings.Contains(few.body, `"chat"`) || strings.Contains(few.body, "messages") || strings.Contains(few.body, "group") {
		t.Errorf("a key of chat only sees %s", few.body)
	}
	for _, path := range []string{"/v1/models/vendor/group", "/v1/models/vendor%2Fgroup", "/models/chat"} {
		if a := plain(t, "GET", r.URL+path, "X-Api-Key", keyA); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.body)
		}
	}
	hidden := plain(t, "GET", r.URL+"/v1/models/messages", "X-Api-Key", "sk-test-only-chat-00000")
	absent := plain(t, "GET", r.URL+"/v1/models/none", "X-Api-Key", "sk-test-only-chat-00000")
	refusalOf(t, "chat", hidden)
	if hidden.code() != "model_not_found" || hidden.body != absent.body {
		t.Errorf("a hidden model: %s, one that is not there: %s", hidden.body, absent.body)
	}
	refusalOf(t, "messages", plain(t, "GET", r.URL+"/v1/models", "Anthropic-Version", "2023-06-01"))
}
