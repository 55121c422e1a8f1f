package messages

import (
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// blocks writes a message's content: one plain text as a string.
func (w *writer) blocks(parts []wire.Part) {
	if len(parts) == 1 && parts[0].Kind == wire.Text && parts[0].Cache == nil {
		w.Text(parts[0].Text)
		return
	}
	w.Array()
	for _, part := range parts {
		w.block(part)
	}
	w.Close()
}

// block writes one block.
func (w *writer) block(part wire.Part) {
	switch part.Kind {
	case wire.Text:
		w.Object().Name("type").Text("text").Name("text").Text(part.Text)
	case wire.Image:
		w.Object().Name("type").Text("image")
		w.image(part.Media)
	case wire.Document:
		w.Object().Name("type").Text("document")
		w.document(part.Media)
	case wire.ToolCall:
		writeCall(&w.Writer, part)
	case wire.ToolResult:
		w.result(part)
	case wire.Reasoning:
		w.thought(part)
		return
	default:
		w.refuse("Sound")
		return
	}
	w.cache(part.Cache)
	w.End()
}

// thought writes thinking as its maker has signed or sealed it.
func (w *writer) thought(part wire.Part) {
	if part.Sealed != "" {
		w.Object().Name("type").Text("redacted_thinking").Name("data").Text(part.Sealed).End()
		return
	}
	w.Object().Name("type").Text("thinking").Name("thinking").Text(part.Text).Name("signature").Text(part.Signature).End()
}

// image writes where an image is. Its detail has no place here.
func (w *writer) image(media *wire.Media) {
	if media.Detail != "" && media.Detail != "auto" {
		w.drop("image_url.detail", "input_image.detail", "image.detail")
	}
	kind := media.Type
	if kind == "image/jpg" {
		kind = "image/jpeg"
	}
	w.source(kind, media)
}

// source writes inline data or where they are.
func (w *writer) source(kind string, media *wire.Media) {
	w.Name("source").Object()
	switch {
	case media.Data != "":
		w.Name("type").Text("base64").Name("media_type").Text(kind).Name("data").Text(media.Data)
	case media.URL != "":
		w.Name("type").Text("url").Name("url").Text(media.URL)
	case w.native:
		w.Name("type").Text("file").Name("file_id").Text(media.FileID)
	default:
		w.refuse("An image or document by file id")
	}
	w.End()
}

// document writes a PDF or a plain text.
func (w *writer) document(media *wire.Media) {
	if text, ok := media.OpenText(); ok {
		w.Name("source").Object().Name("type").Text("text").Name("media_type").Text("text/plain").Name("data").Text(text).End()
	} else {
		if media.Data != "" && media.Type != "application/pdf" {
			w.refuse("A document that is neither PDF nor plain text")
		}
		w.source("application/pdf", media)
	}
	if media.Name != "" {
		w.Name("title").Text(media.Name)
	}
}

// result writes a tool's result.
func (w *writer) result(part wire.Part) {
	w.Object().Name("type").Text("tool_result").Name("tool_use_id").Text(callID(part.CallID))
	var shown []wire.Part
	for _, p := range part.Result {
		if p.Kind != wire.Text || strings.TrimSpace(p.Text) != "" {
			shown = append(shown, p)
		}
	}
	if len(shown) > 0 {
		w.Name("content")
		w.blocks(shown)
	}
	if part.IsError {
		w.Name("is_error").Bool(true)
	}
}

// writeCall writes a call up to its end, which is left open.
func writeCall(w *jsonedit.Writer, call wire.Part) {
	w.Object().Name("type").Text("tool_use").Name("id").Text(callID(call.CallID)).Name("name").Text(call.Name).
		Name("input").Raw(input(call))
}

// input is a call's arguments as an object, which this protocol demands. Text,
// and what was to be an object and is none, stands under the name input.
func input(call wire.Part) []byte {
	raw := []byte(call.Arguments)
	switch {
	case call.Custom:
	case strings.TrimSpace(call.Arguments) == "":
		return []byte("{}")
	default:
		if _, err := jsonedit.Parse(raw); err == nil {
			return raw
		}
	}
	return []byte(wire.WrapFreeform(call.Arguments))
}

// callID is a call's id in the characters that the provider allows.
func callID(id string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, id)
}
