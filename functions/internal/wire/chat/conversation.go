package chat

import (
	"slices"
	"strconv"
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// messages reads the conversation.
func (r *reader) messages() *wire.Problem {
	list := r.facts.Value("messages")
	if list.Kind() != '[' || !list.Filled() {
		return wire.Malformed("messages", "a list of at least one message")
	}
	for each := list.Each(); each.Next(); {
		at := "messages[" + strconv.Itoa(len(r.d.Messages)) + "]"
		if len(r.d.Messages) == wire.MaxDialogMessages {
			return wire.Malformed("messages", "a list of at most "+strconv.Itoa(wire.MaxDialogMessages)+" messages")
		}
		m, p := r.message(at, each.Value())
		if p != nil {
			return p
		}
		r.d.Messages = append(r.d.Messages, m)
	}
	return nil
}

func (r *reader) message(at string, v jsonedit.Value) (wire.Message, *wire.Problem) {
	m := wire.Message{Role: wire.Role(v.Get("role").Text()), Name: v.Get("name").Text()}
	var p *wire.Problem
	switch m.Role {
	case wire.System, wire.Developer:
		m.Parts, p = r.content(at+".content", v.Get("content"), "text")
	case wire.User:
		m.Parts, p = r.content(at+".content", v.Get("content"), "text", "image_url", "input_audio", "file")
	case wire.Assistant:
		m.Parts, p = r.assistant(at, v)
	case wire.ToolRole:
		m.Parts, p = r.result(at, v)
	case "function":
		p = wire.Untranslatable(at+".role", "The deprecated role function; tool")
	default:
		p = wire.Malformed(at+".role", "system, developer, user, assistant or tool")
	}
	return m, p
}

// assistant reads an earlier answer: reasoning first, then what it said, then
// its calls.
func (r *reader) assistant(at string, v jsonedit.Value) ([]wire.Part, *wire.Problem) {
	if v.Get("audio").Given() {
		return nil, wire.Untranslatable(at+".audio", "An earlier answer in sound")
	}
	if v.Get("function_call").Given() {
		return nil, wire.Untranslatable(at+".function_call", "The deprecated member function_call; tool_calls")
	}
	said, p := r.content(at+".content", v.Get("content"), "text", "refusal")
	if p != nil {
		return nil, p
	}
	var parts []wire.Part
	if text := either(v.Get("reasoning_content"), v.Get("reasoning")).Text(); text != "" {
		parts = append(parts, wire.Part{Kind: wire.Reasoning, Text: text})
	}
	parts = append(parts, said...)
	if text := v.Get("refusal").Text(); text != "" {
		parts = append(parts, wire.Part{Kind: wire.Refusal, Text: text})
	}
	for each := v.Get("tool_calls").Each(); each.Next(); {
		call, ok := toolCall(each.Value())
		if !ok || call.CallID == "" {
			return nil, wire.Malformed(at+".tool_calls", "a list of calls with an id, a name and arguments")
		}
		if p := r.count(); p != nil {
			return nil, p
		}
		parts = append(parts, call)
	}
	return parts, nil
}

// toolCall reads a call, in a request's history or in an answer. Arguments that
// are not there are those of a call without any.
func toolCall(v jsonedit.Value) (wire.Part, bool) {
	call := wire.Part{Kind: wire.ToolCall, CallID: v.Get("id").Text()}
	if custom := v.Get("custom"); custom.Given() {
		call.Name, call.Arguments, call.Custom = custom.Get("name").Text(), custom.Get("input").Text(), true
		return call, call.Name != ""
	}
	call.Name = v.Get("function", "name").Text()
	call.Arguments = arguments(v.Get("function", "arguments"))
	if call.Arguments == "" {
		call.Arguments = "{}"
	}
	return call, call.Name != ""
}

// arguments are JSON in a string; some imitators send the JSON itself.
func arguments(v jsonedit.Value) string {
	if v.Kind() == '{' {
		return string(v.Bytes())
	}
	return v.Text()
}

// result reads the message of a tool's result.
func (r *reader) result(at string, v jsonedit.Value) ([]wire.Part, *wire.Problem) {
	id := v.Get("tool_call_id").Text()
	if id == "" {
		return nil, wire.Malformed(at+".tool_call_id", "the id of a call")
	}
	content, p := r.content(at+".content", v.Get("content"), "text", "image_url", "file")
	return []wire.Part{{Kind: wire.ToolResult, CallID: id, Result: content, Cache: raw(v.Get("cache_control"))}}, p
}

// content reads a string or a list of parts of the given kinds. Empty text is
// left out.
func (r *reader) content(at string, v jsonedit.Value, kinds ...string) ([]wire.Part, *wire.Problem) {
	switch v.Kind() {
	case 0, 'n':
		return nil, nil
	case '"':
		if v.Len() == 0 {
			return nil, nil
		}
		return []wire.Part{{Kind: wire.Text, Text: v.Text()}}, r.count()
	case '[':
	default:
		return nil, wire.Malformed(at, "a string or a list of parts")
	}
	var parts []wire.Part
	index := 0
	for each := v.Each(); each.Next(); index++ {
		where := at + "[" + strconv.Itoa(index) + "]"
		kind := each.Value().Get("type").Text()
		if !slices.Contains(kinds, kind) {
			return nil, wire.Malformed(where+".type", "one of: "+strings.Join(kinds, ", "))
		}
		part, p := r.part(where, kind, each.Value())
		if p == nil {
			p = r.count()
		}
		if p != nil {
			return nil, p
		}
		if part.Kind != wire.Text || part.Text != "" {
			part.Cache = raw(each.Value().Get("cache_control"))
			parts = append(parts, part)
		}
	}
	return parts, nil
}

// count bounds the parts of a body.
func (r *reader) count() *wire.Problem {
	if r.parts++; r.parts > wire.MaxDialogParts {
		return wire.Malformed("messages", "at most "+strconv.Itoa(wire.MaxDialogParts)+" parts in all")
	}
	return nil
}

func (r *reader) part(at, kind string, v jsonedit.Value) (wire.Part, *wire.Problem) {
	switch kind {
	case "text":
		return wire.Part{Kind: wire.Text, Text: v.Get("text").Text()}, textIn(at, v.Get("text"))
	case "refusal":
		return wire.Part{Kind: wire.Refusal, Text: v.Get("refusal").Text()}, textIn(at, v.Get("refusal"))
	case "image_url":
		return image(at, v.Get("image_url"))
	case "input_audio":
		return audio(at, v.Get("input_audio"))
	}
	return file(at, v.Get("file"))
}

func textIn(at string, v jsonedit.Value) *wire.Problem {
	if v.Kind() != '"' {
		return wire.Malformed(at, "a part with its text")
	}
	return nil
}

// image reads an image by URL, which some clients send without its object.
func image(at string, v jsonedit.Value) (wire.Part, *wire.Problem) {
	url := v.Get("url").Text()
	if v.Kind() == '"' {
		url = v.Text()
	}
	media, ok := wire.MediaAt(url)
	if !ok {
		return wire.Part{}, wire.Malformed(at+".image_url.url", "an http(s) URL or a data: URL with base64")
	}
	media.Detail = v.Get("detail").Text()
	return wire.Part{Kind: wire.Image, Media: media}, nil
}

func audio(at string, v jsonedit.Value) (wire.Part, *wire.Problem) {
	data, format := v.Get("data").Text(), v.Get("format").Text()
	if data == "" || format == "" {
		return wire.Part{}, wire.Malformed(at+".input_audio", "base64 data and their format")
	}
	return wire.Part{Kind: wire.Audio, Media: &wire.Media{Type: "audio/" + format, Data: data}}, nil
}

// file reads a document: data: URL, plain base64 of a PDF, URL or file id.
func file(at string, v jsonedit.Value) (wire.Part, *wire.Problem) {
	data, name := v.Get("file_data").Text(), v.Get("filename").Text()
	if id := v.Get("file_id").Text(); id != "" && data == "" {
		return wire.Part{Kind: wire.Document, Media: &wire.Media{FileID: id, Name: name}}, nil
	}
	media, ok := wire.MediaAt(data)
	if !ok && !strings.HasPrefix(data, "data:") {
		media, ok = wire.MediaAt("data:application/pdf;base64," + data)
	}
	if !ok {
		return wire.Part{}, wire.Malformed(at+".file.file_data", "a data: URL with base64")
	}
	media.Name = name
	return wire.Part{Kind: wire.Document, Media: media}, nil
}
