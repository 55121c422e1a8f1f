package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// load is one kind of request that is sent again and again.
type load struct {
	name   string
	path   string
	stream bool
	fresh  bool // each request is a session of its own: the first turn of one
	body   func(ctx context.Context, client *http.Client, url string) ([]byte, error)
}

// loads are what is measured.
func loads() []load {
	fixed := func(body map[string]any) func(context.Context, *http.Client, string) ([]byte, error) {
		return func(context.Context, *http.Client, string) ([]byte, error) { return json.Marshal(body) }
	}
	chat := []any{
		map[string]any{"role": "system", "content": "You are terse."},
		map[string]any{"role": "user", "content": "Say hello to the world, at some length."},
	}
	long := map[string]any{"model": "messages", "max_tokens": 64, "messages": history(200 << 10)}
	return []load{
		{name: "chat JSON", path: "/v1/chat/completions", body: fixed(map[string]any{"model": "chat", "messages": chat})},
		{name: "chat SSE, 200 events", path: "/v1/chat/completions", stream: true, body: fixed(map[string]any{"model": "chat", "stream": true, "messages": chat})},
		{name: "Responses, continued at depth 1", path: "/v1/responses", body: continued(1)},
		{name: "Responses, continued at depth 50", path: "/v1/responses", body: continued(50)},
		{name: "Messages, 200 kB, first turn", path: "/v1/messages", fresh: true, body: fixed(long)},
		{name: "Messages, 200 kB, hit", path: "/v1/messages", body: fixed(long)},
	}
}

// history is a conversation of about so many bytes.
func history(size int) []any {
	const turn = 2000
	var all []any
	for n := 0; n*turn < size; n++ {
		role := []string{"user", "assistant"}[n%2]
		all = append(all, map[string]any{"role": role, "content": fmt.Sprint("Part ", n, ". ", strings.Repeat("lantern ", turn/8))})
	}
	if len(all)%2 == 0 {
		all = all[:len(all)-1] // the last word is the user's
	}
	return all
}

// continued builds a chain of responses of a depth and returns the request that
// goes on from its end.
func continued(depth int) func(context.Context, *http.Client, string) ([]byte, error) {
	return func(ctx context.Context, client *http.Client, url string) ([]byte, error) {
		body := map[string]any{"model": "responses", "input": "Begin."}
		for range depth {
			text, err := json.Marshal(body)
			if err != nil {
				return nil, err
			}
			answer, err := send(ctx, client, url+"/v1/responses", text, "bench")
			if err != nil {
				return nil, err
			}
			var made struct{ ID string }
			if err := json.Unmarshal(answer, &made); err != nil || made.ID == "" {
				return nil, fmt.Errorf("no response id: %.200s", answer)
			}
			body["previous_response_id"], body["input"] = made.ID, "Go on."
		}
		body["store"] = false // or the account would soon forget what is continued, for room
		return json.Marshal(body)
	}
}

// sample is what one system did in one round.
type sample struct {
	perSecond float64
	p50, p99  time.Duration
	cpu       time.Duration // of the system's processes, for one request
	failed    int
}

// measure asks url as fast as the clients can for the span. A stream that does
// not end by [DONE] has failed.
func measure(ctx context.Context, client *http.Client, s system, l load, body []byte, clients int, span time.Duration) sample {
	var mu sync.Mutex
	var took []time.Duration
	failed := 0
	spent := s.cpu()
	end := time.Now().Add(span)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			var mine []time.Duration
			bad := 0
			for time.Now().Before(end) {
				begun := time.Now()
				if err := once(ctx, client, s.url, l, body); err != nil {
					bad++
					continue
				}
				mine = append(mine, time.Since(begun))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
			failed += bad
		})
	}
	all.Wait()
	if len(took) == 0 {
		return sample{failed: failed}
	}
	slices.Sort(took)
	return sample{
		perSecond: float64(len(took)) / span.Seconds(), failed: failed,
		p50: took[len(took)/2], p99: took[len(took)*99/100],
		cpu: (s.cpu() - spent) / time.Duration(len(took)),
	}
}

// once makes one request and reads the whole answer. A first turn
// is one of a session of its own.
func once(ctx context.Context, client *http.Client, url string, l load, body []byte) error {
	id := "bench"
	if l.fresh {
		id = "bench-" + rand.Text()
	}
	answer, err := send(ctx, client, url+l.path, body, id)
	if err == nil && l.stream && !bytes.HasSuffix(answer, []byte("[DONE]\n\n")) {
		err = errCut
	}
	return err
}

// errCut is a stream without its end.
var errCut = errors.New("the stream was cut")

// send makes a request and returns the answer.
func send(ctx context.Context, client *http.Client, url string, body []byte, session string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+callerKey)
	request.Header.Set("Anthropic-Version", "2023-06-01")
	request.Header.Set("X-Session-Id", session)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.200s", response.StatusCode, answer)
	}
	return answer, err
}
