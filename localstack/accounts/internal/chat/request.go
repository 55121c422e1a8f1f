// Package chat is the Chat Completions codec of the simulated accounts.
//
// Parse accepts what the real endpoint accepts and refuses in its words what
// it refuses: unknown roles, tool results without a call, calls without a
// result. Unknown members are ignored. One choice only. Function tools can be
// called, other tools are part of the prompt.
//
// Concurrency: a Request belongs to one goroutine.
package chat

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/refusal"
)

// Request is one parsed request.
type Request struct{ wire }

type wire struct {
	Model         string           `json:"model"`
	Messages      []message        `json:"messages"`
	Tools         []jsontext.Value `json:"tools"`
	ToolChoice    jsontext.Value   `json:"tool_choice"`
	Parallel      *bool            `json:"parallel_tool_calls"`
	Streaming     bool             `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int            `json:"max_tokens"`
	MaxCompletionTokens int            `json:"max_completion_tokens"`
	ResponseFormat      format         `json:"response_format"`
	Stop                jsontext.Value `json:"stop"`
	ReasoningEffort     string         `json:"reasoning_effort"`
	N                   *int           `json:"n"`
	CacheRetention      string         `json:"prompt_cache_retention"`
}

type format struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Schema jsontext.Value `json:"schema"`
	} `json:"json_schema"`
}

type message struct {
	Role       string         `json:"role"`
	Content    jsontext.Value `json:"content"`
	ToolCalls  []toolCall     `json:"tool_calls"`
	ToolCallID string         `json:"tool_call_id"`

	parts []part
}

type toolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// part is a text, or a medium whose whole JSON stands for it.
type part struct {
	Type    string         `json:"type"`
	Text    string         `json:"text"`
	Refusal string         `json:"refusal"`
	Medium  jsontext.Value `json:",embed"`
}

// Parse reads a request body. On a refusal what could be read is still there.
func Parse(body []byte) (*Request, *refusal.Refusal) {
	q := &Request{}
	if err := json.Unmarshal(body, &q.wire); err != nil {
		return q, refusal.Body(err)
	}
	return q, q.check()
}

// ModelName is the model that is asked for.
func (q *Request) ModelName() string { return q.Model }

// Streams tells whether events are wanted.
func (q *Request) Streams() bool { return q.Streaming }

func (q *Request) check() *refusal.Refusal {
	switch {
	case q.Model == "":
		return refusal.Invalid("model", "missing_required_parameter", "you must provide a model parameter")
	case q.Messages == nil:
		return refusal.Invalid("messages", "missing_required_parameter", "Missing required parameter: 'messages'.")
	case len(q.Messages) == 0:
		return refusal.Invalid("messages", "empty_array", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	case q.N != nil && *q.N != 1:
		return refusal.Invalid("n", "integer_above_max_value", "Invalid 'n': this account makes one choice.")
	case q.MaxTokens < 0 || q.MaxCompletionTokens < 0:
		return refusal.Invalid("max_tokens", "integer_below_min_value", "Invalid 'max_tokens': integer below minimum value.")
	}
	for i := range q.Messages {
		if r := q.Messages[i].read(i); r != nil {
			return r
		}
	}
	return q.pairs()
}

// read takes a message's content apart.
func (m *message) read(i int) *refusal.Refusal {
	if !strings.Contains(" system developer user assistant tool function ", " "+m.Role+" ") {
		return refusal.Invalid("messages", "invalid_value", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'. (messages[%d].role)", m.Role, i)
	}
	if emit.Absent(m.Content) {
		if m.Role == "assistant" {
			return nil
		}
		return refusal.Invalid("messages", "invalid_type", "Invalid value for 'content': expected a string, got null. (messages[%d])", i)
	}
	var err error
	switch m.Content.Kind() {
	case '"':
		m.parts = []part{{Type: "text"}}
		err = json.Unmarshal(m.Content, &m.parts[0].Text)
	case '[':
		err = json.Unmarshal(m.Content, &m.parts)
	default:
		return refusal.Invalid("messages", "invalid_type", "Invalid type for 'messages[%d].content': expected one of a string or array of objects.", i)
	}
	if err != nil {
		return refusal.Invalid("messages", "invalid_type", "Invalid type for 'messages[%d].content'.", i)
	}
	return nil
}

// pairs checks that calls have their results at once, and results their calls.
func (q *Request) pairs() *refusal.Refusal {
	var open []string // calls of the last assistant message that wait
	called := map[string]bool{}
	for i, m := range q.Messages {
		if m.Role == "tool" {
			if !called[m.ToolCallID] {
				return refusal.Invalid("messages", "", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (messages[%d])", i)
			}
			open = without(open, m.ToolCallID)
			continue
		}
		if r := waiting(open); r != nil {
			return r
		}
		clear(called)
		for _, c := range m.ToolCalls {
			called[c.ID] = true
			open = append(open, c.ID)
		}
	}
	return waiting(open)
}

func waiting(open []string) *refusal.Refusal {
	if len(open) == 0 {
		return nil
	}
	return refusal.Invalid("messages", "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
}

func without(ids []string, id string) []string {
	for i := range ids {
		if ids[i] == id {
			return append(ids[:i], ids[i+1:]...)
		}
	}
	return ids
}
