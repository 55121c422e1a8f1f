package chat

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/answer"
	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/prompt"
)

// extended is how long "prompt_cache_retention": "24h" keeps a prefix.
const extended = 24 * time.Hour

// Write puts the prompt into its canonical form: tools, the answer's schema,
// messages.
func (q *Request) Write(p *prompt.Prefix) {
	for _, t := range q.Tools {
		p.Turn("tool")
		p.Text(string(emit.Compact(t)))
	}
	if schema := q.ResponseFormat.JSONSchema.Schema; !emit.Absent(schema) {
		p.Turn("schema")
		p.Text(string(emit.Compact(schema)))
	}
	for i := range q.Messages {
		q.Messages[i].write(p)
	}
	var ttl time.Duration
	if q.CacheRetention == "24h" {
		ttl = extended
	}
	p.Auto(ttl)
}

func (m *message) write(p *prompt.Prefix) {
	p.Turn(m.Role)
	if m.ToolCallID != "" {
		p.Result(m.ToolCallID)
	}
	for _, part := range m.parts {
		switch part.Type {
		case "text":
			p.Text(part.Text)
		case "refusal":
			p.Text(part.Refusal)
		default:
			p.Media(string(part.Medium))
		}
	}
	for _, c := range m.ToolCalls {
		p.Call(c.ID, c.Function.Name, c.Function.Arguments)
	}
}

// Extend writes the answer as the next request will repeat it.
func (q *Request) Extend(p *prompt.Prefix, r *answer.Reply) {
	p.Turn("assistant")
	if r.Text != "" {
		p.Text(r.Text)
	}
	for _, c := range r.Calls {
		p.Call(c.ID, c.Name, c.Arguments)
	}
}

// Ask is what decides the answer.
func (q *Request) Ask() answer.Ask {
	ask := answer.Ask{
		Single:    q.Parallel != nil && !*q.Parallel,
		JSON:      q.ResponseFormat.Type == "json_schema" || q.ResponseFormat.Type == "json_object",
		Schema:    q.ResponseFormat.JSONSchema.Schema,
		MaxTokens: max(q.MaxTokens, q.MaxCompletionTokens),
		Stops:     stops(q.Stop),
		Reason:    q.ReasoningEffort != "" && q.ReasoningEffort != "none",
	}
	for _, raw := range q.Tools {
		if t, ok := function(raw); ok {
			ask.Tools = append(ask.Tools, t)
		}
	}
	ask.Force, ask.Named = choice(q.ToolChoice)
	ask.Last, ask.User = q.last()
	return ask
}

// last is the text of the last turn that is not the system's.
func (q *Request) last() (text string, user bool) {
	for i := len(q.Messages) - 1; i >= 0; i-- {
		m := &q.Messages[i]
		if m.Role == "system" || m.Role == "developer" {
			continue
		}
		var texts []string
		for _, part := range m.parts {
			texts = append(texts, part.Text)
		}
		return strings.Join(texts, "\n"), m.Role == "user"
	}
	return "", false
}

func function(raw jsontext.Value) (answer.Tool, bool) {
	var t struct {
		Type     string `json:"type"`
		Function struct {
			Name       string         `json:"name"`
			Parameters jsontext.Value `json:"parameters"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &t) != nil || t.Type != "function" {
		return answer.Tool{}, false
	}
	return answer.Tool{Name: t.Function.Name, Schema: t.Function.Parameters}, true
}

// choice reads tool_choice: a word, or an object that names a function.
func choice(raw jsontext.Value) (answer.Force, string) {
	if emit.Absent(raw) {
		return answer.Auto, ""
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case "none":
			return answer.None, ""
		case "required":
			return answer.Any, ""
		}
		return answer.Auto, ""
	}
	var named struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &named) == nil && named.Function.Name != "" {
		return answer.Named, named.Function.Name
	}
	return answer.Auto, ""
}

// stops reads one stop sequence or several.
func stops(raw jsontext.Value) []string {
	if emit.Absent(raw) {
		return nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var several []string
	if json.Unmarshal(raw, &several) != nil {
		return nil
	}
	return several
}
