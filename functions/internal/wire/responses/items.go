package responses

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// item is one item of an input or an output, of whatever kind.
type item struct {
	Type      string         `json:"type"`
	Role      string         `json:"role"`
	Content   jsontext.Value `json:"content"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Namespace string         `json:"namespace"`
	Arguments jsontext.Value `json:"arguments"`
	Input     jsontext.Value `json:"input"`
	Output    jsontext.Value `json:"output"`
	Status    string         `json:"status"`
	Phase     string         `json:"phase"`
	Summary   []part         `json:"summary"`
	Sealed    string         `json:"encrypted_content"`
}

// intake puts items into a dialog, one after the other. Consecutive items of
// the model's are one message of the assistant's, consecutive results one of
// the tools'.
type intake struct {
	dialog *wire.Dialog
	where  string // of the item at hand, for refusals
	parts  int    // so far
}

// read takes in a string, which is the user's, or a list of items.
func (in *intake) read(name string, value jsontext.Value) *wire.Problem {
	switch value.Kind() {
	case 0, 'n':
		return nil
	case '"':
		in.add(wire.User, wire.Part{Kind: wire.Text, Text: jsonedit.Read(value).Text()})
		return nil
	}
	var items []item
	if err := json.Unmarshal(value, &items); err != nil {
		return malformed(name, err)
	}
	if in.parts += len(items); in.parts > wire.MaxDialogMessages {
		return in.tooMany(name)
	}
	for i := range items {
		in.where = name + "." + strconv.Itoa(i)
		if p := in.item(&items[i]); p != nil {
			return p
		}
	}
	return nil
}

func (in *intake) item(it *item) *wire.Problem {
	switch it.Type {
	case "", "message":
		return in.message(it)
	case "function_call":
		in.add(wire.Assistant, wire.Part{Kind: wire.ToolCall, CallID: it.CallID, Name: flatName(it.Namespace, it.Name),
			Arguments: jsonedit.Read(it.Arguments).Text()})
	case "custom_tool_call":
		in.add(wire.Assistant, wire.Part{Kind: wire.ToolCall, CallID: it.CallID, Name: flatName(it.Namespace, it.Name),
			Arguments: jsonedit.Read(it.Input).Text(), Custom: true})
	case "function_call_output", "custom_tool_call_output":
		return in.result(it)
	case "reasoning":
		return in.reasoning(it)
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
		"mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response", "tool_search_call", "tool_search_output":
		in.lose("input." + it.Type) // the provider's own work: the answer that it led to stays
	case "item_reference":
		return in.refuse("an item that only its provider can look up. Send the item itself")
	case "compaction", "compaction_summary":
		return in.refuse("history that only its provider can read. Send the conversation itself")
	default:
		return in.refuse("an item of a kind that they do not know: " + wire.Clean(it.Type, 64) + ". Leave it out")
	}
	return nil
}

func (in *intake) tooMany(where string) *wire.Problem {
	return wire.Refuse(wire.InvalidRequest).About(where).Saying("The conversation has more items than this gateway translates. Shorten it.")
}

func (in *intake) refuse(what string) *wire.Problem {
	return wire.Refuse(wire.CapabilityMissing).About(in.where).Saying("The deployments of this model cannot take " + what + " or use another model.")
}

// add puts parts behind those of the same role, where that makes no difference
// to who says what.
func (in *intake) add(role wire.Role, parts ...wire.Part) {
	all := in.dialog.Messages
	if n := len(all); n > 0 && all[n-1].Role == role && (role == wire.Assistant || role == wire.ToolRole) {
		all[n-1].Parts = append(all[n-1].Parts, parts...)
		return
	}
	in.dialog.Messages = append(all, wire.Message{Role: role, Parts: parts})
}

func (in *intake) message(it *item) *wire.Problem {
	role := wire.Role(it.Role)
	switch role {
	case wire.User, wire.Assistant, wire.System, wire.Developer:
	default:
		return wire.Refuse(wire.InvalidRequest).About(in.where + ".role").Saying(
			"A message's role must be user, assistant, system or developer. Correct it.")
	}
	parts, p := in.content("content", it.Content)
	if p != nil {
		return p
	}
	if it.Phase != "" {
		in.lose("input.phase")
	}
	in.add(role, parts...)
	return nil
}

// result takes in what a tool gave back. A status of incomplete is how WriteDialog
// tells a result that is an error.
func (in *intake) result(it *item) *wire.Problem {
	parts, p := in.content("output", it.Output)
	if p != nil {
		return p
	}
	in.add(wire.ToolRole, wire.Part{Kind: wire.ToolResult, CallID: it.CallID, Result: parts,
		IsError: it.Status == "incomplete", Custom: it.Type == "custom_tool_call_output"})
	return nil
}

// reasoning takes in what is readable of it: the summary, else the text.
func (in *intake) reasoning(it *item) *wire.Problem {
	texts := it.Summary
	if len(texts) == 0 && it.Content.Kind() == '[' {
		if err := json.Unmarshal(it.Content, &texts); err != nil {
			return malformed(in.where+".content", err)
		}
	}
	part := wire.Part{Kind: wire.Reasoning, Text: join(texts), Sealed: it.Sealed, Summary: len(it.Summary) > 0}
	if part.Text != "" || part.Sealed != "" {
		in.add(wire.Assistant, part)
	}
	return nil
}

// join makes one text of paragraphs.
func join(parts []part) string {
	var texts []string
	for i := range parts {
		if parts[i].Text != "" {
			texts = append(texts, parts[i].Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// lose notes what the target will not see.
func (in *intake) lose(name string) { in.dialog.Dropped = wire.Note(in.dialog.Dropped, name) }
