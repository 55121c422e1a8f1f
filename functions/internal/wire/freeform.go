package wire

import "holdfast/functions/internal/wire/jsonedit"

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
	doc, err := jsonedit.Parse([]byte(arguments))
	if err != nil || doc.Value("input").Kind() != '"' {
		return arguments
	}
	return doc.Value("input").Text()
}
