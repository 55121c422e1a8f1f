package main

import (
	"bytes"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/dynalite"
	"holdfast/localstack/e2e/process"
)

const (
	callerKey   = "sk-test-smoke-caller-0000000000"
	upstreamKey = "sk-upstream-secret-1234567890"
)

const document = `
connections:
  - {id: a, provider: openai-compatible, base_url: A/v1, auth: {key: "env:UPSTREAM_KEY"}, allow_private_network: true}
  - {id: b, provider: openai-compatible, base_url: B/v1, auth: {key: "env:UPSTREAM_KEY"}, allow_private_network: true}
deployments:
  - {id: chat-a, model: chat, connection: a, protocol: chat}
  - {id: chat-b, model: chat, connection: b, protocol: chat}
  - {id: responses-a, model: responses, connection: a, protocol: responses}
  - {id: responses-b, model: responses, connection: b, protocol: responses}
  - {id: messages-a, model: messages, connection: a, protocol: messages}
  - {id: messages-b, model: messages, connection: b, protocol: messages}
keys: [{id: smoke, key: "CALLER", user: smoke}]
`

// deployed is the gateway's own bootstrap in two environments of a local
// Lambda, before two accounts that take their time over each token.
func deployed(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	binary, err := process.Build(folder)
	if err != nil {
		t.Fatal(err)
	}
	bootstrap, err := process.BuildMain(filepath.Join(folder, "bootstrap"), "./functions/gateway", "-buildvcs=false")
	if err != nil {
		t.Fatal(err)
	}
	fleet := accounts.StartT(t, "a", "b")
	for _, a := range fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.SlowTokens, Delay: 30 * time.Millisecond})
	}
	wire := dynalite.StartT(t)
	gateway, err := process.Start(process.Options{
		Binary: binary, Store: "dynamodb", Data: folder, Args: []string{"-lambda", "2"},
		Config: strings.NewReplacer("A/v1", fleet.URL("a")+"/v1", "B/v1", fleet.URL("b")+"/v1", "CALLER", callerKey).Replace(document),
		Env: []string{"HOLDFAST_BOOTSTRAP=" + bootstrap, "UPSTREAM_KEY=" + upstreamKey,
			"HOLDFAST_TABLE_PREFIX=" + wire.Prefix(), dynalite.EndpointVariable + "=" + wire.Endpoint()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gateway.Kill)
	return gateway.URL
}

// TestSmokeHere: a gateway that serves by itself, before accounts that answer at
// once, passes as well: it is what a newcomer tries first.
func TestSmokeHere(t *testing.T) {
	folder := t.TempDir()
	binary, err := process.Build(folder)
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := process.Start(process.Options{Binary: binary, Data: folder, Args: []string{"-demo"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gateway.Kill)
	code, lines := smoke(t, gateway.URL, "sk-holdfast-demo")
	if code != 0 || len(lines) != len(checks()) {
		t.Errorf("exit %d:\n%s", code, strings.Join(lines, "\n"))
	}
}

// smoke runs the command and returns its exit code and its lines.
func smoke(t *testing.T, args ...string) (int, []string) {
	t.Helper()
	var said bytes.Buffer
	code := run(t.Context(), args, &said, &said)
	if strings.Contains(said.String(), callerKey) {
		t.Error("the key was printed")
	}
	return code, strings.Split(strings.TrimSpace(said.String()), "\n")
}

// TestSmoke proves the bootstrap, whole and fault by fault.
func TestSmoke(t *testing.T) {
	at := deployed(t)
	for endpoint := range paths() {
		t.Run(endpoint, func(t *testing.T) {
			code, lines := smoke(t, "-model", endpoint, "-endpoint", endpoint, at+"/v1/", callerKey)
			if code != 0 || len(lines) != len(checks()) {
				t.Errorf("exit %d:\n%s", code, strings.Join(lines, "\n"))
			}
		})
	}
	for name, spoil := range faults() {
		t.Run(name, func(t *testing.T) { findsFault(t, at, name, spoil) })
	}
	t.Run("a named gap is no failure", func(t *testing.T) {
		spoiled := through(t, at, faults()["streaming: held back"])
		code, lines := smoke(t, "-model", "chat", "-unsupported", "streaming", spoiled, callerKey)
		if code != 0 || !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "n/a   streaming") }) {
			t.Errorf("exit %d:\n%s", code, strings.Join(lines, "\n"))
		}
	})
}

// findsFault expects the check before the colon of a name to fail.
func findsFault(t *testing.T, at, name string, spoil func(*http.Response)) {
	want, _, _ := strings.Cut(name, ":")
	var others []string
	for _, c := range checks() {
		if c.name != want {
			others = append(others, c.name)
		}
	}
	code, lines := smoke(t, "-model", "chat", "-unsupported", strings.Join(others, ","), through(t, at, spoil), callerKey)
	if code != 1 || !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "FAIL  "+want) }) {
		t.Errorf("exit %d:\n%s", code, strings.Join(lines, "\n"))
	}
}

// through puts a proxy before the deployment that spoils its answers.
func through(t *testing.T, at string, spoil func(*http.Response)) string {
	t.Helper()
	target, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval:  -1,
		ModifyResponse: func(r *http.Response) error { spoil(r); return nil },
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// faults are deployments that are not as they should be, named after the check
// that has to find out.
func faults() map[string]func(*http.Response) {
	drop := func(name string) func(*http.Response) { return func(r *http.Response) { r.Header.Del(name) } }
	set := func(name string, value func() string) func(*http.Response) {
		return func(r *http.Response) { r.Header.Set(name, value()) }
	}
	return map[string]func(*http.Response){
		"alive: refuses":                func(r *http.Response) { r.StatusCode = http.StatusForbidden },
		"models: not JSON":              func(r *http.Response) { replace(r, "<html>") },
		"refusals: no code":             drop("X-Holdfast-Error"),
		"refusals: served all the same": func(r *http.Response) { r.StatusCode = http.StatusOK },
		"refusals: a page of HTML":      func(r *http.Response) { replace(r, "<html>") },
		"identity: another each time":   set("X-Session-Id", rand.Text),
		"identity: no id":               drop("X-Session-Id"),
		"stickiness: wanders":           set("X-Holdfast-Deployment", rand.Text),
		"stickiness: never recorded":    set("X-Holdfast-Affinity", func() string { return "new" }),
		"stickiness: claims each time":  set("X-Holdfast-Affinity", func() string { return "claimed" }),
		"streaming: held back":          hold,
		"streaming: not a stream":       set("Content-Type", func() string { return "application/json" }),
		"streaming: broken off":         cut,
		"cors: two layers answer":       func(r *http.Response) { r.Header.Add("Access-Control-Allow-Origin", "*") },
		"cors: nobody answers":          drop("Access-Control-Allow-Origin"),
		"cors: hides the session":       drop("Access-Control-Expose-Headers"),
		"cors: no key in a header":      drop("Access-Control-Allow-Headers"),
		"limits: another refusal":       func(r *http.Response) { r.StatusCode = http.StatusBadRequest },
		"limits: none":                  func(r *http.Response) { r.StatusCode = http.StatusNotFound },
	}
}

func replace(r *http.Response, text string) {
	_, _ = io.Copy(io.Discard, r.Body)
	r.Body.Close()
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), -1
	r.Header.Del("Content-Length")
}

// hold keeps an answer until it is whole, as many proxies do.
func hold(r *http.Response) {
	text, _ := io.ReadAll(r.Body) // a broken one is told by its length
	replace(r, string(text))
}

// cut breaks an answer off in the middle.
func cut(r *http.Response) {
	r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, 600), brokenReader{}))
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// TestUsage: what cannot be meant is refused before anything is asked.
func TestUsage(t *testing.T) {
	rows := map[string][]string{
		"no key":               {"http://127.0.0.1:1"},
		"no scheme":            {"127.0.0.1:1", "key"},
		"an unknown endpoint":  {"-endpoint", "videos", "http://127.0.0.1:1", "key"},
		"an unknown check":     {"-unsupported", "everything", "http://127.0.0.1:1", "key"},
		"an unknown flag":      {"-x", "http://127.0.0.1:1", "key"},
		"another URL's scheme": {"ftp://127.0.0.1:1", "key"},
	}
	for name, args := range rows {
		if code, lines := smoke(t, args...); code != 2 {
			t.Errorf("%s: exit %d: %v", name, code, lines)
		}
	}
}

// TestNobodyThere: every check fails where nothing answers.
func TestNobodyThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	code, lines := smoke(t, "-model", "m", server.URL, "key")
	if failed := strings.Count(strings.Join(lines, "\n"), "FAIL"); code != 1 || failed != len(checks()) {
		t.Errorf("exit %d, %d failures:\n%s", code, failed, strings.Join(lines, "\n"))
	}
}
