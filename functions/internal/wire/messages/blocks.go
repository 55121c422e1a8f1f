package messages

import (
	"strconv"
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// place is where blocks stand, which decides on the kinds that may.
type place uint8

const (
	inSystem place = iota
	inUser
	inAssistant
	inResult
)

// content reads a string or a list of blocks. Empty texts are left out.
func (r *reader) content(at string, v jsonedit.Value, where place) ([]wire.Part, *wire.Problem) {
	switch v.Kind() {
	case '"':
		if v.Len() == 0 {
			return nil, nil
		}
		return []wire.Part{{Kind: wire.Text, Text: v.Text()}}, r.count()
	case '[':
	case 0, 'n':
		if where == inResult {
			return nil, nil
		}
		fallthrough
	default:
		return nil, wire.Malformed(at, "a string or a list of blocks")
	}
	var parts []wire.Part
	index := 0
	for each := v.Each(); each.Next(); index++ {
		part, keep, p := r.block(at+"["+strconv.Itoa(index)+"]", each.Value(), where)
		if p == nil {
			p = r.count()
		}
		if p != nil {
			return nil, p
		}
		if keep {
			part.Cache = raw(each.Value().Get("cache_control"))
			parts = append(parts, part)
		}
	}
	return parts, nil
}

// count bounds the parts of a body.
func (r *reader) count() *wire.Problem {
	if r.parts++; r.parts > wire.MaxDialogParts {
		return wire.Malformed("messages", "at most "+strconv.Itoa(wire.MaxDialogParts)+" blocks in all")
	}
	return nil
}

// block reads one block and says whether it is to be kept.
func (r *reader) block(at string, v jsonedit.Value, where place) (part wire.Part, keep bool, _ *wire.Problem) {
	kind := v.Get("type").Text()
	if kind == "text" {
		text := v.Get("text")
		if text.Kind() != '"' {
			return part, false, wire.Malformed(at+".text", "a string")
		}
		if v.Get("citations").Filled() {
			r.drop("citations")
		}
		return wire.Part{Kind: wire.Text, Text: text.Text()}, text.Len() > 0, nil
	}
	switch where {
	case inUser:
		if kind == "tool_result" {
			return r.result(at, v)
		}
		return r.shown(at, kind, v)
	case inResult:
		return r.shown(at, kind, v)
	case inAssistant:
		return r.answered(at, kind, v)
	}
	return part, false, wire.Malformed(at+".type", "text")
}

// shown reads what a user or a tool shows.
func (r *reader) shown(at, kind string, v jsonedit.Value) (part wire.Part, keep bool, _ *wire.Problem) {
	switch kind {
	case "image":
		media, p := r.source(at+".source", v.Get("source"))
		return wire.Part{Kind: wire.Image, Media: media}, true, p
	case "document":
		media, p := r.source(at+".source", v.Get("source"))
		if p != nil {
			return part, false, p
		}
		media.Name = v.Get("title").Text()
		if v.Get("context").Filled() {
			r.drop("document.context")
		}
		if enabled, _ := v.Get("citations", "enabled").Bool(); enabled {
			r.drop("citations")
		}
		return wire.Part{Kind: wire.Document, Media: media}, true, nil
	case "search_result":
		name := v.Get("title").Text()
		if source := v.Get("source").Text(); source != "" {
			name = strings.TrimSpace(name + " " + source)
		}
		text := plainText(v.Get("content"))
		return wire.Part{Kind: wire.Document, Media: &wire.Media{Type: "text/plain", Text: text, Name: name}}, text != "", nil
	case "tool_reference", "browser_state":
		r.drop(kind)
		return part, false, nil
	case "":
		return part, false, wire.Malformed(at, "a block with a type")
	}
	return part, false, wire.Untranslatable(at, "This kind of block")
}

// source reads where an image or a document is.
func (r *reader) source(at string, v jsonedit.Value) (*wire.Media, *wire.Problem) {
	switch kind := v.Get("type"); {
	case kind.Is("base64"):
		media, ok := wire.MediaAt("data:" + v.Get("media_type").Text() + ";base64," + v.Get("data").Text())
		if ok && media.Type != "" {
			return media, nil
		}
	case kind.Is("url"):
		media, ok := wire.MediaAt(v.Get("url").Text())
		if ok && media.URL != "" {
			return media, nil
		}
	case kind.Is("text"):
		if text := v.Get("data").Text(); text != "" {
			return &wire.Media{Type: "text/plain", Text: text}, nil
		}
	case kind.Is("content"):
		if text := plainText(v.Get("content")); text != "" {
			return &wire.Media{Type: "text/plain", Text: text}, nil
		}
	case kind.Is("file"):
		if id := v.Get("file_id").Text(); id != "" {
			return &wire.Media{FileID: id}, nil
		}
	}
	return nil, wire.Malformed(at, "base64 with a media_type, an http(s) url, text or a file")
}

// plainText is the text of a string or of a list of text blocks.
func plainText(v jsonedit.Value) string {
	if v.Kind() == '"' {
		return v.Text()
	}
	var texts []string
	for each := v.Each(); each.Next(); {
		if text := each.Value().Get("text").Text(); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// answered reads a block of an earlier answer. What the provider's own tools
// did is left out; the text around it tells.
func (r *reader) answered(at, kind string, v jsonedit.Value) (part wire.Part, keep bool, _ *wire.Problem) {
	switch kind {
	case "tool_use":
		call, ok := toolCall(v)
		if !ok {
			return part, false, wire.Malformed(at, "a tool_use with an id, a name and an input")
		}
		return call, true, nil
	case "thinking":
		return wire.Part{Kind: wire.Reasoning, Text: v.Get("thinking").Text(), Signature: v.Get("signature").Text()}, true, nil
	case "redacted_thinking":
		return wire.Part{Kind: wire.Reasoning, Sealed: v.Get("data").Text()}, true, nil
	case "compaction":
		text := v.Get("content").Text()
		return wire.Part{Kind: wire.Text, Text: text}, text != "", nil
	case "":
		return part, false, wire.Malformed(at, "a block with a type")
	}
	if strings.HasSuffix(kind, "_tool_use") || strings.HasSuffix(kind, "_tool_result") {
		r.drop(kind)
		return part, false, nil
	}
	return part, false, wire.Untranslatable(at, "This kind of block")
}

// toolCall reads a call, in a request's history or in an answer.
func toolCall(v jsonedit.Value) (wire.Part, bool) {
	call := wire.Part{Kind: wire.ToolCall, CallID: v.Get("id").Text(), Name: v.Get("name").Text(), Arguments: "{}"}
	if input := v.Get("input"); input.Filled() {
		call.Arguments = string(input.Bytes())
	}
	return call, call.CallID != "" && call.Name != ""
}

// result reads a tool's result.
func (r *reader) result(at string, v jsonedit.Value) (part wire.Part, keep bool, p *wire.Problem) {
	part = wire.Part{Kind: wire.ToolResult, CallID: v.Get("tool_use_id").Text()}
	if part.CallID == "" {
		return part, false, wire.Malformed(at+".tool_use_id", "the id of a tool_use")
	}
	part.IsError, _ = v.Get("is_error").Bool()
	part.Result, p = r.content(at+".content", v.Get("content"), inResult)
	return part, true, p
}

// raw is a value's own JSON, nil where there is none but null.
func raw(v jsonedit.Value) []byte {
	if !v.Given() {
		return nil
	}
	return v.Bytes()
}
