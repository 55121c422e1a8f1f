package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
	"holdfast/localstack/wirefault"
)

// The keys of the documents that tests use. Their values must never be seen.
const (
	keyA = "sk-test-caller-a-0000000000"
	keyB = "sk-test-caller-b-0000000000"
)

// document is a configuration with one deployment per protocol and account.
// Models are chat, responses and messages; %EXTRA% is room for more sections.
type document struct {
	fleet *accounts.Fleet
	extra string // further top-level sections
	each  string // further fields of every deployment, indented by four
	key   string // further fields of key a, each after a comma
	more  string // further deployments

	connections string // further ones
}

// String renders the document.
func (d document) String() string {
	var b strings.Builder
	b.WriteString("connections:\n")
	for _, a := range d.fleet.Accounts() {
		b.WriteString("  - {id: " + a.Name() + ", provider: openai-compatible, base_url: " + d.fleet.URL(a.Name()) +
			"/v1, auth: {type: bearer, key: \"env:UPSTREAM_KEY\"}, allow_private_network: true}\n")
	}
	b.WriteString(d.connections)
	b.WriteString("deployments:\n")
	for _, protocol := range []string{"chat", "responses", "messages"} {
		for _, a := range d.fleet.Accounts() {
			b.WriteString("  - id: " + protocol + "-" + a.Name() + "\n    model: " + protocol + "\n    connection: " + a.Name() +
				"\n    protocol: " + protocol + "\n    price: {input: 3, cached_input: 0.3, cache_write: 3.75, output: 15}\n" + d.each)
		}
	}
	b.WriteString(d.more)
	b.WriteString("keys:\n  - {id: a, key: \"" + keyA + "\", user: ann" + d.key + "}\n  - {id: b, key: \"" + keyB + "\", user: bob}\n")
	b.WriteString(d.extra)
	return b.String()
}

// upstreamKey is the secret that the gateway holds for its providers.
const upstreamKey = "sk-upstream-secret-1234567890"

// rig is accounts with a gateway before them.
type rig struct {
	t      *testing.T
	fleet  *accounts.Fleet
	config string
	store  string
	data   string
	env    []string
	front  *wirefault.Front // before the DynamoDB wire; nil on other stores

	endpoint  string // of the front
	forgetful bool   // every gateway begins on an empty store, as with one in memory
	begun     bool   // one was started
	*process.Gateway
}

// newRig starts three accounts and one gateway over a kind of store.
func newRig(t *testing.T, store string, change ...func(*document)) *rig {
	t.Helper()
	asked := store
	store = placed(store)
	fleet := accounts.StartT(t, "alpha", "bravo", "charlie")
	doc := document{fleet: fleet}
	for _, c := range change {
		c(&doc)
	}
	r := &rig{t: t, fleet: fleet, config: doc.String(), store: store, data: t.TempDir(), env: []string{"UPSTREAM_KEY=" + upstreamKey},
		forgetful: asked == "memory"}
	if store == "dynamodb" || store == onLambda {
		r.wire()
	}
	r.Gateway = r.start()
	return r
}

// start runs one more gateway over the same store.
func (r *rig) start(args ...string) *process.Gateway {
	r.t.Helper()
	o := process.Options{Binary: binary, Config: r.config, Store: r.store, Data: r.data, Env: r.env, Args: args}
	if r.store == "dynamodb" || r.store == onLambda {
		o.Data = r.t.TempDir()
	}
	if r.store == onLambda {
		if r.begun && r.forgetful {
			r.wire()
			o.Env = r.env
		}
		throughLambda(r.t, &o)
	}
	r.begun = true
	g, err := process.Start(o)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.store == onLambda {
		everyEnvironment(r.t, g.URL)
	}
	r.t.Cleanup(func() {
		g.Kill()
		r.secretless(g)
	})
	return g
}

// secretless holds X3 for every test: nothing confidential in what is logged.
func (r *rig) secretless(g *process.Gateway) {
	for _, secret := range []string{keyA, keyB, upstreamKey, secretWord} {
		if strings.Contains(g.Log(), secret) || strings.Contains(g.Output(), secret) {
			r.t.Errorf("the gateway has logged %q", secret)
		}
	}
}

// secretWord is in the prompts of tests, and nowhere else.
const secretWord = "xylographer"

// answer is a response with its whole body.
type answer struct {
	*http.Response
	body string
	err  error // of reading the body
}

// field returns a value of the body's JSON by its path.
func (a answer) field(path ...string) any {
	var v any
	if json.Unmarshal([]byte(a.body), &v) != nil {
		return nil
	}
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// code is the error code that the answer carries in its header.
func (a answer) code() string { return a.Header.Get("X-Holdfast-Error") }

// deployment is who served.
func (a answer) deployment() string { return a.Header.Get("X-Holdfast-Deployment") }

// affinity is the outcome for the session.
func (a answer) affinity() string { return a.Header.Get("X-Holdfast-Affinity") }

// post sends a JSON body with caller a's key and further headers given as
// NAME, VALUE pairs; they may replace the key.
func post(t *testing.T, url string, body any, headers ...string) answer {
	t.Helper()
	text, ok := body.(string)
	if !ok {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+keyA)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Del(headers[i])
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header[http.CanonicalHeaderKey(headers[i])] = append(request.Header[http.CanonicalHeaderKey(headers[i])], headers[i+1])
	}
	return do(t, request)
}

func do(t *testing.T, request *http.Request) answer {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var body bytes.Buffer
	_, err = io.Copy(&body, response.Body)
	return answer{response, body.String(), err}
}

// turn is one message of a conversation.
type turn = map[string]any

func user(text string) turn      { return turn{"role": "user", "content": text} }
func assistant(text string) turn { return turn{"role": "assistant", "content": text} }

// ask builds a request body of an endpoint for a conversation.
func ask(endpoint string, stream bool, turns ...turn) map[string]any {
	body := map[string]any{"model": endpoint}
	if stream {
		body["stream"] = true
	}
	switch endpoint {
	case "responses":
		body["input"] = turns
	case "messages":
		body["messages"], body["max_tokens"] = turns, 64
	default:
		body["messages"] = turns
	}
	return body
}

// routes are the endpoints by their path.
func route(endpoint string) string {
	if endpoint == "chat" {
		return "/v1/chat/completions"
	}
	return "/v1/" + endpoint
}

// owner is the account behind a deployment.
func (r *rig) owner(deployment string) *accounts.Account {
	r.t.Helper()
	name := deployment[strings.LastIndexByte(deployment, '-')+1:]
	a := r.fleet.Account(name)
	if a == nil {
		r.t.Fatalf("deployment %q is on no account", deployment)
	}
	return a
}

// calls are the generation calls that all accounts got.
func (r *rig) calls() int { return r.fleet.Count() }

// long is text of about n tokens.
func long(n int) string { return strings.Repeat("alfa ", n*4/5) }

// testdata reads a file of recorded requests.
func testdata(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// newRequest builds a request with caller a's key.
func newRequest(t *testing.T, ctx context.Context, url string, body any) *http.Request {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+keyA)
	return request
}

// get reads a route with a key.
func get(t *testing.T, url, key string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	return do(t, request)
}

// booking reports whether a request writes down an exchange that has ended.
// Budgets are counted in the same table, by updates.
func booking(r wirefault.Request) bool {
	return r.Operation != "UpdateItem" && len(r.Tables) == 1 && strings.HasSuffix(r.Tables[0], "ledger")
}
