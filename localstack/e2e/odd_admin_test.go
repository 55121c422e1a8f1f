package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// TestAdminOddQueries: what is no text, and a path that is not the one it seems to
// be, are refused in the API's own form, and never the gateway's failure.
func TestAdminOddQueries(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	for _, list := range []string{"usage/sessions", "usage/summary", "audit/sessions", "audit/log", "audit/changes", "affinity", "keys", "config/revisions"} {
		for _, parameter := range []string{"key", "model", "label", "user_path", "cursor", "from", "session_id"} {
			a := admin(t, "GET", r.URL+"/admin/"+list+"?"+parameter+"=%ff%fe", "")
			if a.StatusCode != 400 || a.code() != "invalid_request" {
				t.Errorf("%s, %s: %d %s", list, parameter, a.StatusCode, a.body)
			}
		}
	}
	for _, path := range []string{"/admin//config", "/admin/./config", "/admin/keys/../config", "/admin/keys/%2e%2e/config", "/admin/x/%2E%2E/config"} {
		if a := admin(t, "GET", r.URL+path, ""); a.StatusCode != 404 || a.code() != "route_not_found" {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.body)
		}
	}
	if a := admin(t, "PUT", r.URL+"/admin/config", strings.Repeat("#", 16<<20), "If-Match", `"x"`); a.StatusCode != 413 || a.code() != "request_too_large" {
		t.Errorf("a vast document: %d %s", a.StatusCode, a.body)
	}
	if a := admin(t, "GET", r.URL+"/admin/config/revisions?format=csv", ""); a.StatusCode != 200 || !strings.HasPrefix(string(a.body), "revision\n") {
		t.Errorf("revisions as a table: %d %s", a.StatusCode, a.body)
	}
}

// TestAdminOddKeys: a change of a key is read as strictly as a whole key, and acts
// on the revision that it names only.
func TestAdminOddKeys(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	id, _ := made(t, r.URL, `{"id":"odd","user":"ann"}`)
	before := admin(t, "GET", r.URL+"/admin/keys/"+id, "")
	for _, patch := range []string{
		`{"enabled":false,"enabled":true}`, `{"user":"x","us\u0065r":"y"}`, `{"nope":null}`, `{"nope":1}`, `{"limits":{"concurrency":1}}`, `{"limits":{"rpm":1,"rpm":2}}`, `enabled: false`, `[]`, ``,
	} {
		if a := admin(t, "PATCH", r.URL+"/admin/keys/"+id, patch); a.StatusCode != 400 || a.code() != "invalid_request" {
			t.Errorf("%s: %d %s", patch, a.StatusCode, a.body)
		}
	}
	for _, match := range []string{`""`, `W/""`, `"x"`} {
		if a := admin(t, "PATCH", r.URL+"/admin/keys/"+id, `{"user":"bob"}`, "If-Match", match); a.StatusCode != 409 || a.code() != "revision_conflict" {
			t.Errorf("If-Match %s: %d %s", match, a.StatusCode, a.body)
		}
		if a := admin(t, "DELETE", r.URL+"/admin/keys/"+id, "", "If-Match", match); a.StatusCode != 409 {
			t.Errorf("delete, If-Match %s: %d %s", match, a.StatusCode, a.body)
		}
	}
	if after := admin(t, "GET", r.URL+"/admin/keys/"+id, ""); string(after.body) != string(before.body) {
		t.Errorf("%s became %s", before.body, after.body)
	}
	for _, fields := range []string{`{"id":"."}`, `{"id":".."}`, `{"limits":{"concurrency":1}}`} {
		if a := admin(t, "POST", r.URL+"/admin/keys", fields); a.StatusCode != 400 {
			t.Errorf("%s: %d %s", fields, a.StatusCode, a.body)
		}
	}
	for _, patch := range []string{`{}`, `{"user":null,"models":null,"budget":null,"limits":null,"expires":null,"enabled":null}`} {
		if a := admin(t, "PATCH", r.URL+"/admin/keys/"+id, patch); a.StatusCode != 200 {
			t.Errorf("%s: %d %s", patch, a.StatusCode, a.body)
		}
	}
}

// TestExplainTwoSessions: header names that differ in case are one header given
// twice, as in a request.
func TestExplainTwoSessions(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	for range 8 { // members of an object come in any order
		a := admin(t, "POST", r.URL+"/admin/explain", `{"endpoint":"chat","key":"a","headers":{"X-Session-Id":"one","x-session-id":"two"},"body":{"model":"chat","messages":[]}}`)
		if a.StatusCode != 400 || a.code() != "session_conflict" {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
	}
}

// TestR9BypassPath: what a caller asks for by a path, a query or a protocol that an
// account does not have is the caller's own mistake, and rests nothing that others
// use.
func TestR9BypassPath(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) {
		d.extra = "templates: [{id: touchy, allowed_fails: 1, cooldown: 1h}]\nplatform: {template: touchy}\n"
	})
	for range 3 {
		for _, account := range []string{"alpha", "bravo", "charlie"} {
			a := post(t, r.URL+"/bypass/"+account+"/v1/chat/completions/", ask("chat", false, user("Hello")), "Authorization", "Bearer "+keyB)
			if a.StatusCode != http.StatusNotFound {
				t.Fatalf("%d %s", a.StatusCode, a.body)
			}
		}
	}
	for range 3 {
		if a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello"))); a.StatusCode != 200 {
			t.Fatalf("another caller: %d %s", a.StatusCode, a.body)
		}
	}
}
