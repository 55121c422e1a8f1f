package responses_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/codectest"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/responses"
	"holdfast/functions/internal/wire/sse"
)

func codec() codectest.Codec {
	return codectest.Codec{
		Endpoint: wire.EndpointResponses,
		Follow:   func(c wire.Counting) codectest.Stream { return responses.NewStream(c) },
		Read:     responses.ReadResponse, Rewrite: responses.Rewrite, ErrorBody: responses.ErrorBody, Heartbeat: responses.Heartbeat,
	}
}

const (
	created = `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1796010127,"status":"in_progress","model":"gpt-5"}}`
	delta   = `{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":" word","logprobs":[]}`
)

func TestCodec(t *testing.T) { codectest.Run(t, codec()) }

func TestAllocations(t *testing.T) { codectest.Allocations(t, codec(), []string{created}, delta) }

func FuzzStream(f *testing.F) {
	codectest.FuzzStream(f, codec(), "data: "+created+"\n\ndata: "+delta+"\n\n", `data: {"type":"error","message":"m"}`,
		`data: {"type":"response.completed","response":{"usage":{"input_tokens":1}}}`)
}

func FuzzRead(f *testing.F) {
	codectest.FuzzRead(f, codec(), `{"id":"r","status":"failed"}`, `{"error":"x","usage":{"input_tokens":1}}`)
}

func TestCutAnswer(t *testing.T) {
	for _, body := range []string{"", "null", "[]", "{}", `{"message":"no upstream"}`, `{"id":"c1"`, "{}{}"} {
		if _, err := responses.ReadResponse([]byte(body), wire.ByProtocol); !errors.Is(err, wire.ErrAnswer) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// failure is the response.failed event of a stream, its data parsed.
func failure(t *testing.T, s *responses.Stream, p *wire.Problem) jsonedit.Value {
	t.Helper()
	out := s.Failure(p, wire.Stamp{RequestID: "req-9", Model: "asked", At: time.Unix(1700000000, 0)})
	e, err := sse.NewReader(bytes.NewReader(out), 0).Next()
	if err != nil || string(e.Name) != "response.failed" {
		t.Fatalf("%q: %v", out, err)
	}
	if _, err := jsonedit.Parse(e.Data); err != nil {
		t.Fatal(err)
	}
	return jsonedit.Read(e.Data)
}

// TestFailure: clients that keep order by sequence number, and those that look
// for the response that they know, find both.
func TestFailure(t *testing.T) {
	s := responses.NewStream(wire.ByProtocol)
	for _, data := range []string{created, delta, strings.Replace(delta, ":4,", ":5,", 1)} {
		s.Event(nil, []byte(data))
	}
	v := failure(t, s, wire.Refuse(wire.UpstreamFailed))
	for _, row := range []struct{ path, want string }{
		{"type", `"response.failed"`}, {"sequence_number", "6"}, {"response.id", `"resp_1"`}, {"response.model", `"gpt-5"`},
		{"response.created_at", "1796010127"}, {"response.status", `"failed"`}, {"response.error.code", `"upstream_failed"`},
		{"response.object", `"response"`}, {"response.output", "[]"}, {"response.usage", "null"},
	} {
		if got := v.Get(strings.Split(row.path, ".")...).Bytes(); string(got) != row.want {
			t.Errorf("%s is %s, want %s", row.path, got, row.want)
		}
	}
}

func TestFailureBeforeAnything(t *testing.T) {
	v := failure(t, responses.NewStream(wire.ByProtocol), wire.Refuse(wire.DeadlineExceeded))
	if got := string(v.Get("response", "id").Bytes()); got != `"resp_req-9"` {
		t.Errorf("the id is %s", got)
	}
	if n, _ := v.Get("sequence_number").Int(); n != 0 {
		t.Errorf("the sequence begins at %d", n)
	}
	if at, _ := v.Get("response", "created_at").Int(); at != 1700000000 {
		t.Errorf("created at %d", at)
	}
}

// TestFailureToWait: a client that reads how long to wait out of the words finds
// it there; one that is out of budget is not told to try again.
func TestFailureToWait(t *testing.T) {
	v := failure(t, responses.NewStream(wire.ByProtocol), wire.Refuse(wire.RateLimited).After(1500*time.Millisecond))
	fault := v.Get("response", "error")
	if !fault.Get("code").Is("rate_limit_exceeded") || !strings.HasSuffix(fault.Get("message").Text(), "Please try again in 1.5s.") {
		t.Errorf("got %s", fault.Bytes())
	}
	v = failure(t, responses.NewStream(wire.ByProtocol), wire.Refuse(wire.BudgetExceeded).After(time.Second))
	if fault = v.Get("response", "error"); !fault.Get("code").Is("budget_exceeded") {
		t.Errorf("got %s", fault.Bytes())
	}
}

func BenchmarkEvent(b *testing.B) {
	s := responses.NewStream(wire.ByProtocol)
	s.Event(nil, []byte(created))
	data := []byte(delta)
	b.ReportAllocs()
	for b.Loop() {
		s.Event(nil, data)
	}
}
