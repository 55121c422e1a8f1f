package responses

import (
	"strconv"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
)

// Events writes a streamed answer of this protocol: every item announced, told
// and finished, sequence numbers without gaps, and a snapshot of the whole at
// both ends. Parts that the upstream leaves open are finished with the answer.
type Events struct {
	stamp  wire.Stamp
	output output
	places map[int]*piece // by the part's index
	number int64          // of the next event
	begun  bool
	ended  bool
	stop   wire.Stop
	usage  []byte // JSON
	buffer []byte
}

// NewEvents begins an answer. stamp.ID is its id.
func NewEvents(stamp wire.Stamp, e *Echo) *Events {
	return &Events{stamp: stamp, output: newOutput(e, stamp.ID), places: map[int]*piece{}, usage: []byte("null")}
}

// Append appends the events that a step of the answer is told by. Nothing
// follows the terminal event.
func (v *Events) Append(dst []byte, d wire.Delta) []byte {
	if v.ended {
		return dst
	}
	dst = v.open(dst)
	p := v.places[d.Index]
	switch d.Kind {
	case wire.PartBegin:
		return v.beginPart(dst, d)
	case wire.PartDelta:
		if p != nil && !p.done && d.Text != "" {
			dst = v.grow(dst, p, d.Text)
		}
	case wire.PartEnd:
		if p != nil {
			dst = v.finishPiece(dst, p, "completed")
		}
	case wire.ReplyStop:
		v.stop = d.Stop
	case wire.ReplyUsage:
		v.usage = appendUsage(v.usage[:0], d.Usage)
	case wire.ReplyEnd:
		return v.end(dst)
	}
	return dst
}

// open tells that there is an answer, once.
func (v *Events) open(dst []byte) []byte {
	if v.begun {
		return dst
	}
	v.begun = true
	for _, kind := range [...]string{"response.created", "response.in_progress"} {
		b := append(v.event(kind), `,"response":`...)
		dst = v.send(dst, kind, append(v.output.echo.snapshot(b, v.stamp, "in_progress", "null", "null", []byte("[]"), []byte("null")), '}'))
	}
	return dst
}

// beginPart announces a part and, where it is the first of one, its item. A
// message ends where another item begins.
func (v *Events) beginPart(dst []byte, d wire.Delta) []byte {
	if n := len(v.output.items); n > 0 && d.Part.Kind != wire.Text && d.Part.Kind != wire.Refusal {
		last := v.output.items[n-1]
		last.sealed = true
		dst = v.finishItem(dst, last, "completed")
	}
	p, fresh := v.output.begin(&d.Part)
	v.places[d.Index] = p
	if fresh {
		b := v.at("response.output_item.added", p.entry)
		b = p.entry.append(append(b, `,"item":`...), "in_progress", true)
		dst = v.send(dst, "response.output_item.added", append(b, '}'))
	}
	switch p.entry.kind {
	case wire.Text:
		b := v.in("response.content_part.added", p)
		dst = v.send(dst, "response.content_part.added", append(p.appendContent(append(b, `,"part":`...), true), '}'))
	case wire.Reasoning:
		b := append(v.in("response.reasoning_summary_part.added", p), `,"part":{"type":"summary_text","text":""}}`...)
		dst = v.send(dst, "response.reasoning_summary_part.added", b)
	}
	if d.Text != "" {
		dst = v.grow(dst, p, d.Text)
	}
	return dst
}

// grow tells a further piece of a part's text.
func (v *Events) grow(dst []byte, p *piece, text string) []byte {
	p.text = append(p.text, text...)
	kind := p.family() + ".delta"
	b := append(append(v.in(kind, p), `,"delta":`...), jsonedit.Quote(text)...)
	if kind == "response.output_text.delta" {
		b = append(b, `,"logprobs":[]`...)
	}
	return v.send(dst, kind, append(b, '}'))
}

// family is how the events of a part's text begin.
func (p *piece) family() string {
	switch e := p.entry; {
	case e.kind == wire.Reasoning:
		return "response.reasoning_summary_text"
	case e.kind == wire.ToolCall && e.custom:
		return "response.custom_tool_call_input"
	case e.kind == wire.ToolCall:
		return "response.function_call_arguments"
	case p.refusal:
		return "response.refusal"
	}
	return "response.output_text"
}

// finishPiece tells a part's whole text, and its item where that is done with it.
func (v *Events) finishPiece(dst []byte, p *piece, status string) []byte {
	if p.done {
		return dst
	}
	p.done = true
	kind := p.family() + ".done"
	b := v.in(kind, p)
	switch e := p.entry; {
	case e.kind == wire.ToolCall && e.custom:
		b = append(append(b, `,"input":`...), e.payload(false)...)
	case e.kind == wire.ToolCall:
		b = append(append(b, `,"name":`...), jsonedit.Quote(e.call.name)...)
		b = append(append(b, `,"arguments":`...), e.payload(false)...)
	case p.refusal:
		b = append(append(b, `,"refusal":`...), jsonedit.Quote(string(p.text))...)
	default:
		b = append(append(b, `,"text":`...), jsonedit.Quote(string(p.text))...)
		if e.kind == wire.Text {
			b = append(b, `,"logprobs":[]`...)
		}
	}
	dst = v.send(dst, kind, append(b, '}'))
	switch p.entry.kind {
	case wire.Text:
		b = p.appendContent(append(v.in("response.content_part.done", p), `,"part":`...), false)
		dst = v.send(dst, "response.content_part.done", append(b, '}'))
		if !p.entry.sealed { // further parts may follow
			return dst
		}
	case wire.Reasoning:
		b = p.appendSummary(append(v.in("response.reasoning_summary_part.done", p), `,"part":`...))
		dst = v.send(dst, "response.reasoning_summary_part.done", append(b, '}'))
	}
	return v.finishItem(dst, p.entry, status)
}

// finishItem tells a whole item, unless a part of it still grows.
func (v *Events) finishItem(dst []byte, e *entry, status string) []byte {
	if e.done || e.open() {
		return dst
	}
	e.done, e.status = true, status
	b := e.append(append(v.at("response.output_item.done", e), `,"item":`...), status, false)
	return v.send(dst, "response.output_item.done", append(b, '}'))
}

// end finishes what is open and the answer. The item that a limit cut off is
// incomplete.
func (v *Events) end(dst []byte) []byte {
	status, incomplete := v.output.ending(v.stop)
	for i, e := range v.output.items {
		own := "completed"
		if i == len(v.output.items)-1 {
			own = status
		}
		for _, p := range e.pieces {
			dst = v.finishPiece(dst, p, own)
		}
		dst = v.finishItem(dst, e, own)
	}
	v.ended = true
	kind := "response." + status
	b := append(v.event(kind), `,"response":`...)
	b = v.output.echo.snapshot(b, v.stamp, status, "null", incomplete, v.output.array(), v.usage)
	return v.send(dst, kind, append(b, '}'))
}

// Failure is the event by which a broken answer ends, after the events so far.
func (v *Events) Failure(p *wire.Problem) []byte {
	v.ended = true
	fault := append(append([]byte(`{"code":`), jsonedit.Quote(failureCode(p))...), `,"message":`...)
	fault = append(append(fault, jsonedit.Quote(failureMessage(p))...), '}')
	b := append(v.event("response.failed"), `,"response":`...)
	b = v.output.echo.snapshot(b, v.stamp, "failed", string(fault), "null", v.output.array(), []byte("null"))
	return v.send(nil, "response.failed", append(b, '}'))
}

// Items returns the finished items so far, as the client saw them: a JSON array.
func (v *Events) Items() []byte { return v.output.array() }

// event begins an event's data.
func (v *Events) event(kind string) []byte {
	b := append(append(append(v.buffer[:0], `{"type":"`...), kind...), `","sequence_number":`...)
	b = strconv.AppendInt(b, v.number, 10)
	v.number++
	return b
}

// at begins an event about an item.
func (v *Events) at(kind string, e *entry) []byte {
	return strconv.AppendInt(append(v.event(kind), `,"output_index":`...), int64(e.index), 10)
}

// in begins an event about a part of an item.
func (v *Events) in(kind string, p *piece) []byte {
	b := append(append(v.at(kind, p.entry), `,"item_id":`...), jsonedit.Quote(p.entry.id)...)
	switch p.entry.kind {
	case wire.Text:
		b = strconv.AppendInt(append(b, `,"content_index":`...), int64(p.index), 10)
	case wire.Reasoning:
		b = append(b, `,"summary_index":0`...)
	}
	return b
}

// send appends an event and keeps its buffer for the next.
func (v *Events) send(dst []byte, kind string, data []byte) []byte {
	v.buffer = data
	return sse.AppendEvent(dst, kind, data)
}
