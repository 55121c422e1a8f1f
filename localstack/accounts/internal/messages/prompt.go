package messages

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/answer"
	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/prompt"
)

// Write puts the prompt into its canonical form: tools, the answer's schema,
// system, messages. Markers say what is cached; without any, everything is.
func (q *Request) Write(p *prompt.Prefix) {
	for i := range q.Tools {
		p.Turn("tool")
		p.Text(string(emit.Compact(q.Tools[i].Rest)))
		q.Tools[i].CacheControl.write(p)
	}
	if schema := q.OutputConfig.Format.Schema; !emit.Absent(schema) {
		p.Turn("schema")
		p.Text(string(emit.Compact(schema)))
	}
	if len(q.system) > 0 {
		p.Turn("system")
		for i := range q.system {
			if !attribution(&q.system[i]) {
				q.system[i].write(p)
			}
		}
	}
	for i := range q.Messages {
		p.Turn(q.Messages[i].Role)
		for j := range q.Messages[i].blocks {
			q.Messages[i].blocks[j].write(p)
		}
	}
	switch {
	case q.CacheControl != nil:
		p.Auto(q.CacheControl.ttl())
	case p.Marks() == 0:
		p.Auto(0)
	}
}

// write puts a block into its canonical form. Thinking leaves no trace: the
// provider drops the thoughts of earlier turns.
func (b *block) write(p *prompt.Prefix) {
	switch b.Type {
	case "text":
		p.Text(b.Text)
	case "tool_use":
		p.Call(b.ID, b.Name, string(b.Input))
	case "tool_result":
		p.Result(b.ToolUseID)
		if b.IsError {
			p.Turn("error")
		}
		for i := range b.nested {
			b.nested[i].write(p)
		}
	case "thinking", "redacted_thinking":
	default:
		p.Media(string(b.Rest))
	}
	b.CacheControl.write(p)
}

func (m *marker) write(p *prompt.Prefix) {
	if m != nil {
		p.Mark(m.ttl())
	}
}

// ttl is the marker's time, 0 for the account's own.
func (m *marker) ttl() time.Duration {
	if m.TTL == "1h" {
		return prompt.Long
	}
	return 0
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
	format := q.OutputConfig.Format
	ask := answer.Ask{
		Single: q.ToolChoice.Single,
		JSON:   format.Type == "json_schema",
		Schema: format.Schema,
		Stops:  q.Stops,
		Reason: q.reasons(),
	}
	if q.MaxTokens != nil {
		ask.MaxTokens = *q.MaxTokens
	}
	for i := range q.Tools {
		var t struct {
			Name   string         `json:"name"`
			Schema jsontext.Value `json:"input_schema"`
		}
		// A tool without a schema is the provider's own; nobody here runs it.
		if json.Unmarshal(q.Tools[i].Rest, &t) == nil && !emit.Absent(t.Schema) {
			ask.Tools = append(ask.Tools, answer.Tool{Name: t.Name, Schema: t.Schema})
		}
	}
	switch q.ToolChoice.Type {
	case "none":
		ask.Force = answer.None
	case "any":
		ask.Force = answer.Any
	case "tool":
		ask.Force, ask.Named = answer.Named, q.ToolChoice.Name
	}
	ask.Last, ask.User = q.last()
	return ask
}

// reasons tells whether the answer begins with thinking.
func (q *Request) reasons() bool {
	return q.Thinking.Type == "enabled" || q.Thinking.Type == "adaptive"
}

// last is the text of the last turn that is not the system's. A turn that
// brings tool results is not the user's own.
func (q *Request) last() (string, bool) {
	for i := len(q.Messages) - 1; i >= 0; i-- {
		m := &q.Messages[i]
		if m.Role == "system" {
			continue
		}
		var texts []string
		own := m.Role == "user"
		for j := range m.blocks {
			b := &m.blocks[j]
			if b.Type == "tool_result" {
				own = false
				for k := range b.nested {
					texts = append(texts, b.nested[k].Text)
				}
			}
			texts = append(texts, b.Text)
		}
		return strings.TrimSpace(strings.Join(texts, "\n")), own
	}
	return "", false
}
