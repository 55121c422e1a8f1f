// Package responses is the Responses codec of the simulated accounts, together
// with what such an account remembers: stored responses and their items.
//
// Account-bound things work here and nowhere else: previous_response_id,
// item references, encrypted reasoning and compaction items of another account
// are refused with the real endpoint's codes.
//
// Concurrency: a Request belongs to one goroutine, a Memory to all.
package responses

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/refusal"
)

// Request is one parsed request, its history included.
type Request struct {
	wire
	history []*item // what previous_response_id or conversation stands for
	fresh   []*item // the input itself, references resolved
	tools   []jsontext.Value
	memory  *Memory
	out     []made // the answer's items, once it is known
}

type wire struct {
	Model        string           `json:"model"`
	Input        jsontext.Value   `json:"input"`
	Instructions jsontext.Value   `json:"instructions"`
	Tools        []jsontext.Value `json:"tools"`
	ToolChoice   jsontext.Value   `json:"tool_choice"`
	Parallel     *bool            `json:"parallel_tool_calls"`
	Streaming    bool             `json:"stream"`
	Store        *bool            `json:"store"`
	Background   bool             `json:"background"`
	Previous     string           `json:"previous_response_id"`
	Conversation jsontext.Value   `json:"conversation"`
	Include      []string         `json:"include"`
	MaxTokens    *int             `json:"max_output_tokens"`
	Reasoning    jsontext.Value   `json:"reasoning"`
	Text         jsontext.Value   `json:"text"`
	Metadata     jsontext.Value   `json:"metadata"`
	Temperature  jsontext.Value   `json:"temperature"`
	TopP         jsontext.Value   `json:"top_p"`
	Truncation   string           `json:"truncation"`
	CacheKey     string           `json:"prompt_cache_key"`
	Retention    string           `json:"prompt_cache_retention"`
	User         string           `json:"user"`
	Safety       string           `json:"safety_identifier"`
}

// item is one input or output item: the members that matter, and all of it.
type item struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Role      string         `json:"role"`
	Content   jsontext.Value `json:"content"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Arguments string         `json:"arguments"`
	Input     jsontext.Value `json:"input"`
	Output    jsontext.Value `json:"output"`
	Encrypted string         `json:"encrypted_content"`

	raw jsontext.Value
}

// sealed purposes of this protocol.
const (
	reasoningSeal  = "reasoning"
	compactionSeal = "compaction"
)

// Parse reads a request body and resolves what it refers to in the account's
// memory. On a refusal what could be read is still there.
func Parse(body []byte, memory *Memory) (*Request, *refusal.Refusal) {
	q := &Request{memory: memory}
	if err := json.Unmarshal(body, &q.wire); err != nil {
		return q, refusal.Body(err)
	}
	if r := q.required(); r != nil {
		return q, r
	}
	for _, t := range q.Tools {
		q.tools = append(q.tools, emit.Compact(t))
	}
	for _, v := range []*jsontext.Value{&q.Instructions, &q.ToolChoice, &q.Reasoning, &q.Text, &q.Metadata} {
		if !emit.Absent(*v) {
			*v = emit.Compact(*v)
		}
	}
	if r := q.resolve(); r != nil {
		return q, r
	}
	return q, memory.paired(q.fresh)
}

// ModelName is the model that is asked for.
func (q *Request) ModelName() string { return q.Model }

// Streams tells whether events are wanted.
func (q *Request) Streams() bool { return q.Streaming }

// Stored tells whether the account keeps the answer; the default is yes.
func (q *Request) Stored() bool { return q.Store == nil || *q.Store }

func (q *Request) required() *refusal.Refusal {
	switch {
	case q.Model == "":
		return refusal.Invalid("model", "missing_required_parameter", "Missing required parameter: 'model'.")
	case emit.Absent(q.Input) && q.Previous == "" && emit.Absent(q.Conversation):
		return refusal.Invalid("input", "missing_required_parameter", "Missing required parameter: 'input'.")
	case q.MaxTokens != nil && *q.MaxTokens < 1:
		return refusal.Invalid("max_output_tokens", "integer_below_min_value", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 1.")
	case q.Background && !q.Stored():
		return refusal.Invalid("background", "", "Background mode requires 'store' to be true.")
	case q.Previous != "" && !emit.Absent(q.Conversation):
		return refusal.Invalid("previous_response_id", "mutually_exclusive_parameters", "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.")
	case !emit.Absent(q.Instructions) && q.Instructions.Kind() != '"':
		return refusal.Invalid("instructions", "invalid_type", "Invalid type for 'instructions': expected a string.")
	}
	return nil
}

// resolve reads the history and the input, and checks every item.
func (q *Request) resolve() *refusal.Refusal {
	var r *refusal.Refusal
	if q.Previous != "" {
		if q.history, r = q.memory.previous(q.Previous); r != nil {
			return r
		}
	}
	if !emit.Absent(q.Conversation) {
		if q.history, r = q.memory.conversation(conversationID(q.Conversation)); r != nil {
			return r
		}
	}
	if q.fresh, r = q.input(); r != nil {
		return r
	}
	return q.pairs()
}

// input reads the new items: a string is one user message.
func (q *Request) input() ([]*item, *refusal.Refusal) {
	switch {
	case emit.Absent(q.Input):
		return nil, nil
	case q.Input.Kind() == '"':
		raw := append(append([]byte(`{"type":"message","role":"user","content":`), q.Input...), '}')
		it, r := q.memory.item(raw, 0)
		return []*item{it}, r
	case q.Input.Kind() != '[':
		return nil, refusal.Invalid("input", "invalid_type", "Invalid type for 'input': expected one of a string or array of input items.")
	}
	var raws []jsontext.Value
	if err := json.Unmarshal(q.Input, &raws); err != nil {
		return nil, refusal.Body(err)
	}
	items := make([]*item, 0, len(raws))
	for i, raw := range raws {
		it, r := q.memory.item(raw, i)
		if r != nil {
			return nil, r
		}
		items = append(items, it)
	}
	return items, nil
}

// pairs checks that every call has a result and every result a call. Only the
// calls of this conversation's tools are checked; other items come and go.
func (q *Request) pairs() *refusal.Refusal {
	open, order := map[string]bool{}, []string(nil)
	for _, it := range q.all() {
		switch it.Type {
		case "function_call", "custom_tool_call":
			open[it.CallID] = true
			order = append(order, it.CallID)
		case "function_call_output", "custom_tool_call_output":
			if _, called := open[it.CallID]; !called {
				return refusal.Invalid("input", "", "No tool call found for function call output with call_id %s.", it.CallID)
			}
			open[it.CallID] = false
		}
	}
	for _, id := range order {
		if open[id] {
			return refusal.Invalid("input", "", "No tool output found for function call %s.", id)
		}
	}
	return nil
}

// all is the history and the input.
func (q *Request) all() []*item {
	if len(q.history) == 0 {
		return q.fresh
	}
	return append(q.history[:len(q.history):len(q.history)], q.fresh...)
}

// conversationID reads a conversation given by its id or as an object.
func conversationID(v jsontext.Value) string {
	var id string
	if json.Unmarshal(v, &id) == nil {
		return id
	}
	var object struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(v, &object) != nil {
		return ""
	}
	return object.ID
}
