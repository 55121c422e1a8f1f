package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

const adminKey = "hf-admin-test-000000000000"

// admin calls the admin API with its key, and headers as NAME, VALUE pairs.
func admin(t *testing.T, method, url, body string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+adminKey)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return do(t, request)
}

// entry sets a field of one entry of a document's list.
func entry(t *testing.T, document, list, id, field string, value any) string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, one := range doc[list].([]any) {
		if m := one.(map[string]any); m["id"] == id {
			m[field], found = value, true
		}
	}
	if !found {
		t.Fatalf("no %s %q", list, id)
	}
	changed, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(changed)
}

// newAdminRig is a rig whose gateways have an admin key.
func newAdminRig(t *testing.T, store string, change ...func(*document)) *rig {
	t.Helper()
	r := newRig(t, store, change...)
	r.env = append(r.env, "HOLDFAST_ADMIN_KEY="+adminKey)
	r.Stop()
	r.Gateway = r.start()
	return r
}

// TestConfigurationChangesLive shows that a document put by compare-and-swap is
// acted on by the next request of every process, and what may not be put.
func TestConfigurationChangesLive(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "dynamodb")
	other := r.start()
	first := turnOf(t, r.URL, "chat", "s", false)
	home := first.deployment()
	read := admin(t, "GET", r.URL+"/admin/config", "")
	if read.StatusCode != 200 || read.Header.Get("ETag") == "" || strings.Contains(read.body, keyA) {
		t.Fatalf("%d %s %s", read.StatusCode, read.Header.Get("ETag"), read.body)
	}
	disabled := entry(t, read.body, "deployments", home, "enabled", false)
	put := admin(t, "PUT", r.URL+"/admin/config", disabled, "If-Match", read.Header.Get("ETag"))
	if put.StatusCode != 200 || put.field("revision") == nil {
		t.Fatalf("%d %s", put.StatusCode, put.body)
	}
	moved := turnOf(t, other.URL, "chat", "s", false) // S4: the very next request of another process
	if moved.affinity() != "moved" || moved.deployment() == home {
		t.Errorf("after the change: %s by %s", moved.affinity(), moved.deployment())
	}
	if a := turnOf(t, r.URL, "chat", "s", false); a.affinity() != "hit" || a.deployment() != moved.deployment() {
		t.Errorf("the next turn: %s by %s", a.affinity(), a.deployment())
	}
	rows := []struct {
		name, body, match string
		status            int
		code              string
	}{
		{"stale revision", read.body, read.Header.Get("ETag"), 409, "revision_conflict"},
		{"no revision", read.body, "", 428, "invalid_request"},
		{"invalid document", `{"connections":[{"id":"x","provider":"nobody"}],"deployments":[]}`, put.Header.Get("ETag"), 400, "invalid_request"},
		{"no document", `[1,`, put.Header.Get("ETag"), 400, "invalid_request"},
	}
	for _, row := range rows {
		headers := []string{}
		if row.match != "" {
			headers = []string{"If-Match", row.match}
		}
		if a := admin(t, "PUT", other.URL+"/admin/config", row.body, headers...); a.StatusCode != row.status || a.code() != row.code {
			t.Errorf("%s: %d %s %s", row.name, a.StatusCode, a.code(), a.body)
		} else if row.name == "invalid document" && !strings.Contains(a.body, "connections[0].provider") {
			t.Errorf("the problem's path is missing: %s", a.body)
		}
	}
	back := admin(t, "PUT", other.URL+"/admin/config", read.body, "If-Match", put.Header.Get("ETag"))
	if back.StatusCode != 200 {
		t.Fatalf("restore: %d %s", back.StatusCode, back.body)
	}
	if a := admin(t, "GET", r.URL+"/admin/config/revisions", ""); strings.Count(a.body, `"revision"`) != 3 {
		t.Errorf("revisions: %s", a.body)
	}
}

// TestSwitchedOffKeyStopsAtOnce shows that a key that is disabled in a new
// revision is refused by the next request.
func TestSwitchedOffKeyStopsAtOnce(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "bolt")
	turnOf(t, r.URL, "chat", "s", false)
	read := admin(t, "GET", r.URL+"/admin/config", "")
	changed := entry(t, read.body, "keys", "a", "enabled", false)
	if a := admin(t, "PUT", r.URL+"/admin/config", changed, "If-Match", read.Header.Get("ETag")); a.StatusCode != 200 {
		t.Fatal(a.body)
	}
	calls := r.calls()
	if a := turnOf(t, r.URL, "chat", "s", false); a.StatusCode != 403 || a.code() != "key_disabled" || r.calls() != calls {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// TestExplain shows that a plan is explained without a call and without a
// write.
func TestExplain(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	question := `{"endpoint":"chat","key":"a","headers":{"X-Session-Id":"s"},"body":{"model":"chat","messages":[{"role":"user","content":"Hello"}]}}`
	before := admin(t, "POST", r.URL+"/admin/explain", question)
	if before.StatusCode != 200 || r.calls() != 0 || before.field("preference") != nil {
		t.Fatalf("%d %s after %d calls", before.StatusCode, before.body, r.calls())
	}
	if list, _ := before.field("candidates").([]any); len(list) != 3 {
		t.Errorf("candidates: %s", before.body)
	}
	served := turnOf(t, r.URL, "chat", "s", false)
	if served.affinity() != "claimed" {
		t.Errorf("the explanation has written a preference: %s", served.affinity())
	}
	after := admin(t, "POST", r.URL+"/admin/explain", question)
	if after.field("preference", "deployment") != served.deployment() || after.field("affinity") != "hit" {
		t.Errorf("after a turn: %s", after.body)
	}
	if strings.Contains(after.body, `"s"`) || !strings.Contains(after.body, "scoped-") {
		t.Errorf("the session is not scoped: %s", after.body)
	}
	for name, bad := range map[string]string{
		"unknown key":      strings.Replace(question, `"key":"a"`, `"key":"zz"`, 1),
		"unknown endpoint": strings.Replace(question, `"endpoint":"chat"`, `"endpoint":"smtp"`, 1),
		"no body":          `{"endpoint":"chat","key":"a"}`,
		"not JSON":         `{`,
	} {
		if a := admin(t, "POST", r.URL+"/admin/explain", bad); a.StatusCode != 400 {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
}

// TestAdminIsClosed shows that nothing answers without the admin key.
func TestAdminIsClosed(t *testing.T) {
	t.Parallel()
	open, closed := newAdminRig(t, "memory"), newRig(t, "memory")
	for _, path := range []string{"/admin/config", "/admin/explain", "/admin/config/revisions", "/admin/nothing"} {
		if a := get(t, closed.URL+path, adminKey); a.StatusCode != 404 {
			t.Errorf("%s without an admin key configured: %d", path, a.StatusCode)
		}
		for _, key := range []string{"", keyA, adminKey + "x"} {
			if a := get(t, open.URL+path, key); a.StatusCode != 401 || a.code() != "invalid_api_key" {
				t.Errorf("%s with key %q: %d %s", path, key, a.StatusCode, a.body)
			}
		}
	}
}

// TestNewRevisionIsLookedForBeforeRefusing shows that a key and a model which
// only a newer revision knows work at the first request to another process.
func TestNewRevisionIsLookedForBeforeRefusing(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "dynamodb")
	others := []string{r.start().URL, r.start().URL, r.start().URL}
	const fresh = "sk-test-caller-fresh-00000"
	var doc map[string]any
	read := admin(t, "GET", r.URL+"/admin/config", "")
	if err := json.Unmarshal([]byte(read.body), &doc); err != nil {
		t.Fatal(err)
	}
	doc["keys"] = append(doc["keys"].([]any), map[string]any{"id": "fresh", "key": fresh})
	doc["models"] = []any{map[string]any{"name": "chat", "aliases": []string{"chat-alias"}}}
	changed, _ := json.Marshal(doc)
	if a := admin(t, "PUT", r.URL+"/admin/config", string(changed), "If-Match", read.Header.Get("ETag")); a.StatusCode != 200 {
		t.Fatal(a.body)
	}
	body := ask("chat", false, user("Hello"))
	if a := post(t, others[0]+route("chat"), body, "Authorization", "Bearer "+fresh); a.StatusCode != 200 {
		t.Errorf("a new key: %d %s", a.StatusCode, a.body)
	}
	body["model"] = "chat-alias"
	if a := post(t, others[1]+route("chat"), body); a.StatusCode != 200 {
		t.Errorf("a new model: %d %s", a.StatusCode, a.body)
	}
	if a := get(t, others[2]+"/v1/models/chat-alias", fresh); a.StatusCode != 200 {
		t.Errorf("a new model by name: %d %s", a.StatusCode, a.body)
	}
}

// TestTurnState shows that a turn's token goes back to the deployment that
// issued it, and to no other.
func TestTurnState(t *testing.T) {
	t.Parallel()
	fleet := accounts.StartConfigT(t, accounts.Config{Name: "alpha", TurnState: true}, accounts.Config{Name: "bravo", TurnState: true},
		accounts.Config{Name: "charlie", TurnState: true})
	r := &rig{t: t, fleet: fleet, config: document{fleet: fleet}.String(), store: "memory", data: t.TempDir(), env: []string{"UPSTREAM_KEY=" + upstreamKey}}
	r.Gateway = r.start()
	const name = "X-Codex-Turn-State"
	first := turnOf(t, r.URL, "responses", "s", true)
	token := first.Header.Get(name)
	if token == "" {
		t.Fatal("the account's token did not reach the client")
	}
	sent := func(a answer) string {
		calls := r.owner(a.deployment()).Calls()
		return calls[len(calls)-1].Headers.Get(name)
	}
	again := post(t, r.URL+route("responses"), ask("responses", true, user("Hello")), "X-Session-Id", "s", name, token)
	if got := sent(again); again.deployment() != first.deployment() || got != token {
		t.Errorf("%s got token %q, want %q back at %s", again.deployment(), got, token, first.deployment())
	}
	if a := post(t, r.URL+route("responses"), ask("responses", true, user("Hello")), "X-Session-Id", "s", name, "made-up"); sent(a) != "" || a.StatusCode != 200 {
		t.Errorf("a token that nobody issued was sent on: %q", sent(a))
	}
	if a := post(t, r.URL+route("responses"), ask("responses", true, user("Hello")), "Authorization", "Bearer "+keyB, name, token); sent(a) != "" {
		t.Errorf("another caller's token was sent on: %q", sent(a))
	}
	accounts.InjectT(t, r.owner(first.deployment()), accounts.Fault{Kind: accounts.ServerError})
	if a := post(t, r.URL+route("responses"), ask("responses", true, user("Hello")), "X-Session-Id", "s", name, token); a.affinity() != "moved" || sent(a) != "" {
		t.Errorf("after a move to %s the token went along: %q", a.deployment(), sent(a))
	}
}
