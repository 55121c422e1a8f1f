package responses

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// composed is a body in the order in which it is written.
type composed struct {
	Model       string         `json:"model"`
	Input       []inputItem    `json:"input"`
	Tools       []tool         `json:"tools,omitzero"`
	ToolChoice  any            `json:"tool_choice,omitzero"`
	Parallel    *bool          `json:"parallel_tool_calls,omitzero"`
	Text        *textOptions   `json:"text,omitzero"`
	Reasoning   *thinking      `json:"reasoning,omitzero"`
	MaxTokens   int64          `json:"max_output_tokens,omitzero"`
	Temperature *float64       `json:"temperature,omitzero"`
	TopP        *float64       `json:"top_p,omitzero"`
	Metadata    jsontext.Value `json:"metadata,omitzero"`
	CacheKey    string         `json:"prompt_cache_key,omitzero"`
	User        string         `json:"safety_identifier,omitzero"`
	Tier        string         `json:"service_tier,omitzero"`
	Store       bool           `json:"store"`
	Stream      bool           `json:"stream,omitzero"`
}

type textOptions struct {
	Format    *format `json:"format,omitzero"`
	Verbosity string  `json:"verbosity,omitzero"`
}

type thinking struct {
	Effort  string `json:"effort,omitzero"`
	Summary string `json:"summary,omitzero"`
}

// minOutputTokens is the least max_output_tokens that the API takes.
const minOutputTokens = 16

// WriteDialog writes a request of this protocol. Nothing of it is stored at the
// provider: whoever asks by another protocol has not asked for that. What cannot
// be said here comes back by name: stop sequences, seed, top_k, penalties,
// cache markers.
func WriteDialog(d *wire.Dialog) (body []byte, dropped []string, _ *wire.Problem) {
	out := composed{
		Model: d.Model, Parallel: d.Parallel, Temperature: d.Temperature, TopP: d.TopP,
		Metadata: jsontext.Value(d.Metadata), CacheKey: d.CacheKey, User: user(d.User), Tier: d.Tier, Stream: d.Stream,
		Input: make([]inputItem, 0, len(d.Messages)),
	}
	if d.MaxTokens > 0 {
		out.MaxTokens = max(d.MaxTokens, minOutputTokens)
	}
	for i := range d.Messages {
		out.Input = appendItems(out.Input, &d.Messages[i])
	}
	out.Tools, out.ToolChoice = tools(d), toolChoice(d)
	out.Text, out.Reasoning = texts(d), reasoning(d)
	body, err := json.Marshal(out, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, nil, wire.Refuse(wire.InvalidRequest)
	}
	return body, unsaid(d), nil
}

// unsaid lists what of a dialog this protocol has no member for.
func unsaid(d *wire.Dialog) (names []string) {
	for _, m := range [...]struct {
		name string
		lost bool
	}{
		{d.Named("stop", "stop", "stop_sequences"), len(d.Stop) > 0}, {"seed", d.Seed != nil}, {"top_k", d.TopK != nil},
		{"presence_penalty", d.PresencePenalty != nil}, {"frequency_penalty", d.FrequencyPenalty != nil},
		{d.Named("user", "user", "metadata.user_id"), len(d.User) > maxUser},
		{d.Named("reasoning_effort", "reasoning.effort", "thinking"), d.ThinkingOff && d.Effort == ""},
		{"cache_control", marked(d)}, {"messages.name", named(d)},
	} {
		if m.lost {
			names = wire.Note(names, m.name)
		}
	}
	return names
}

// maxUser is how long the name of an end user may be, in bytes. Longer ones are
// records of device and session, which are nobody else's business.
const maxUser = 64

// user is the end user's name, "" where it is none.
func user(name string) string {
	if len(name) > maxUser {
		return ""
	}
	return name
}

// named reports whether a message says who of several speaks.
func named(d *wire.Dialog) bool {
	return slices.ContainsFunc(d.Messages, func(m wire.Message) bool { return m.Name != "" })
}

// marked reports whether the client has placed cache markers.
func marked(d *wire.Dialog) bool {
	return slices.ContainsFunc(d.Tools, func(t wire.Tool) bool { return t.Cache != nil }) ||
		slices.ContainsFunc(d.Messages, func(m wire.Message) bool {
			return slices.ContainsFunc(m.Parts, func(p wire.Part) bool { return p.Cache != nil })
		})
}

func tools(d *wire.Dialog) []tool {
	var out []tool
	for i := range d.Tools {
		t := &d.Tools[i]
		if t.Custom {
			out = append(out, tool{Type: "custom", Name: t.Name, Description: t.Description, Format: grammar(t)})
			continue
		}
		strict, schema := t.Strict, jsontext.Value(t.Schema)
		if strict == nil { // said outright: the API takes silence for strict, other protocols for the contrary
			strict = new(bool)
		}
		if schema == nil {
			schema = jsontext.Value(`{"type":"object","properties":{}}`)
		}
		out = append(out, tool{Type: "function", Name: t.Name, Description: t.Description, Parameters: schema, Strict: strict})
	}
	return out
}

// toolChoice is a word, a tool's name with its kind, or nil.
func toolChoice(d *wire.Dialog) any {
	switch {
	case d.Choice.Mode == "" || len(d.Tools) == 0:
		return nil
	case d.Choice.Mode != "tool":
		return d.Choice.Mode
	case slices.ContainsFunc(d.Tools, func(t wire.Tool) bool { return t.Custom && t.Name == d.Choice.Name }):
		return choice{Type: "custom", Name: d.Choice.Name}
	}
	return choice{Type: "function", Name: d.Choice.Name}
}

func texts(d *wire.Dialog) *textOptions {
	if d.Format == nil && d.Verbosity == "" {
		return nil
	}
	out := &textOptions{Verbosity: d.Verbosity}
	if f := d.Format; f != nil && f.Schema == nil {
		out.Format = &format{Type: "json_object"}
	} else if f != nil {
		strict := f.Strict
		if strict == nil && d.Client == wire.Messages && wire.Strictly(jsonedit.Read(f.Schema)) { // it binds there
			yes := true
			strict = &yes
		}
		out.Format = &format{Type: "json_schema", Name: formatName(f.Name), Description: f.Description,
			Schema: jsontext.Value(f.Schema), Strict: strict}
	}
	return out
}

// formatName is a schema's name, which this protocol demands and others do
// without.
func formatName(name string) string {
	if name == "" {
		return "answer"
	}
	return name
}

// reasoning says how hard to think. A summary is asked for only where the client
// has asked: providers refuse it to accounts that they have not verified. That
// nothing is to be thought is said only in the client's own word for it, since
// models that cannot think, or always do, refuse to be told.
func reasoning(d *wire.Dialog) *thinking {
	effort := d.Effort
	switch {
	case effort == "max":
		effort = "xhigh"
	case effort == "" && d.ThinkingBudget > 0:
		effort = effortOf(d.ThinkingBudget)
	}
	if effort == "" && d.Summary == "" {
		return nil
	}
	return &thinking{Effort: effort, Summary: d.Summary}
}

// effortOf is the word for a budget of thinking, in tokens.
func effortOf(budget int64) string {
	switch {
	case budget <= 4096:
		return "low"
	case budget <= 12288:
		return "medium"
	}
	return "high"
}

// grammar is a free-text tool's format.
func grammar(t *wire.Tool) jsontext.Value {
	kind, definition := t.Syntax()
	if definition == "" {
		return jsontext.Value(t.Grammar)
	}
	var w jsonedit.Writer
	return w.Object().Name("type").Text("grammar").Name("syntax").Text(kind).Name("definition").Text(definition).End().Bytes()
}
