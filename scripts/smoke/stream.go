package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// share is the least part of a stream's whole time that must pass between its
// first and its last event. In an answer that somebody has held back they come
// within a moment of each other, at the end.
const share = 0.05

// instant is how long an answer takes in which nobody can see whether it was
// held back, as a simulated provider's does.
const instant = 500 * time.Millisecond

// streaming: the first event arrives while the provider is still answering.
func streaming(ctx context.Context, p *probe) (string, error) {
	started := time.Now()
	answer, err := p.ask(ctx, question{turns: []string{fresh() + " Then count from 1 to 200, one number a line."}, stream: true})
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		return "", fmt.Errorf("status %d, %s, want a stream of events", answer.StatusCode, kind)
	}
	first, events, err := follow(answer)
	if err != nil {
		return "", err
	}
	whole, between := time.Since(started), time.Since(first)
	if whole < instant {
		return fmt.Sprintf("%d events, the last %v after the request: too quick to be held back", events, whole.Round(time.Millisecond)), nil
	}
	if between < time.Duration(share*float64(whole)) {
		return "", fmt.Errorf("%d events within the last %v of %v: the answer was held back", events, between.Round(time.Millisecond), whole.Round(time.Millisecond))
	}
	return fmt.Sprintf("%d events, the first %v before the last", events, between.Round(time.Millisecond)), nil
}

// follow reads a stream to its end and returns when its first event came. A
// stream that was broken off is an error.
func follow(answer *http.Response) (first time.Time, events int, err error) {
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		data, is := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !is {
			continue // names of events, comments, heartbeats
		}
		if bytes.Contains(data, []byte(`"error":{`)) {
			return first, events, fmt.Errorf("an error event: %s", short(data))
		}
		if events++; events == 1 {
			first = time.Now()
		}
	}
	switch {
	case lines.Err() != nil:
		return first, events, fmt.Errorf("the stream broke off after %d events: %w", events, lines.Err())
	case events < 2:
		return first, events, errors.New("there are no events")
	}
	return first, events, nil
}
