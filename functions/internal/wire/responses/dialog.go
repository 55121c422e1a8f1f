package responses

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// request is a body as far as its members can be put into the neutral form or
// must be known by name.
type request struct {
	Input        jsontext.Value `json:"input"`
	Instructions string         `json:"instructions"`

	Tools      []tool         `json:"tools"`
	ToolChoice jsontext.Value `json:"tool_choice"`
	Parallel   *bool          `json:"parallel_tool_calls"`

	Text struct {
		Format    *format `json:"format"`
		Verbosity string  `json:"verbosity"`
	} `json:"text"`
	Reasoning struct {
		Effort          string `json:"effort"`
		Summary         string `json:"summary"`
		GenerateSummary string `json:"generate_summary"` // the member's former name
	} `json:"reasoning"`

	MaxOutputTokens *float64       `json:"max_output_tokens"` // Facts.MaxTokens is what counts
	Temperature     *float64       `json:"temperature"`
	TopP            *float64       `json:"top_p"`
	Truncation      string         `json:"truncation"`
	Metadata        jsontext.Value `json:"metadata"`
	CacheKey        jsontext.Value `json:"prompt_cache_key"`
	SafetyID        string         `json:"safety_identifier"`
	User            string         `json:"user"`
	Tier            string         `json:"service_tier"`

	Conversation jsontext.Value `json:"conversation"`
	Prompt       jsontext.Value `json:"prompt"`

	Rest map[string]jsontext.Value `json:",embed"`
}

// format is text.format.
type format struct {
	Type        string         `json:"type"`
	Name        string         `json:"name,omitzero"`
	Description string         `json:"description,omitzero"`
	Schema      jsontext.Value `json:"schema,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
}

// ReadDialog reads a request into the neutral form. It refuses what only the
// account that made it could resolve: references to stored items, conversations
// and prompts, background work, compacted history.
func ReadDialog(f *wire.Facts) (*wire.Dialog, *wire.Problem) { return ReadDialogAfter(f, nil) }

// ReadDialogAfter is ReadDialog for a request that goes on from earlier turns:
// history is a JSON array of their input and output items, which come before the
// request's own. The request's instructions are its own; none are inherited.
func ReadDialogAfter(f *wire.Facts, history []byte) (*wire.Dialog, *wire.Problem) {
	var r request
	if err := json.Unmarshal(f.Body(), &r); err != nil {
		return nil, malformed("", err)
	}
	if p := r.bound(f); p != nil {
		return nil, p
	}
	d := &wire.Dialog{
		Client: wire.Responses, Model: f.Model, Stream: f.Stream, Parallel: r.Parallel,
		MaxTokens: f.MaxTokens, Temperature: r.Temperature, TopP: r.TopP,
		Effort: r.Reasoning.Effort, Summary: r.Reasoning.Summary, Verbosity: r.Text.Verbosity,
		User: r.User, Tier: r.Tier,
	}
	if r.CacheKey.Kind() == '"' { // a hint: what is none asks for nothing
		_ = json.Unmarshal(r.CacheKey, &d.CacheKey)
	}
	d.ThinkingOff = d.Effort == "none"
	if d.Summary == "" {
		d.Summary = r.Reasoning.GenerateSummary
	}
	if r.SafetyID != "" { // the later name of the same thing
		d.User = r.SafetyID
	}
	if r.Metadata.Kind() == '{' && len(r.Metadata) > 2 {
		d.Metadata = []byte(r.Metadata)
	}
	d.Format = r.Text.Format.neutral()
	if r.Instructions != "" {
		d.Messages = append(d.Messages, wire.Message{Role: wire.System, Parts: []wire.Part{{Kind: wire.Text, Text: r.Instructions}}})
	}
	in := intake{dialog: d}
	for _, from := range [...]struct {
		name  string
		items jsontext.Value
	}{{"history", history}, {"input", r.Input}} {
		if p := in.read(from.name, from.items); p != nil {
			return nil, p
		}
	}
	if p := r.offer(d); p != nil {
		return nil, p
	}
	r.drop(d)
	return d, nil
}

// bound refuses what is bound to the account behind another deployment.
func (r *request) bound(f *wire.Facts) *wire.Problem {
	for _, m := range [...]struct {
		name  string
		given bool
	}{
		{"background", f.Background},
		{"conversation", r.Conversation != nil && r.Conversation.Kind() != 'n'},
		{"prompt", r.Prompt != nil && r.Prompt.Kind() != 'n'},
	} {
		if m.given {
			return wire.Refuse(wire.CapabilityMissing).About(m.name).Saying("The deployments of this model cannot take " + m.name +
				": it needs a provider of the Responses API. Leave it out or use another model.")
		}
	}
	return nil
}

// drop notes the members that no other protocol has. What the gateway itself
// answers for (store, the parent, the stream's form) is not lost.
func (r *request) drop(d *wire.Dialog) {
	if r.Truncation == "auto" {
		d.Dropped = wire.Note(d.Dropped, "truncation")
	}
	var rest []string
	for name, value := range r.Rest {
		if !served(name) && jsonedit.Read(value).Filled() && string(value) != "0" {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	for _, name := range rest {
		d.Dropped = wire.Note(d.Dropped, name)
	}
}

func served(name string) bool {
	switch name {
	case "model", "stream", "store", "previous_response_id", "background", "stream_options",
		"session_id", "litellm_session_id", "disable_fallbacks":
		return true
	}
	return false
}

// neutral is the format in the neutral form; plain text is none.
func (f *format) neutral() *wire.Format {
	if f == nil || f.Type != "json_schema" && f.Type != "json_object" {
		return nil
	}
	return &wire.Format{Name: f.Name, Description: f.Description, Schema: given(f.Schema), Strict: f.Strict}
}

// malformed says which member is not of the form that the API gives it.
func malformed(under string, err error) *wire.Problem {
	fault := (*json.SemanticError)(nil)
	path := under
	if errors.As(err, &fault) {
		path = strings.Trim(under+"."+strings.ReplaceAll(strings.TrimPrefix(string(fault.JSONPointer), "/"), "/", "."), ".")
	}
	return wire.Refuse(wire.InvalidRequest).About(path).Saying(
		"A member of the request is not of the kind that the Responses API gives it. Correct the one that is named.")
}
