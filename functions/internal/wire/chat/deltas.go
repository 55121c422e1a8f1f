package chat

import (
	"bytes"

	"github.com/google/uuid"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// Deltas translates an upstream's stream into the neutral form, event by event:
// the first choice, one part for each run of reasoning, text or refusal, one for
// each call. Calls stay open until the answer ends, for their chunks may come
// mixed. What tells of an error is left to Stream.
type Deltas struct {
	counting wire.Counting
	begun    bool
	stopped  bool
	ended    bool
	parts    int // begun so far; the next one's index
	speaking int // the open part that is no call, -1 without
	kind     wire.PartKind
	calls    map[int64]*call
	last     *call
	order    []*call
	refused  bool
}

// call is a tool call that is open.
type call struct {
	index  int
	id     string
	filled bool // there were arguments
	custom bool
}

// NewDeltas begins to translate an answer.
func NewDeltas(counting wire.Counting) *Deltas { return &Deltas{counting: counting, speaking: -1} }

// Event appends what an event means to out. Once the answer has ended, nothing
// means anything.
func (d *Deltas) Event(_, data []byte, out []wire.Delta) []wire.Delta {
	data = bytes.TrimSpace(data)
	if d.ended || len(data) == 0 {
		return out
	}
	if string(data) == "[DONE]" {
		return d.End(out)
	}
	return d.chunk(readChunk(jsonedit.Read(data)), out)
}

// chunk is what of an event means something, read in one pass.
type chunk struct {
	id, model, choices, usage    jsonedit.Value
	delta, reason, others, inner jsonedit.Value // of the first choice; of x_groq
}

func readChunk(v jsonedit.Value) (c chunk) {
	for each := v.Each(); each.Next(); {
		switch {
		case each.Is("choices"):
			c.choices = each.Value()
		case each.Is("usage"):
			c.usage = each.Value()
		case each.Is("id"):
			c.id = each.Value()
		case each.Is("model"):
			c.model = each.Value()
		case each.Is("x_groq"):
			c.inner = each.Value().Get("usage")
		}
	}
	for each := firstChoice(c.choices).Each(); each.Next(); {
		switch {
		case each.Is("delta"):
			c.delta = each.Value()
		case each.Is("finish_reason"):
			c.reason = each.Value()
		case each.Is("usage"): // Moonshot
			c.others = each.Value()
		}
	}
	return c
}

func (d *Deltas) chunk(c chunk, out []wire.Delta) []wire.Delta {
	if c.choices.Kind() != '[' && !c.usage.Given() {
		return out
	}
	if !d.begun {
		d.begun = true
		out = append(out, wire.Delta{Kind: wire.ReplyBegin, ID: c.id.Head(wire.MaxName), Model: c.model.Head(wire.MaxName)})
	}
	if !d.stopped {
		out = d.delta(c.delta, out)
		if c.reason.Len() > 0 {
			out = d.stop(d.stopOf(c.reason), out)
		}
	}
	return d.usage(either(either(c.usage, c.others), c.inner), out)
}

func (d *Deltas) usage(v jsonedit.Value, out []wire.Delta) []wire.Delta {
	if u, ok := wire.ReadUsage(v, usageNames(), d.counting); ok {
		out = append(out, wire.Delta{Kind: wire.ReplyUsage, Usage: u})
	}
	return out
}

// delta reads what a chunk adds.
func (d *Deltas) delta(v jsonedit.Value, out []wire.Delta) []wire.Delta {
	var named, other, content, refusal, calls jsonedit.Value
	for each := v.Each(); each.Next(); {
		switch {
		case each.Is("reasoning_content"):
			named = each.Value()
		case each.Is("reasoning"):
			other = each.Value()
		case each.Is("content"):
			content = each.Value()
		case each.Is("refusal"):
			refusal = each.Value()
		case each.Is("tool_calls"):
			calls = each.Value()
		}
	}
	thought, text := contentOf(content)
	if words := either(named, other).Text(); words != "" {
		thought = words
	}
	out = d.say(wire.Reasoning, thought, out)
	out = d.say(wire.Text, text, out)
	out = d.say(wire.Refusal, refusal.Text(), out)
	for each := calls.Each(); each.Next(); {
		out = d.call(each.Value(), out)
	}
	return out
}

// say adds text to the open part of a kind, or begins one.
func (d *Deltas) say(kind wire.PartKind, text string, out []wire.Delta) []wire.Delta {
	if text == "" {
		return out
	}
	if d.speaking >= 0 && d.kind != kind {
		out = d.hush(out)
	}
	if d.speaking < 0 {
		if d.parts >= wire.MaxReplyParts {
			return out
		}
		d.speaking, d.kind = d.parts, kind
		d.parts++
		d.refused = d.refused || kind == wire.Refusal
		out = append(out, wire.Delta{Kind: wire.PartBegin, Index: d.speaking, Part: wire.Part{Kind: kind}})
	}
	return append(out, wire.Delta{Kind: wire.PartDelta, Index: d.speaking, Text: text})
}

// hush ends the open part that is no call.
func (d *Deltas) hush(out []wire.Delta) []wire.Delta {
	if d.speaking >= 0 {
		out = append(out, wire.Delta{Kind: wire.PartEnd, Index: d.speaking})
		d.speaking = -1
	}
	return out
}

// call reads a chunk of a tool call.
func (d *Deltas) call(v jsonedit.Value, out []wire.Delta) []wire.Delta {
	c, out := d.callOf(v, out)
	if c == nil {
		return out
	}
	text := ""
	if c.custom {
		text = v.Get("custom", "input").Text()
	} else {
		text = arguments(v.Get("function", "arguments"))
	}
	if text == "" {
		return out
	}
	c.filled = true
	return append(out, wire.Delta{Kind: wire.PartDelta, Index: c.index, Text: text})
}

// callOf finds the call that a chunk belongs to, or begins one. Imitators leave
// the index out or say 0 each time: an id that is new, or a name where there is
// no index, makes a new call.
func (d *Deltas) callOf(v jsonedit.Value, out []wire.Delta) (*call, []wire.Delta) {
	at, indexed := v.Get("index").Int()
	id := v.Get("id").Head(wire.MaxName)
	custom := v.Get("custom").Given()
	name := either(v.Get("custom", "name"), v.Get("function", "name")).Head(wire.MaxName)
	known := d.last
	if indexed {
		known = d.calls[at]
	}
	if known != nil && (name == "" || id == "" && indexed || id == known.id && id != "") {
		return known, out
	}
	if name == "" || d.parts >= wire.MaxReplyParts {
		return nil, out
	}
	c := &call{index: d.parts, id: id, custom: custom}
	d.parts++
	if c.id == "" {
		c.id = newCallID()
	}
	if !indexed {
		at = -int64(c.index) - 1
	}
	if d.calls == nil {
		d.calls = map[int64]*call{}
	}
	d.calls[at], d.last, d.order = c, c, append(d.order, c)
	out = d.hush(out)
	return c, append(out, wire.Delta{Kind: wire.PartBegin, Index: c.index, Part: wire.Part{
		Kind: wire.ToolCall, CallID: c.id, Name: name, Custom: custom,
	}})
}

// newCallID makes up the id of a call that came without: the client's next
// request refers to it.
func newCallID() string { return "call_" + uuid.NewString() }

func (d *Deltas) stopOf(reason jsonedit.Value) wire.Stop {
	var parts [2]wire.Part
	if len(d.order) > 0 {
		parts[0].Kind = wire.ToolCall
	}
	if d.refused {
		parts[1].Kind = wire.Refusal
	}
	return stopOf(reason, parts[:])
}

// stop ends all parts and says why the answer ends.
func (d *Deltas) stop(why wire.Stop, out []wire.Delta) []wire.Delta {
	d.stopped = true
	out = d.hush(out)
	for _, c := range d.order {
		if !c.filled && !c.custom {
			out = append(out, wire.Delta{Kind: wire.PartDelta, Index: c.index, Text: "{}"})
		}
		out = append(out, wire.Delta{Kind: wire.PartEnd, Index: c.index})
	}
	return append(out, wire.Delta{Kind: wire.ReplyStop, Stop: why})
}

// End appends the end of an answer that is whole: by [DONE], or without it where
// the upstream has said why it ends.
func (d *Deltas) End(out []wire.Delta) []wire.Delta {
	if d.ended {
		return out
	}
	d.ended = true
	if !d.stopped {
		why := wire.StopEnd
		if len(d.order) > 0 {
			why = wire.StopTool
		} else if d.refused {
			why = wire.StopRefusal
		}
		out = d.stop(why, out)
	}
	return append(out, wire.Delta{Kind: wire.ReplyEnd})
}
