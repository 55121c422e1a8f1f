package messages

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/refusal"
)

// sealed purposes of this protocol.
const (
	signatureSeal = "signature"
	redactedSeal  = "redacted"
)

const maxMarkers = 4

// check is everything about the conversation that can be refused.
func (q *Request) check() *refusal.Refusal {
	for i := range q.Messages {
		for j := range q.Messages[i].blocks {
			if r := q.block(&q.Messages[i].blocks[j], i, j); r != nil {
				return r
			}
		}
	}
	if r := q.pairs(); r != nil {
		return r
	}
	if r := q.schemas(); r != nil {
		return r
	}
	return q.markers()
}

// schemas checks that each tool of the client's own has one; a tool with a type
// is the provider's.
func (q *Request) schemas() *refusal.Refusal {
	for i := range q.Tools {
		var t struct {
			Type   string         `json:"type"`
			Schema jsontext.Value `json:"input_schema"`
		}
		if err := json.Unmarshal(q.Tools[i].Rest, &t); err != nil {
			return refusal.Body(err)
		}
		if (t.Type == "" || t.Type == "custom") && emit.Absent(t.Schema) {
			return invalid("tools.%d.custom.input_schema: Field required", i)
		}
	}
	return nil
}

func (q *Request) block(b *block, i, j int) *refusal.Refusal {
	switch b.Type {
	case "":
		return invalid("messages.%d.content.%d.type: Field required", i, j)
	case "text":
		if b.Text == "" {
			return invalid("messages: text content blocks must be non-empty")
		}
	case "thinking":
		if !q.box.Accepts(signatureSeal, b.Signature, b.Thinking) {
			return invalid("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
		}
	case "redacted_thinking":
		if !q.box.Accepts(redactedSeal, b.Data, "") {
			return invalid("messages.%d.content.%d: Invalid `data` in `redacted_thinking` block", i, j)
		}
	}
	return nil
}

// pairs checks that a message's tool uses are all answered by the next message
// that is not the system's, and that it answers nothing else.
func (q *Request) pairs() *refusal.Refusal {
	var open []string
	at := 0
	for i := range q.Messages {
		m := &q.Messages[i]
		if m.Role == "system" {
			continue
		}
		results := m.ids("tool_result")
		for j, id := range results {
			if !slices.Contains(open, id) {
				return invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, id)
			}
		}
		if r := unanswered(at, open, results); r != nil {
			return r
		}
		open, at = m.ids("tool_use"), i
	}
	return unanswered(at, open, nil)
}

func unanswered(at int, open, results []string) *refusal.Refusal {
	left := slices.DeleteFunc(slices.Clone(open), func(id string) bool { return slices.Contains(results, id) })
	if len(left) == 0 {
		return nil
	}
	return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", at, strings.Join(left, ", "))
}

// ids lists the calls of a message's blocks of one type.
func (m *message) ids(kind string) []string {
	var ids []string
	for i := range m.blocks {
		switch b := &m.blocks[i]; {
		case b.Type == kind && kind == "tool_use":
			ids = append(ids, b.ID)
		case b.Type == kind:
			ids = append(ids, b.ToolUseID)
		}
	}
	return ids
}

// markers checks how many cache markers there are, and that none of an hour
// comes after one of five minutes.
func (q *Request) markers() *refusal.Refusal {
	all := q.marks()
	if len(all) > maxMarkers {
		return invalid("A maximum of 4 blocks with cache_control may be provided. Found %d.", len(all))
	}
	short := false
	for _, m := range all {
		switch {
		case m.TTL != "" && m.TTL != "5m" && m.TTL != "1h":
			return invalid("cache_control.ttl: Input should be '5m' or '1h'")
		case m.TTL == "1h" && short:
			return invalid("cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.")
		}
		short = short || m.TTL != "1h"
	}
	return nil
}

// marks lists the markers in the order of the prompt.
func (q *Request) marks() []*marker {
	var all []*marker
	add := func(m *marker) {
		if m != nil {
			all = append(all, m)
		}
	}
	for i := range q.Tools {
		add(q.Tools[i].CacheControl)
	}
	each := func(list []block) {
		for i := range list {
			for j := range list[i].nested {
				add(list[i].nested[j].CacheControl)
			}
			add(list[i].CacheControl)
		}
	}
	each(q.system)
	for i := range q.Messages {
		each(q.Messages[i].blocks)
	}
	add(q.CacheControl)
	return all
}

// thinks checks what extended thinking excludes.
func (q *Request) thinks() *refusal.Refusal {
	t := q.Thinking
	switch {
	case t.Type != "" && t.Type != "enabled" && t.Type != "disabled" && t.Type != "adaptive":
		return invalid("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'", t.Type)
	case !q.reasons():
		return nil
	case q.ToolChoice.Type == "any" || q.ToolChoice.Type == "tool":
		return invalid("Thinking may not be enabled when tool_choice forces tool use.")
	case t.Type != "enabled":
		return nil
	case t.Budget < 1024:
		return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case t.Budget >= *q.MaxTokens:
		return invalid("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
	}
	return q.opened()
}

// opened checks that an open tool use still has its thinking in front.
func (q *Request) opened() *refusal.Refusal {
	for i := len(q.Messages) - 1; i >= 0; i-- {
		m := &q.Messages[i]
		if m.Role != "assistant" {
			if m.Role == "user" && len(m.ids("tool_result")) == 0 {
				return nil // a turn of the user's own: nothing is open
			}
			continue
		}
		if len(m.blocks) == 0 {
			return nil // an empty prefill
		}
		if first := m.blocks[0].Type; first != "thinking" && first != "redacted_thinking" {
			return invalid("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking", i, first)
		}
		return nil
	}
	return nil
}
