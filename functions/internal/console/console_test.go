package console

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

const (
	adminKey = "hf-admin-test-000000000000"
	apiKey   = "sk-test-caller-a-0000000000"
)

// desk is a console before an admin API that says which key it was asked with.
type desk struct {
	t   *testing.T
	now time.Time
	Config
	served *Console
}

func newDesk(t *testing.T, change ...func(*Config)) *desk {
	t.Helper()
	d := &desk{t: t, now: time.Unix(1_800_000_000, 0)}
	d.Config = Config{
		AdminKey: adminKey, Gateway: "https://gateway.example/", Callers: known{t}, Now: func() time.Time { return d.now },
		Files: fstest.MapFS{
			"index.html":            {Data: []byte("<!doctype html>application")},
			"assets/app-1a2b.js":    {Data: []byte("plain")},
			"assets/app-1a2b.js.br": {Data: []byte("brotli")},
			"assets/app-1a2b.js.gz": {Data: []byte("gzipped")},
		},
		Hash: func(parts ...string) string {
			mac := hmac.New(sha256.New, []byte("installation"))
			for _, part := range parts {
				_, _ = io.WriteString(mac, part+"\x00")
			}
			return hex.EncodeToString(mac.Sum(nil)[:16])
		},
	}
	for _, c := range change {
		c(&d.Config)
	}
	d.served = New(d.Config)
	return d
}

// known knows one API key.
type known struct{ t *testing.T }

func (k known) Caller(_ context.Context, key string) (*catalog.Caller, *catalog.Catalog, *wire.Problem) {
	if key != apiKey {
		return nil, nil, wire.Refuse(wire.InvalidAPIKey)
	}
	doc := catalog.Demo()
	doc.Keys[0].ID, doc.Keys[0].Key = "a", apiKey
	compiled, problems := catalog.Compile(doc, "r", func(text string) (string, error) { return text, nil })
	if catalog.HasErrors(problems) {
		k.t.Fatal(problems)
	}
	return compiled.Caller("a"), compiled, nil
}

// call sends a request as a browser at the console's own address would, with
// headers as NAME, VALUE pairs.
func (d *desk) call(method, path, body string, headers ...string) *http.Response {
	d.t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	if strings.HasPrefix(path, "/admin/") {
		d.served.Admit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Asked-With", r.Header.Get("Authorization"))
			w.Header().Set("Sent-On", r.Header.Get("Cookie"))
		})).ServeHTTP(w, r)
	} else {
		d.served.ServeHTTP(w, r)
	}
	return w.Result()
}

// signIn returns the cookie that a key gets.
func (d *desk) signIn(key string) *http.Cookie {
	d.t.Helper()
	a := d.call("POST", "/console/session", `{"key":"`+key+`"}`, "Sec-Fetch-Site", "same-origin")
	if a.StatusCode != 200 || len(a.Cookies()) != 1 {
		d.t.Fatalf("signing in: %d, %v", a.StatusCode, a.Cookies())
	}
	return a.Cookies()[0]
}

func text(t *testing.T, a *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestCookieOpensAdmin shows what a sign-in with the admin key opens, and to
// whom alone.
func TestCookieOpensAdmin(t *testing.T) {
	d := newDesk(t)
	cookie := d.signIn(adminKey)
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.MaxAge <= 0 || strings.Contains(cookie.Value, adminKey) {
		t.Errorf("the cookie is %+v", cookie)
	}
	with := cookie.Name + "=" + cookie.Value
	rows := []struct {
		name, method string
		headers      []string
		status       int
		asked        string
	}{
		{"a page of ours", "GET", []string{"Sec-Fetch-Site", "same-origin"}, 200, "Bearer " + adminKey},
		{"a page of ours changes something", "PUT", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1:8080"}, 200, "Bearer " + adminKey},
		{"the address bar", "GET", []string{"Sec-Fetch-Site", "none"}, 200, "Bearer " + adminKey},
		{"another site reads", "GET", []string{"Sec-Fetch-Site", "same-site"}, 403, ""},
		{"another site changes something", "POST", []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		{"another origin, of a browser that says no site", "DELETE", []string{"Origin", "http://127.0.0.1:9090"}, 403, ""},
		{"a credential of one's own", "GET", []string{"Authorization", "Bearer other"}, 200, "Bearer other"},
	}
	for _, row := range rows {
		a := d.call(row.method, "/admin/config", "", append(row.headers, "Cookie", with)...)
		if a.StatusCode != row.status || a.Header.Get("Asked-With") != row.asked {
			t.Errorf("%s: %d, asked with %q", row.name, a.StatusCode, a.Header.Get("Asked-With"))
		}
		if row.asked == "Bearer "+adminKey && a.Header.Get("Sent-On") != "" {
			t.Errorf("%s: the cookie went on", row.name)
		}
	}
}

// TestCookieThatOpensNothing shows the cookies that are worth nothing.
func TestCookieThatOpensNothing(t *testing.T) {
	d := newDesk(t)
	admin, key := d.signIn(adminKey), d.signIn(apiKey)
	payload, signature, _ := strings.Cut(admin.Value, ".")
	other, _, _ := strings.Cut(key.Value, ".")
	for name, value := range map[string]string{
		"an API key's":              key.Value,
		"none":                      "",
		"unsigned":                  payload,
		"another's signature":       other + "." + signature,
		"a signature of its own":    payload + "." + strings.Repeat("0", len(signature)),
		"something else altogether": "….…",
	} {
		if a := d.call("GET", "/admin/config", "", "Cookie", admin.Name+"="+value); a.Header.Get("Asked-With") != "" {
			t.Errorf("%s: opens the admin API", name)
		}
	}
	replaced := newDesk(t, func(c *Config) { c.AdminKey = "hf-admin-test-111111111111" })
	if a := replaced.call("GET", "/admin/config", "", "Cookie", admin.Name+"="+admin.Value); a.Header.Get("Asked-With") != "" {
		t.Error("a cookie outlives the admin key that it was given for")
	}
	d.now = d.now.Add(lifetime)
	if a := d.call("GET", "/admin/config", "", "Cookie", admin.Name+"="+admin.Value); a.Header.Get("Asked-With") != "" {
		t.Error("a cookie opens the admin API after its time")
	}
}

// TestSession shows what the front end is told, and that signing out takes the
// cookie away.
func TestSession(t *testing.T) {
	d := newDesk(t)
	if got := text(t, d.call("GET", "/console/session", "")); got != `{"role":"","gateway":"https://gateway.example"}`+"\n" {
		t.Errorf("nobody is told %s", got)
	}
	cookie := d.signIn(apiKey)
	got := text(t, d.call("GET", "/console/session", "", "Cookie", cookie.Name+"="+cookie.Value))
	if !strings.Contains(got, `"role":"key","key":"a"`) || strings.Contains(got, apiKey) {
		t.Errorf("a key's session is %s", got)
	}
	out := d.call("DELETE", "/console/session", "", "Sec-Fetch-Site", "same-origin")
	if c := out.Cookies(); len(c) != 1 || c[0].Name != cookie.Name || c[0].MaxAge >= 0 {
		t.Errorf("signing out: %v", c)
	}
	a := d.call("POST", "/console/session", `{"key":"`+adminKey+`"}`, "X-Forwarded-Proto", "https")
	if c := a.Cookies(); len(c) != 1 || !c[0].Secure || !strings.HasPrefix(c[0].Name, "__Host-") {
		t.Errorf("under TLS the cookie is %+v", c)
	}
}

// TestSignInRefuses shows who is not signed in.
func TestSignInRefuses(t *testing.T) {
	for name, row := range map[string]struct {
		body    string
		headers []string
		status  int
	}{
		"another site":    {`{"key":"` + adminKey + `"}`, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"a wrong key":     {`{"key":"` + adminKey + `x"}`, nil, 401},
		"no key":          {`{"key":" "}`, nil, 401},
		"no JSON":         {`key=` + adminKey, nil, 400},
		"more than a key": {`{"key":"` + adminKey + `","role":"admin"}`, nil, 400},
		"too much":        {`{"key":"` + strings.Repeat("k", maxCredential) + `"}`, nil, 400},
	} {
		a := newDesk(t).call("POST", "/console/session", row.body, row.headers...)
		if a.StatusCode != row.status || len(a.Cookies()) > 0 || a.Header.Get("X-Holdfast-Error") == "" {
			t.Errorf("%s: %d %s", name, a.StatusCode, text(t, a))
		}
	}
}

// TestGuessing shows that wrong keys of one address are counted, on both routes
// that take one, and that this holds up nobody else and not for ever.
func TestGuessing(t *testing.T) {
	d := newDesk(t)
	cookie := d.signIn(adminKey)
	for i := range maxFailures {
		path := []string{"/console/session", "/console/caller"}[i%2]
		if a := d.call("POST", path, `{"key":"guess"}`, "Cookie", cookie.Name+"="+cookie.Value); a.StatusCode != 401 {
			t.Fatalf("guess %d: %d", i, a.StatusCode)
		}
	}
	a := d.call("POST", "/console/session", `{"key":"`+adminKey+`"}`)
	if a.StatusCode != 429 || a.Header.Get("Retry-After") != "60" {
		t.Errorf("after %d guesses: %d, Retry-After %q", maxFailures, a.StatusCode, a.Header.Get("Retry-After"))
	}
	r := httptest.NewRequest("POST", "/console/session", strings.NewReader(`{"key":"`+adminKey+`"}`))
	r.RemoteAddr = "[2001:db8::1]:4711"
	w := httptest.NewRecorder()
	if d.served.ServeHTTP(w, r); w.Code != 200 {
		t.Errorf("another address: %d", w.Code)
	}
	d.now = d.now.Add(window)
	d.signIn(adminKey)
}

// TestAddressesAreBounded shows that a flood of addresses takes no memory.
func TestAddressesAreBounded(t *testing.T) {
	a, now := newAttempts(), time.Unix(0, 0)
	for i := range 2 * maxAddresses {
		a.fail(strings.Repeat("x", i%7)+string(rune(i)), now)
	}
	if len(a.by) > maxAddresses {
		t.Errorf("%d addresses are remembered", len(a.by))
	}
}

// TestOriginIsANetwork shows that an IPv6 network counts as one address.
func TestOriginIsANetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::/64", "[2001:db8::2%eth0]:80": "2001:db8::/64", "somewhere": "somewhere",
	} {
		if got := origin(&http.Request{RemoteAddr: address}); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
}

// TestCaller shows what the playground learns of a key, and who may ask.
func TestCaller(t *testing.T) {
	d := newDesk(t)
	if a := d.call("POST", "/console/caller", `{"key":"`+apiKey+`"}`); a.StatusCode != 401 {
		t.Errorf("nobody is told %s", text(t, a))
	}
	cookie := d.signIn(apiKey)
	a := d.call("POST", "/console/caller", `{"key":"`+apiKey+`"}`, "Cookie", cookie.Name+"="+cookie.Value)
	got := text(t, a)
	for _, want := range []string{`"id":"a"`, `"user_path":"/demo-user"`, `{"name":"demo","group":true,`, `"demo-chat-alpha":{"input":3,`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
	if strings.Contains(got, apiKey) {
		t.Error("the key came back")
	}
}

// TestPages shows how the front end is served.
func TestPages(t *testing.T) {
	d := newDesk(t)
	rows := []struct {
		path, accept        string
		status              int
		body, coding, cache string
	}{
		{"/console/", "", 200, "<!doctype html>application", "", "no-cache"},
		{"/console/usage", "br", 200, "<!doctype html>application", "", "no-cache"},
		{"/console/assets/app-1a2b.js", "gzip, deflate, br", 200, "brotli", "br", "public, max-age=31536000, immutable"},
		{"/console/assets/app-1a2b.js", "gzip;q=1.0, br;q=0", 200, "gzipped", "gzip", "public, max-age=31536000, immutable"},
		{"/console/assets/app-1a2b.js", "", 200, "plain", "", "public, max-age=31536000, immutable"},
		{"/console/assets/app-0000.js", "", 404, "", "", "no-store"},
		{"/console/nothing.png", "", 404, "", "", "no-store"},
	}
	for _, row := range rows {
		a := d.call("GET", row.path, "", "Accept-Encoding", row.accept)
		body := text(t, a)
		if a.StatusCode != row.status || row.body != "" && body != row.body || a.Header.Get("Content-Encoding") != row.coding || a.Header.Get("Cache-Control") != row.cache {
			t.Errorf("%s accepting %q: %d %q %v", row.path, row.accept, a.StatusCode, body, a.Header)
		}
		csp := a.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "connect-src 'self' https://gateway.example;") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", row.path, csp)
		}
		if tag := a.Header.Get("ETag"); tag != "" {
			again := d.call("GET", row.path, "", "Accept-Encoding", row.accept, "If-None-Match", tag)
			if again.StatusCode != 304 || text(t, again) != "" {
				t.Errorf("%s again: %d", row.path, again.StatusCode)
			}
		}
	}
	if a := d.call("GET", "/console", ""); a.StatusCode != 308 || a.Header.Get("Location") != "/console/" {
		t.Errorf("without the slash: %d to %q", a.StatusCode, a.Header.Get("Location"))
	}
	if a := d.call("POST", "/console/", ""); a.StatusCode != 405 || a.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST to a page: %d", a.StatusCode)
	}
}

// TestUnbuiltAndClosed shows a console without its front end, and one without
// an admin key.
func TestUnbuiltAndClosed(t *testing.T) {
	unbuilt := newDesk(t, func(c *Config) { c.Files = fstest.MapFS{"marker.txt": {}} })
	if a := unbuilt.call("GET", "/console/", ""); a.StatusCode != 503 || !strings.Contains(text(t, a), "make console") {
		t.Errorf("not built: %d", a.StatusCode)
	}
	closed := newDesk(t, func(c *Config) { c.AdminKey = "" })
	for _, path := range []string{"/console/", "/console/session", "/console/assets/app-1a2b.js"} {
		if a := closed.call("GET", path, ""); a.StatusCode != 404 || a.Header.Get("X-Holdfast-Error") != "route_not_found" {
			t.Errorf("%s of a closed console: %d", path, a.StatusCode)
		}
	}
}
