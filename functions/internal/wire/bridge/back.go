package bridge

import (
	"strings"

	"holdfast/functions/internal/wire"
)

// wrapping is the schema of a function that stands for a free-text tool.
const wrapping = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`

// back takes the steps of an answer to the client: parts that hold nothing for it
// are left out, the others numbered without gaps; wrapped calls are unwrapped;
// the answer ends at a stop sequence that the target does not watch for.
type back struct {
	fitting *fitting
	parts   map[int]*passing
	order   []*passing
	next    int // index of the next part for the client
	stopped wire.Stop
	cut     string // the stop sequence that has ended the answer
}

// passing is one part on its way.
type passing struct {
	index   int // for the client
	part    wire.Part
	begun   bool // the client knows of it
	ended   bool
	wrapped bool
	held    strings.Builder // of a wrapped call all; of a text what may be the beginning of a stop sequence
}

func (f *fitting) back() back { return back{fitting: f, parts: map[int]*passing{}} }

// pass appends what the client sees of a step.
func (b *back) pass(d wire.Delta, out []wire.Delta) []wire.Delta {
	p := b.parts[d.Index]
	switch d.Kind {
	case wire.PartBegin:
		return b.begin(d, out)
	case wire.PartDelta:
		if p == nil || p.ended || d.Text == "" {
			return out
		}
		return b.grow(p, d.Text, out)
	case wire.PartSeal:
		return out
	case wire.PartEnd:
		if p == nil || p.ended {
			return out
		}
		return b.end(p, out)
	case wire.ReplyStop:
		if b.cut != "" {
			d.Stop, d.StopText = wire.StopSequence, b.cut
		}
		return append(b.endAll(out), d)
	}
	return append(out, d)
}

// begin takes in a part. Reasoning waits for something that can be read; nothing
// begins after a stop sequence.
func (b *back) begin(d wire.Delta, out []wire.Delta) []wire.Delta {
	p := &passing{part: d.Part}
	b.parts[d.Index], b.order = p, append(b.order, p)
	if b.cut != "" {
		p.ended = true
		return out
	}
	if d.Part.Kind == wire.ToolCall {
		p.wrapped = b.fitting.wrapped[p.part.Name]
		p.part.Custom = p.part.Custom || p.wrapped
		if name, short := b.fitting.renamed[p.part.Name]; short {
			p.part.Name = name
		}
		out = b.show(p, out)
	} else if d.Part.Kind != wire.Reasoning && len(b.fitting.stops) == 0 {
		out = b.show(p, out)
	}
	return out
}

// show tells the client of a part, once.
func (b *back) show(p *passing, out []wire.Delta) []wire.Delta {
	if p.begun {
		return out
	}
	p.begun, p.index = true, b.next
	b.next++
	part := p.part
	part.Text, part.Arguments, part.Signature, part.Sealed = "", "", "", ""
	return append(out, wire.Delta{Kind: wire.PartBegin, Index: p.index, Part: part})
}

func (b *back) grow(p *passing, text string, out []wire.Delta) []wire.Delta {
	switch {
	case p.wrapped:
		p.held.WriteString(text)
		return out
	case p.part.Kind == wire.Text && len(b.fitting.stops) > 0:
		return b.watch(p, text, out)
	}
	return b.say(p, text, out)
}

func (b *back) say(p *passing, text string, out []wire.Delta) []wire.Delta {
	if text == "" {
		return out
	}
	return append(b.show(p, out), wire.Delta{Kind: wire.PartDelta, Index: p.index, Text: text})
}

// watch looks for a stop sequence: the text ends before it. What may be the
// beginning of one is held back.
func (b *back) watch(p *passing, text string, out []wire.Delta) []wire.Delta {
	text = p.held.String() + text
	p.held.Reset()
	at, end, found := 0, len(text)+1, ""
	for _, stop := range b.fitting.stops { // the one that is complete first
		if i := strings.Index(text, stop); i >= 0 && i+len(stop) < end {
			at, end, found = i, i+len(stop), stop
		}
	}
	if found != "" {
		b.cut = found
		return b.endAll(b.say(p, text[:at], out))
	}
	keep := 0
	for _, stop := range b.fitting.stops {
		keep = max(keep, overlap(text, stop))
	}
	p.held.WriteString(text[len(text)-keep:])
	return b.say(p, text[:len(text)-keep], out)
}

// overlap is how many bytes at the end of text are a beginning of stop.
func overlap(text, stop string) int {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if strings.HasSuffix(text, stop[:n]) {
			return n
		}
	}
	return 0
}

// end finishes a part: what was held back is told.
func (b *back) end(p *passing, out []wire.Delta) []wire.Delta {
	held := p.held.String()
	if p.wrapped {
		held = wire.UnwrapFreeform(held)
	}
	if b.cut == "" || p.wrapped {
		out = b.say(p, held, out)
	}
	p.ended = true
	if !p.begun {
		return out
	}
	return append(out, wire.Delta{Kind: wire.PartEnd, Index: p.index})
}

// endAll finishes what is still open, in order.
func (b *back) endAll(out []wire.Delta) []wire.Delta {
	for _, p := range b.order {
		if !p.ended {
			out = b.end(p, out)
		}
	}
	b.order = b.order[:0]
	return out
}

// reply is pass for a whole answer.
func (f *fitting) reply(r wire.Reply) wire.Reply {
	b := f.back()
	var steps []wire.Delta
	for i := range r.Parts {
		steps = b.pass(wire.Delta{Kind: wire.PartBegin, Index: i, Part: r.Parts[i]}, steps)
		steps = b.pass(wire.Delta{Kind: wire.PartDelta, Index: i, Text: r.Parts[i].Text + r.Parts[i].Arguments}, steps)
		steps = b.pass(wire.Delta{Kind: wire.PartEnd, Index: i}, steps)
	}
	steps = b.pass(wire.Delta{Kind: wire.ReplyStop, Stop: r.Stop, StopText: r.StopText}, steps)
	r.Parts = nil
	for _, d := range steps {
		switch d.Kind {
		case wire.PartBegin:
			r.Parts = append(r.Parts, d.Part)
		case wire.PartDelta:
			p := &r.Parts[d.Index]
			if p.Kind == wire.ToolCall {
				p.Arguments += d.Text
			} else {
				p.Text += d.Text
			}
		case wire.ReplyStop:
			r.Stop, r.StopText = d.Stop, d.StopText
		}
	}
	return r
}
