package chat_test

import (
	"errors"
	"testing"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/chat"
	"holdfast/functions/internal/wire/codectest"
)

func codec() codectest.Codec {
	return codectest.Codec{
		Endpoint: wire.EndpointChat,
		Follow:   func(c wire.Counting) codectest.Stream { return chat.NewStream(c) },
		Read:     chat.ReadResponse, Rewrite: chat.Rewrite, ErrorBody: chat.ErrorBody, Heartbeat: chat.Heartbeat,
	}
}

const (
	first = `{"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	delta = `{"id":"c1","object":"chat.completion.chunk","created":1796010127,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`
)

func TestCodec(t *testing.T) { codectest.Run(t, codec()) }

func TestAllocations(t *testing.T) { codectest.Allocations(t, codec(), []string{first}, delta) }

func FuzzStream(f *testing.F) {
	codectest.FuzzStream(f, codec(), "data: "+delta+"\n\ndata: [DONE]\n\n", `data: {"error":{"message":"m","code":429}}`,
		`data: {"choices":[{"finish_reason":"error"}],"usage":{"prompt_tokens":1e99}}`)
}

func FuzzRead(f *testing.F) {
	codectest.FuzzRead(f, codec(), delta, `{"error":"x"}`, `{"choices":[{"finish_reason":"length"}],"usage":{"prompt_tokens":-1}}`)
}

func TestCutAnswer(t *testing.T) {
	for _, body := range []string{"", "null", "[]", "{}", `{"message":"no upstream"}`, `{"id":"c1"`, `{"id":"c1"} x`, "<html>"} {
		if _, err := chat.ReadResponse([]byte(body), wire.ByProtocol); !errors.Is(err, wire.ErrAnswer) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestAskUsage(t *testing.T) {
	for _, row := range []struct {
		name, in, want string
		added          bool
	}{
		{"absent", `{"model":"m","stream":true}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`, true},
		{"null", `{"stream_options":null,"model":"m","stream":true}`, `{"stream_options":{"include_usage":true},"model":"m","stream":true}`, true},
		{"other options", `{"model":"m","stream":true,"stream_options":{ "x":1 }}`, `{"model":"m","stream":true,"stream_options":{ "x":1,"include_usage":true }}`, true},
		{"refused", `{"model":"m","stream":true,"stream_options":{"include_usage":false}}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`, true},
		{"empty", `{"model":"m","stream":true,"stream_options":{}}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`, true},
		{"asked", `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`, false},
		{"no stream", `{"model":"m"}`, `{"model":"m"}`, false},
		{"no object", `{"model":"m","stream":true,"stream_options":[]}`, `{"model":"m","stream":true,"stream_options":[]}`, false},
	} {
		f, p := wire.Inspect(wire.EndpointChat, []byte(row.in))
		if p != nil {
			t.Fatal(p)
		}
		got := chat.Rewrite(f, wire.Edits{IncludeUsage: true})
		if string(got.Body) != row.want || got.UsageAdded != row.added {
			t.Errorf("%s: %s, added %v", row.name, got.Body, got.UsageAdded)
		}
	}
}

func BenchmarkEvent(b *testing.B) {
	s := chat.NewStream(wire.ByProtocol)
	s.Event(nil, []byte(first))
	data := []byte(delta)
	b.ReportAllocs()
	for b.Loop() {
		s.Event(nil, data)
	}
}
