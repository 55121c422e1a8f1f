package responses

import (
	"strconv"
	"strings"
	"time"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// output builds the items of an answer that the gateway makes.
type output struct {
	echo   *Echo
	suffix string // of the answer's id, from which the items have theirs
	items  []*entry
}

// entry is one item under construction.
type entry struct {
	kind   wire.PartKind // Text for a message, whatever its parts are
	custom bool
	index  int
	id     string
	call   namespaced
	callID string
	pieces []*piece // of a message its content, of any other item the one text
	sealed bool     // nothing more begins in it
	done   bool
	status string
}

// piece is a text that grows.
type piece struct {
	entry   *entry
	index   int // in its message
	refusal bool
	text    []byte
	done    bool
}

func newOutput(e *Echo, id string) output {
	return output{echo: e, suffix: strings.TrimPrefix(id, "resp_")}
}

// begin finds or makes the item of a part, and its piece in there. Texts and
// refusals that follow each other are one message.
func (o *output) begin(p *wire.Part) (pc *piece, fresh bool) {
	refusal := p.Kind == wire.Refusal
	if p.Kind == wire.Text || refusal {
		if n := len(o.items); n > 0 && o.items[n-1].kind == wire.Text && !o.items[n-1].sealed {
			return o.items[n-1].piece(refusal), false
		}
	}
	e := o.item(p)
	o.items = append(o.items, e)
	return e.piece(refusal), true
}

func (o *output) item(p *wire.Part) *entry {
	e := &entry{kind: p.Kind, custom: p.Custom, index: len(o.items), callID: p.CallID}
	prefix := "msg_"
	switch {
	case p.Kind == wire.Reasoning:
		prefix = "rs_"
	case p.Kind == wire.ToolCall && p.Custom:
		prefix = "ctc_"
	case p.Kind == wire.ToolCall:
		prefix = "fc_"
	default:
		e.kind = wire.Text
	}
	at := strconv.Itoa(e.index)
	e.id = prefix + o.suffix + "_" + at
	if e.callID == "" {
		e.callID = "call_" + o.suffix + "_" + at
	}
	e.call = namespaced{name: p.Name}
	if known, ok := o.echo.tools[p.Name]; ok {
		e.call = known
	}
	return e
}

func (e *entry) piece(refusal bool) *piece {
	p := &piece{entry: e, index: len(e.pieces), refusal: refusal}
	e.pieces = append(e.pieces, p)
	return p
}

// open reports whether a piece of the item still grows.
func (e *entry) open() bool {
	for _, p := range e.pieces {
		if !p.done {
			return true
		}
	}
	return false
}

// append appends the item as JSON, bare as it is announced or with what it holds.
func (e *entry) append(dst []byte, status string, bare bool) []byte {
	dst = append(append(append(dst, `{"id":`...), jsonedit.Quote(e.id)...), `,"type":`...)
	switch {
	case e.kind == wire.Reasoning:
		dst = append(dst, `"reasoning","summary":[`...)
		if !bare {
			dst = e.pieces[0].appendSummary(dst)
		}
		return append(dst, "]}"...)
	case e.kind == wire.ToolCall:
		return e.appendCall(dst, status, bare)
	}
	dst = append(append(append(dst, `"message","status":"`...), status...), `","role":"assistant","content":[`...)
	for i, p := range e.pieces {
		if bare {
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.appendContent(dst, false)
	}
	return append(dst, "]}"...)
}

func (e *entry) appendCall(dst []byte, status string, bare bool) []byte {
	kind, member := `"function_call"`, `","arguments":`
	if e.custom {
		kind, member = `"custom_tool_call"`, `","input":`
	}
	dst = append(append(append(append(dst, kind...), `,"status":"`...), status...), member...)
	dst = append(dst, e.payload(bare)...)
	dst = append(append(dst, `,"call_id":`...), jsonedit.Quote(e.callID)...)
	dst = append(append(dst, `,"name":`...), jsonedit.Quote(e.call.name)...)
	if e.call.namespace != "" {
		dst = append(append(dst, `,"namespace":`...), jsonedit.Quote(e.call.namespace)...)
	}
	return append(dst, '}')
}

// payload is a call's arguments or input as a JSON string. A function that is
// called without any is called with an empty object.
func (e *entry) payload(bare bool) []byte {
	if bare {
		return []byte(`""`)
	}
	text := string(e.pieces[0].text)
	if !e.custom && strings.TrimSpace(text) == "" {
		text = "{}"
	}
	return jsonedit.Quote(text)
}

// appendContent appends a message's part, bare or with its text.
func (p *piece) appendContent(dst []byte, bare bool) []byte {
	text := jsonedit.Quote("")
	if !bare {
		text = jsonedit.Quote(string(p.text))
	}
	if p.refusal {
		return append(append(append(dst, `{"type":"refusal","refusal":`...), text...), '}')
	}
	return append(append(append(dst, `{"type":"output_text","annotations":[],"logprobs":[],"text":`...), text...), '}')
}

func (p *piece) appendSummary(dst []byte) []byte {
	return append(append(append(dst, `{"type":"summary_text","text":`...), jsonedit.Quote(string(p.text))...), '}')
}

// array is the list of the items that are done.
func (o *output) array() []byte {
	out := []byte{'['}
	for _, e := range o.items {
		if !e.done {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = e.append(out, e.status, false)
	}
	return append(out, ']')
}

// ending is how an answer that stopped so ends: its status, and in JSON why it is
// incomplete. A refusal that the model has not put into words is a filter's.
func (o *output) ending(stop wire.Stop) (status, incomplete string) {
	switch {
	case stop == wire.StopLength:
		return "incomplete", `{"reason":"max_output_tokens"}`
	case stop == wire.StopFilter, stop == wire.StopRefusal && !o.refused():
		return "incomplete", `{"reason":"content_filter"}`
	}
	return "completed", "null"
}

func (o *output) refused() bool {
	for _, e := range o.items {
		for _, p := range e.pieces {
			if p.refusal {
				return true
			}
		}
	}
	return false
}

// WriteReply writes an answer of this protocol, and its output alone: a JSON
// array of the items as the client sees them. Their ids come from the answer's.
func WriteReply(r wire.Reply, e *Echo) (body, items []byte) {
	o := newOutput(e, r.ID)
	for i := range r.Parts {
		p := &r.Parts[i]
		pc, _ := o.begin(p)
		pc.text, pc.done = []byte(text(p)), true
	}
	status, incomplete := o.ending(r.Stop)
	for _, it := range o.items {
		it.done, it.status = true, "completed"
	}
	if n := len(o.items); n > 0 {
		o.items[n-1].status = status
	}
	usage := []byte("null")
	if r.HasUsage {
		usage = appendUsage(nil, r.Usage)
	}
	items = o.array()
	by := wire.Stamp{ID: r.ID, Model: r.Model, At: time.Unix(r.Created, 0)}
	return e.snapshot(nil, by, status, "null", incomplete, items, usage), items
}

// text is what a part says.
func text(p *wire.Part) string {
	if p.Kind == wire.ToolCall {
		return p.Arguments
	}
	return p.Text
}
