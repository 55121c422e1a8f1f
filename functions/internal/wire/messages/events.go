package messages

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
)

// Events writes a streamed answer for a client of this protocol: message_start
// with usage, for each part content_block_start, its deltas and
// content_block_stop, one block after the other, then message_delta with the stop
// reason and the usage, and message_stop. What WriteReply leaves out is left out
// here too.
//
// Blocks of this protocol do not mix: what a part says while another one's block
// is open waits until that has ended.
type Events struct {
	stamp   wire.Stamp
	id      string
	begun   bool
	ended   bool
	called  bool
	stop    wire.Stop
	text    string // the stop sequence
	usage   wire.Usage
	blocks  int     // begun so far
	started bool    // the block of the first part was begun
	parts   []*part // those that go on or wait, in order; the first one is written
	w       jsonedit.Writer
}

// part is one that goes on or waits.
type part struct {
	index     int
	what      wire.Part
	waiting   []byte // what it has said meanwhile
	signature string
	ended     bool
}

// NewEvents begins an answer. Its id is the stamp's, or made of the request's.
// Usage needs no asking for in this protocol.
func NewEvents(by wire.Stamp, _ bool) *Events {
	e := &Events{stamp: by, id: by.ID}
	if e.id == "" {
		e.id = "msg_" + by.RequestID
	}
	return e
}

// Append appends the events that a delta becomes. After the end nothing does.
func (e *Events) Append(dst []byte, d wire.Delta) []byte {
	if e.ended {
		return dst
	}
	switch d.Kind {
	case wire.ReplyBegin, wire.ReplyUsage:
		if d.Usage != (wire.Usage{}) {
			e.usage = d.Usage
		}
	case wire.ReplyStop:
		e.stop, e.text = d.Stop, d.StopText
	}
	dst = e.begin(dst)
	switch d.Kind {
	case wire.PartBegin:
		return e.announce(dst, d)
	case wire.PartDelta, wire.PartSeal, wire.PartEnd:
		return e.part(dst, d)
	case wire.ReplyEnd:
		return e.end(dst)
	}
	return dst
}

// begin writes message_start, once.
func (e *Events) begin(dst []byte) []byte {
	if e.begun {
		return dst
	}
	e.begun = true
	w := e.event("message_start").Name("message").Object().Name("id").Text(e.id).Name("type").Text("message").
		Name("role").Text("assistant").Name("model").Text(e.stamp.Model).Name("content").Array().Close().
		Name("stop_reason").Raw(nil).Name("stop_sequence").Raw(nil)
	writeUsage(w.Name("usage"), e.usage)
	w.End()
	return e.send(dst, "message_start")
}

func (e *Events) event(name string) *jsonedit.Writer {
	return e.w.Reset().Object().Name("type").Text(name)
}

func (e *Events) send(dst []byte, name string) []byte {
	return sse.AppendEvent(dst, name, e.w.End().Bytes())
}

// announce takes in that a part begins. A call is told of at once if it is its
// turn.
func (e *Events) announce(dst []byte, d wire.Delta) []byte {
	p := &part{index: d.Index, what: d.Part}
	e.parts = append(e.parts, p)
	if len(e.parts) == 1 && d.Part.Kind == wire.ToolCall {
		return e.start(dst, p)
	}
	return dst
}

// part takes in what a part says, or its end, and writes what can be.
func (e *Events) part(dst []byte, d wire.Delta) []byte {
	at := len(e.parts) - 1
	for at >= 0 && (e.parts[at].index != d.Index || e.parts[at].ended) {
		at--
	}
	if at < 0 {
		return dst
	}
	p := e.parts[at]
	switch {
	case d.Kind == wire.PartEnd:
		p.ended = true
	case d.Kind == wire.PartSeal:
		p.signature = d.Part.Signature
	case at == 0:
		return e.say(dst, p, d.Text)
	default:
		p.waiting = append(p.waiting, d.Text...)
	}
	return e.proceed(dst)
}

// proceed closes the first part while that has ended, and says what the next
// one has to say.
func (e *Events) proceed(dst []byte) []byte {
	for len(e.parts) > 0 {
		first := e.parts[0]
		if len(first.waiting) > 0 {
			dst = e.say(dst, first, string(first.waiting))
			first.waiting = nil
		}
		if !first.ended {
			return dst
		}
		dst = e.close(dst, first)
		e.parts = e.parts[1:]
	}
	return dst
}

// say writes a part's text, its block's start before the first.
func (e *Events) say(dst []byte, p *part, text string) []byte {
	dst = e.start(dst, p)
	if text == "" {
		return dst
	}
	switch p.what.Kind {
	case wire.Reasoning:
		return e.delta(dst, "thinking_delta", "thinking", text)
	case wire.ToolCall:
		return e.delta(dst, "input_json_delta", "partial_json", text)
	}
	return e.delta(dst, "text_delta", "text", text)
}

func (e *Events) delta(dst []byte, kind, member, text string) []byte {
	e.event("content_block_delta").Name("index").Int(int64(e.blocks - 1)).
		Name("delta").Object().Name("type").Text(kind).Name(member).Text(text).End()
	return e.send(dst, "content_block_delta")
}

// start writes the start of a part's block, once.
func (e *Events) start(dst []byte, p *part) []byte {
	if e.started {
		return dst
	}
	e.started = true
	e.blocks++
	w := e.event("content_block_start").Name("index").Int(int64(e.blocks - 1)).Name("content_block").Object()
	switch p.what.Kind {
	case wire.Reasoning:
		w.Name("type").Text("thinking").Name("thinking").Text("").Name("signature").Text("")
	case wire.ToolCall:
		e.called = true
		w.Name("type").Text("tool_use").Name("id").Text(callID(p.what.CallID)).Name("name").Text(p.what.Name).
			Name("input").Object().End()
	default:
		w.Name("type").Text("text").Name("text").Text("")
	}
	w.End()
	return e.send(dst, "content_block_start")
}

// close ends a part's block. A part that is nothing but sealed, or has said
// nothing, has no block; a call has one in any case.
func (e *Events) close(dst []byte, p *part) []byte {
	if p.what.Kind == wire.ToolCall || p.signature != "" {
		dst = e.start(dst, p)
	}
	if !e.started {
		return dst
	}
	if p.signature != "" {
		dst = e.delta(dst, "signature_delta", "signature", p.signature)
	}
	e.started = false
	e.event("content_block_stop").Name("index").Int(int64(e.blocks - 1))
	return e.send(dst, "content_block_stop")
}

// end writes what is still due and the end.
func (e *Events) end(dst []byte) []byte {
	for _, p := range e.parts {
		p.ended = true
	}
	dst = e.proceed(dst)
	e.ended = true
	w := e.event("message_delta").Name("delta").Object()
	writeStop(w, e.stop, e.text, e.called)
	w.End()
	writeUsage(w.Name("usage"), e.usage)
	dst = e.send(dst, "message_delta")
	e.event("message_stop")
	return e.send(dst, "message_stop")
}
