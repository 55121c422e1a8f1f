package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 8 << 20

// probe is a client of the deployment.
type probe struct {
	base     string // without slash at the end and without /v1
	key      string
	model    string // "": found out by the check of models
	endpoint string
	origin   string // of a page that calls
	client   *http.Client
}

// newProbe returns a client that opens a connection for each request: they
// reach whichever process is next, as those of many users do.
func newProbe() *probe {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return &probe{client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// paths are the routes of the endpoints.
func paths() map[string]string {
	return map[string]string{"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
}

// question is one request to a model.
type question struct {
	turns  []string // of the user and the model, in turn
	stream bool
	header map[string]string
	extra  string // members to add to the body, as JSON without braces
}

// body is the question in the endpoint's protocol.
func (p *probe) body(q question) []byte {
	turns := make([]map[string]string, len(q.turns))
	for i, text := range q.turns {
		turns[i] = map[string]string{"role": [2]string{"user", "assistant"}[i%2], "content": text}
	}
	whole := map[string]any{"model": p.model, "stream": q.stream}
	switch p.endpoint {
	case "responses":
		whole["input"] = turns
	case "messages":
		whole["messages"], whole["max_tokens"] = turns, 1024
	default:
		whole["messages"] = turns
	}
	text, _ := json.Marshal(whole) // maps of strings
	if q.extra != "" {
		text = append(append(text[:len(text)-1], ','), q.extra+"}"...)
	}
	return text
}

// ask sends a question. The caller closes the answer's body.
func (p *probe) ask(ctx context.Context, q question) (*http.Response, error) {
	return p.send(ctx, http.MethodPost, paths()[p.endpoint], p.body(q), q.header)
}

// send makes a request with the key, unless header brings another credential.
func (p *probe) send(ctx context.Context, method, path string, body []byte, header map[string]string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+p.key)
	request.Header.Set("Content-Type", "application/json")
	if p.endpoint == "messages" && path == paths()["messages"] {
		request.Header.Set("Anthropic-Version", "2023-06-01")
	}
	for name, value := range header {
		request.Header.Set(name, value)
		if value == "" {
			request.Header.Del(name)
		}
	}
	return p.client.Do(request)
}

// answered asks and expects a whole answer.
func (p *probe) answered(ctx context.Context, q question) (http.Header, error) {
	answer, err := p.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("the answer broke off: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d %s: %s", answer.StatusCode, answer.Header.Get("X-Holdfast-Error"), short(text))
	}
	return answer.Header, nil
}

// short is the beginning of a text, on one line.
func short(text []byte) string {
	const most = 200
	line := string(bytes.Join(bytes.Fields(text), []byte(" ")))
	if len(line) > most {
		return line[:most] + "…"
	}
	return line
}

// fresh is an opening that no earlier run has used.
func fresh() string { return "Smoke test " + rand.Text() + ". Reply with the word ok." }
