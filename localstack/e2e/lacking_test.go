package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestLacking shows that a refusal for what no deployment can do says what that is,
// in the words by which clients shorten a prompt that is too long.
func TestLacking(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{each: "capabilities: {stream: false, tools: false, images: false, json_schema: false, context: 500}"})
	rows := []struct {
		name, words, param string
		change             func(endpoint string, body map[string]any)
	}{
		{"a stream", "stream", "stream", func(_ string, body map[string]any) { body["stream"] = true }},
		{"tools", "tools", "tools", func(endpoint string, body map[string]any) { body["tools"] = []turn{toolOf(endpoint, "f")} }},
		{"a long prompt", "prompt is too long", "", func(endpoint string, body map[string]any) {
			for name, value := range ask(endpoint, false, user(long(2000))) {
				body[name] = value
			}
		}},
	}
	for _, endpoint := range protocols() {
		for _, row := range rows {
			body := ask(endpoint, false, user("Hello"))
			row.change(endpoint, body)
			a := post(t, s.URL+route(endpoint), body)
			refusalOf(t, endpoint, a)
			message, _ := a.field("error", "message").(string)
			param, _ := a.field("error", "param").(string)
			if a.StatusCode != 400 || a.code() != "capability_missing" || !strings.Contains(message, row.words) || endpoint != "messages" && param != row.param {
				t.Errorf("%s, %s: %d %s\n%s", endpoint, row.name, a.StatusCode, a.code(), a.body)
			}
		}
	}
	if s.calls() != 0 {
		t.Errorf("%d calls for what nobody can do", s.calls())
	}
}

// TestTemplateGone shows that a key whose template is not there any more is served
// by no other rules: 503, until there is one again.
func TestTemplateGone(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "bolt", func(d *document) { d.extra = "templates: [{id: own, strategy: round_robin}]\n" })
	made := admin(t, "POST", r.URL+"/admin/keys", `{"user":"ann","template":"own"}`)
	key, _ := made.field("key").(string)
	ask := func(endpoint string) answer {
		return post(t, r.URL+route(endpoint), ask(endpoint, true, user("Hello")), bearer(key)...)
	}
	if a := ask("chat"); a.StatusCode != 200 {
		t.Fatalf("with its template: %d %s", a.StatusCode, a.body)
	}
	before := admin(t, "GET", r.URL+"/admin/config", "")
	var document map[string]any
	if err := json.Unmarshal([]byte(before.body), &document); err != nil {
		t.Fatal(err)
	}
	document["templates"] = []any{}
	without, _ := json.Marshal(document)
	changed := admin(t, "PUT", r.URL+"/admin/config", string(without), "If-Match", before.Header.Get("ETag"))
	if changed.StatusCode != 200 {
		t.Fatalf("without the template: %d %s", changed.StatusCode, changed.body)
	}
	calls := r.calls()
	for _, endpoint := range protocols() {
		if a := ask(endpoint); a.StatusCode != 503 || a.code() != "configuration_unavailable" || a.Header.Get("Retry-After") == "" || r.calls() != calls {
			t.Errorf("%s: %d %s %s", endpoint, a.StatusCode, a.code(), a.body)
		}
	}
	admin(t, "PUT", r.URL+"/admin/config", before.body, "If-Match", changed.Header.Get("ETag"))
	if a := ask("chat"); a.StatusCode != 200 {
		t.Errorf("with its template again: %d %s", a.StatusCode, a.body)
	}
}
