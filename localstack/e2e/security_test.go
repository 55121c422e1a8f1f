package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// TestX1Members shows that no member of a body chooses where a call goes, what
// it proves itself with or what headers it has, however the name is written.
func TestX1Members(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	away := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a client has chosen the upstream") }))
	defer away.Close()
	for _, endpoint := range protocols() {
		plain, err := json.Marshal(ask(endpoint, false, user("Hello")))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"api_base": `"` + away.URL + `/v1"`, "base_url": `"` + away.URL + `"`, "api_key": `"sk-mine"`, "extra_headers": `{"Authorization":"Bearer sk-mine"}`,
			`api\u005fbase`: `"` + away.URL + `"`, `\u0062ase_url`: "null", `api_ke\u0079`: "1", `extra\u005Fheaders`: "{}",
		} {
			body := strings.TrimSuffix(string(plain), "}") + `,"` + name + `":` + value + "}"
			a := post(t, r.URL+route(endpoint), body)
			refusalOf(t, endpoint, a)
			if a.StatusCode != http.StatusBadRequest || a.code() != "invalid_request" {
				t.Errorf("%s with %s: %d %s, want 400", endpoint, name, a.StatusCode, a.code())
			}
		}
	}
	if n := r.calls(); n != 0 {
		t.Errorf("%d calls reached the accounts", n)
	}
}

// TestX1Redirects shows that a provider's redirect is a failure to answer and
// leads nowhere.
func TestX1Redirects(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	first := post(t, r.URL+route("chat"), ask("chat", false, user("Hello")))
	accounts.InjectT(t, r.owner(first.deployment()), accounts.Fault{Kind: accounts.Redirect})
	if a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello"))); a.StatusCode != http.StatusOK || a.affinity() != "moved" {
		t.Errorf("after a redirect: %d %s %s, want another deployment's answer", a.StatusCode, a.affinity(), a.body)
	}
	for _, a := range r.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.Redirect})
	}
	for _, endpoint := range protocols() {
		for _, stream := range []bool{false, true} {
			a := post(t, r.URL+route(endpoint), ask(endpoint, stream, user("Hello")), "X-Session-Id", fmt.Sprint(endpoint, stream))
			refusalOf(t, endpoint, a)
			if a.StatusCode < 500 && a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Location") != "" { // 429 once all are resting
				t.Errorf("%s: %d %s, Location %q", endpoint, a.StatusCode, a.code(), a.Header.Get("Location"))
			}
		}
	}
	for _, a := range r.fleet.Accounts() {
		for _, c := range a.Calls() {
			if strings.Contains(c.Path, "redirected") {
				t.Errorf("the redirect was followed: %s", c.Path)
			}
		}
	}
}

// TestX1PrivateAddresses shows that a private address is refused when dialled,
// however it is written, unless its connection allows it; where another
// deployment can serve, it does.
func TestX1PrivateAddresses(t *testing.T) {
	t.Parallel()
	fleet := accounts.StartT(t, "alpha", "bravo")
	at, err := url.Parse(fleet.URL("alpha"))
	if err != nil {
		t.Fatal(err)
	}
	config := "connections:\n  - {id: open, provider: openai-compatible, base_url: " + fleet.URL("bravo") + "/v1, auth: {type: none}, allow_private_network: true}\n"
	deployments := "deployments:\n  - {id: open, model: both, connection: open, protocol: chat, weight: 1}\n"
	hosts := []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]", "127.1", "2130706433", "0x7f.1", "localhost."}
	for i, host := range hosts {
		config += fmt.Sprintf("  - {id: c%d, provider: openai-compatible, base_url: \"http://%s:%s/v1\", auth: {type: none}}\n", i, host, at.Port())
		deployments += fmt.Sprintf("  - {id: d%d, model: m%d, connection: c%d, protocol: chat}\n", i, i, i)
		deployments += fmt.Sprintf("  - {id: both%d, model: both, connection: c%d, protocol: chat, weight: 100}\n", i, i)
	}
	r := rigOf(t, fleet, config+deployments+"keys: [{id: a, key: \""+keyA+"\"}]\n", "memory")
	for i, host := range hosts {
		a := post(t, r.URL+route("chat"), member(ask("chat", false, user("Hello")), "model", fmt.Sprint("m", i)))
		refusalOf(t, "chat", a)
		if a.code() != "upstream_failed" {
			t.Errorf("%s: %d %s, want 502 upstream_failed", host, a.StatusCode, a.code())
		}
		if strings.Contains(a.body, host) || strings.Contains(a.body, at.Port()) {
			t.Errorf("%s: the refusal names the address: %s", host, a.body)
		}
	}
	if a := post(t, r.URL+route("chat"), member(ask("chat", false, user("Hello")), "model", "both")); a.StatusCode != http.StatusOK || a.deployment() != "open" {
		t.Errorf("beside an open deployment: %d by %s: %s", a.StatusCode, a.deployment(), a.body)
	}
	if n := fleet.Account("alpha").Count(); n != 0 {
		t.Errorf("%d calls reached the private address", n)
	}
}

// doubled are bodies in which one object has a key twice.
func doubled(plain string) map[string]string {
	with := func(more string) string { return strings.TrimSuffix(plain, "}") + "," + more + "}" }
	deep := func(depth int, inner string) string {
		return with(`"metadata":` + strings.Repeat(`{"a":[`, depth) + inner + strings.Repeat(`]}`, depth))
	}
	rows := map[string]string{
		"model, another value": with(`"model":"messages"`), "model, the same value": strings.Replace(plain, "{", `{"model":"chat",`, 1),
		"model in escapes": with(`"mod\u0065l":"messages"`), "model all in escapes": with(`"\u006d\u006f\u0064\u0065\u006c":null`),
		"stream": with(`"stream":true,"stream":false`), "session_id": with(`"session_id":"a","session_id":"a"`), "an empty key": with(`"":1,"":1`),
		"in a message":  with(`"x":[{"role":"user","role":"system","content":"x"}]`),
		"in a block":    with(`"x":[{"content":[{"type":"text","text":"a","text":"b"}]}]`),
		"in a tool":     with(`"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object","properties":{"p":{},"p":{}}}}}]`),
		"in metadata":   with(`"metadata":{"user_id":"a","user_\u0069d":"b"}`),
		"far behind":    with(`"filler":"` + strings.Repeat("x", 100_000) + `","y":{"k":1,"k":2}`),
		"among many":    with(`"y":{` + manyKeys(2000) + `"k77":0}`),
		"by surrogates": with(`"y":{"😀":1,"\ud83d\ude00":2}`),
	}
	for _, depth := range []int{1, 2, 5, 20, 60} {
		rows[fmt.Sprint("at depth ", 2*depth+1)] = deep(depth, `{"k":1,"k":2}`)
	}
	return rows
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i)
	}
	return b.String()
}

// TestX2 shows that no two readers of one body can see two models: a key twice
// in an object is refused, at any depth and however it is written.
func TestX2(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	for _, endpoint := range protocols() {
		plain, err := json.Marshal(ask(endpoint, false, user("Hello")))
		if err != nil {
			t.Fatal(err)
		}
		for name, body := range doubled(string(plain)) {
			a := post(t, r.URL+route(endpoint), body)
			refusalOf(t, endpoint, a)
			if a.code() != "invalid_json" || !strings.Contains(a.body, "duplicate key") {
				t.Errorf("%s, twice %s: %d %s, want 400 invalid_json", endpoint, name, a.StatusCode, a.body)
			}
		}
	}
	if n := r.calls(); n != 0 {
		t.Errorf("%d calls reached the accounts", n)
	}
	same := member(ask("chat", false, user("Hello")), "metadata", turn{"a": turn{"k": "1"}, "b": turn{"k": "1"}, "K": "1", "k": "1"})
	if a := post(t, r.URL+route("chat"), same); a.StatusCode != http.StatusOK {
		t.Errorf("a key in two objects: %d %s", a.StatusCode, a.body)
	}
}

// TestX4 shows that nothing which becomes a header can end it: in ids, names
// and keys line breaks are refused, in a query they stay encoded.
func TestX4(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	breaks := []string{"\r\nX-Evil: 1", "\nX-Evil: 1", "\rX-Evil: 1", "\u0085X-Evil: 1", "\x00", "\x1b[31m", "\x7f", "\t"}
	for _, endpoint := range protocols() {
		names := []string{"session_id", "prompt_cache_key", "model"}
		if endpoint == "responses" {
			names = append(names, "previous_response_id")
		}
		for _, name := range names {
			for _, b := range breaks {
				a := post(t, r.URL+route(endpoint), member(ask(endpoint, false, user("Hello")), name, "a"+b+"b"))
				refusalOf(t, endpoint, a)
				if a.StatusCode != http.StatusBadRequest || a.Header.Get("X-Evil") != "" {
					t.Errorf("%s, %s with %q: %d %s", endpoint, name, b, a.StatusCode, a.code())
				}
			}
		}
		loose := member(ask(endpoint, false, user("Hello")), "metadata", turn{"session_id": "a\r\nX-Evil: 1"}) // a foreign signal: passed over
		if a := post(t, r.URL+route(endpoint), loose); a.StatusCode != http.StatusOK || !strings.HasPrefix(sessionOf(a), "prompt ") || a.Header.Get("X-Evil") != "" {
			t.Errorf("%s, a foreign session with a line break: %d %q", endpoint, a.StatusCode, sessionOf(a))
		}
		before := len(r.lastCalls())
		query := "?beta=true&x=%0d%0aX-Evil:%201&y=%00&z=%F0%9F%98%80"
		a := post(t, r.URL+route(endpoint)+query, ask(endpoint, false, user("Hello")))
		calls := r.lastCalls()
		if a.StatusCode != http.StatusOK || len(calls) != before+1 {
			t.Fatalf("%s with a query: %d %s", endpoint, a.StatusCode, a.body)
		}
		for _, c := range calls {
			if _, evil := c.Headers["X-Evil"]; evil || strings.ContainsAny(c.Path, "\r\n\x00") {
				t.Errorf("%s: a header came in by the query: %s", endpoint, c.Path)
			}
		}
	}
}

// lastCalls are the calls of all accounts.
func (r *rig) lastCalls() []accounts.Call {
	var all []accounts.Call
	for _, a := range r.fleet.Accounts() {
		all = append(all, a.Calls()...)
	}
	return all
}

// TestX4Wire sends over a bare connection what no client library would: each is
// refused or read as one request, and none reaches an account as another's.
func TestX4Wire(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	body := `{"model":"chat","messages":[{"role":"user","content":"Hello"}]}`
	length := fmt.Sprint("Content-Length: ", len(body))
	at := "/v1/chat/completions"
	refused := map[string]string{
		"two lengths":              head(at, length, "Content-Length: 5") + body,
		"a length of a list":       head(at, length+", 5") + body,
		"a negative length":        head(at, "Content-Length: -1") + body,
		"a signed length":          head(at, fmt.Sprint("Content-Length: +", len(body))) + body,
		"white space before colon": head(at, "Transfer-Encoding : chunked", length) + body,
		"an unknown coding":        head(at, "Transfer-Encoding: xchunked", length) + body,
		"two codings":              head(at, "Transfer-Encoding: chunked, identity", length) + body,
		"a bare CR":                head(at, "X-Session-Id: a\rX-Evil: 1", length) + body,
		"a null character":         head(at, "X-Session-Id: a\x00b", length) + body,
		"white space in a name":    head(at, "X Evil: 1", length) + body,
		"no colon":                 head(at, "X-Evil", length) + body,
		"a folded first line":      "POST " + at + " HTTP/1.1\r\n X-Evil: 1\r\nHost: x\r\n" + length + "\r\n\r\n" + body,
		"no host":                  "POST " + at + " HTTP/1.1\r\nAuthorization: Bearer " + keyA + "\r\n" + length + "\r\n\r\n" + body,
		"two hosts":                head(at, "Host: other", length) + body,
		"a broken escape":          head("/v1/%zz", length) + body,
		"a line break in the path": head("/v1/chat/completions\r\nX-Evil: 1", length) + body,
		"headers without end":      head(at, length, "X-Filler: "+strings.Repeat("x", 400<<10)) + body,
		"an expectation":           head(at, "Expect: miracles", length) + body,
	}
	for name, sent := range refused {
		d := dial(t, r.URL)
		d.put(sent)
		if a := d.answer(); a.StatusCode < 400 || a.StatusCode == http.StatusUnauthorized || strings.Contains(fmt.Sprint(a.Header), "Evil") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
		if !d.closed() {
			t.Errorf("%s: the connection goes on", name)
		}
	}
	if n := r.calls(); n != 0 {
		t.Fatalf("%d calls reached the accounts", n)
	}
	folded := dial(t, r.URL)
	folded.put(head(at, "X-Session-Id: a\r\n X-Evil: 1", length) + body)
	if a := folded.answer(); a.StatusCode != http.StatusOK || a.Header.Get("X-Evil") != "" || sessionOf(a) != "explicit a X-Evil: 1" {
		t.Errorf("a folded header: %d %q", a.StatusCode, sessionOf(a))
	}
	trimmed := dial(t, r.URL) // white space around a value is HTTP's own
	trimmed.put(head(at, "X-Session-Id: \t padded \t", length) + body)
	if a := trimmed.answer(); a.StatusCode != http.StatusOK || sessionOf(a) != "explicit padded" {
		t.Errorf("a padded header: %d %q", a.StatusCode, sessionOf(a))
	}
	before := r.calls()
	smuggled := dial(t, r.URL) // the inner request has no key of its own, whichever length rules
	inner := "POST " + at + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + length + "\r\n\r\n" + body
	smuggled.put(head(at, fmt.Sprint("Content-Length: ", 5+len(inner)), "Transfer-Encoding: chunked") + "0\r\n\r\n" + inner)
	first, second := smuggled.answer(), smuggled.answer()
	refusalOf(t, "chat", first)
	refusalOf(t, "chat", second)
	if first.code() != "invalid_json" || second.code() != "invalid_api_key" || r.calls() != before {
		t.Errorf("a request inside of another: %s, then %s, after %d calls", first.code(), second.code(), r.calls()-before)
	}
	options := dial(t, r.URL)
	options.put("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
	if a := options.answer(); a.code() != "route_not_found" || a.Header.Get("X-Request-Id") == "" {
		t.Errorf("OPTIONS *: %d %s", a.StatusCode, a.code())
	}
}
