package bridge

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"time"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/chat"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/messages"
	"holdfast/functions/internal/wire/responses"
	"holdfast/functions/internal/wire/sse"
)

// Some deployments answer in one piece where events were asked for, or in events
// where one piece was. What they say is told again in the form that was asked for,
// in their own protocol: text, reasoning, refusals, calls, why it ended and what it
// used. Their id stays.

// Streamed tells a whole answer of a protocol as that protocol's stream. sent is the
// request that it answers. The error is wire.ErrAnswer where there is no such answer,
// or where it holds what the neutral form has no room for.
func Streamed(p wire.Protocol, sent, body []byte) ([]byte, error) {
	r, err := listen(p).reply(body, wire.ByProtocol)
	to := events(p, sent, wire.Stamp{ID: r.ID, Model: r.Model, At: time.Unix(r.Created, 0)})
	if err != nil || to == nil || !tellable(sent) || !plain(p, body) {
		return nil, wire.ErrAnswer
	}
	var out []byte
	for _, d := range told(r) {
		out = to.Append(out, d)
	}
	return out, nil
}

// told are the steps by which an answer is streamed.
func told(r wire.Reply) []wire.Delta {
	out := append(make([]wire.Delta, 0, 4*len(r.Parts)+4), wire.Delta{Kind: wire.ReplyBegin, ID: r.ID, Model: r.Model, Usage: r.Usage})
	for i, part := range r.Parts {
		text := part.Text + part.Arguments
		part.Text, part.Arguments = "", ""
		out = append(out, wire.Delta{Kind: wire.PartBegin, Index: i, Part: part}, wire.Delta{Kind: wire.PartDelta, Index: i, Text: text})
		if part.Signature != "" {
			out = append(out, wire.Delta{Kind: wire.PartSeal, Index: i, Part: part})
		}
		out = append(out, wire.Delta{Kind: wire.PartEnd, Index: i})
	}
	out = append(out, wire.Delta{Kind: wire.ReplyStop, Stop: r.Stop, StopText: r.StopText})
	if r.HasUsage {
		out = append(out, wire.Delta{Kind: wire.ReplyUsage, Usage: r.Usage})
	}
	return append(out, wire.Delta{Kind: wire.ReplyEnd})
}

// events writes a stream of a protocol; nil where the request cannot be read.
func events(p wire.Protocol, sent []byte, by wire.Stamp) writer {
	switch p {
	case wire.Chat:
		return chat.NewEvents(by, true)
	case wire.Messages:
		return messages.NewEvents(by, true)
	}
	f, refused := wire.Inspect(wire.EndpointResponses, sent)
	if refused != nil {
		return nil
	}
	return responses.NewEvents(by, responses.NewEcho(f))
}

// tellable reports whether the answer to a request is one choice, without log
// probabilities: the neutral form has no room for more.
func tellable(sent []byte) bool {
	v := jsonedit.Read(sent)
	if n, is := v.Get("n").Int(); is && n != 1 {
		return false
	}
	probable, _ := v.Get("logprobs").Bool()
	return !probable
}

// plain reports whether the parts of an answer are such as the neutral form has.
func plain(p wire.Protocol, body []byte) bool {
	name := map[wire.Protocol]string{wire.Messages: "content", wire.Responses: "output"}[p]
	for each := jsonedit.Read(body).Get(name).Each(); each.Next(); {
		if !known(each.Value()) {
			return false
		}
	}
	return true
}

// known reports whether a block of a message, or an item of a response, is such.
func known(part jsonedit.Value) bool {
	return slices.Contains([]string{"text", "thinking", "tool_use", "message", "reasoning", "function_call", "custom_tool_call"}, part.Get("type").Head(32))
}

// Gathered is Streamed the other way: a whole stream of a protocol as its answer in
// one piece. A stream that has not ended as the protocol's do is none.
func Gathered(p wire.Protocol, sent, stream []byte) ([]byte, error) {
	if !tellable(sent) {
		return nil, wire.ErrAnswer
	}
	if p == wire.Responses {
		return lastResponse(stream)
	}
	var g gathering
	from, judge, sound := listen(p).deltas(wire.ByProtocol), ends(p), true
	status := wire.Open
	err := eachEvent(stream, func(e *sse.Event) {
		if status == wire.Open {
			status = judge.Event(e.Name, e.Data).Status
		}
		g.add(from.Event(e.Name, e.Data, nil))
		v := jsonedit.Read(e.Data)
		if begun := v.Get("content_block"); begun.Given() {
			sound = sound && known(begun)
		}
		if g.reply.Created == 0 {
			g.reply.Created, _ = v.Get("created").Int()
		}
	})
	g.add(from.End(nil))
	if status == wire.Open {
		status = judge.End()
	}
	switch {
	case err != nil || !sound || status != wire.Completed && status != wire.Incomplete:
		return nil, wire.ErrAnswer
	case p == wire.Chat:
		return chat.WriteReply(g.reply), nil
	}
	return messages.WriteReply(g.reply), nil
}

// ends says when a stream of Chat or Messages is whole.
func ends(p wire.Protocol) interface {
	Event(name, data []byte) wire.Step
	End() wire.Status
} {
	if p == wire.Chat {
		return chat.NewStream(wire.ByProtocol)
	}
	return messages.NewStream(wire.ByProtocol)
}

// gathering is an answer that is put together from its steps.
type gathering struct {
	reply wire.Reply
	at    map[int]int // where a part stands, by its index
}

func (g *gathering) add(steps []wire.Delta) {
	r := &g.reply
	for _, d := range steps {
		switch at, begun := g.at[d.Index]; d.Kind {
		case wire.ReplyBegin:
			r.ID, r.Model = d.ID, d.Model
		case wire.PartBegin:
			if g.at == nil {
				g.at = map[int]int{}
			}
			g.at[d.Index] = len(r.Parts)
			d.Part.Text, d.Part.Arguments = "", "" // told by what follows
			r.Parts = append(r.Parts, d.Part)
		case wire.PartDelta, wire.PartSeal:
			if begun {
				grow(&r.Parts[at], d)
			}
		case wire.ReplyStop:
			r.Stop, r.StopText = d.Stop, d.StopText
		case wire.ReplyUsage:
			r.Usage, r.HasUsage = d.Usage, true
		}
	}
}

// grow adds a step to the part that it is of.
func grow(part *wire.Part, d wire.Delta) {
	switch {
	case d.Kind == wire.PartSeal:
		part.Signature = d.Part.Signature
	case part.Kind == wire.ToolCall:
		part.Arguments += d.Text
	default:
		part.Text += d.Text
	}
}

// eachEvent hands on the events of a stream that is whole.
func eachEvent(stream []byte, take func(*sse.Event)) error {
	for r := sse.NewReader(bytes.NewReader(stream), len(stream)+1); ; {
		e, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		take(e)
	}
}

// lastResponse is the response of a stream's terminal event, with the finished items
// where that has none.
func lastResponse(stream []byte) ([]byte, error) {
	var body []byte
	record := responses.Record{Content: true}
	err := eachEvent(stream, func(e *sse.Event) {
		record.Event(e.Name, e.Data)
		switch v := jsonedit.Read(e.Data); v.Get("type").Head(32) {
		case "response.completed", "response.incomplete", "response.failed":
			body = bytes.Clone(v.Get("response").Bytes())
		}
	})
	doc, unread := jsonedit.Parse(body)
	if err != nil || unread != nil {
		return nil, wire.ErrAnswer
	}
	if items, whole := record.Kept(); whole && !doc.Value("output").Filled() {
		p := doc.Edit()
		p.Set("output", items)
		body = p.Bytes()
	}
	return body, nil
}
