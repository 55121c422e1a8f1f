package responses

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/prompt"
	"holdfast/localstack/accounts/internal/refusal"
)

// item reads one input item and follows a reference to a stored one.
func (m *Memory) item(raw jsontext.Value, i int) (*item, *refusal.Refusal) {
	it := &item{raw: emit.Compact(raw)}
	if err := json.Unmarshal(it.raw, it); err != nil {
		return it, refusal.Invalid("input", "invalid_type", "Invalid type for 'input[%d]'.", i)
	}
	if it.Type == "" && it.Role != "" {
		it.Type = "message"
	}
	switch it.Type {
	case "":
		return it, refusal.Invalid("input", "missing_required_parameter", "Missing required parameter: 'input[%d].type'.", i)
	case "message":
		return it, it.message(i)
	case "item_reference":
		return m.referenced(it.ID)
	case "reasoning":
		return it, m.readable(it, reasoningSeal)
	case "compaction":
		return it, m.readable(it, compactionSeal)
	}
	return it, nil
}

func (it *item) message(i int) *refusal.Refusal {
	switch it.Role {
	case "user", "assistant", "system", "developer":
	default:
		return refusal.Invalid("input", "invalid_value", "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'. (input[%d].role)", it.Role, i)
	}
	if _, ok := parts(it.Content); !ok {
		return refusal.Invalid("input", "invalid_type", "Invalid type for 'input[%d].content'.", i)
	}
	return nil
}

// readable checks ciphertext, and without any that the item is stored here.
func (m *Memory) readable(it *item, purpose string) *refusal.Refusal {
	if it.Encrypted != "" {
		if m.box.Accepts(purpose, it.Encrypted, "") {
			return nil
		}
		return refusal.Invalid("", "invalid_encrypted_content", "The encrypted content %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", ends(it.Encrypted))
	}
	if it.ID == "" || it.Type != "reasoning" {
		return nil
	}
	_, r := m.referenced(it.ID)
	return r
}

// paired checks that what is named by a stored item's id stands behind the
// reasoning that led to it: by its id, or as ciphertext.
func (m *Memory) paired(items []*item) *refusal.Refusal {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen, sealed := map[string]bool{}, false
	for _, it := range items {
		if it.Type == "reasoning" {
			seen[it.ID], sealed = true, sealed || it.Encrypted != ""
			continue
		}
		if needs := m.before[it.ID]; needs != "" && !seen[needs] && !sealed {
			return refusal.Invalid("input", "", "Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", it.ID, it.Type, needs)
		}
	}
	return nil
}

// ends shows the first and last four characters, as the real wording does.
func ends(s string) string {
	if len(s) <= 8 {
		return "..."
	}
	return prompt.Whole(s, 4) + "..." + s[len(s)-4:]
}

// part is a piece of a message's or a result's content.
type part struct {
	Type    string         `json:"type"`
	Text    string         `json:"text"`
	Refusal string         `json:"refusal"`
	Medium  jsontext.Value `json:",embed"`
}

// parts reads content: a string, a list, or nothing.
func parts(content jsontext.Value) ([]part, bool) {
	if emit.Absent(content) {
		return nil, true
	}
	var list []part
	var err error
	if content.Kind() == '"' {
		list = []part{{Type: "input_text"}}
		err = json.Unmarshal(content, &list[0].Text)
	} else {
		err = json.Unmarshal(content, &list)
	}
	return list, err == nil
}

// write puts an item into its canonical form. Reasoning leaves no trace: a
// provider drops the thoughts of earlier turns.
func (it *item) write(p *prompt.Prefix) {
	switch it.Type {
	case "message":
		p.Turn(it.Role)
		content(p, it.Content)
	case "function_call":
		p.Call(it.CallID, it.Name, it.Arguments)
	case "custom_tool_call":
		p.Call(it.CallID, it.Name, string(it.Input))
	case "function_call_output", "custom_tool_call_output":
		p.Result(it.CallID)
		content(p, it.Output)
	case "reasoning":
	default:
		p.Turn(it.Type)
		p.Text(string(it.raw))
	}
}

func content(p *prompt.Prefix, v jsontext.Value) {
	list, _ := parts(v) // checked for messages; a result that is something else has no text
	for _, part := range list {
		switch part.Type {
		case "input_text", "output_text", "text":
			p.Text(part.Text)
		case "refusal":
			p.Text(part.Refusal)
		default:
			p.Media(string(part.Medium))
		}
	}
}

// text is all text of a piece of content.
func text(v jsontext.Value) string {
	var all string
	list, _ := parts(v)
	for i, part := range list {
		if i > 0 {
			all += "\n"
		}
		all += part.Text
	}
	return all
}
