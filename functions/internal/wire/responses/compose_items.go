package responses

import (
	"slices"
	"strings"

	"holdfast/functions/internal/wire"
)

// inputItem is one item of an input that is written.
type inputItem struct {
	Type      string        `json:"type"`
	Role      string        `json:"role,omitzero"`
	Content   []contentPart `json:"content,omitzero"`
	Summary   []contentPart `json:"summary,omitzero"`
	CallID    string        `json:"call_id,omitzero"`
	Name      string        `json:"name,omitzero"`
	Arguments *string       `json:"arguments,omitzero"`
	Input     *string       `json:"input,omitzero"`
	Output    any           `json:"output,omitzero"`
	Status    string        `json:"status,omitzero"`
	Sealed    string        `json:"encrypted_content,omitzero"`
}

// contentPart is one part of content that is written.
type contentPart struct {
	Type     string      `json:"type"`
	Text     *string     `json:"text,omitzero"`
	Refusal  string      `json:"refusal,omitzero"`
	ImageURL string      `json:"image_url,omitzero"`
	Detail   string      `json:"detail,omitzero"`
	FileID   string      `json:"file_id,omitzero"`
	FileURL  string      `json:"file_url,omitzero"`
	FileData string      `json:"file_data,omitzero"`
	Filename string      `json:"filename,omitzero"`
	Audio    *inputAudio `json:"input_audio,omitzero"`
}

type inputAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

// appendItems appends a message as items: its texts and media together, tool
// calls, results and reasoning each by itself, in order.
func appendItems(items []inputItem, m *wire.Message) []inputItem {
	role, begin := string(m.Role), len(items)
	if m.Role == wire.ToolRole { // what stands beside results is no tool's
		role = string(wire.User)
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Kind {
		case wire.ToolCall:
			items = append(items, callItem(p))
		case wire.ToolResult:
			items = append(items, resultItem(p))
		case wire.Reasoning:
			items = append(items, reasoningItem(p))
		default:
			if n := len(items); n == begin || items[n-1].Role == "" {
				items = append(items, inputItem{Type: "message", Role: role})
			}
			last := &items[len(items)-1]
			last.Content = append(last.Content, writePart(p, m.Role == wire.Assistant))
		}
	}
	return items
}

func callItem(p *wire.Part) inputItem {
	if p.Custom {
		return inputItem{Type: "custom_tool_call", CallID: p.CallID, Name: p.Name, Input: &p.Arguments}
	}
	arguments := p.Arguments
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	return inputItem{Type: "function_call", CallID: p.CallID, Name: p.Name, Arguments: &arguments}
}

// resultItem is a tool's result: text as text, media as parts.
func resultItem(p *wire.Part) inputItem {
	it := inputItem{Type: "function_call_output", CallID: p.CallID}
	if p.Custom {
		it.Type = "custom_tool_call_output"
	}
	var parts []contentPart
	for i := range p.Result {
		parts = append(parts, writePart(&p.Result[i], false))
	}
	if p.IsError {
		it.Status, parts = "incomplete", failed(parts)
	}
	switch {
	case len(parts) == 0:
		it.Output = ""
	case len(parts) == 1 && parts[0].Text != nil:
		it.Output = *parts[0].Text
	default:
		it.Output = parts
	}
	return it
}

// failed says in words that a result is an error: the model does not see its
// status.
func failed(parts []contentPart) []contentPart {
	mark := "Error: "
	if len(parts) == 0 || parts[0].Text == nil {
		return slices.Insert(parts, 0, contentPart{Type: "input_text", Text: &mark})
	}
	if !strings.HasPrefix(strings.ToLower(*parts[0].Text), "error") {
		mark += *parts[0].Text
		parts[0].Text = &mark
	}
	return parts
}

func reasoningItem(p *wire.Part) inputItem {
	it := inputItem{Type: "reasoning", Sealed: p.Sealed, Summary: []contentPart{}}
	if p.Text != "" {
		it.Summary = append(it.Summary, contentPart{Type: "summary_text", Text: &p.Text})
	}
	return it
}

// writePart writes text or media; the assistant's own words have other names.
func writePart(p *wire.Part, own bool) contentPart {
	m := p.Media
	switch {
	case p.Kind == wire.Refusal:
		return contentPart{Type: "refusal", Refusal: p.Text}
	case m == nil && own:
		return contentPart{Type: "output_text", Text: &p.Text}
	case m == nil:
		return contentPart{Type: "input_text", Text: &p.Text}
	case p.Kind == wire.Image:
		return contentPart{Type: "input_image", ImageURL: m.Reference(), FileID: m.FileID, Detail: detail(m)}
	case p.Kind == wire.Audio:
		return contentPart{Type: "input_audio", Audio: &inputAudio{Data: m.Data, Format: strings.TrimPrefix(m.Type, "audio/")}}
	case m.Text != "":
		text := m.Text
		if m.Name != "" {
			text = m.Name + "\n\n" + text
		}
		return contentPart{Type: "input_text", Text: &text}
	case m.Data != "":
		return contentPart{Type: "input_file", FileData: m.Reference(), Filename: filename(m)}
	}
	return contentPart{Type: "input_file", FileURL: m.URL, FileID: m.FileID}
}

func detail(m *wire.Media) string {
	if m.Detail == "" {
		return "auto"
	}
	return m.Detail
}

// filename is a file's name, which the API demands with its data.
func filename(m *wire.Media) string {
	if m.Name != "" {
		return m.Name
	}
	if _, kind, found := strings.Cut(m.Type, "/"); found && kind == "pdf" {
		return "document.pdf"
	}
	return "document.txt"
}
