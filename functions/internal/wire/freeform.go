package wire

import (
	"strings"

	"holdfast/functions/internal/wire/jsonedit"
)

// Syntax is the grammar of a free-text tool: its kind (lark, regex) and its
// definition, "" where any text will do. The two OpenAI protocols nest it
// differently.
func (t Tool) Syntax() (kind, definition string) {
	v := jsonedit.Read(t.Grammar)
	if inner := v.Get("grammar"); inner.Given() {
		v = inner
	}
	return v.Get("syntax").Text(), v.Get("definition").Text()
}

// WrapFreeform is the text for a free-text tool as the arguments of a tool that
// takes JSON: {"input": text}, for protocols that have no other.
func WrapFreeform(text string) string {
	var w jsonedit.Writer
	return string(w.Object().Name("input").Text(text).End().Bytes())
}

// UnwrapFreeform is the text in such arguments; others stay as they are.
func UnwrapFreeform(arguments string) string {
	if input := jsonedit.Read([]byte(arguments)).Get("input"); input.Kind() == '"' && jsonedit.Valid([]byte(arguments)) {
		return input.Text()
	}
	return arguments
}

// Freeform turns the calls that an upstream without free-text tools has made
// back into calls of the client's free-text tools. It belongs to one answer.
type Freeform struct {
	names map[string]bool
	held  map[int]*strings.Builder // arguments, by the part's index: they can be unwrapped only whole
}

// Freeform begins an answer; it is nil, which changes nothing, where the client
// has no free-text tools.
func (d *Dialog) Freeform() *Freeform {
	var f *Freeform
	for _, tool := range d.Tools {
		if tool.Custom {
			if f == nil {
				f = &Freeform{names: map[string]bool{}, held: map[int]*strings.Builder{}}
			}
			f.names[tool.Name] = true
		}
	}
	return f
}

// Reply changes a whole answer's calls.
func (f *Freeform) Reply(r *Reply) {
	if f == nil {
		return
	}
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Kind == ToolCall && !p.Custom && f.names[p.Name] {
			p.Custom, p.Arguments = true, UnwrapFreeform(p.Arguments)
		}
	}
}

// Delta appends what a delta becomes: the text of a free-text call comes in one
// piece at its end.
func (f *Freeform) Delta(d Delta, out []Delta) []Delta {
	if f == nil {
		return append(out, d)
	}
	if d.Kind == PartBegin && d.Part.Kind == ToolCall && !d.Part.Custom && f.names[d.Part.Name] {
		d.Part.Custom = true
		f.held[d.Index] = &strings.Builder{}
		return append(out, d)
	}
	held, ok := f.held[d.Index]
	switch {
	case ok && d.Kind == PartDelta:
		held.WriteString(d.Text)
		return out
	case ok && d.Kind == PartEnd:
		delete(f.held, d.Index)
		out = append(out, Delta{Kind: PartDelta, Index: d.Index, Text: UnwrapFreeform(held.String())})
	}
	return append(out, d)
}
