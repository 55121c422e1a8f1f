package chat

import (
	"strings"

	"holdfast/functions/internal/wire"
)

// message writes one message. What a tool showed waits until all results of its
// turn are there: this protocol's results are text. open says that the message
// belongs to the turn that is still open.
func (w *writer) message(m *wire.Message, open bool) {
	if m.Role != wire.ToolRole {
		w.flush()
	}
	switch m.Role {
	case wire.Assistant:
		w.assistant(m, open && w.wantsReasoning())
	case wire.ToolRole:
		for _, part := range m.Parts {
			w.result(part)
		}
	case wire.User:
		w.user(m)
	default:
		role := "system"
		if m.Role == wire.Developer && w.openAI {
			role = "developer"
		}
		w.open(role, m.Name).Name("content").Text(w.joined(m.Parts, "\n\n")).End()
	}
}

func (w *writer) open(role, name string) *writer {
	w.Object().Name("role").Text(role)
	if name != "" {
		w.Name("name").Text(name)
	}
	return w
}

// joined is the text of parts.
func (w *writer) joined(parts []wire.Part, between string) string {
	var texts []string
	for _, part := range parts {
		w.cached(part.Cache)
		if part.Kind == wire.Text {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, between)
}

// user writes what the user says: text alone as a string.
func (w *writer) user(m *wire.Message) {
	w.open("user", m.Name).Name("content")
	if len(m.Parts) == 0 || len(m.Parts) == 1 && m.Parts[0].Kind == wire.Text {
		w.Text(w.joined(m.Parts, "")).End()
		return
	}
	w.Array()
	for _, part := range m.Parts {
		w.part(part)
	}
	w.Close().End()
}

// part writes text, an image, a document or a sound.
func (w *writer) part(part wire.Part) {
	w.cached(part.Cache)
	media := part.Media
	switch part.Kind {
	case wire.Text:
		w.text(part.Text)
	case wire.Image:
		if media.Reference() == "" {
			w.refuse("An image by file id")
			return
		}
		w.Object().Name("type").Text("image_url").Name("image_url").Object().Name("url").Text(media.Reference())
		if media.Detail != "" {
			w.Name("detail").Text(media.Detail)
		}
		w.End().End()
	case wire.Document:
		w.document(media)
	case wire.Audio:
		w.Object().Name("type").Text("input_audio").Name("input_audio").Object().
			Name("data").Text(media.Data).Name("format").Text(strings.TrimPrefix(media.Type, "audio/")).End().End()
	}
}

func (w *writer) text(text string) {
	w.Object().Name("type").Text("text").Name("text").Text(text).End()
}

// document writes a file. What is known by id or URL only can stay so for this
// protocol's own clients: nobody else could have meant this provider's files.
func (w *writer) document(media *wire.Media) {
	if text, ok := media.OpenText(); ok && w.d.Client != wire.Chat {
		if media.Name != "" {
			text = media.Name + "\n\n" + text
		}
		w.text(text)
		return
	}
	if media.Data == "" && w.d.Client != wire.Chat {
		w.refuse("A document by URL or file id")
		return
	}
	w.Object().Name("type").Text("file").Name("file").Object()
	name := media.Name
	if name == "" && media.Data != "" {
		name = "document." + strings.TrimPrefix(media.Type, "application/")
	}
	if name != "" {
		w.Name("filename").Text(name)
	}
	if media.FileID != "" {
		w.Name("file_id").Text(media.FileID)
	} else {
		w.Name("file_data").Text(media.Reference())
	}
	w.End().End()
}

// openTurn is where the turn begins that is still open: behind the last that the
// user has said.
func openTurn(messages []wire.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == wire.User {
			return i
		}
	}
	return 0
}

// wantsReasoning reports whether the target's model family wants its reasoning
// back while a turn with tool calls is open. Others refuse the member, or do not
// heed it.
func (w *writer) wantsReasoning() bool {
	model := strings.ToLower(w.d.Model)
	for _, family := range [...]string{"deepseek", "kimi", "glm-", "minimax"} {
		if strings.Contains(model, family) {
			return true
		}
	}
	return false
}

// assistant writes an earlier answer; one with nothing to tell is left out.
func (w *writer) assistant(m *wire.Message, reasoning bool) {
	text := w.joined(m.Parts, "")
	var thought, refusal strings.Builder
	calls := 0
	for _, part := range m.Parts {
		switch part.Kind {
		case wire.Reasoning:
			thought.WriteString(part.Text)
			if !reasoning || part.Text == "" {
				w.drop("reasoning_content", "input.reasoning", "thinking")
			}
		case wire.Refusal:
			refusal.WriteString(part.Text)
		case wire.ToolCall:
			calls++
		}
	}
	if text == "" && refusal.Len() == 0 && calls == 0 && len(m.Parts) > 0 {
		return
	}
	w.open("assistant", m.Name).Name("content")
	if text == "" && refusal.Len()+calls > 0 {
		w.Raw(nil)
	} else {
		w.Text(text)
	}
	if refusal.Len() > 0 {
		w.Name("refusal").Text(refusal.String())
	}
	if reasoning && thought.Len() > 0 {
		w.Name("reasoning_content").Text(thought.String())
	}
	if calls > 0 {
		w.calls(m.Parts)
	}
	w.End()
}

func (w *writer) calls(parts []wire.Part) {
	w.Name("tool_calls").Array()
	for _, part := range parts {
		if part.Kind == wire.ToolCall {
			writeCall(&w.Writer, part)
		}
	}
	w.Close()
}

// result writes a tool's result. Its text says that it failed, where it did.
func (w *writer) result(part wire.Part) {
	text := w.joined(part.Result, "\n\n")
	w.cached(part.Cache)
	if part.IsError && !strings.HasPrefix(strings.ToLower(text), "error") {
		text = "Error: " + text
	}
	w.Object().Name("role").Text("tool").Name("tool_call_id").Text(part.CallID).Name("content").Text(text).End()
	for _, shown := range part.Result {
		if shown.Kind != wire.Text {
			w.media = append(w.media, wire.Part{Kind: wire.Text, Text: "Shown by the tool call " + part.CallID + ":"}, shown)
		}
	}
}

// flush shows what the tools before have shown.
func (w *writer) flush() {
	if len(w.media) > 0 {
		w.user(&wire.Message{Role: wire.User, Parts: w.media})
		w.media = nil
	}
}
