package chat

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
)

// Events writes a streamed answer for a client of this protocol: the role
// first, then text, reasoning_content, refusals and tool calls (each with index,
// id and name in its first chunk), the finish reason, the usage with no choices
// where the client has asked for it, and [DONE]. What WriteReply leaves out is
// left out here too.
type Events struct {
	stamp    wire.Stamp
	id       string
	usage    bool // the client has asked for it
	begun    bool
	stopped  bool
	ended    bool
	refused  bool
	known    wire.Usage
	hasUsage bool
	kinds    map[int]open
	calls    int
	w        jsonedit.Writer
}

// open is a part that goes on.
type open struct {
	kind   wire.PartKind
	call   int // which call
	custom bool
}

// NewEvents begins an answer. Its id is the stamp's, or made of the request's.
func NewEvents(by wire.Stamp, includeUsage bool) *Events {
	e := &Events{stamp: by, id: by.ID, usage: includeUsage, kinds: map[int]open{}}
	if e.id == "" {
		e.id = "chatcmpl-" + by.RequestID
	}
	return e
}

// Append appends the events that a delta becomes. After the end nothing does.
func (e *Events) Append(dst []byte, d wire.Delta) []byte {
	if e.ended {
		return dst
	}
	dst = e.begin(dst)
	switch d.Kind {
	case wire.PartBegin:
		return e.part(dst, d)
	case wire.PartDelta:
		return e.text(dst, d)
	case wire.PartEnd:
		delete(e.kinds, d.Index)
	case wire.ReplyStop:
		return e.stop(dst, d.Stop)
	case wire.ReplyUsage:
		e.known, e.hasUsage = d.Usage, true
	case wire.ReplyEnd:
		return e.end(dst)
	}
	return dst
}

// begin writes the chunk that says who speaks.
func (e *Events) begin(dst []byte) []byte {
	if e.begun {
		return dst
	}
	e.begun = true
	e.delta().Name("role").Text("assistant").Name("content").Text("").Name("refusal").Raw(nil)
	return e.send(dst, "")
}

// delta begins a chunk up to the inside of its delta.
func (e *Events) delta() *jsonedit.Writer {
	return e.head().Object().Name("index").Int(0).Name("delta").Object()
}

// head begins a chunk up to the inside of its choices.
func (e *Events) head() *jsonedit.Writer {
	return e.w.Reset().Object().Name("id").Text(e.id).Name("object").Text("chat.completion.chunk").
		Name("created").Int(e.stamp.At.Unix()).Name("model").Text(e.stamp.Model).Name("choices").Array()
}

// send ends a chunk behind its delta.
func (e *Events) send(dst []byte, finish string) []byte {
	e.w.End().Name("logprobs").Raw(nil).Name("finish_reason")
	if finish == "" {
		e.w.Raw(nil)
	} else {
		e.w.Text(finish)
	}
	e.w.End().Close()
	if e.usage {
		e.w.Name("usage").Raw(nil)
	}
	return sse.AppendEvent(dst, "", e.w.End().Bytes())
}

func (e *Events) part(dst []byte, d wire.Delta) []byte {
	o := open{kind: d.Part.Kind, custom: d.Part.Custom}
	if o.kind == wire.Refusal {
		e.refused = true
	}
	if o.kind != wire.ToolCall {
		e.kinds[d.Index] = o
		return dst
	}
	o.call = e.calls
	e.calls++
	e.kinds[d.Index] = o
	w := e.delta().Name("tool_calls").Array().Object().Name("index").Int(int64(o.call)).Name("id").Text(d.Part.CallID)
	if o.custom {
		w.Name("type").Text("custom").Name("custom").Object().Name("name").Text(d.Part.Name).Name("input").Text("")
	} else {
		w.Name("type").Text("function").Name("function").Object().Name("name").Text(d.Part.Name).Name("arguments").Text("")
	}
	w.End().End().Close()
	return e.send(dst, "")
}

func (e *Events) text(dst []byte, d wire.Delta) []byte {
	o, ok := e.kinds[d.Index]
	if !ok || d.Text == "" {
		return dst
	}
	w := e.delta()
	switch o.kind {
	case wire.Reasoning:
		w.Name("reasoning_content").Text(d.Text)
	case wire.Refusal:
		w.Name("refusal").Text(d.Text)
	case wire.ToolCall:
		w.Name("tool_calls").Array().Object().Name("index").Int(int64(o.call))
		if o.custom {
			w.Name("custom").Object().Name("input").Text(d.Text)
		} else {
			w.Name("function").Object().Name("arguments").Text(d.Text)
		}
		w.End().End().Close()
	default:
		w.Name("content").Text(d.Text)
	}
	return e.send(dst, "")
}

func (e *Events) stop(dst []byte, why wire.Stop) []byte {
	if e.stopped {
		return dst
	}
	e.stopped = true
	e.delta()
	return e.send(dst, finishReason(why, e.calls > 0, e.refused))
}

// end writes what is still due, the usage and the terminal event.
func (e *Events) end(dst []byte) []byte {
	dst = e.stop(dst, "")
	e.ended = true
	if e.usage && e.hasUsage {
		writeUsage(e.head().Close().Name("usage"), e.known)
		dst = sse.AppendEvent(dst, "", e.w.End().Bytes())
	}
	return sse.AppendEvent(dst, "", []byte("[DONE]"))
}
