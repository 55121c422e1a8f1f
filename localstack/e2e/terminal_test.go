package e2e

import (
	"strings"
	"testing"
)

// TestTerminalEvent: an answer that is whole ends for its client with the protocol's
// terminal event, and that with its blank line, though the provider leave either out.
func TestTerminalEvent(t *testing.T) {
	t.Parallel()
	s, o := odd(t)
	const chat = `data: {"id":"c","choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\n" + `data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	const messages = `data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n" +
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}` + "\n\n" +
		`data: {"type":"content_block_stop","index":0}` + "\n\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`
	for endpoint, body := range map[string]string{"chat": chat, "messages": messages} {
		last := map[string]string{"chat": "data: [DONE]\n\n", "messages": "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"}[endpoint]
		for _, end := range []string{"", "\n", "\n\n", "\n\n" + strings.TrimRight(last, "\n"), "\n\n" + last} {
			answer := with(200, "text/event-stream", body+end)
			o.answer.Store(&answer)
			a := post(t, s.URL+route(endpoint), ask(endpoint, true, user("Hello")))
			if a.StatusCode != 200 || a.err != nil || !strings.HasPrefix(a.body, body) || !strings.HasSuffix(a.body, "\n\n"+last) && !strings.HasSuffix(a.body, "\n\n"+last+"\n\n") {
				t.Errorf("%s, after %q: %d %v %s", endpoint, end, a.StatusCode, a.err, a.body)
			}
			if strings.Count(a.body, strings.TrimRight(last, "\n")) != 1 {
				t.Errorf("%s, after %q: two ends: %s", endpoint, end, a.body)
			}
			if past := post(t, s.URL+"/bypass/alpha/v1/"+strings.TrimPrefix(route(endpoint), "/v1/"), ask(endpoint, true, user("Hello"))); past.body != body+end {
				t.Errorf("%s, past the unified routes, after %q: %s", endpoint, end, past.body)
			}
		}
	}
}

// TestBareError: a provider's bare error event in the middle of a response is followed
// by response.failed, since clients skip the former; then the connection is broken off.
func TestBareError(t *testing.T) {
	t.Parallel()
	s, o := odd(t)
	const begun = `data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_x","status":"in_progress","output":[]}}` + "\n\n" +
		`data: {"type":"response.output_text.delta","sequence_number":1,"item_id":"m","output_index":0,"content_index":0,"delta":"x"}` + "\n\n"
	const bare = `data: {"type":"error","code":"server_error","message":"boom","sequence_number":2}` + "\n\n"
	answer := with(200, "text/event-stream", begun+bare)
	o.answer.Store(&answer)
	a := post(t, s.URL+route("responses"), ask("responses", true, user("Hello")))
	rest, passed := strings.CutPrefix(a.body, begun+bare+"event: response.failed\n")
	if a.StatusCode != 200 || a.err == nil || !passed || !strings.Contains(rest, `"sequence_number":3`) || !strings.Contains(rest, `"id":"resp_x"`) || !strings.Contains(rest, `"status":"failed"`) {
		t.Errorf("%d %v %s", a.StatusCode, a.err, a.body)
	}
	if past := post(t, s.URL+"/bypass/alpha/v1/responses", ask("responses", true, user("Hello"))); past.body != begun+bare {
		t.Errorf("past the unified routes: %s", past.body)
	}
}
