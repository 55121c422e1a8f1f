package chat

import (
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// WriteDialog writes a dialog as a body for a deployment of this protocol.
// dropped is d.Dropped and what is left out here, by the client's names:
//
//	top_k, metadata, reasoning summaries         this protocol has none
//	cache_control                                caching is the target's own affair
//	thinking: disabled                           targets that cannot think refuse to be told
//	user longer than 64 bytes                    beyond the provider's bound
//	verbosity, prompt_cache_key, service_tier    except to OpenAI's own models
//	an answer to be continued                    sent as it is, but most targets begin a new one (as messages.prefill)
//	reasoning of earlier answers                 except to families that want it back, within the open turn
//
// Changed: developer is system except to OpenAI's own models; max_tokens is
// max_completion_tokens there; texts of one system, assistant or tool message
// become one; a thinking budget becomes an effort (up to 4096 low, up to 12288
// medium, beyond high); a failed tool's text begins with "Error: "; media of
// tool results follow in a user message; a plain-text document is text under its
// name; a Messages client's JSON schema, which binds there, is strict if it is one
// that may be. Refused (capability_missing): file ids and document URLs of another
// protocol's client.
func WriteDialog(d *wire.Dialog) (body []byte, dropped []string, _ *wire.Problem) {
	w := &writer{d: d, dropped: append([]string(nil), d.Dropped...), openAI: ofOpenAI(d)}
	open := openTurn(d.Messages)
	w.Object().Name("model").Text(d.Model).Name("messages").Array()
	for i := range d.Messages {
		w.message(&d.Messages[i], i >= open)
	}
	w.flush()
	w.Close()
	w.prefill()
	w.limits()
	w.tools()
	w.thinking()
	w.format()
	w.filing()
	if d.Stream {
		w.Name("stream").Bool(true).Name("stream_options").Object().Name("include_usage").Bool(true).End()
	}
	w.End()
	if w.problem != nil {
		return nil, nil, w.problem
	}
	return w.Bytes(), w.dropped, nil
}

// writer is one writing of a dialog.
type writer struct {
	jsonedit.Writer
	d       *wire.Dialog
	dropped []string
	problem *wire.Problem
	openAI  bool        // one of OpenAI's own models, which know all members
	media   []wire.Part // of the tool results before, still to be shown
}

// drop notes what is left out, by the names that it has in each protocol.
func (w *writer) drop(chat, responses, messages string) {
	w.dropped = wire.Note(w.dropped, w.d.Named(chat, responses, messages))
}

// refuse keeps the first problem.
func (w *writer) refuse(what string) {
	if w.problem == nil {
		w.problem = wire.Untranslatable(w.d.Named("messages", "input", "messages"), what)
	}
}

// ofOpenAI reports whether the target is one of OpenAI's own models.
// Imitators of the protocol refuse what they do not know.
func ofOpenAI(d *wire.Dialog) bool {
	name := d.Model[strings.LastIndexByte(d.Model, '/')+1:]
	series := len(name) > 1 && name[0] == 'o' && name[1] >= '1' && name[1] <= '9'
	return d.Provider == "openai" || d.Provider == "azure" || series ||
		strings.Contains(name, "gpt-") && !strings.Contains(name, "gpt-oss")
}

// prefill notes that the client wants its last message continued.
func (w *writer) prefill() {
	if n := len(w.d.Messages); w.d.Client == wire.Messages && n > 0 && w.d.Messages[n-1].Role == wire.Assistant {
		w.dropped = wire.Note(w.dropped, "messages.prefill")
	}
}

// limits writes how long the answer may be and how it is drawn.
func (w *writer) limits() {
	if w.d.MaxTokens > 0 {
		name := "max_tokens"
		if w.openAI {
			name = "max_completion_tokens"
		}
		w.Name(name).Int(w.d.MaxTokens)
	}
	for _, row := range [...]struct {
		name  string
		value *float64
	}{
		{"temperature", w.d.Temperature}, {"top_p", w.d.TopP},
		{"presence_penalty", w.d.PresencePenalty}, {"frequency_penalty", w.d.FrequencyPenalty},
	} {
		if row.value != nil {
			w.Name(row.name).Float(*row.value)
		}
	}
	if w.d.Seed != nil {
		w.Name("seed").Int(*w.d.Seed)
	}
	if w.d.TopK != nil {
		w.drop("top_k", "top_k", "top_k")
	}
	if len(w.d.Stop) > 0 {
		w.Name("stop").Array()
		for _, stop := range w.d.Stop {
			w.Text(stop)
		}
		w.Close()
	}
}

// tools writes what may be called. A choice without tools would be refused.
func (w *writer) tools() {
	if len(w.d.Tools) == 0 {
		return
	}
	w.Name("tools").Array()
	for _, tool := range w.d.Tools {
		w.tool(tool)
	}
	w.Close()
	switch choice := w.d.Choice; choice.Mode {
	case "":
	case "tool":
		tool, _ := w.d.Tool(choice.Name)
		w.Name("tool_choice")
		w.named(tool.Custom).Name("name").Text(choice.Name).End().End()
	default:
		w.Name("tool_choice").Text(choice.Mode)
	}
	if w.d.Parallel != nil {
		w.Name("parallel_tool_calls").Bool(*w.d.Parallel)
	}
}

// named opens what stands for a tool: its kind and, under the kind's name, the
// rest.
func (w *writer) named(custom bool) *jsonedit.Writer {
	kind := "function"
	if custom {
		kind = "custom"
	}
	return w.Object().Name("type").Text(kind).Name(kind).Object()
}

func (w *writer) tool(tool wire.Tool) {
	w.named(tool.Custom).Name("name").Text(tool.Name)
	if tool.Description != "" {
		w.Name("description").Text(tool.Description)
	}
	if tool.Schema != nil {
		w.Name("parameters").Raw(tool.Schema)
	}
	if tool.Strict != nil {
		w.Name("strict").Bool(*tool.Strict)
	}
	if kind, definition := tool.Syntax(); definition != "" {
		w.Name("format").Object().Name("type").Text("grammar").Name("grammar").Object().
			Name("definition").Text(definition).Name("syntax").Text(kind).End().End()
	}
	w.cached(tool.Cache)
	w.End().End()
}

// cached notes a cache marker.
func (w *writer) cached(marker []byte) {
	if marker != nil {
		w.drop("cache_control", "cache_control", "cache_control")
	}
}

// thinking writes how much is to be thought.
func (w *writer) thinking() {
	effort := w.d.Effort
	switch budget := w.d.ThinkingBudget; {
	case effort != "" || budget <= 0:
	case budget <= 4096:
		effort = "low"
	case budget <= 12288:
		effort = "medium"
	default:
		effort = "high"
	}
	switch {
	case w.d.ThinkingOff:
		w.drop("reasoning_effort", "reasoning.effort", "thinking")
	case effort != "":
		w.Name("reasoning_effort").Text(effort)
	}
	if w.d.Summary != "" {
		w.drop("reasoning", "reasoning.summary", "thinking.display")
	}
	if w.d.Verbosity != "" && w.openAI {
		w.Name("verbosity").Text(w.d.Verbosity)
	} else if w.d.Verbosity != "" {
		w.drop("verbosity", "text.verbosity", "verbosity")
	}
}

// format writes the form of the answer's text. A schema needs a name.
func (w *writer) format() {
	f := w.d.Format
	switch {
	case f == nil:
		return
	case f.Schema == nil:
		w.Name("response_format").Object().Name("type").Text("json_object").End()
		return
	}
	name := f.Name
	if name == "" {
		name = "output"
	}
	w.Name("response_format").Object().Name("type").Text("json_schema").Name("json_schema").Object().Name("name").Text(name)
	if f.Description != "" {
		w.Name("description").Text(f.Description)
	}
	switch {
	case f.Strict != nil:
		w.Name("strict").Bool(*f.Strict)
	case w.d.Client == wire.Messages && wire.Strictly(jsonedit.Read(f.Schema)):
		w.Name("strict").Bool(true)
	}
	w.Name("schema").Raw(f.Schema).End().End()
}

// maxUser bounds the end user's name, in bytes. Longer ones are no names but
// records of device and session, which are nobody else's business.
const maxUser = 64

// filing writes who asks, and under what the request is filed.
func (w *writer) filing() {
	if w.d.User != "" && len(w.d.User) <= maxUser {
		w.Name("user").Text(w.d.User)
	} else if w.d.User != "" {
		w.drop("user", "user", "metadata.user_id")
	}
	if w.d.Metadata != nil {
		w.drop("metadata", "metadata", "metadata")
	}
	for _, row := range [...][2]string{{"prompt_cache_key", w.d.CacheKey}, {"service_tier", w.d.Tier}} {
		if row[1] != "" && w.openAI {
			w.Name(row[0]).Text(row[1])
		} else if row[1] != "" {
			w.drop(row[0], row[0], row[0])
		}
	}
}
