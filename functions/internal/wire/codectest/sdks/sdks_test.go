// Package sdks_test reads what the codecs write for clients with the vendors'
// own libraries, which must see the answer that was meant. It stands apart since
// the libraries take long to build.
package sdks_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"pgregory.net/rapid"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/chat"
	"holdfast/functions/internal/wire/codectest"
	"holdfast/functions/internal/wire/messages"
)

// canned answers every request with the same body.
type canned struct {
	kind string
	body []byte
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(bytes.NewReader(c.body))}, nil
}

func events(body []byte) *http.Client {
	return &http.Client{Transport: canned{"text/event-stream", body}}
}

func whole(body []byte) *http.Client {
	return &http.Client{Transport: canned{"application/json", body}}
}

func stamp() wire.Stamp {
	return wire.Stamp{RequestID: "req-1", ID: "id-1", Model: "asked", At: time.Unix(1796000000, 0)}
}

// seen is what a client sees of an answer.
type seen struct {
	ID, Model, Thought, Text, Stop string
	Calls                          [][3]string // id, name, arguments
	Input, Output, Cached          int64
}

// meant is what a client of a protocol is to see of a reply.
func meant(r wire.Reply) seen {
	s := seen{ID: r.ID, Model: r.Model, Input: r.Usage.Input, Output: r.Usage.Output, Cached: r.Usage.CacheRead}
	for _, p := range r.Parts {
		switch p.Kind {
		case wire.Reasoning:
			s.Thought += p.Text
		case wire.Text:
			s.Text += p.Text
		case wire.ToolCall:
			s.Calls = append(s.Calls, [3]string{p.CallID, p.Name, p.Arguments})
		}
	}
	return s
}

func compare(t *rapid.T, how string, want, got seen) {
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s: %s", how, diff)
	}
}

func TestChat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := codectest.Reply(t)
		want := meant(r)
		want.Thought, want.Input = "", r.Usage.Input+r.Usage.CacheRead+r.Usage.CacheWrite5m+r.Usage.CacheWrite1h
		want.Stop = map[wire.Stop]string{wire.StopEnd: "stop", wire.StopSequence: "stop", wire.StopPause: "stop", wire.StopLength: "length",
			wire.StopTool: "tool_calls", wire.StopFilter: "content_filter", wire.StopRefusal: "content_filter"}[r.Stop]
		client := openai.NewClient(openaioption.WithAPIKey("k"), openaioption.WithHTTPClient(whole(chat.WriteReply(r))))
		answer, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{})
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "JSON", want, seenChat(answer))

		e, body := chat.NewEvents(stamp(), true), []byte(nil)
		for _, d := range codectest.Pieces(t, r) {
			body = e.Append(body, d)
		}
		client = openai.NewClient(openaioption.WithAPIKey("k"), openaioption.WithHTTPClient(events(body)))
		stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{})
		var all openai.ChatCompletionAccumulator
		for stream.Next() {
			if !all.AddChunk(stream.Current()) {
				t.Fatalf("a chunk does not fit: %s", stream.Current().RawJSON())
			}
		}
		if stream.Err() != nil {
			t.Fatal(stream.Err())
		}
		compare(t, "streamed", want, seenChat(&all.ChatCompletion))
	})
}

func seenChat(a *openai.ChatCompletion) seen {
	message := a.Choices[0].Message
	s := seen{ID: a.ID, Model: a.Model, Text: message.Content, Stop: a.Choices[0].FinishReason,
		Input: a.Usage.PromptTokens, Output: a.Usage.CompletionTokens, Cached: a.Usage.PromptTokensDetails.CachedTokens}
	for _, call := range message.ToolCalls {
		s.Calls = append(s.Calls, [3]string{call.ID, call.Function.Name, call.Function.Arguments})
	}
	return s
}

func TestMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := codectest.Reply(t)
		want := meant(r)
		want.Stop = map[wire.Stop]string{wire.StopEnd: "end_turn", wire.StopSequence: "stop_sequence", wire.StopPause: "pause_turn", wire.StopLength: "max_tokens",
			wire.StopTool: "tool_use", wire.StopFilter: "refusal", wire.StopRefusal: "refusal"}[r.Stop]
		client := anthropic.NewClient(anthropicoption.WithAPIKey("k"), anthropicoption.WithHTTPClient(whole(messages.WriteReply(r))))
		answer, err := client.Messages.New(t.Context(), anthropic.MessageNewParams{MaxTokens: 1})
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "JSON", want, seenMessage(answer))

		e, body := messages.NewEvents(stamp(), true), []byte(nil)
		for _, d := range codectest.Pieces(t, r) {
			body = e.Append(body, d)
		}
		client = anthropic.NewClient(anthropicoption.WithAPIKey("k"), anthropicoption.WithHTTPClient(events(body)))
		stream := client.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{MaxTokens: 1})
		var all anthropic.Message
		for stream.Next() {
			if err := all.Accumulate(stream.Current()); err != nil {
				t.Fatalf("%v at %s", err, stream.Current().RawJSON())
			}
		}
		if stream.Err() != nil {
			t.Fatal(stream.Err())
		}
		compare(t, "streamed", want, seenMessage(&all))
	})
}

func seenMessage(m *anthropic.Message) seen {
	s := seen{ID: m.ID, Model: string(m.Model), Stop: string(m.StopReason), Input: m.Usage.InputTokens, Output: m.Usage.OutputTokens, Cached: m.Usage.CacheReadInputTokens}
	for _, block := range m.Content {
		switch block.Type {
		case "thinking":
			s.Thought += block.Thinking
		case "text":
			s.Text += block.Text
		case "tool_use":
			s.Calls = append(s.Calls, [3]string{block.ID, block.Name, string(block.Input)})
		}
	}
	return s
}
