package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// load is one kind of request that is sent again and again.
type load struct {
	name   string
	path   string
	body   []byte
	stream bool
}

// loads are what is measured: a short conversation, whole and streamed.
func loads() []load {
	return []load{
		{"chat JSON", "/v1/chat/completions", chat(false), false},
		{"chat SSE, 200 events", "/v1/chat/completions", chat(true), true},
	}
}

func chat(stream bool) []byte {
	body, err := json.Marshal(map[string]any{
		"model": "chat", "stream": stream,
		"messages": []any{
			map[string]any{"role": "system", "content": "You are terse."},
			map[string]any{"role": "user", "content": "Say hello to the world, at some length."},
		},
	})
	if err != nil {
		panic(err) // plain values always encode
	}
	return body
}

// sample is what one system did in one round.
type sample struct {
	perSecond float64
	p50, p99  time.Duration
	failed    int
}

// measure asks url as fast as the clients can for the span. A stream that does
// not end by [DONE] has failed.
func measure(ctx context.Context, client *http.Client, url string, l load, clients int, span time.Duration) sample {
	var mu sync.Mutex
	var took []time.Duration
	failed := 0
	end := time.Now().Add(span)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			var mine []time.Duration
			bad := 0
			for time.Now().Before(end) {
				begun := time.Now()
				if err := once(ctx, client, url+l.path, l); err != nil {
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
	}
}

// once makes one request and reads the whole answer.
func once(ctx context.Context, client *http.Client, url string, l load) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(l.body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+callerKey)
	request.Header.Set("X-Session-Id", "bench")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	tail := &tail{}
	if _, err := io.Copy(tail, response.Body); err != nil {
		return err
	}
	whole := !l.stream || bytes.HasSuffix(tail.last, []byte("[DONE]\n\n"))
	if response.StatusCode != http.StatusOK || !whole {
		return fmt.Errorf("status %d, whole: %v", response.StatusCode, whole)
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct{ last []byte }

// Write keeps the last bytes.
func (t *tail) Write(p []byte) (int, error) {
	const keep = 16
	t.last = append(t.last, p[max(0, len(p)-keep):]...)
	t.last = t.last[max(0, len(t.last)-keep):]
	return len(p), nil
}
