package messages_test

import (
	"errors"
	"strings"
	"testing"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/codectest"
	"holdfast/functions/internal/wire/messages"
)

func codec() codectest.Codec {
	return codectest.Codec{
		Endpoint: wire.EndpointMessages,
		Follow:   func(c wire.Counting) codectest.Stream { return messages.NewStream(c) },
		Read:     messages.ReadResponse, Rewrite: messages.Rewrite, ErrorBody: messages.ErrorBody, Heartbeat: messages.Heartbeat,
	}
}

const (
	start = `{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":1,"output_tokens":1}}}`
	delta = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`
)

func TestCodec(t *testing.T) { codectest.Run(t, codec()) }

func TestAllocations(t *testing.T) {
	codectest.Allocations(t, codec(), []string{start}, delta)
	codectest.Allocations(t, codec(), []string{start}, `{"delta":{"text":" word","type":"text_delta"},"index":0,"type":"content_block_delta"}`)
}

func FuzzStream(f *testing.F) {
	codectest.FuzzStream(f, codec(), "data: "+start+"\n\ndata: "+delta+"\n\n", `data: {"type":"error","error":{"type":"x"}}`,
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`)
}

func FuzzRead(f *testing.F) {
	codectest.FuzzRead(f, codec(), `{"type":"error"}`, `{"id":"m","usage":{"input_tokens":1},"stop_reason":"refusal"}`)
}

func TestCutAnswer(t *testing.T) {
	for _, body := range []string{"", "null", "[]", "{}", `{"message":"no upstream"}`, `{"id":"c1"`} {
		if _, err := messages.ReadResponse([]byte(body), wire.ByProtocol); !errors.Is(err, wire.ErrAnswer) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestErrorBody(t *testing.T) {
	got := string(messages.ErrorBody(wire.Refuse(wire.InvalidAPIKey).Saying("No."), "req-1"))
	want := `{"type":"error","error":{"type":"authentication_error","message":"No.","code":"invalid_api_key"},"request_id":"req-1"}`
	if got != want {
		t.Errorf("got %s", got)
	}
	for status, kind := range map[int]string{400: "invalid_request_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		409: "conflict_error", 413: "request_too_large", 426: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 502: "api_error",
		503: "overloaded_error", 504: "timeout_error", 529: "overloaded_error"} {
		if body := string(messages.ErrorBody(&wire.Problem{Status: status}, "")); !strings.Contains(body, `"type":"`+kind+`"`) {
			t.Errorf("%d: %s", status, body)
		}
	}
}

// TestFailureKind: inside of a stream what may pass is overloaded_error, which
// clients try again at once.
func TestFailureKind(t *testing.T) {
	s := messages.NewStream(wire.ByProtocol)
	for code, kind := range map[wire.Code]string{wire.UpstreamFailed: "overloaded_error", wire.DeadlineExceeded: "overloaded_error",
		wire.RateLimited: "rate_limit_error", wire.GuardrailBlocked: "invalid_request_error"} {
		out := string(s.Failure(wire.Refuse(code), wire.Stamp{RequestID: "req-1"}))
		if !strings.HasPrefix(out, "event: error\ndata: {") || !strings.Contains(out, `{"type":"`+kind+`"`) || !strings.Contains(out, `"request_id":"req-1"`) {
			t.Errorf("%s: %s", code, out)
		}
	}
	if got := string(messages.Heartbeat()); got != "event: ping\ndata: {\"type\":\"ping\"}\n\n" {
		t.Errorf("the heartbeat is %q", got)
	}
}

func BenchmarkEvent(b *testing.B) {
	s := messages.NewStream(wire.ByProtocol)
	s.Event(nil, []byte(start))
	data := []byte(delta)
	b.ReportAllocs()
	for b.Loop() {
		s.Event(nil, data)
	}
}
