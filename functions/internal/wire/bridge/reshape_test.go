package bridge_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/bridge"
)

// TestReshape: an answer in one piece and the same one as events say the same, in
// both directions, under the same id.
func TestReshape(t *testing.T) {
	for _, p := range []wire.Protocol{wire.Chat, wire.Responses, wire.Messages} {
		sent := []byte(minimal(p, false))
		rapid.Check(t, func(t *rapid.T) {
			r := replies().Draw(t, "reply")
			r.ID, r.Model, r.Created = "id_1", "up", 1e9
			body := writeReply(t, p, r)
			stream, err := bridge.Streamed(p, sent, body)
			if err != nil {
				t.Fatalf("%v: %v\n%s", p, err, body)
			}
			oracle(t, stream)
			if diff := cmp.Diff(telling(readReply(t, p, body)), telling(readStream(t, p, stream))); diff != "" {
				t.Fatalf("%v, streamed: %s\n%s\n%s", p, diff, body, stream)
			}
			back, err := bridge.Gathered(p, sent, stream)
			if err != nil {
				t.Fatalf("%v: %v\n%s", p, err, stream)
			}
			want, got := readReply(t, p, body), readReply(t, p, back)
			if diff := cmp.Diff(telling(want), telling(got)); diff != "" || got.ID != want.ID || got.Created != want.Created || got.Model != want.Model {
				t.Fatalf("%v, gathered: %s\n%s\n%s", p, diff, stream, back)
			}
		})
	}
}

// TestReshapeRefuses: what would lose something is not told in another form.
func TestReshapeRefuses(t *testing.T) {
	for name, row := range map[string]struct {
		p          wire.Protocol
		sent, body string
	}{
		"two choices":       {wire.Chat, `{"model":"m","n":2}`, `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"},{"index":1,"message":{"content":"b"},"finish_reason":"stop"}]}`},
		"log probabilities": {wire.Chat, `{"model":"m","logprobs":true}`, `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}`},
		"a search":          {wire.Messages, `{"model":"m"}`, `{"id":"m","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"text","text":"a"}],"stop_reason":"end_turn"}`},
		"an image":          {wire.Responses, `{"model":"m","input":"x"}`, `{"id":"r","status":"completed","output":[{"type":"image_generation_call","result":"aWk="}]}`},
		"nothing":           {wire.Chat, `{"model":"m"}`, ``},
		"a page":            {wire.Messages, `{"model":"m"}`, `<html>`},
	} {
		if out, err := bridge.Streamed(row.p, []byte(row.sent), []byte(row.body)); !errors.Is(err, wire.ErrAnswer) {
			t.Errorf("%s became %q", name, out)
		}
	}
	for name, row := range map[string]struct {
		p            wire.Protocol
		sent, stream string
	}{
		"no end":      {wire.Chat, `{"model":"m"}`, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"},
		"no response": {wire.Responses, `{"model":"m","input":"x"}`, "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n"},
		"a search":    {wire.Messages, `{"model":"m"}`, "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"},
		"two choices": {wire.Chat, `{"model":"m","n":2}`, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"},
		"a page":      {wire.Chat, `{"model":"m"}`, "<html>"},
	} {
		if out, err := bridge.Gathered(row.p, []byte(row.sent), []byte(row.stream)); !errors.Is(err, wire.ErrAnswer) {
			t.Errorf("%s became %q", name, out)
		}
	}
}

// FuzzReshape: whatever a provider sends, it is refused or becomes an answer that is
// whole, in proportion.
func FuzzReshape(f *testing.F) {
	f.Add(uint8(0), []byte(`{"choices":[{"index":0,"message":{"content":"a","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}`))
	f.Add(uint8(1), []byte(`{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}`))
	f.Add(uint8(2), []byte("data: {\"type\":\"content_block_start\",\"index\":7,\"content_block\":{\"type\":\"text\",\"text\":\"a\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"))
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		p := []wire.Protocol{wire.Chat, wire.Responses, wire.Messages}[which%3]
		sent := []byte(minimal(p, false))
		if stream, err := bridge.Streamed(p, sent, body); err == nil {
			oracle(t, stream)
			inProportion(t, body, stream)
			if _, err := bridge.Gathered(p, sent, stream); err != nil {
				t.Fatalf("what was streamed is no whole stream\n%s", stream)
			}
		}
		if whole, err := bridge.Gathered(p, sent, body); err == nil {
			readReply(t, p, whole)
		}
	})
}
