package responses

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// Deltas reads a streamed answer into the neutral form, event by event. It does
// with any subset of the events that tells the answer: providers leave out
// announcements, deltas or finished items.
type Deltas struct {
	counting wire.Counting
	items    map[int64]*incoming // by output index
	last     int64               // output index of the latest item, for events that name none
	next     int                 // index of the next part

	unnumbered     bool // events do not say which item they are about
	begun, ended   bool
	calls, refuses bool
}

// incoming is one item of the output as far as it has come.
type incoming struct {
	parts map[string]*growing // by the kind of their text and its index
	order []*growing
	done  bool
}

// growing is a part that has begun.
type growing struct {
	index int
	kind  wire.PartKind
	from  string // of reasoning: which of its texts tells it
	told  bool   // something of it has been told
	ended bool
}

// NewDeltas begins to read an answer.
func NewDeltas(c wire.Counting) *Deltas {
	return &Deltas{counting: c, items: map[int64]*incoming{}}
}

// Event appends what an event means to out. A failure means nothing here: it is
// no part of an answer.
func (s *Deltas) Event(name, data []byte, out []wire.Delta) []wire.Delta {
	v := jsonedit.Read(data)
	if s.ended || v.Kind() != '{' {
		return out
	}
	kind := v.Get("type").Text()
	if kind == "" {
		kind = string(name)
	}
	response := v.Get("response")
	switch ending([]byte(kind)) {
	case wire.Completed, wire.Incomplete:
		return s.end(s.begin(out, response), response, kind)
	case wire.Failed:
		s.ended = true
		return out
	}
	out = s.begin(out, response)
	event, _ := strings.CutPrefix(kind, "response.")
	return s.item(out, event, v)
}

// begin tells that there is an answer, once.
func (s *Deltas) begin(out []wire.Delta, response jsonedit.Value) []wire.Delta {
	if s.begun {
		return out
	}
	s.begun = true
	return append(out, wire.Delta{Kind: wire.ReplyBegin,
		ID: response.Get("id").Head(wire.MaxName), Model: response.Get("model").Head(wire.MaxName)})
}

// item takes in an event about an item.
func (s *Deltas) item(out []wire.Delta, event string, v jsonedit.Value) []wire.Delta {
	subject, step := cutLast(event)
	if subject == "output_item" {
		at := s.at(v, step == "added")
		switch step {
		case "added":
			return s.announce(out, at, v.Get("item"))
		case "done":
			return s.complete(out, at, v.Get("item"))
		}
		return out
	}
	kind, text, known := textOf(subject)
	if !known {
		return out
	}
	at := s.at(v, false)
	switch step {
	case "delta":
		return s.grow(out, at, kind, subject, v, v.Get("delta"))
	case "done":
		if g := at.parts[key(subject, v)]; g == nil || !g.told { // told whole
			return s.grow(out, at, kind, subject, v, v.Get(text))
		}
	}
	return out
}

// cutLast splits the step off an event's name.
func cutLast(event string) (subject, step string) {
	i := strings.LastIndexByte(event, '.')
	if i < 0 {
		return "", event
	}
	return event[:i], event[i+1:]
}

// textOf says what kind of part a text belongs to, and where the event that ends
// it has it whole.
func textOf(subject string) (kind wire.PartKind, member string, known bool) {
	switch subject {
	case "output_text":
		return wire.Text, "text", true
	case "refusal":
		return wire.Refusal, "refusal", true
	case "reasoning_summary_text", "reasoning_text":
		return wire.Reasoning, "text", true
	case "function_call_arguments":
		return wire.ToolCall, "arguments", true
	case "custom_tool_call_input":
		return wire.ToolCall, "input", true
	}
	return 0, "", false
}

// at finds or makes the item that an event is about: the latest where it does
// not say, or a further one where it announces one.
func (s *Deltas) at(v jsonedit.Value, added bool) *incoming {
	index, ok := v.Get("output_index").Int()
	if !ok {
		s.unnumbered = true
		index = s.last
		if added {
			index = int64(len(s.items))
		}
	}
	s.last = index
	if it := s.items[index]; it != nil {
		return it
	}
	return s.open(index)
}

func (s *Deltas) open(index int64) *incoming {
	it := &incoming{parts: map[string]*growing{}, done: len(s.items) >= wire.MaxReplyParts}
	if !it.done {
		s.items[index] = it
	}
	return it
}

// announce begins a tool call, which is told by its item only.
func (s *Deltas) announce(out []wire.Delta, at *incoming, it jsonedit.Value) []wire.Delta {
	if at.done || len(at.order) > 0 {
		return out
	}
	if kind := it.Get("type"); kind.Is("function_call") || kind.Is("custom_tool_call") {
		p := callOf(it)
		p.Arguments = ""
		out, _ = s.start(out, at, "call", p)
	}
	return out
}

// start begins a part.
func (s *Deltas) start(out []wire.Delta, at *incoming, name string, p wire.Part) ([]wire.Delta, *growing) {
	g := &growing{index: s.next, kind: p.Kind}
	s.next++
	at.parts[name], at.order = g, append(at.order, g)
	s.calls = s.calls || p.Kind == wire.ToolCall
	s.refuses = s.refuses || p.Kind == wire.Refusal
	return append(out, wire.Delta{Kind: wire.PartBegin, Index: g.index, Part: p}), g
}

// key names a part inside its item: a message's by its kind and place, any
// other's is the only one.
func key(subject string, v jsonedit.Value) string {
	switch subject {
	case "output_text", "refusal":
		return subject + string(v.Get("content_index").Bytes())
	case "reasoning_summary_text", "reasoning_text":
		return "reasoning"
	}
	return "call"
}

// grow tells a further piece of a part, which begins with it where nothing has
// announced it. Of reasoning the first of its two tellings counts; the paragraphs
// of a summary are set apart.
func (s *Deltas) grow(out []wire.Delta, at *incoming, kind wire.PartKind, subject string, v, text jsonedit.Value) []wire.Delta {
	if at.done || text.Len() == 0 {
		return out
	}
	name := key(subject, v)
	g := at.parts[name]
	if g == nil {
		if kind == wire.ToolCall { // its name is not known yet: the finished item tells it
			return out
		}
		out, g = s.start(out, at, name, wire.Part{Kind: kind, Summary: subject == "reasoning_summary_text"})
		g.from = source(subject, v)
	}
	words := text.Text()
	if kind == wire.Reasoning {
		from := source(subject, v)
		if strings.TrimRight(from, "0123456789") != strings.TrimRight(g.from, "0123456789") {
			return out
		}
		if from != g.from {
			g.from, words = from, "\n\n"+words
		}
	}
	g.told = true
	return append(out, wire.Delta{Kind: wire.PartDelta, Index: g.index, Text: words})
}

// source names the paragraph of reasoning that an event tells.
func source(subject string, v jsonedit.Value) string {
	if subject == "reasoning_text" {
		return "text" + string(v.Get("content_index").Bytes())
	}
	return "summary" + string(v.Get("summary_index").Bytes())
}

// complete takes in a finished item: what of it has not been told, its seal, and
// the end of its parts.
func (s *Deltas) complete(out []wire.Delta, at *incoming, it jsonedit.Value) []wire.Delta {
	if at.done {
		return out
	}
	at.done = true
	for i, p := range appendParts(nil, it) {
		out = s.fill(out, at, i, p)
	}
	for _, g := range at.order {
		if !g.ended {
			g.ended = true
			out = append(out, wire.Delta{Kind: wire.PartEnd, Index: g.index})
		}
	}
	return out
}

// fill tells of the item's i-th part what has not been told.
func (s *Deltas) fill(out []wire.Delta, at *incoming, i int, p wire.Part) []wire.Delta {
	var g *growing
	if i < len(at.order) && at.order[i].kind == p.Kind {
		g = at.order[i]
	}
	words, seal := p.Text, p.Sealed
	if p.Kind == wire.ToolCall {
		words, p.Arguments = p.Arguments, ""
	}
	p.Text, p.Sealed = "", ""
	if g == nil {
		out, g = s.start(out, at, "item "+strconv.Itoa(i), p)
	}
	if !g.told && words != "" {
		g.told = true
		out = append(out, wire.Delta{Kind: wire.PartDelta, Index: g.index, Text: words})
	}
	if seal != "" {
		out = append(out, wire.Delta{Kind: wire.PartSeal, Index: g.index, Part: wire.Part{Kind: wire.Reasoning, Sealed: seal}})
	}
	return out
}

// end takes in the terminal event, whose snapshot may tell items that no event
// has told.
func (s *Deltas) end(out []wire.Delta, response jsonedit.Value, kind string) []wire.Delta {
	index := int64(0)
	for each := response.Get("output").Each(); each.Next() && index < wire.MaxReplyParts; index++ {
		at := s.items[index]
		if at == nil && s.unnumbered { // what stands where is not known
			continue
		}
		if at == nil {
			at = s.open(index)
		}
		out = s.complete(out, at, each.Value())
	}
	if u, ok := wire.ReadUsage(response.Get("usage"), usageNames(), s.counting); ok {
		out = append(out, wire.Delta{Kind: wire.ReplyUsage, Usage: u})
	}
	why := stop(response, s.calls, s.refuses)
	if kind == "response.incomplete" && why != wire.StopFilter {
		why = wire.StopLength
	}
	return s.finish(out, why)
}

// finish ends what is open and the answer.
func (s *Deltas) finish(out []wire.Delta, why wire.Stop) []wire.Delta {
	s.ended = true
	for _, index := range slices.Sorted(maps.Keys(s.items)) {
		out = s.complete(out, s.items[index], jsonedit.Value{})
	}
	return append(out, wire.Delta{Kind: wire.ReplyStop, Stop: why}, wire.Delta{Kind: wire.ReplyEnd})
}

// End says what is left to say where the stream ends without a terminal event.
func (s *Deltas) End(out []wire.Delta) []wire.Delta {
	if s.ended || !s.begun {
		return out
	}
	return s.finish(out, stop(jsonedit.Value{}, s.calls, s.refuses))
}
