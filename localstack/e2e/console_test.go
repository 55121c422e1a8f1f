package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/e2e/process"
	"holdfast/localstack/runtimeapi"
)

// TestRevisionsAreKept shows that the document of every revision can be read
// again, and put again.
func TestRevisionsAreKept(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "bolt")
	first := admin(t, "GET", r.URL+"/admin/config", "")
	name := strings.Trim(first.Header.Get("ETag"), `"`)
	changed := entry(t, first.body, "deployments", "chat-alpha", "weight", 5)
	put := admin(t, "PUT", r.URL+"/admin/config", changed, "If-Match", first.Header.Get("ETag"))
	if put.StatusCode != 200 {
		t.Fatal(put.body)
	}
	old := admin(t, "GET", r.URL+"/admin/config/revisions/"+name, "")
	if old.StatusCode != 200 || old.body != first.body {
		t.Fatalf("the first revision: %d, changed: %v", old.StatusCode, old.body != first.body)
	}
	if strings.Contains(old.body, keyA) {
		t.Error("a revision holds a caller's key")
	}
	back := admin(t, "PUT", r.URL+"/admin/config", old.body, "If-Match", put.Header.Get("ETag"))
	now := admin(t, "GET", r.URL+"/admin/config", "")
	if back.StatusCode != 200 || now.body != first.body {
		t.Errorf("put again: %d", back.StatusCode)
	}
	if a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello"))); a.StatusCode != 200 {
		t.Errorf("the keys of the first revision: %d %s", a.StatusCode, a.body)
	}
	for _, unknown := range []string{"none", strings.Repeat("x", 200), "..%2F..%2Fcurrent"} {
		if a := admin(t, "GET", r.URL+"/admin/config/revisions/"+unknown, ""); a.StatusCode != 404 || a.code() != "route_not_found" {
			t.Errorf("revision %s: %d %s", unknown, a.StatusCode, a.code())
		}
	}
}

// TestConsoleOverHTTP shows the way of a signed-in browser to the admin API, and
// that nobody else has it, on each store that processes share.
func TestConsoleOverHTTP(t *testing.T) {
	t.Parallel()
	for _, store := range rigs("memory", "bolt", "dynamodb") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newAdminRig(t, store)
			if !strings.Contains(r.Output(), "Console: "+r.URL+"/console/") {
				t.Errorf("the console's address is not printed: %s", r.Output())
			}
			page := get(t, r.URL+"/console/", "")
			if page.Header.Get("X-Request-Id") == "" || page.Header.Get("Access-Control-Allow-Origin") != "" ||
				!strings.HasPrefix(page.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';") {
				t.Errorf("the page says %v", page.Header)
			}
			enter := func(key string) *http.Cookie {
				t.Helper()
				a := post(t, r.URL+"/console/session", map[string]string{"key": key}, "Sec-Fetch-Site", "same-origin")
				if a.StatusCode != 200 || len(a.Cookies()) != 1 || strings.Contains(a.body, key) {
					t.Fatalf("signing in: %d %s", a.StatusCode, a.body)
				}
				return a.Cookies()[0]
			}
			read := func(cookie *http.Cookie, site string) int {
				t.Helper()
				request := newRequest(t, t.Context(), r.URL+"/admin/config", nil)
				request.Method, request.Body, request.ContentLength = "GET", http.NoBody, 0
				request.Header.Del("Authorization")
				request.Header.Set("Sec-Fetch-Site", site)
				request.AddCookie(cookie)
				return do(t, request).StatusCode
			}
			operator, caller := enter(adminKey), enter(keyA)
			for _, row := range []struct {
				name   string
				cookie *http.Cookie
				site   string
				want   int
			}{
				{"the admin's cookie", operator, "same-origin", 200},
				{"the admin's cookie on another site's page", operator, "cross-site", 403},
				{"an API key's cookie", caller, "same-origin", 401},
			} {
				if got := read(row.cookie, row.site); got != row.want {
					t.Errorf("%s: %d, want %d", row.name, got, row.want)
				}
			}
			r.Stop()
			r.Gateway = r.start()
			operator.Name = "holdfast-" + r.URL[strings.LastIndexByte(r.URL, ':')+1:] // the port is another
			want := 200
			if store == "memory" { // whose secret ends with it
				want = 401
			}
			if got := read(operator, "same-origin"); got != want {
				t.Errorf("the cookie at the next process: %d, want %d", got, want)
			}
		})
	}
	closed := newRig(t, "memory")
	if a := get(t, closed.URL+"/console/", ""); a.StatusCode != 404 || !strings.Contains(closed.Output(), "Console: closed") {
		t.Errorf("without an admin key: %d, %s", a.StatusCode, closed.Output())
	}
}

// TestConsoleOnLambda shows the console's own bootstrap: the admin API and the
// pages, compressed, under TLS's cookie, with the gateway's address in their
// policy, and nothing of the data plane.
func TestConsoleOnLambda(t *testing.T) {
	t.Parallel()
	gateway := newFunction(t, runtimeapi.Config{Environments: 1}, true)
	if a := gateway.turn("chat", "s", false); a.StatusCode != 200 { // its document is stored with its first request
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	file, err := process.BuildMain(filepath.Join(t.TempDir(), "bootstrap"), "./functions/console", bootstrapFlags()...)
	if err != nil {
		t.Fatal(err)
	}
	var out output
	functions, err := runtimeapi.Start(runtimeapi.Config{
		Bootstrap: file, Environments: 2, Output: &out,
		Env: append([]string{"HOLDFAST_ADMIN_KEY=" + adminKey, "HOLDFAST_GATEWAY_URL=https://gateway.example"}, gateway.env...),
	})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(functions)
	t.Cleanup(func() {
		front.Close()
		left, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		if err := functions.Close(left); err != nil {
			t.Errorf("work was left: %v", err)
		}
		if strings.Contains(out.String(), adminKey) || strings.Contains(out.String(), keyA) {
			t.Error("the console has logged a key")
		}
	})
	if a := get(t, front.URL+"/v1/models", keyA); a.StatusCode != 404 {
		t.Errorf("the data plane is served: %d", a.StatusCode)
	}
	events(t, front.URL, 1) // booked after the answer, by another process
	if a := admin(t, "GET", front.URL+"/admin/audit/sessions", ""); a.StatusCode != 200 || !strings.Contains(a.body, "scoped-") {
		t.Errorf("the gateway's session is not seen: %d %s", a.StatusCode, a.body)
	}
	page := get(t, front.URL+"/", "")
	if page.StatusCode != 200 || !strings.Contains(page.Header.Get("Content-Security-Policy"), "connect-src 'self' https://gateway.example;") {
		t.Errorf("the page: %d %v", page.StatusCode, page.Header)
	}
	_, asset, _ := strings.Cut(page.body, `src="/console/assets/`)
	asset, _, _ = strings.Cut(asset, `"`)
	request := newRequest(t, t.Context(), front.URL+"/console/assets/"+asset, nil)
	request.Method, request.Body, request.ContentLength = "GET", http.NoBody, 0
	request.Header.Set("Accept-Encoding", "br")
	script := do(t, request)
	plain := get(t, front.URL+"/console/assets/"+asset, "")
	if script.Header.Get("Content-Encoding") != "br" || len(script.body)*2 > len(plain.body) || !strings.Contains(script.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("%s: %d bytes of %d, %v", asset, len(script.body), len(plain.body), script.Header)
	}
	entered := post(t, front.URL+"/console/session", map[string]string{"key": keyA}, "X-Forwarded-Proto", "https")
	if c := entered.Cookies(); entered.StatusCode != 200 || len(c) != 1 || !c[0].Secure || c[0].Name != "__Host-holdfast" {
		t.Errorf("signing in: %d %s %v", entered.StatusCode, entered.body, c)
	}
}
