// Package guard applies guardrails: ordered rules over the text that a request
// shows a model, and over the text that an answer shows a client.
//
// Invariants: rules see decoded text, never escapes; each sees what the rules
// before it have left; a redaction is an edit of the bytes, all else stays as it
// was; what a stream has shown is never taken back, so text is held until no
// rule can match in it any more, at most Window bytes a rule; a finding holds
// names of rules, never text.
//
// A match longer than Window bytes is found in whole texts; in a stream only as
// far as it lies within the window.
//
// Texts of one message that stand in several blocks are looked at one by one and
// then joined, since a model reads them so: what is cut in two by a block's border
// is found, too. In a stream the first part of it has been shown by then, and the
// rest is not.
//
// Concurrency: Rules never change; a Stream belongs to one answer.
//
// Errors: none. What cannot be read as JSON is looked at as the text that it is.
package guard

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/routing/catalog"
)

// Window is the most that a rule holds back of a stream, in bytes, beside the
// one character after it that tells an end of a word.
const Window = 256

// redacted stands in the place of what a rule has taken out.
const redacted = "[redacted]"

// Rules are the guardrails of one configuration.
type Rules struct {
	input, output []rule
}

// rule is a guardrail with what streams need to know of its expression.
type rule struct {
	name    string
	action  string
	match   *regexp.Regexp // nil: a bound on the size
	size    int            // where match is nil
	hold    int            // bytes of a stream's end in which a match may still begin
	context bool           // what stands before a text matters: ^, \b
}

// Compile returns the rules of a configuration, nil where there are none.
func Compile(guards []catalog.Guard) *Rules {
	if len(guards) == 0 {
		return nil
	}
	r := new(Rules)
	for _, g := range guards {
		one := rule{name: g.Name, action: g.Action, match: g.Match, size: g.MaxBytes}
		if g.Match != nil {
			one.hold, one.context = window(g.Match)
		}
		if g.Input {
			r.input = append(r.input, one)
		} else {
			r.output = append(r.output, one)
		}
	}
	return r
}

// GuardsInput reports whether there is a rule for requests.
func (r *Rules) GuardsInput() bool { return r != nil && len(r.input) > 0 }

// GuardsOutput reports whether there is a rule for answers.
func (r *Rules) GuardsOutput() bool { return r != nil && len(r.output) > 0 }

// Found is what rules have found.
type Found struct {
	Blocked string   // the rule that refuses; "" for none
	Names   []string // of all rules that matched, once each
	Bytes   int      // of text that was looked at
}

func (f *Found) note(r *rule) {
	if !slices.Contains(f.Names, r.name) {
		f.Names = append(f.Names, r.name)
	}
	if r.action == catalog.Block && f.Blocked == "" {
		f.Blocked = r.name
	}
}

// text applies rules to one whole text. It returns the text as the rules leave
// it and whether that is another one.
func (f *Found) text(rules []rule, text []byte) (_ []byte, changed bool) {
	for i := range rules {
		r := &rules[i]
		if r.match == nil || !r.match.Match(text) {
			continue
		}
		f.note(r)
		switch {
		case f.Blocked != "":
			return text, changed
		case r.action == catalog.Redact:
			text, changed = r.match.ReplaceAllLiteral(text, []byte(redacted)), true
		}
	}
	return text, changed
}

// sizes applies the bounds on the size of all text together.
func (f *Found) sizes(rules []rule, total int) {
	for i := range rules {
		if r := &rules[i]; r.match == nil && total > r.size {
			f.note(r)
		}
	}
}

// Input applies the rules for requests to a body: to every text in it that is
// not one of its names and switches. It returns the body as the rules leave it,
// the body itself where that is the same.
func (r *Rules) Input(body []byte) ([]byte, Found) { return r.request(body, 0) }

// request is Input after some bytes of text that belong to the same request.
func (r *Rules) request(body []byte, before int) ([]byte, Found) {
	doc, err := jsonedit.Parse(body)
	if err != nil {
		var f Found
		f.opaque(r.input, body)
		return body, f
	}
	w := walk{rules: r.input, edit: doc.Edit(), total: before}
	doc.Names(func(name []byte) bool {
		if !switches(string(name)) {
			w.value(string(name), doc.Value(string(name)), jsonedit.Value{})
		}
		return w.found.Blocked == ""
	})
	return w.result(body)
}

// History applies the rules for requests to items of a conversation that the
// gateway restores, a JSON value of any kind, beside a body with that many bytes
// of text.
func (r *Rules) History(items []byte, body int) ([]byte, Found) {
	const open, end = `{"items":`, `}`
	left, found := r.request(append(append([]byte(open), items...), end...), body)
	return left[len(open) : len(left)-len(end)], found
}

// opaque applies rules to what is no JSON: nothing can be redacted in it.
func (f *Found) opaque(rules []rule, text []byte) {
	f.sizes(rules, len(text))
	for i := range rules {
		if r := &rules[i]; r.match != nil && r.match.Match(text) {
			f.note(r)
			if r.action == catalog.Redact && f.Blocked == "" {
				f.Blocked = r.name
			}
		}
	}
}

// switches reports whether a member of a request's body is no text for a model.
func switches(name string) bool {
	switch name {
	case "model", "previous_response_id", "conversation", "prompt_cache_key", "user", "safety_identifier", "service_tier",
		"session_id", "litellm_session_id", "metadata", "stream_options", "include", "store", "background", "truncation", "verbosity":
		return true
	}
	return false
}

// structural reports whether a member anywhere in a conversation is a name of
// something, or bytes that a provider has signed or encrypted, and not text.
func structural(name string) bool {
	switch name {
	case "type", "role", "id", "call_id", "tool_call_id", "tool_use_id", "item_id", "file_id", "status", "media_type", "mime_type", "detail",
		"signature", "encrypted_content", "file_data", "b64_json", "format", "phase", "finish_reason", "stop_reason", "object", "cache_control":
		return true
	}
	return false
}

// walk applies rules to all texts inside of values of one document.
type walk struct {
	rules  []rule
	answer bool // and not a request
	inside bool // of a tool call's arguments: no name means anything there
	edit   *jsonedit.Patch
	total  int // bytes of text
	found  Found
	blocks *blocks // of the innermost array; nil: none
}

// value visits a value that stands under a name in an object.
func (w *walk) value(name string, v, object jsonedit.Value) {
	switch v.Kind() {
	case '"':
		switch {
		case w.inside:
			w.text(v, nil)
		case name == "arguments":
			w.arguments(v)
		case name == "text":
			w.text(v, w.blocks)
		case !structural(name) && !(name == "data" && !object.Get("type").Is("text")):
			w.text(v, nil)
		}
	case '{', '[':
		if !w.inside && (name == "input" && strings.HasSuffix(object.Get("type").Text(), "tool_use") || name == "arguments") {
			w.inside = true
			defer func() { w.inside = false }()
		}
		if w.answer && !w.inside && (name == "logprobs" || name == "top_logprobs") {
			w.withhold(v)
			return
		}
		if structural(name) && !w.inside {
			return
		}
		if v.Kind() == '[' {
			around := w.blocks
			w.blocks = new(blocks)
			defer func() { w.join(w.blocks); w.blocks = around }()
		}
		for each := v.Each(); each.Next() && w.found.Blocked == ""; {
			inner, under := name, object
			if v.Kind() == '{' {
				inner, under = string(each.Name()), v
			}
			w.value(inner, each.Value(), under)
		}
	}
}

// text applies the rules to a string and edits it, at once or, where it is one of
// several blocks, when all of them are known. A data: URL is no text.
func (w *walk) text(v jsonedit.Value, of *blocks) {
	text := []byte(v.Text())
	if len(text) > 5 && string(text[:5]) == "data:" {
		return
	}
	w.total += len(text)
	left, changed := w.found.text(w.rules, text)
	if of != nil {
		of.add(v, left, changed)
		return
	}
	if changed {
		w.edit.Replace(v, jsonedit.Quote(string(left)))
	}
}

// arguments applies the rules to a tool call's arguments: a JSON document in a
// string, seen as it is written and, where that has escapes, by its own texts.
func (w *walk) arguments(v jsonedit.Value) {
	text := []byte(v.Text())
	w.total += len(text)
	text, changed := w.found.text(w.rules, text)
	if doc, err := jsonedit.Parse(text); err == nil && bytes.IndexByte(text, '\\') >= 0 && w.found.Blocked == "" {
		inner := walk{rules: w.rules, inside: true, edit: doc.Edit(), found: w.found}
		doc.Names(func(name []byte) bool {
			inner.value(string(name), doc.Value(string(name)), jsonedit.Value{})
			return inner.found.Blocked == ""
		})
		if w.found = inner.found; inner.edit.Changed() {
			text, changed = inner.edit.Bytes(), true
		}
	}
	if changed {
		w.edit.Replace(v, jsonedit.Quote(string(text)))
	}
}

// withhold takes out what repeats a text token by token, where rules may take
// something out of the text.
func (w *walk) withhold(v jsonedit.Value) {
	if !v.Filled() || !slices.ContainsFunc(w.rules, func(r rule) bool { return r.action != catalog.LogMatch }) {
		return
	}
	if v.Kind() == '[' {
		w.edit.Replace(v, []byte("[]"))
		return
	}
	w.edit.Replace(v, []byte("null"))
}

// result is the document as the rules leave it.
func (w *walk) result(body []byte) ([]byte, Found) {
	w.found.Bytes = w.total
	w.found.sizes(w.rules, w.total)
	if w.found.Blocked != "" || !w.edit.Changed() {
		return body, w.found
	}
	return w.edit.Bytes(), w.found
}

// lastRune is the last character of a text.
func lastRune(text []byte) []byte {
	_, n := utf8.DecodeLastRune(text)
	return text[len(text)-n:]
}
