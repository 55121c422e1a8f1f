package responses

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/answer"
	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/prompt"
)

// extended is how long "prompt_cache_retention": "24h" keeps a prefix.
const extended = 24 * time.Hour

// textFormat is the part of "text" that decides the answer.
type textFormat struct {
	Format struct {
		Type   string         `json:"type"`
		Schema jsontext.Value `json:"schema"`
	} `json:"format"`
}

// thinking is the part of "reasoning" that decides the answer.
type thinking struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
}

// Write puts the prompt into its canonical form: tools, the answer's schema,
// instructions, history, input.
func (q *Request) Write(p *prompt.Prefix) {
	for _, t := range q.tools {
		p.Turn("tool")
		p.Text(string(t))
	}
	if schema := q.format().Format.Schema; !emit.Absent(schema) {
		p.Turn("schema")
		p.Text(string(schema))
	}
	if !emit.Absent(q.Instructions) {
		p.Turn("instructions")
		p.Text(text(q.Instructions))
	}
	for _, it := range q.all() {
		it.write(p)
	}
	var ttl time.Duration
	if q.Retention == "24h" {
		ttl = extended
	}
	p.Auto(ttl)
}

// Extend writes the answer as the next request will repeat it.
func (q *Request) Extend(p *prompt.Prefix, r *answer.Reply) {
	for _, it := range q.kept(r) {
		it.write(p)
	}
}

// Ask is what decides the answer.
func (q *Request) Ask() answer.Ask {
	format := q.format().Format
	ask := answer.Ask{
		Single: q.Parallel != nil && !*q.Parallel,
		JSON:   format.Type == "json_schema" || format.Type == "json_object",
		Schema: format.Schema,
		Reason: q.reasons(),
	}
	if q.MaxTokens != nil {
		ask.MaxTokens = *q.MaxTokens
	}
	for _, raw := range q.tools {
		var t struct {
			Type       string         `json:"type"`
			Name       string         `json:"name"`
			Parameters jsontext.Value `json:"parameters"`
		}
		if json.Unmarshal(raw, &t) == nil && t.Type == "function" {
			ask.Tools = append(ask.Tools, answer.Tool{Name: t.Name, Schema: t.Parameters})
		}
	}
	ask.Force, ask.Named = choice(q.ToolChoice)
	ask.Last, ask.User = q.last()
	return ask
}

func (q *Request) format() textFormat {
	var f textFormat
	if !emit.Absent(q.Text) && json.Unmarshal(q.Text, &f) != nil {
		return textFormat{}
	}
	return f
}

func (q *Request) thinking() thinking {
	var t thinking
	if !emit.Absent(q.Reasoning) && json.Unmarshal(q.Reasoning, &t) != nil {
		return thinking{}
	}
	return t
}

// encrypts tells whether the client asked for encrypted reasoning.
func (q *Request) encrypts() bool { return slices.Contains(q.Include, "reasoning.encrypted_content") }

// reasons tells whether the answer begins with reasoning: when the request
// mentions it in any way and does not switch it off.
func (q *Request) reasons() bool {
	return q.thinking().Effort != "none" && (!emit.Absent(q.Reasoning) || q.encrypts())
}

// last is the text of the last item that is neither the system's nor reasoning.
func (q *Request) last() (string, bool) {
	all := q.all()
	for i := len(all) - 1; i >= 0; i-- {
		switch it := all[i]; it.Type {
		case "message":
			if it.Role != "system" && it.Role != "developer" {
				return text(it.Content), it.Role == "user"
			}
		case "function_call_output", "custom_tool_call_output":
			return text(it.Output), false
		}
	}
	return "", false
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
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &named) == nil && named.Name != "" {
		return answer.Named, named.Name
	}
	return answer.Auto, ""
}
