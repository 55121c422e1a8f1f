package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// starts counts the beginnings of answers in a stream.
func starts(endpoint, body string) int {
	mark := map[string]string{"chat": `"role":"assistant"`, "responses": `"type":"response.created"`, "messages": `"type":"message_start"`}[endpoint]
	return strings.Count(body, mark)
}

// TestR5 shows that a stream which breaks before its first output moves on
// unseen: the client gets one whole answer, of the target that is named.
func TestR5(t *testing.T) {
	t.Parallel()
	faults := map[string]accounts.Fault{
		"an error event first":             {Kind: accounts.ErrorEvent, After: -1},
		"an error event after the start":   {Kind: accounts.ErrorEvent},
		"a rate limit inside":              {Kind: accounts.ErrorEvent, Status: 429, RetryAfter: "0.01"},
		"an error event of the plain kind": {Kind: accounts.ErrorEvent, PlainError: true},
		"garbage first":                    {Kind: accounts.Garbage, After: -1},
		"garbage after the start":          {Kind: accounts.Garbage},
		"nothing at all":                   {Kind: accounts.Cut, After: -1},
		"an end after the start":           {Kind: accounts.Cut},
		"half an event":                    {Kind: accounts.Cut, AfterBytes: 40},
		"a reset after the start":          {Kind: accounts.ResetAfter},
		"silence after the start":          {Kind: accounts.SlowTokens, Delay: time.Minute},
	}
	s := newScene(t, world{template: patient + ", retry_policy: {max_attempts: 2}", each: "idle_timeout: 700ms"})
	for _, endpoint := range protocols() {
		for _, name := range slices.Sorted(maps.Keys(faults)) {
			if faults[name].Delay > 0 && endpoint != "messages" {
				continue // silence has one timer for all protocols
			}
			row := name + ", " + endpoint
			home, account := s.home(endpoint, name)
			a, trail := s.strike(account, faults[name], func() answer { return turnOf(t, s.URL, endpoint, name, true) })
			served(t, row, endpoint, true, a, "moved")
			if !followed(trail, home, 2, a) {
				t.Errorf("%s: calls %v, want two at %s and one elsewhere", row, trail, home)
			}
			if n := starts(endpoint, a.body); n != 1 || errorEvents(endpoint, a.body) != 0 || strings.Contains(a.body, `"type":"error"`) {
				t.Errorf("%s: %d answers were begun:\n%s", row, n, a.body)
			}
			s.stays(row, endpoint, name, a.deployment())
		}
	}
}

// TestR5Output shows that a stream which breaks after output ends with one error
// event of its protocol and a torn connection: no second target, no commit.
func TestR5Output(t *testing.T) {
	t.Parallel()
	faults := map[string]accounts.Fault{
		"an error event":  {Kind: accounts.ErrorEvent, After: 2},
		"garbage":         {Kind: accounts.Garbage, After: 2},
		"a cut":           {Kind: accounts.Cut, After: 2},
		"a reset":         {Kind: accounts.ResetAfter, After: 2},
		"half an event":   {Kind: accounts.Cut, AfterBytes: 3000},
		"a limit":         {Kind: accounts.ErrorEvent, After: 2, Status: 429},
		"a context error": {Kind: accounts.ErrorEvent, After: 2, Status: 400, Code: "context_length_exceeded", Message: "prompt is too long"},
	}
	s := newScene(t, world{further: []string{"spare"},
		template: patient + ", retry_policy: {max_attempts: 3}" + chain("context_window_fallbacks", "spare") + chain("fallbacks", "spare")})
	for _, endpoint := range protocols() {
		for _, name := range slices.Sorted(maps.Keys(faults)) {
			row := name + ", " + endpoint
			home, account := s.home(endpoint, name)
			a, trail := s.strike(account, faults[name], func() answer { return turnOf(t, s.URL, endpoint, name, true) })
			if len(trail) != 1 || trail[0] != home {
				t.Errorf("%s: calls %v, want one", row, trail)
			}
			if a.StatusCode != 200 || a.err == nil || starts(endpoint, a.body) != 1 || errorEvents(endpoint, a.body) != 1 {
				t.Errorf("%s: %d, read error %v, %d error events, %d starts\n%s", row, a.StatusCode, a.err, errorEvents(endpoint, a.body), starts(endpoint, a.body), a.body)
			}
			s.stays(row, endpoint, name, home)
		}
	}
}

// errorEvents counts the protocol's error events at the end of a stream.
func errorEvents(endpoint, body string) int {
	switch endpoint {
	case "responses":
		return strings.Count(body, `"type":"response.failed"`)
	case "messages":
		return strings.Count(body, "event: error\n")
	}
	return strings.Count(body, `data: {"error":`)
}

// TestTimeouts shows that silence beyond a deployment's bound is a failure like
// others: of the first byte in streams and in JSON, each by its own bound.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{each: "timeout: 400ms, timeout_json: 900ms", template: patient + ", retry_policy: {max_attempts: 1}"})
	for _, endpoint := range protocols() {
		for _, stream := range []bool{false, true} {
			session := fmt.Sprint("s", stream)
			bound := map[bool]time.Duration{true: 400 * time.Millisecond, false: 900 * time.Millisecond}[stream]
			home, account := s.home(endpoint, session)
			begun := time.Now()
			a, trail := s.strike(account, accounts.Fault{Kind: accounts.Hang}, func() answer { return turnOf(t, s.URL, endpoint, session, stream) })
			served(t, session, endpoint, stream, a, "moved")
			if len(trail) < 2 || trail[0] != home || slices.Contains(trail[1:], home) || time.Since(begun) < bound {
				t.Errorf("%s: calls %v after %v, want one at %s of %v, then others", endpoint, trail, time.Since(begun), home, bound)
			}
			s.stays(session, endpoint, session, a.deployment())
		}
	}
}

// said is the text of an answer, or of as much of a stream as came.
func said(endpoint string, stream bool, body string) string {
	if !stream {
		return spoken(body)
	}
	var b strings.Builder
	for line := range strings.Lines(body) {
		data, found := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		var event struct {
			Type    string
			Delta   json.RawMessage
			Choices []struct{ Delta struct{ Content string } }
		}
		if !found || json.Unmarshal([]byte(data), &event) != nil {
			continue
		}
		for _, c := range event.Choices {
			b.WriteString(c.Delta.Content)
		}
		var text string
		var delta struct{ Text string }
		switch {
		case event.Type == "response.output_text.delta" && json.Unmarshal(event.Delta, &text) == nil:
			b.WriteString(text)
		case event.Type == "content_block_delta" && json.Unmarshal(event.Delta, &delta) == nil:
			b.WriteString(delta.Text)
		}
	}
	return b.String()
}

// spoken is the text of a JSON answer.
func spoken(body string) string {
	type parts []struct{ Text string }
	var v struct {
		Choices []struct{ Message struct{ Content string } }
		Output  []struct{ Content parts }
		Content parts
	}
	if json.Unmarshal([]byte(body), &v) != nil {
		return ""
	}
	var b strings.Builder
	for _, c := range v.Choices {
		b.WriteString(c.Message.Content)
	}
	for _, o := range v.Output {
		v.Content = append(v.Content, o.Content...)
	}
	for _, p := range v.Content {
		b.WriteString(p.Text)
	}
	return b.String()
}
