package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"holdfast/localstack/wirefault"
)

// newKeyRig is a rig with an admin key, organizations and teams.
func newKeyRig(t *testing.T, store string) *rig {
	t.Helper()
	r := newRig(t, store, func(d *document) {
		d.extra = "organizations: [{id: acme, models: [chat, responses]}, {id: globex}]\n" +
			"teams: [{id: core, organization: acme, models: [chat, messages]}, {id: lab, organization: globex}]\n" +
			"templates: [{id: plain}]\n"
	})
	r.env = append(r.env, "HOLDFAST_ADMIN_KEY="+adminKey)
	r.Stop()
	r.Gateway = r.start()
	return r
}

// made makes a key and returns its id and the key itself.
func made(t *testing.T, url, fields string) (id, key string) {
	t.Helper()
	a := admin(t, "POST", url+"/admin/keys", fields)
	id, _ = a.field("id").(string)
	key, _ = a.field("key").(string)
	if a.StatusCode != http.StatusCreated || id == "" || !regexp.MustCompile(`^sk-hf-[0-9A-Za-z]{43}$`).MatchString(key) {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	return id, key
}

// byKey asks a model with a key.
func byKey(t *testing.T, url, key, model string) answer {
	t.Helper()
	return post(t, url+route(model), ask(model, false, user("Hello")), "Authorization", "Bearer "+key, "X-Session-Id", "s")
}

// TestKeyLifecycle: a key that is made in one process works in another; a change
// of its rights, its end and its return rule with the very next request there.
func TestKeyLifecycle(t *testing.T) {
	for _, store := range rigs("memory", "bolt", "dynamodb") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newKeyRig(t, store)
			other := r.Gateway
			if store == "dynamodb" {
				other = r.start()
			}
			id, key := made(t, r.URL, `{"id":"ci","user":"bot","team":"core","limits":{"rpm":1000}}`)
			for i := range 3 {
				if a := byKey(t, other.URL, key, "chat"); a.StatusCode != 200 || (i > 0 && a.affinity() != "hit") {
					t.Fatalf("turn %d: %d %s %s", i, a.StatusCode, a.affinity(), a.body)
				}
			}
			patch := func(body string) {
				t.Helper()
				if a := admin(t, "PATCH", r.URL+"/admin/keys/"+id, body); a.StatusCode != 200 || a.field("id") != "ci" {
					t.Fatalf("%s: %d %s", body, a.StatusCode, a.body)
				}
			}
			for _, step := range []struct {
				patch, model string
				status       int
				code         string
			}{
				{`{"enabled":false}`, "chat", 403, "key_disabled"},
				{`{"enabled":true}`, "chat", 200, ""},
				{`{"models":["responses"]}`, "chat", 403, "model_forbidden"}, // organization ∩ team ∩ key is nothing
				{`{"models":["chat"]}`, "chat", 200, ""},
				{`{"models":null}`, "chat", 200, ""},
				{`{"expires":"2020-01-31"}`, "chat", 403, "key_expired"},
				{`{"expires":null,"limits":{"rpm":1}}`, "chat", 429, "rate_limited"},
				{`{"limits":null}`, "chat", 200, ""},
			} {
				r.settledAll(other)
				patch(step.patch)
				if step.code == "rate_limited" { // of a minute that does not end meanwhile
					untilEarly()
					byKey(t, other.URL, key, step.model)
					r.settledAll(other)
				}
				calls := r.calls()
				if a := byKey(t, other.URL, key, step.model); a.StatusCode != step.status || a.code() != step.code || (step.status != 200 && r.calls() != calls) {
					t.Errorf("%s: %d %s %s, want %d %s", step.patch, a.StatusCode, a.code(), a.body, step.status, step.code)
				}
				if a := get(t, other.URL+"/v1/models", key); (a.StatusCode == 403) != (step.status == 403 && step.code != "model_forbidden") {
					t.Errorf("%s: models: %d %s", step.patch, a.StatusCode, a.body)
				}
			}
			if a := admin(t, "DELETE", r.URL+"/admin/keys/"+id, ""); a.StatusCode != 204 {
				t.Fatalf("%d %s", a.StatusCode, a.body)
			}
			if a := byKey(t, other.URL, key, "chat"); a.StatusCode != 401 || a.code() != "invalid_api_key" {
				t.Errorf("after its end: %d %s", a.StatusCode, a.body)
			}
			if a := admin(t, "DELETE", r.URL+"/admin/keys/"+id, ""); a.StatusCode != 404 {
				t.Errorf("removed twice: %d %s", a.StatusCode, a.body)
			}
			if a := admin(t, "POST", r.URL+"/admin/keys", `{"id":"ci"}`); a.StatusCode != 409 { // its sessions and responses are nobody else's
				t.Errorf("a removed key's id was given to another: %d %s", a.StatusCode, a.body)
			}
			_, again := made(t, r.URL, `{"id":"ci-2"}`)
			if a := byKey(t, other.URL, again, "messages"); a.StatusCode != 200 || byKey(t, other.URL, key, "chat").StatusCode != 401 {
				t.Errorf("a new key: %d %s", a.StatusCode, a.body)
			}
			for _, secret := range []string{key, again} {
				if strings.Contains(r.Log()+other.Log(), secret) {
					t.Error("a key is in the log")
				}
			}
		})
	}
}

// TestKeysNarrow: organization ∩ team ∩ key, and the path that follows.
func TestKeysNarrow(t *testing.T) {
	t.Parallel()
	r := newKeyRig(t, "memory")
	for _, row := range []struct {
		fields, path string
		may          string
	}{
		{`{}`, "/", "chat responses messages"},
		{`{"user":"ann","organization":"acme"}`, "/acme/ann", "chat responses"},
		{`{"user":"ann","team":"core"}`, "/acme/core/ann", "chat"},
		{`{"team":"core","models":["chat","messages"]}`, "/acme/core", "chat"},
		{`{"team":"core","models":["messages"]}`, "/acme/core", ""},
		{`{"team":"lab","models":["messages"],"template":"plain"}`, "/globex/lab", "messages"},
	} {
		id, key := made(t, r.URL, row.fields)
		for _, model := range []string{"chat", "responses", "messages"} {
			want := 403
			if strings.Contains(row.may, model) {
				want = 200
			}
			if a := byKey(t, r.URL, key, model); a.StatusCode != want {
				t.Errorf("%s: %s: %d %s, want %d", row.fields, model, a.StatusCode, a.body, want)
			}
		}
		if a := admin(t, "GET", r.URL+"/admin/keys/"+id, ""); a.field("user_path") != row.path || a.field("key") != nil {
			t.Errorf("%s: %s, want the path %s", row.fields, a.body, row.path)
		}
	}
}

// TestKeysOfTwoTenants: equal sessions of two stored keys never meet, nor do
// those of a stored key and one of the configuration.
func TestKeysOfTwoTenants(t *testing.T) {
	t.Parallel()
	r := newKeyRig(t, "memory")
	_, one := made(t, r.URL, `{"user":"ann"}`)
	_, two := made(t, r.URL, `{"user":"ann"}`)
	for _, key := range []string{one, two, keyA, keyB} {
		if a := byKey(t, r.URL, key, "chat"); a.affinity() != "claimed" {
			t.Errorf("a first turn: %s %s", a.affinity(), a.body)
		}
	}
}

// TestKeyFields: what may not be said of a key, each problem at its field (X3,
// X4).
func TestKeyFields(t *testing.T) {
	t.Parallel()
	r := newKeyRig(t, "memory")
	made(t, r.URL, `{"id":"taken"}`)
	for body, want := range map[string]string{
		`{"id":"a"}`:                                       `"path":"id"`, // of the configuration
		`{"id":"x\r\nSet-Cookie: y"}`:                      `"path":"id"`,
		`{"id":"a/b"}`:                                     `"path":"id"`,
		`{"user":"x\ny"}`:                                  `"path":"user"`,
		`{"user":"a/b"}`:                                   `"path":"user"`,
		`{"team":"nobody"}`:                                `"path":"team"`,
		`{"team":"core","organization":"globex"}`:          `"path":"organization"`,
		`{"template":"nothing"}`:                           `"path":"template"`,
		`{"models":["gpt-99"]}`:                            `"path":"models[0]"`,
		`{"budget":{"usd":-1,"period":"x"}}`:               `"path":"budget.usd"`,
		`{"limits":{"rpm":-1}}`:                            `"path":"limits.rpm"`,
		`{"expires":"soon"}`:                               `"path":"expires"`,
		`{"key":"sk-my-own"}`:                              `"path":"key"`,
		`{"key_sha256":"` + strings.Repeat("0", 64) + `"}`: `"path":"key_sha256"`,
		`{"colour":"red"}`:                                 `"path":"colour"`,
		`[]`:                                               `"problems"`,
		`{`:                                                `"problems"`,
	} {
		a := admin(t, "POST", r.URL+"/admin/keys", body)
		if a.StatusCode != 400 || !strings.Contains(a.body, want) || strings.Contains(a.body, "sk-my-own") {
			t.Errorf("%s: %d %s, want %s", body, a.StatusCode, a.body, want)
		}
	}
	if a := admin(t, "POST", r.URL+"/admin/keys", `{"id":"taken"}`); a.StatusCode != 409 {
		t.Errorf("an id twice: %d %s", a.StatusCode, a.body)
	}
	for body, status := range map[string]int{`{"id":"other"}`: 400, `{"key":"x"}`: 400, `7`: 400, `{"user":"\u0000"}`: 400, `{"user":"eve"}`: 200} {
		if a := admin(t, "PATCH", r.URL+"/admin/keys/taken", body); a.StatusCode != status {
			t.Errorf("PATCH %s: %d %s, want %d", body, a.StatusCode, a.body, status)
		}
	}
	if a := admin(t, "PATCH", r.URL+"/admin/keys/taken", `{"user":"x"}`, "If-Match", `"stale"`); a.StatusCode != 409 || a.code() != "revision_conflict" {
		t.Errorf("a stale revision: %d %s", a.StatusCode, a.body)
	}
	for _, path := range []string{"/admin/keys", "/admin/keys/taken", "/admin/audit/changes"} {
		if a := get(t, r.URL+path, keyA); a.StatusCode != 401 {
			t.Errorf("%s for a caller: %d", path, a.StatusCode)
		}
	}
}

// TestKeysAreListed: pages, filters, CSV, and parallel makers of one id.
func TestKeysAreListed(t *testing.T) {
	t.Parallel()
	r := newKeyRig(t, "bolt")
	var all sync.WaitGroup
	won := make(chan int, 8)
	for range 8 {
		all.Go(func() { won <- admin(t, "POST", r.URL+"/admin/keys", `{"id":"one","user":"=cmd()"}`).StatusCode })
	}
	all.Wait()
	close(won)
	makers := 0
	for status := range won {
		if status == 201 {
			makers++
		} else if status != 409 {
			t.Errorf("a loser got %d", status)
		}
	}
	if makers != 1 {
		t.Errorf("%d made the key, want 1", makers)
	}
	for i := range 4 {
		made(t, r.URL, fmt.Sprintf(`{"id":"k%d","team":"core"}`, i))
	}
	seen := map[string]bool{}
	cursor, pages := "", 0
	for ok := true; ok; ok = cursor != "" {
		a := admin(t, "GET", r.URL+"/admin/keys?limit=2&cursor="+cursor, "")
		var page struct {
			Entries []map[string]any `json:"entries"`
			Next    *string          `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(a.body), &page); err != nil || page.Next == nil || len(page.Entries) > 2 {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
		for _, e := range page.Entries {
			if e["key"] != nil || e["key_sha256"] != nil || seen[e["id"].(string)] {
				t.Errorf("an entry: %v", e)
			}
			seen[e["id"].(string)] = true
		}
		if cursor = *page.Next; pages > 9 {
			t.Fatal("the list does not end")
		}
		pages++
	}
	if len(seen) != 7 || !seen["a"] || !seen["b"] { // those of the configuration are keys, too
		t.Errorf("listed %v", seen)
	}
	if a := admin(t, "GET", r.URL+"/admin/keys?user_path=/acme", ""); strings.Count(a.body, `"id"`) != 4 {
		t.Errorf("by path: %s", a.body)
	}
	csv := admin(t, "GET", r.URL+"/admin/keys?format=csv", "")
	if !strings.HasPrefix(csv.body, "id,source,user,team,") || strings.Count(csv.body, "\n") != 8 || !strings.Contains(csv.body, "one,stored,'=cmd()") {
		t.Errorf("CSV: %s", csv.body)
	}
	for query, status := range map[string]int{"limit=0": 400, "limit=201": 400, "cursor=nonsense": 400, "cursor=c.x": 400, "cursor=c.-1": 400, "limit=200": 200} {
		if a := admin(t, "GET", r.URL+"/admin/keys?"+query, ""); a.StatusCode != status {
			t.Errorf("%s: %d %s", query, a.StatusCode, a.body)
		}
	}
}

// TestAuditTrail: every change is on record with before and after, newest first,
// and none of it holds a secret.
func TestAuditTrail(t *testing.T) {
	t.Parallel()
	r := newKeyRig(t, "bolt")
	id, key := made(t, r.URL, `{"id":"k","user":"ann"}`)
	admin(t, "PATCH", r.URL+"/admin/keys/"+id, `{"user":"bob"}`)
	read := admin(t, "GET", r.URL+"/admin/config", "")
	put := admin(t, "PUT", r.URL+"/admin/config", read.body, "If-Match", read.Header.Get("ETag"))
	if put.StatusCode != 200 {
		t.Fatal(put.body)
	}
	admin(t, "PUT", r.URL+"/admin/config", read.body, "If-Match", read.Header.Get("ETag")) // stale
	admin(t, "DELETE", r.URL+"/admin/keys/"+id, "")
	a := admin(t, "GET", r.URL+"/admin/audit/changes", "")
	var page struct {
		Entries []struct {
			Time, Who, Action, Target, Outcome string
			Before, After                      map[string]any
		}
	}
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		t.Fatal(err, a.body)
	}
	var got []string
	for _, e := range page.Entries {
		got = append(got, fmt.Sprintf("%s %s %s %v>%v", e.Action, e.Target, e.Outcome, e.Before["user"], e.After["user"]))
		if e.Who == "" || e.Time == "" {
			t.Errorf("nobody, or never: %+v", e)
		}
	}
	want := []string{"key.remove k done bob><nil>", "config.replace config failed <nil>><nil>", "config.replace config done <nil>><nil>",
		"key.change k done ann>bob", "key.create k done <nil>>ann"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the trail:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if page.Entries[2].After["revision"] != put.field("revision") {
		t.Errorf("the new revision: %v", page.Entries[2].After)
	}
	if strings.Contains(a.body, key) || strings.Contains(a.body, "sha256") {
		t.Error("the trail holds a key")
	}
	if a := admin(t, "GET", r.URL+"/admin/audit/changes?to=2020-01-01", ""); strings.Contains(a.body, `"id"`) {
		t.Errorf("before everything: %s", a.body)
	}
	if a := admin(t, "GET", r.URL+"/admin/audit/changes?format=csv&limit=2", ""); strings.Count(a.body, "\n") != 3 || a.Header.Get("X-Holdfast-Next-Cursor") == "" {
		t.Errorf("CSV: %s", a.body)
	}
}

// TestKeysWithoutStore: while the store is away, keys of the configuration and
// stored ones that were seen keep working; others are 503, never 401.
func TestKeysWithoutStore(t *testing.T) {
	t.Parallel()
	r := newKeyRig(t, "dynamodb")
	_, seen := made(t, r.URL, `{"user":"seen"}`)
	_, unseen := made(t, r.URL, `{"user":"unseen"}`)
	byKey(t, r.URL, seen, "chat")
	r.settled()
	r.front.Decide(func(wirefault.Request) wirefault.Fault { return wirefault.Fault{Kind: wirefault.Error} })
	for _, row := range []struct {
		key    string
		status int
		code   string
	}{
		{keyA, 200, ""}, {seen, 200, ""}, {unseen, 503, "configuration_unavailable"}, {"sk-hf-nobody", 503, "configuration_unavailable"},
	} {
		a := byKey(t, r.URL, row.key, "chat")
		if a.StatusCode != row.status || a.code() != row.code || (row.status == 503) != (a.Header.Get("Retry-After") != "") {
			t.Errorf("%d %s %s, want %d", a.StatusCode, a.code(), a.body, row.status)
		}
	}
	if a := get(t, r.URL+"/v1/models", seen); a.StatusCode != 200 {
		t.Errorf("models for a seen key: %d %s", a.StatusCode, a.body)
	}
	r.front.Decide(nil)
	r.recovered(r.URL)
	if a := byKey(t, r.URL, unseen, "chat"); a.StatusCode != 200 {
		t.Errorf("afterwards: %d %s", a.StatusCode, a.body)
	}
}

// TestP4Keys: a stored key costs one read more when it is unseen, none after.
func TestP4Keys(t *testing.T) {
	t.Parallel()
	r := newKeyRig(t, "dynamodb")
	_, key := made(t, r.URL, `{}`)
	other := r.start()
	for i, want := range []string{"map[BatchGetItem:2 PutItem:2]", "map[BatchGetItem:1 PutItem:1]", "map[BatchGetItem:1 PutItem:1]"} {
		r.front.ResetCounts()
		if a := byKey(t, other.URL, key, "chat"); a.StatusCode != 200 {
			t.Fatal(a.body)
		}
		r.settledAll(other)
		if got := fmt.Sprint(r.front.Counts()); got != want {
			t.Errorf("turn %d: %s, want %s", i, got, want)
		}
	}
	r.front.ResetCounts()
	if a := byKey(t, other.URL, "sk-anything-at-all", "chat"); a.StatusCode != 401 {
		t.Fatal(a.body)
	}
	if got := fmt.Sprint(r.front.Counts()); got != "map[BatchGetItem:1]" { // the configuration's revision
		t.Errorf("an unknown key: %s", got)
	}
}
