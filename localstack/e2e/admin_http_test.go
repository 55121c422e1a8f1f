package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestAdminMethods: what can be read can be asked for its headers alone, and a
// route says which methods it takes.
func TestAdminMethods(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	for path, allow := range map[string]string{
		"usage/sessions": "GET, HEAD", "usage/summary": "GET, HEAD", "audit/log": "GET, HEAD", "audit/changes": "GET, HEAD", "deployments": "GET, HEAD", "metrics": "GET, HEAD",
		"config": "GET, HEAD, PUT", "config/revisions": "GET, HEAD", "keys": "GET, HEAD, POST", "keys/nobody": "GET, HEAD, PATCH, DELETE", "groups/nothing": "GET, HEAD, PUT, DELETE",
		"affinity/nothing": "PUT, DELETE", "deployments/chat-alpha/drain": "POST, DELETE", "explain": "POST",
	} {
		takes := strings.Split(allow, ", ")
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			a := admin(t, method, r.URL+"/admin/"+path, "")
			refused := a.StatusCode == http.StatusMethodNotAllowed && a.code() == "method_not_allowed" && a.Header.Get("Allow") == allow
			if refused == slices.Contains(takes, method) {
				t.Errorf("%s %s: %d %s, Allow %q, want it for all but %q", method, path, a.StatusCode, a.code(), a.Header.Get("Allow"), allow)
			}
		}
		if !slices.Contains(takes, "GET") {
			continue
		}
		whole, head := admin(t, "GET", r.URL+"/admin/"+path, ""), admin(t, "HEAD", r.URL+"/admin/"+path, "")
		if head.StatusCode != whole.StatusCode || len(head.body) > 0 || head.Header.Get("Content-Type") != whole.Header.Get("Content-Type") || head.Header.Get("ETag") != whole.Header.Get("ETag") {
			t.Errorf("HEAD %s: %d %v %q, as GET: %d %v", path, head.StatusCode, head.Header, head.body, whole.StatusCode, whole.Header)
		}
	}
}

// TestAdminBodies: a compressed body is refused as such, a vast one with the limit
// that it is over.
func TestAdminBodies(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	for path, method := range map[string]string{"keys": "POST", "keys/nobody": "PATCH", "config": "PUT", "groups/nothing": "PUT", "explain": "POST", "affinity/nothing": "PUT"} {
		a := admin(t, method, r.URL+"/admin/"+path, "\x1f\x8b\x08", "Content-Encoding", "gzip", "If-Match", `"x"`)
		if a.StatusCode != http.StatusUnsupportedMediaType || a.code() != "unsupported_media_type" {
			t.Errorf("%s %s, compressed: %d %s", method, path, a.StatusCode, a.body)
		}
	}
	if a := admin(t, "POST", r.URL+"/admin/keys", strings.Repeat(" ", 65<<10)); a.StatusCode != 413 || !strings.Contains(a.body, "64 KiB") {
		t.Errorf("a vast key: %d %s", a.StatusCode, a.body)
	}
}
