package chat

import (
	"strconv"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// ReadDialog reads a client's body into the neutral form. It refuses with 400,
// naming the member, what is malformed and what no other protocol can be told
// though the request means something else without it: several choices (n),
// audio answers, web_search_options, the functions of before tools, content by
// reference to what the provider keeps.
//
// Noted in Dropped is every other member that is not in this list:
//
//	messages tools tool_choice parallel_tool_calls response_format stop
//	max_completion_tokens max_tokens temperature top_p top_k seed
//	presence_penalty frequency_penalty reasoning_effort verbosity
//	user safety_identifier metadata prompt_cache_key service_tier
//
// An allowed_tools choice leaves the tools that it allows; reasoning_content of
// earlier answers is Reasoning; an empty text is no part.
func ReadDialog(f *wire.Facts) (*wire.Dialog, *wire.Problem) {
	d := &wire.Dialog{Client: wire.Chat, Model: f.Model, Stream: f.Stream, MaxTokens: f.MaxTokens}
	r := &reader{facts: f, d: d}
	for _, read := range [...]func() *wire.Problem{
		r.refuse, r.messages, r.tools, r.choice, r.sampling, r.stop, r.reasoning, r.format, r.names,
	} {
		if p := read(); p != nil {
			return nil, p
		}
	}
	d.Dropped = f.Others(d.Dropped, "model", "messages", "stream", "stream_options", "n", "modalities", "tools", "tool_choice",
		"parallel_tool_calls", "response_format", "stop", "max_completion_tokens", "max_tokens", "temperature", "top_p", "top_k",
		"seed", "presence_penalty", "frequency_penalty", "reasoning_effort", "verbosity", "user", "safety_identifier", "metadata",
		"prompt_cache_key", "service_tier")
	return d, nil
}

// reader is one reading of a body.
type reader struct {
	facts *wire.Facts
	d     *wire.Dialog
	parts int
}

// refuse refuses what cannot be told to any other protocol.
func (r *reader) refuse() *wire.Problem {
	if n, ok := r.facts.Value("n").Int(); ok && n != 1 {
		return wire.Untranslatable("n", "More than one choice")
	}
	for each := r.facts.Value("modalities").Each(); each.Next(); {
		if !each.Value().Is("text") {
			return wire.Untranslatable("modalities", "An answer in anything but text")
		}
	}
	for _, row := range [...][2]string{
		{"audio", "An answer in sound"}, {"web_search_options", "The provider's own web search"},
		{"functions", "The deprecated member functions; tools"}, {"function_call", "The deprecated member function_call; tool_choice"},
	} {
		if r.facts.Value(row[0]).Given() {
			return wire.Untranslatable(row[0], row[1])
		}
	}
	return nil
}

// sampling reads how the answer is to be drawn.
func (r *reader) sampling() (p *wire.Problem) {
	for _, row := range [...]struct {
		name string
		into **float64
	}{
		{"temperature", &r.d.Temperature}, {"top_p", &r.d.TopP},
		{"presence_penalty", &r.d.PresencePenalty}, {"frequency_penalty", &r.d.FrequencyPenalty},
	} {
		if *row.into, p = r.facts.Number(row.name); p != nil {
			return p
		}
	}
	if r.d.TopK, p = r.facts.Whole("top_k"); p != nil {
		return p
	}
	r.d.Seed, p = r.facts.Whole("seed")
	return p
}

// stop reads one stop sequence or a list of them.
func (r *reader) stop() *wire.Problem {
	v := r.facts.Value("stop")
	if v.Kind() == '"' {
		r.d.Stop = []string{v.Text()}
		return nil
	}
	if v.Given() && v.Kind() != '[' {
		return wire.Malformed("stop", "a string or a list of strings")
	}
	for each := v.Each(); each.Next(); {
		if each.Kind() != '"' || len(r.d.Stop) == wire.MaxDialogStops {
			return wire.Malformed("stop", "a string or a list of at most "+strconv.Itoa(wire.MaxDialogStops)+" strings")
		}
		r.d.Stop = append(r.d.Stop, each.Value().Text())
	}
	return nil
}

func (r *reader) reasoning() (p *wire.Problem) {
	if r.d.Effort, p = r.facts.String("reasoning_effort"); p != nil {
		return p
	}
	r.d.Verbosity, p = r.facts.String("verbosity")
	return p
}

// format reads the form of the answer's text.
func (r *reader) format() *wire.Problem {
	v := r.facts.Value("response_format")
	switch kind := v.Get("type"); {
	case !v.Given(), kind.Is("text"):
	case kind.Is("json_object"):
		r.d.Format = &wire.Format{}
	case kind.Is("json_schema"):
		schema := v.Get("json_schema")
		if schema.Get("schema").Kind() != '{' {
			return wire.Malformed("response_format.json_schema.schema", "a JSON schema")
		}
		r.d.Format = &wire.Format{
			Name: schema.Get("name").Text(), Description: schema.Get("description").Text(),
			Schema: raw(schema.Get("schema")), Strict: boolean(schema.Get("strict")),
		}
	default:
		return wire.Malformed("response_format.type", "text, json_object or json_schema")
	}
	return nil
}

// names reads who asks, and what the request is filed under.
func (r *reader) names() (p *wire.Problem) {
	for _, row := range [...]struct {
		name string
		into *string
	}{
		{"safety_identifier", &r.d.User}, {"service_tier", &r.d.Tier},
	} {
		if *row.into, p = r.facts.String(row.name); p != nil {
			return p
		}
	}
	if v := r.facts.Value("prompt_cache_key"); v.Kind() == '"' { // a hint: what is none asks for nothing
		r.d.CacheKey = v.Text()
	}
	user, p := r.facts.String("user")
	if r.d.User == "" {
		r.d.User = user
	} else if user != "" && user != r.d.User {
		r.d.Dropped = wire.Note(r.d.Dropped, "user")
	}
	if v := r.facts.Value("metadata"); v.Given() && p == nil {
		if v.Kind() != '{' {
			return wire.Malformed("metadata", "an object of strings")
		}
		r.d.Metadata = raw(v)
	}
	return p
}

// raw is a value's own JSON, nil where there is none but null.
func raw(v jsonedit.Value) []byte {
	if !v.Given() {
		return nil
	}
	return v.Bytes()
}

// boolean is a value's boolean, nil where it is none.
func boolean(v jsonedit.Value) *bool {
	if is, ok := v.Bool(); ok {
		return &is
	}
	return nil
}
