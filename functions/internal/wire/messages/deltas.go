package messages

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// Deltas translates an upstream's stream into the neutral form, event by event,
// one part for each block. What ReadReply leaves out is left out here too; what
// tells of an error is left to Stream.
type Deltas struct {
	counting wire.Counting
	tally    tally
	begun    bool
	ended    bool
	stop     wire.Stop
	parts    int // begun so far; the next one's index
	spoken   bool
	called   bool
	open     []block
}

// block is a part that is open.
type block struct {
	at     int64 // the upstream's index
	index  int
	kind   wire.PartKind
	filled bool
}

// NewDeltas begins to translate an answer.
func NewDeltas(counting wire.Counting) *Deltas { return &Deltas{counting: counting} }

// Event appends what an event means to out. Once the answer has ended, nothing
// means anything.
func (d *Deltas) Event(name, data []byte, out []wire.Delta) []wire.Delta {
	v := jsonedit.Read(data)
	if d.ended || v.Kind() != '{' {
		return out
	}
	if kind := v.Get("type"); kind.Len() > 0 {
		name = kind.Bytes()[1 : kind.Len()+1]
	}
	switch string(name) {
	case "message_start":
		message := v.Get("message")
		d.tally.merge(message.Get("usage"))
		out = d.begin(message, out)
	case "content_block_start":
		out = d.start(v, d.begin(jsonedit.Value{}, out))
	case "content_block_delta":
		return d.delta(v, out)
	case "content_block_stop":
		if at, b := d.find(v); b != nil {
			out = d.end(*b, out)
			d.open = append(d.open[:at], d.open[at+1:]...)
		}
	case "message_delta":
		out = d.message(v, d.begin(jsonedit.Value{}, out))
	case "message_stop":
		out = d.End(d.begin(jsonedit.Value{}, out))
	}
	return out
}

// begin appends the beginning of the answer, once.
func (d *Deltas) begin(message jsonedit.Value, out []wire.Delta) []wire.Delta {
	if d.begun {
		return out
	}
	d.begun = true
	usage, _ := d.tally.usage(d.counting)
	return append(out, wire.Delta{
		Kind: wire.ReplyBegin, ID: message.Get("id").Head(wire.MaxName), Model: message.Get("model").Head(wire.MaxName), Usage: usage,
	})
}

// find finds the open block that an event is about, which may leave the index
// out where there is only one.
func (d *Deltas) find(v jsonedit.Value) (int, *block) {
	index, ok := v.Get("index").Int()
	for i := len(d.open) - 1; i >= 0; i-- {
		if d.open[i].at == index || !ok {
			return i, &d.open[i]
		}
	}
	return 0, nil
}

// start begins a part, with what its block brings along already.
func (d *Deltas) start(v jsonedit.Value, out []wire.Delta) []wire.Delta {
	v, index := v.Get("content_block"), v.Get("index")
	b := block{index: d.parts}
	b.at, _ = index.Int()
	part, text, sealed := wire.Part{}, "", ""
	switch kind := v.Get("type"); {
	case kind.Is("text"):
		part.Kind, text = wire.Text, v.Get("text").Text()
	case kind.Is("thinking"):
		part.Kind, text = wire.Reasoning, v.Get("thinking").Text()
	case kind.Is("redacted_thinking"):
		part.Kind, sealed = wire.Reasoning, v.Get("data").Text()
	case kind.Is("tool_use"):
		call, ok := toolCall(v)
		if !ok {
			return out
		}
		if call.Arguments != "{}" {
			text = call.Arguments
		}
		call.Arguments, d.called = "", true
		part = call
	default:
		return out
	}
	if d.parts >= wire.MaxReplyParts {
		return out
	}
	d.parts++
	b.kind, b.filled = part.Kind, text != ""
	d.open = append(d.open, b)
	out = append(out, wire.Delta{Kind: wire.PartBegin, Index: b.index, Part: part})
	if sealed != "" {
		out = append(out, wire.Delta{Kind: wire.PartSeal, Index: b.index, Part: wire.Part{Sealed: sealed}})
	}
	if text != "" {
		d.spoken = true
		out = append(out, wire.Delta{Kind: wire.PartDelta, Index: b.index, Text: text})
	}
	return out
}

// delta adds to a part.
func (d *Deltas) delta(v jsonedit.Value, out []wire.Delta) []wire.Delta {
	_, b := d.find(v)
	if b == nil {
		return out
	}
	text := ""
	for each := v.Get("delta").Each(); each.Next(); {
		switch {
		case each.Is("text"), each.Is("thinking"), each.Is("partial_json"):
			text = each.Value().Text()
		case each.Is("signature"):
			return append(out, wire.Delta{Kind: wire.PartSeal, Index: b.index, Part: wire.Part{Signature: each.Value().Text()}})
		}
	}
	if text == "" {
		return out
	}
	b.filled, d.spoken = true, true
	return append(out, wire.Delta{Kind: wire.PartDelta, Index: b.index, Text: text})
}

// end ends a part. A call without a word of input has an empty one.
func (d *Deltas) end(b block, out []wire.Delta) []wire.Delta {
	if b.kind == wire.ToolCall && !b.filled {
		out = append(out, wire.Delta{Kind: wire.PartDelta, Index: b.index, Text: "{}"})
	}
	return append(out, wire.Delta{Kind: wire.PartEnd, Index: b.index})
}

// message reads why the answer ends and what it used.
func (d *Deltas) message(v jsonedit.Value, out []wire.Delta) []wire.Delta {
	d.tally.merge(v.Get("usage"))
	delta := v.Get("delta")
	if stop := stopOf(delta.Get("stop_reason")); stop != "" && d.stop == "" {
		d.stop = stop
		out = d.close(out)
		if why := either(explanation(delta), explanation(v)); stop == wire.StopRefusal && !d.spoken && d.parts == 0 && why != "" {
			out = append(out,
				wire.Delta{Kind: wire.PartBegin, Index: d.parts, Part: wire.Part{Kind: wire.Refusal}},
				wire.Delta{Kind: wire.PartDelta, Index: d.parts, Text: why},
				wire.Delta{Kind: wire.PartEnd, Index: d.parts})
			d.parts++
		}
		out = append(out, wire.Delta{Kind: wire.ReplyStop, Stop: stop, StopText: delta.Get("stop_sequence").Text()})
	}
	if usage, ok := d.tally.usage(d.counting); ok {
		out = append(out, wire.Delta{Kind: wire.ReplyUsage, Usage: usage})
	}
	return out
}

// either returns the first of two texts that has something in it.
func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// close ends the parts that are still open.
func (d *Deltas) close(out []wire.Delta) []wire.Delta {
	for _, b := range d.open {
		out = d.end(b, out)
	}
	d.open = d.open[:0]
	return out
}

// End appends the end of an answer that is whole: by message_stop, or without it
// where the upstream has said why it ends.
func (d *Deltas) End(out []wire.Delta) []wire.Delta {
	if d.ended {
		return out
	}
	d.ended = true
	out = d.close(out)
	if d.stop == "" {
		d.stop = wire.StopEnd
		if d.called {
			d.stop = wire.StopTool
		}
		out = append(out, wire.Delta{Kind: wire.ReplyStop, Stop: d.stop})
	}
	return append(out, wire.Delta{Kind: wire.ReplyEnd})
}
