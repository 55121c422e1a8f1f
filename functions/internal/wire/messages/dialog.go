package messages

import (
	"strconv"
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// ReadDialog reads a client's body into the neutral form. It refuses with 400,
// naming the member, what is malformed, content that no other protocol can be
// told (unknown blocks, files in a container), and a choice of a tool that
// cannot be carried.
//
// Noted in Dropped is every top-level member that is not in this list:
//
//	messages system tools tool_choice output_config.format output_format
//	output_config.effort thinking max_tokens stop_sequences temperature top_p
//	top_k metadata.user_id service_tier
//
// and of these: the provider's own tools and what they did in earlier answers
// (by the kind of tool or block), citations, a document's context,
// thinking.display other than summarized. The rotating attribution block means
// nothing elsewhere and goes without a note. An effort inside a message, a turn's
// own, outranks the request's; the latest stands. Search results become
// plain-text documents, a compaction its text. Empty texts are no parts.
//
// thinking: enabled is a ThinkingBudget, adaptive ThinkingAuto, disabled
// ThinkingOff; service_tier standard_only is default.
func ReadDialog(f *wire.Facts) (*wire.Dialog, *wire.Problem) {
	d := &wire.Dialog{Client: wire.Messages, Model: f.Model, Stream: f.Stream, MaxTokens: f.MaxTokens}
	r := &reader{facts: f, d: d}
	for _, read := range [...]func() *wire.Problem{
		r.thinking, r.system, r.messages, r.tools, r.choice, r.sampling, r.stop, r.format, r.names,
	} {
		if p := read(); p != nil {
			return nil, p
		}
	}
	d.Dropped = f.Others(d.Dropped, "model", "messages", "stream", "system", "tools", "tool_choice", "output_config", "output_format",
		"thinking", "max_tokens", "stop_sequences", "temperature", "top_p", "top_k", "metadata", "service_tier")
	return d, nil
}

// reader is one reading of a body.
type reader struct {
	facts *wire.Facts
	d     *wire.Dialog
	parts int
}

func (r *reader) drop(name string) { r.d.Dropped = wire.Note(r.d.Dropped, name) }

// thinking reads how much is to be thought.
func (r *reader) thinking() *wire.Problem {
	v := r.facts.Value("thinking")
	switch kind := v.Get("type"); {
	case !v.Given():
	case kind.Is("enabled"):
		n, ok := v.Get("budget_tokens").Int()
		if !ok || n <= 0 {
			return wire.Malformed("thinking.budget_tokens", "a positive number of tokens")
		}
		r.d.ThinkingBudget = n
	case kind.Is("disabled"):
		r.d.ThinkingOff = true
	case kind.Is("adaptive"):
		r.d.ThinkingAuto = true
	case kind.Is("between_tools"):
		r.d.ThinkingAuto = true
		r.drop("thinking.type")
	default:
		return wire.Malformed("thinking.type", "enabled, disabled or adaptive")
	}
	if display := v.Get("display"); display.Is("summarized") {
		r.d.Summary = "auto"
	} else if display.Given() {
		r.drop("thinking.display")
	}
	r.d.Effort = r.facts.Value("output_config").Get("effort").Text()
	return nil
}

// system reads the opening.
func (r *reader) system() *wire.Problem {
	v := r.facts.Value("system")
	if !v.Given() {
		return nil
	}
	parts, p := r.content("system", v, inSystem)
	kept := parts[:0]
	for _, part := range parts {
		if !strings.HasPrefix(part.Text, attribution) {
			kept = append(kept, part)
		}
	}
	if p == nil && len(kept) > 0 {
		r.d.Messages = append(r.d.Messages, wire.Message{Role: wire.System, Parts: kept})
	}
	return p
}

// messages reads the conversation. A user's message with tool results becomes
// two: the results, and what else the user says.
func (r *reader) messages() *wire.Problem {
	list := r.facts.Value("messages")
	if list.Kind() != '[' || !list.Filled() {
		return wire.Malformed("messages", "a list of at least one message")
	}
	index := 0
	for each := list.Each(); each.Next(); index++ {
		if index == wire.MaxDialogMessages {
			return wire.Malformed("messages", "a list of at most "+strconv.Itoa(wire.MaxDialogMessages)+" messages")
		}
		if p := r.message("messages["+strconv.Itoa(index)+"]", each.Value()); p != nil {
			return p
		}
	}
	return nil
}

func (r *reader) message(at string, v jsonedit.Value) *wire.Problem {
	role, allowed := wire.Role(v.Get("role").Text()), inUser
	switch role {
	case wire.User:
	case wire.Assistant:
		allowed = inAssistant
	case wire.System:
		allowed = inSystem
	default:
		return wire.Malformed(at+".role", "user, assistant or system")
	}
	if effort := v.Get("output_config", "effort").Text(); effort != "" {
		r.d.Effort = effort
	}
	parts, p := r.content(at+".content", v.Get("content"), allowed)
	if p != nil {
		return p
	}
	var results, rest []wire.Part
	for _, part := range parts {
		if part.Kind == wire.ToolResult {
			results = append(results, part)
		} else {
			rest = append(rest, part)
		}
	}
	if len(results) > 0 {
		r.d.Messages = append(r.d.Messages, wire.Message{Role: wire.ToolRole, Parts: results})
	}
	if len(rest) > 0 || len(results) == 0 {
		r.d.Messages = append(r.d.Messages, wire.Message{Role: role, Parts: rest})
	}
	return nil
}

// sampling reads how the answer is to be drawn.
func (r *reader) sampling() (p *wire.Problem) {
	if r.d.Temperature, p = r.facts.Number("temperature"); p != nil {
		return p
	}
	if r.d.TopP, p = r.facts.Number("top_p"); p != nil {
		return p
	}
	r.d.TopK, p = r.facts.Whole("top_k")
	return p
}

func (r *reader) stop() *wire.Problem {
	v := r.facts.Value("stop_sequences")
	if v.Given() && v.Kind() != '[' {
		return wire.Malformed("stop_sequences", "a list of strings")
	}
	for each := v.Each(); each.Next(); {
		if each.Kind() != '"' || len(r.d.Stop) == wire.MaxDialogStops {
			return wire.Malformed("stop_sequences", "a list of at most "+strconv.Itoa(wire.MaxDialogStops)+" strings")
		}
		r.d.Stop = append(r.d.Stop, each.Value().Text())
	}
	return nil
}

// format reads the form of the answer's text, where it stands now or where it
// stood before.
func (r *reader) format() *wire.Problem {
	at, v := "output_config.format", r.facts.Value("output_config").Get("format")
	if !v.Given() {
		at, v = "output_format", r.facts.Value("output_format")
	}
	if !v.Given() {
		return nil
	}
	if !v.Get("type").Is("json_schema") || v.Get("schema").Kind() != '{' {
		return wire.Malformed(at, "json_schema with a schema")
	}
	r.d.Format = &wire.Format{Schema: v.Get("schema").Bytes()}
	return nil
}

// names reads who asks and on which terms.
func (r *reader) names() (p *wire.Problem) {
	r.d.User = r.facts.Value("metadata").Get("user_id").Text()
	r.d.Tier, p = r.facts.String("service_tier")
	if r.d.Tier == "standard_only" {
		r.d.Tier = "default"
	}
	return p
}
