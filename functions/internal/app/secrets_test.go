package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/affinity/store"
	"holdfast/functions/internal/app/vault"
	"holdfast/infra/front"
	"holdfast/routing/catalog"
)

// kept are secrets in a stand-in for Parameter Store, by name.
type keptSecrets struct {
	atomic.Pointer[map[string]string]
}

func (k *keptSecrets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Name string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	value, there := (*k.Load())[body.Name]
	if !there {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"__type":"ParameterNotFound"}`))
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"Parameter": map[string]string{"Value": value}})
}

// secretive is a gateway whose every secret is kept elsewhere, before a
// provider that takes the key it is told to.
type secretive struct {
	*rig
	kept    *keptSecrets
	takes   atomic.Pointer[string] // the provider's key
	options Options
	log     bytes.Buffer
}

func newSecretive(t *testing.T) *secretive {
	t.Helper()
	s := &secretive{rig: &rig{clock: newClock()}, kept: &keptSecrets{}}
	s.keep(map[string]string{"/h/key": "sk-one", "/h/secret": "installation", "/h/origin": "proof", "/h/caller": "sk-hf-caller"})
	key := "sk-one"
	s.takes.Store(&key)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != "Bearer "+*s.takes.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"message":"wrong key","type":"invalid_request_error","code":"invalid_api_key"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`))
	}))
	place := httptest.NewServer(s.kept)
	t.Cleanup(func() { provider.Close(); place.Close() })
	doc, problems := catalog.Load([]byte(`
connections: [{id: a, provider: openai-compatible, base_url: "` + provider.URL + `/v1", auth: {type: bearer, key: "ssm:/h/key"}, allow_private_network: true}]
deployments: [{id: d, model: demo-chat, connection: a, protocol: chat}]
keys: [{id: k, key: "ssm:/h/caller"}]
`))
	if catalog.HasErrors(problems) {
		t.Fatal(problems)
	}
	s.options = Options{
		Document: doc, FromFile: true, Store: store.NewMemory(store.MemoryConfig{Now: s.clock.Now}), Now: s.clock.Now,
		Log:         slog.New(slog.NewJSONHandler(&s.log, nil)),
		Environment: Environment{Secret: "ssm:/h/secret", Origin: "ssm:/h/origin", CORSOrigins: []string{"*"}},
		Environ:     []string{"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_ENDPOINT_URL=" + place.URL},
	}
	return s
}

func (s *secretive) keep(all map[string]string) { s.kept.Store(&all) }

// start composes the gateway.
func (s *secretive) start(t *testing.T) *Gateway {
	t.Helper()
	g, err := New(t.Context(), s.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.After.Wait(); g.Close() })
	return g
}

// ask sends one turn and returns its status and session.
func ask(t *testing.T, g *Gateway, origin string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"demo-chat","messages":[{"role":"user","content":"Hello"}]}`))
	r.Header.Set("Authorization", "Bearer sk-hf-caller")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(front.OriginHeader, origin)
	w := httptest.NewRecorder()
	g.Handler.ServeHTTP(w, r)
	g.After.Wait()
	return w.Code, w.Header().Get("X-Session-Id")
}

// TestKeptSecrets: the caller's key, the provider's, CloudFront's proof and the
// installation's secret are all read where they are kept, whether the document
// came as a file or is the stored one.
func TestKeptSecrets(t *testing.T) {
	s := newSecretive(t)
	if status, _ := ask(t, s.start(t), "proof"); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, s.log.String())
	}
	s.options.Document, s.options.FromFile = nil, false
	again := s.start(t)
	if status, _ := ask(t, again, "proof"); status != http.StatusOK {
		t.Errorf("stored: status %d: %s", status, s.log.String())
	}
	if status, _ := ask(t, again, "guess"); status != http.StatusNotFound {
		t.Errorf("around CloudFront: status %d", status)
	}
	for _, secret := range []string{"sk-one", "installation\"", "proof", "sk-hf-caller"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// TestSecretIsResolved: what keys the hashes is the secret itself and never the
// name of its place, which is known to many.
func TestSecretIsResolved(t *testing.T) {
	s := newSecretive(t)
	e, err := s.options.Environment.resolved(s.options.references(newLocalSecrets(s.options.Document)))
	if err != nil || e.Secret != "installation" || e.Origin != "proof" || e.AdminKey != "" {
		t.Errorf("%v", err)
	}
	s.keep(map[string]string{})
	if _, err := New(t.Context(), s.options); !errors.Is(err, vault.ErrNotFound) || strings.Contains(err.Error(), "proof") {
		t.Errorf("without its secrets the gateway starts: %v", err)
	}
}

// TestRotation: a key that the provider no longer takes is read again for the
// request after the one that found out.
func TestRotation(t *testing.T) {
	s := newSecretive(t)
	g := s.start(t)
	if status, _ := ask(t, g, "proof"); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	s.clock.advance(time.Minute)
	two := "sk-two"
	s.takes.Store(&two)
	s.keep(map[string]string{"/h/key": two, "/h/secret": "installation", "/h/origin": "proof", "/h/caller": "sk-hf-caller"})
	if status, _ := ask(t, g, "proof"); status != http.StatusBadGateway {
		t.Errorf("with the old key: status %d, want 502", status)
	}
	s.clock.advance(2 * time.Minute) // whatever the failure has cooled; well within the time that a key is kept
	if status, _ := ask(t, g, "proof"); status != http.StatusOK {
		t.Errorf("with the new key: status %d: %s", status, s.log.String())
	}
}

// TestCheckAsksNobody: looking at a document contacts no place where secrets
// are kept.
func TestCheckAsksNobody(t *testing.T) {
	s := newSecretive(t)
	if problems := Check(s.options.Document, nil); catalog.HasErrors(problems) {
		t.Error(problems)
	}
}
