package responses_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/responses"
	"holdfast/functions/internal/wire/sse"
)

func stamp() wire.Stamp {
	return wire.Stamp{ID: "resp_ab12", Model: "asked", RequestID: "req-1", At: time.Unix(1796010127, 0)}
}

// deltas are the steps by which an answer is streamed.
func deltas(r wire.Reply) []wire.Delta {
	out := []wire.Delta{{Kind: wire.ReplyBegin}}
	for i, p := range r.Parts {
		words := p.Text + p.Arguments
		p.Text, p.Arguments = "", ""
		out = append(out, wire.Delta{Kind: wire.PartBegin, Index: i, Part: p})
		for len(words) > 0 {
			n := strings.IndexByte(words[1:], ' ') + 1
			if n == 0 {
				n = len(words)
			}
			out = append(out, wire.Delta{Kind: wire.PartDelta, Index: i, Text: words[:n]})
			words = words[n:]
		}
		out = append(out, wire.Delta{Kind: wire.PartEnd, Index: i})
	}
	out = append(out, wire.Delta{Kind: wire.ReplyStop, Stop: r.Stop})
	if r.HasUsage {
		out = append(out, wire.Delta{Kind: wire.ReplyUsage, Usage: r.Usage})
	}
	return append(out, wire.Delta{Kind: wire.ReplyEnd})
}

// told puts the steps of a streamed answer together again.
func told(steps []wire.Delta) (r wire.Reply, ended bool) {
	for _, d := range steps {
		switch d.Kind {
		case wire.ReplyBegin:
			r.ID, r.Model = d.ID, d.Model
		case wire.PartBegin:
			r.Parts = append(r.Parts, d.Part)
		case wire.PartDelta:
			if p := &r.Parts[d.Index]; p.Kind == wire.ToolCall {
				p.Arguments += d.Text
			} else {
				p.Text += d.Text
			}
		case wire.ReplyStop:
			r.Stop = d.Stop
		case wire.ReplyUsage:
			r.Usage, r.HasUsage = d.Usage, true
		case wire.ReplyEnd:
			ended = true
		}
	}
	return r, ended
}

func reply() *rapid.Generator[wire.Reply] {
	words := rapid.StringMatching(`[a-z"\\é ]{1,20}`)
	part := rapid.Custom(func(t *rapid.T) wire.Part {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return wire.Part{Kind: wire.Reasoning, Text: words.Draw(t, "thought"), Summary: true}
		case 1:
			return wire.Part{Kind: wire.ToolCall, CallID: "c", Name: "f", Arguments: `{"a":"` + rapid.StringMatching(`[a-z ]*`).Draw(t, "a") + `"}`}
		case 2:
			return wire.Part{Kind: wire.ToolCall, CallID: "c", Name: "p", Arguments: words.Draw(t, "input"), Custom: true}
		case 3:
			return wire.Part{Kind: wire.Refusal, Text: words.Draw(t, "refusal")}
		}
		return text(words.Draw(t, "text"))
	})
	return rapid.Custom(func(t *rapid.T) wire.Reply {
		r := wire.Reply{ID: "resp_ab12", Model: "asked", Created: 1796010127, HasUsage: true,
			Parts: rapid.SliceOfN(part, 0, 6).Draw(t, "parts"),
			Usage: wire.Usage{Input: rapid.Int64Range(0, 9).Draw(t, "in"), CacheRead: rapid.Int64Range(0, 9).Draw(t, "read"),
				CacheWrite5m: rapid.Int64Range(0, 9).Draw(t, "written"), Output: 7, Reasoning: 2}}
		r.Stop = rapid.SampledFrom([]wire.Stop{wire.StopEnd, wire.StopLength, wire.StopFilter}).Draw(t, "stop")
		if r.Stop == wire.StopEnd {
			for _, p := range r.Parts {
				if p.Kind == wire.Refusal && r.Stop == wire.StopEnd {
					r.Stop = wire.StopRefusal
				} else if p.Kind == wire.ToolCall {
					r.Stop = wire.StopTool
				}
			}
		}
		return r
	})
}

// TestAnswersKeepMeaning: an answer that is written, whole or as a stream, is
// read as what it was; the snapshot at the stream's end is the whole answer.
func TestAnswersKeepMeaning(t *testing.T) {
	echo := responses.NewEcho(facts(t, `{"model":"asked","input":"x"}`))
	rapid.Check(t, func(t *rapid.T) {
		want := reply().Draw(t, "reply")
		body, _ := responses.WriteReply(want, echo)
		got, err := responses.ReadReply(body, wire.ByProtocol)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("whole: %s\n%s", diff, body)
		}
		v := responses.NewEvents(stamp(), echo)
		var stream []byte
		for _, d := range deltas(want) {
			stream = v.Append(stream, d)
		}
		steps, last := follow(t, stream)
		streamed, ended := told(steps)
		streamed.Created = want.Created
		if diff := cmp.Diff(want, streamed, cmpopts.EquateEmpty()); diff != "" || !ended {
			t.Fatalf("streamed: %s\n%s", diff, stream)
		}
		snapshot, err := responses.ReadReply(last.Get("response").Bytes(), wire.ByProtocol)
		if diff := cmp.Diff(want, snapshot, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("snapshot: %s %v", diff, err)
		}
		if string(v.Items()) != string(last.Get("response", "output").Bytes()) {
			t.Fatal("the items are not those of the snapshot")
		}
		if more := v.Append(nil, wire.Delta{Kind: wire.ReplyEnd}); more != nil {
			t.Fatalf("after the end: %q", more)
		}
	})
}

type fataler interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// follow reads a stream that the gateway wrote, and checks what clients count on:
// numbers without gaps, items announced before they grow and finished before the
// end, ids that stay.
func follow(t fataler, stream []byte) (steps []wire.Delta, last jsonedit.Value) {
	r, d := sse.NewReader(bytes.NewReader(stream), 0), responses.NewDeltas(wire.ByProtocol)
	ids, done := map[int64]string{}, map[int64]bool{}
	for n := int64(0); ; n++ {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return steps, last
		}
		if err != nil {
			t.Fatal(err)
		}
		last = jsonedit.Read(bytes.Clone(e.Data))
		kind := last.Get("type").Text()
		if number, _ := last.Get("sequence_number").Int(); number != n || kind != string(e.Name) {
			t.Fatalf("event %d is %s", n, e.Raw)
		}
		at, _ := last.Get("output_index").Int()
		switch {
		case kind == "response.output_item.added":
			ids[at] = last.Get("item", "id").Text()
		case kind == "response.output_item.done":
			done[at] = true
			if ids[at] != last.Get("item", "id").Text() {
				t.Fatalf("another id: %s", e.Raw)
			}
		case last.Get("item_id").Exists():
			if id := last.Get("item_id").Text(); id == "" || id != ids[at] || done[at] {
				t.Fatalf("out of place: %s", e.Raw)
			}
		}
		steps = d.Event(e.Name, e.Data, steps)
		if kind == "response.completed" && len(done) != len(ids) {
			t.Fatalf("%d of %d items are finished", len(done), len(ids))
		}
	}
}

// TestInterleaved: parts that are open at the same time become items of their
// own, in the order in which they began; what is left open is finished.
func TestInterleaved(t *testing.T) {
	v := responses.NewEvents(stamp(), responses.NewEcho(facts(t, `{"model":"asked","input":"x"}`)))
	var stream []byte
	for _, d := range []wire.Delta{
		{Kind: wire.PartBegin, Index: 0}, {Kind: wire.PartDelta, Index: 0, Text: "Hi"},
		{Kind: wire.PartBegin, Index: 1, Part: wire.Part{Kind: wire.ToolCall, CallID: "a", Name: "f"}},
		{Kind: wire.PartBegin, Index: 2, Part: wire.Part{Kind: wire.ToolCall, Name: "g"}},
		{Kind: wire.PartDelta, Index: 2, Text: "{}"}, {Kind: wire.PartDelta, Index: 1, Text: "{"}, {Kind: wire.PartDelta, Index: 0, Text: "!"},
		{Kind: wire.PartEnd, Index: 2}, {Kind: wire.PartDelta, Index: 1, Text: "}"}, {Kind: wire.PartDelta, Index: 9, Text: "lost"},
		{Kind: wire.ReplyStop, Stop: wire.StopTool}, {Kind: wire.ReplyEnd},
	} {
		stream = v.Append(stream, d)
	}
	_, last := follow(t, stream)
	r, err := responses.ReadReply(last.Get("response").Bytes(), wire.ByProtocol)
	want := []wire.Part{text("Hi!"), {Kind: wire.ToolCall, CallID: "a", Name: "f", Arguments: "{}"},
		{Kind: wire.ToolCall, CallID: "call_ab12_2", Name: "g", Arguments: "{}"}}
	if diff := cmp.Diff(want, r.Parts); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}

// TestEcho: an answer repeats its request as clients expect it, and the tools of
// namespaces by the names that the client gave them.
func TestEcho(t *testing.T) {
	echo := responses.NewEcho(facts(t, `{"model":"asked","input":"x","instructions":"Be\nbrief.","reasoning":{"effort":"low"},"store":false,
		"tools":[ {"type":"namespace","name":"ns","tools":[{"type":"function","name":"f"}]} ],"text":{"verbosity":"low"},"metadata":{"k":"v"},"temperature":null}`))
	body, _ := responses.WriteReply(wire.Reply{ID: "resp_1", Model: "asked", Stop: wire.StopRefusal,
		Parts: []wire.Part{{Kind: wire.ToolCall, CallID: "c", Name: "ns__f", Arguments: "{}"}}}, echo)
	v := jsonedit.Read(body)
	for path, want := range map[string]string{
		"instructions": `"Be\nbrief."`, "reasoning": `{"effort":"low","summary":null}`, "store": "false", "temperature": "1", "top_p": "1",
		"tools": `[{"type":"namespace","name":"ns","tools":[{"type":"function","name":"f"}]}]`, "tool_choice": `"auto"`,
		"text": `{"format":{"type":"text"},"verbosity":"low"}`, "metadata": `{"k":"v"}`, "previous_response_id": "null", "parallel_tool_calls": "true",
		"status": `"incomplete"`, "incomplete_details": `{"reason":"content_filter"}`, "usage": "null", "error": "null", "object": `"response"`, "truncation": `"disabled"`,
	} {
		if got := string(v.Get(path).Bytes()); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	each := v.Get("output").Each()
	each.Next()
	if it := each.Value(); !it.Get("name").Is("f") || !it.Get("namespace").Is("ns") {
		t.Errorf("the call is %s", it.Bytes())
	}
	if _, err := jsonedit.Parse(body); err != nil || bytes.ContainsAny(body, "\r\n") {
		t.Errorf("%v\n%s", err, body)
	}
}

// TestBrokenAnswer: the failure goes on from what the client has seen.
func TestBrokenAnswer(t *testing.T) {
	v := responses.NewEvents(stamp(), responses.NewEcho(facts(t, `{"model":"asked","input":"x"}`)))
	stream := v.Append(nil, wire.Delta{Kind: wire.PartBegin})
	stream = v.Append(stream, wire.Delta{Kind: wire.PartDelta, Text: "Hi"})
	stream = append(stream, v.Failure(wire.Refuse(wire.RateLimited).After(1500*time.Millisecond))...)
	_, last := follow(t, stream)
	if r := last.Get("response"); !r.Get("id").Is("resp_ab12") || !r.Get("status").Is("failed") || !r.Get("error", "code").Is("rate_limit_exceeded") ||
		!strings.HasSuffix(r.Get("error", "message").Text(), "try again in 1.5s.") {
		t.Errorf("%s", last.Bytes())
	}
}

// TestDeltas: whatever part of the protocol's events an upstream sends, the
// answer is told once.
func TestDeltas(t *testing.T) {
	call := wire.Part{Kind: wire.ToolCall, CallID: "c", Name: "f", Arguments: "{}"}
	for _, row := range []struct {
		name, stream string
		want         []wire.Part
		stop         wire.Stop
	}{
		{"whole items", `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Hi"}]}}
			{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}
			{"type":"response.completed","response":{}}`, []wire.Part{text("Hi"), call}, wire.StopTool},
		{"only the snapshot", `{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]},{"type":"web_search_call"},
			{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}}`, []wire.Part{text("Hi"), call}, wire.StopTool},
		{"deltas without indices", `{"type":"response.output_text.delta","delta":"H"} {"type":"response.output_text.delta","delta":"i"} {"type":"response.output_text.done","text":"Hi"}
			{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]}]}}`, []wire.Part{text("Hi")}, wire.StopEnd},
		{"announced, then whole", `{"type":"response.output_item.added","item":{"type":"function_call","call_id":"c","name":"f","arguments":""}}
			{"type":"response.function_call_arguments.done","arguments":"{}"} {"type":"response.output_item.added","item":{"type":"message","content":[]}}
			{"type":"response.refusal.delta","delta":"No"} {"type":"response.completed","response":{}}`, []wire.Part{call, {Kind: wire.Refusal, Text: "No"}}, wire.StopTool},
		{"reasoning told twice", `{"type":"response.reasoning_summary_text.delta","summary_index":0,"delta":"A"} {"type":"response.reasoning_text.delta","content_index":0,"delta":"raw"}
			{"type":"response.reasoning_summary_text.delta","summary_index":1,"delta":"B"} {"type":"response.output_item.done","item":{"type":"reasoning","summary":[{"text":"A"},{"text":"B"}]}}
			{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`,
			[]wire.Part{{Kind: wire.Reasoning, Text: "A\n\nB", Summary: true}}, wire.StopLength},
		{"a far index", `{"type":"response.output_text.delta","output_index":4611686018427387904,"delta":"Hi"} {"type":"response.completed","response":{}}`, []wire.Part{text("Hi")}, wire.StopEnd},
	} {
		d := responses.NewDeltas(wire.ByProtocol)
		var steps []wire.Delta
		rest := []byte(row.stream)
		for {
			v := jsonedit.Read(rest)
			if !v.Exists() {
				break
			}
			steps = d.Event(nil, v.Bytes(), steps)
			rest = rest[bytes.Index(rest, v.Bytes())+len(v.Bytes()):]
		}
		got, ended := told(steps)
		if diff := cmp.Diff(row.want, got.Parts); diff != "" || got.Stop != row.stop || !ended {
			t.Errorf("%s: %s %s", row.name, diff, got.Stop)
		}
	}
}

// TestUnended: a stream without its terminal event still ends what it began; one
// that failed does not.
func TestUnended(t *testing.T) {
	d := responses.NewDeltas(wire.ByProtocol)
	steps := d.Event(nil, []byte(delta), nil)
	if got, ended := told(d.End(steps)); !ended || len(got.Parts) != 1 || got.Stop != wire.StopEnd {
		t.Errorf("%+v", got)
	}
	d = responses.NewDeltas(wire.ByProtocol)
	steps = d.Event([]byte("response.failed"), []byte(`{"response":{}}`), d.Event(nil, []byte(delta), nil))
	if _, ended := told(d.End(steps)); ended {
		t.Error("a failed answer is told as whole")
	}
}
