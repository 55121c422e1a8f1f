// Package messages is the Messages codec of the simulated accounts.
//
// Parse accepts what the real endpoint accepts, system messages in between
// included, and refuses in its words what it refuses: results without a tool
// use and the reverse, thinking that another account signed or that was
// changed, more than four cache markers, settings that thinking excludes.
//
// Concurrency: a Request belongs to one goroutine.
package messages

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/refusal"
	"holdfast/localstack/accounts/internal/seal"
)

// Request is one parsed request.
type Request struct {
	wire
	system []block
	box    *seal.Box
}

type wire struct {
	Model        string         `json:"model"`
	MaxTokens    *int           `json:"max_tokens"`
	Messages     []message      `json:"messages"`
	System       jsontext.Value `json:"system"`
	Tools        []tool         `json:"tools"`
	ToolChoice   choice         `json:"tool_choice"`
	Streaming    bool           `json:"stream"`
	Stops        []string       `json:"stop_sequences"`
	Thinking     thinking       `json:"thinking"`
	CacheControl *marker        `json:"cache_control"`
	OutputConfig struct {
		Format struct {
			Type   string         `json:"type"`
			Schema jsontext.Value `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

type choice struct {
	Type   string `json:"type"`
	Name   string `json:"name"`
	Single bool   `json:"disable_parallel_tool_use"`
}

type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens"`
	Display string `json:"display"`
}

type marker struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

// tool is a tool without its marker; Rest keeps its members in their order.
type tool struct {
	CacheControl *marker        `json:"cache_control"`
	Rest         jsontext.Value `json:",embed"`
}

type message struct {
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"`

	blocks []block
}

// block is one content block of any type.
type block struct {
	Type         string         `json:"type"`
	Text         string         `json:"text"`
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Input        jsontext.Value `json:"input"`
	ToolUseID    string         `json:"tool_use_id"`
	Content      jsontext.Value `json:"content"`
	IsError      bool           `json:"is_error"`
	Thinking     string         `json:"thinking"`
	Signature    string         `json:"signature"`
	Data         string         `json:"data"`
	CacheControl *marker        `json:"cache_control"`
	Rest         jsontext.Value `json:",embed"` // of an image or a document: its source

	nested []block // of a tool result
}

// Parse reads a request body for the account that box belongs to. On a refusal
// what could be read is still there.
func Parse(body []byte, box *seal.Box) (*Request, *refusal.Refusal) {
	q := &Request{box: box}
	if err := json.Unmarshal(body, &q.wire); err != nil {
		return q, refusal.Body(err)
	}
	if r := q.required(); r != nil {
		return q, r
	}
	if r := q.read(); r != nil {
		return q, r
	}
	return q, q.check()
}

// ModelName is the model that is asked for.
func (q *Request) ModelName() string { return q.Model }

// Streams tells whether events are wanted.
func (q *Request) Streams() bool { return q.Streaming }

func (q *Request) required() *refusal.Refusal {
	switch {
	case q.Model == "":
		return invalid("model: Field required")
	case q.Messages == nil:
		return invalid("messages: Field required")
	case len(q.Messages) == 0:
		return invalid("messages: at least one message is required")
	}
	return nil
}

// Bounded checks max_tokens, which counting tokens does without.
func (q *Request) Bounded() *refusal.Refusal {
	switch {
	case q.MaxTokens == nil:
		return invalid("max_tokens: Field required")
	case *q.MaxTokens < 1:
		return invalid("max_tokens: Input should be greater than or equal to 1")
	}
	return q.thinks()
}

// read takes system and messages apart.
func (q *Request) read() *refusal.Refusal {
	var ok bool
	if q.system, ok = blocks(q.System); !ok {
		return invalid("system: Input should be a valid list")
	}
	for i := range q.Messages {
		m := &q.Messages[i]
		if m.Role != "user" && m.Role != "assistant" && m.Role != "system" {
			return invalid("messages.%d.role: Input should be 'user' or 'assistant'", i)
		}
		if emit.Absent(m.Content) {
			return invalid("messages.%d.content: Field required", i)
		}
		if m.blocks, ok = blocks(m.Content); !ok {
			return invalid("messages.%d.content: Input should be a valid list", i)
		}
		if len(m.blocks) == 0 && m.Role != "system" && i < len(q.Messages)-1 {
			return invalid("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		for j := range m.blocks {
			b := &m.blocks[j]
			if b.nested, ok = blocks(b.Content); b.Type == "tool_result" && !ok {
				return invalid("messages.%d.content.%d.tool_result.content: Input should be a valid list", i, j)
			}
		}
	}
	return nil
}

// blocks reads content: nothing, a string that is one text block, or a list.
func blocks(content jsontext.Value) ([]block, bool) {
	if emit.Absent(content) {
		return nil, true
	}
	if content.Kind() == '"' {
		one := block{Type: "text"}
		if json.Unmarshal(content, &one.Text) != nil {
			return nil, false
		}
		if one.Text == "" {
			return nil, true
		}
		return []block{one}, true
	}
	var list []block
	err := json.Unmarshal(content, &list)
	return list, err == nil
}

func invalid(format string, args ...any) *refusal.Refusal {
	return refusal.Invalid("", "", format, args...)
}

// attribution tells whether a system block is the client's own line about
// itself, which the provider keeps out of its cache.
func attribution(b *block) bool { return strings.HasPrefix(b.Text, "x-anthropic-billing-header:") }
