package messages

import (
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// WriteDialog writes a dialog as a body for a deployment of this protocol.
// dropped is d.Dropped and what is left out here, by the client's names:
//
//	seed, presence_penalty, frequency_penalty, verbosity,
//	prompt_cache_key, metadata                   this protocol has none
//	service_tier other than auto and default     it has no such tiers
//	user longer than 256 bytes                   beyond the provider's bound
//	names of speakers, an image's detail         it has none
//	json_object                                  there is no such format; the conversation asks for JSON, as that format demands
//	reasoning of earlier answers                 it counts with its signature only
//	cache_control beyond four                    the provider's bound
//	blank stop sequences                         refused by the provider
//	reasoning_effort                             where thinking is refused: a tool must be called, an open turn with tools has no
//	                                             signed thinking to begin with, the last message is to be continued, or half of
//	                                             max_tokens is less than the smallest budget
//	temperature, top_p, top_k                    where the model refuses them: beside thinking, top_p beside temperature, all from
//	                                             Claude 4.7 on
//
// Changed: max_tokens is set where the client has not (see maxTokens); a
// temperature above 1 is 1, and noted; an effort is output_config.effort with
// adaptive thinking from Claude 4.6 on, before it and for imitators a thinking
// budget (minimal 1024, low 2048, medium 8192, high 16384, xhigh 32768, max 65536
// tokens); the opening's system and developer messages are system, later ones stay
// in place from Claude 4.6 on and join system before it; messages of one speaker
// in a row become one, tool results first; blank texts are left out; ids of calls
// keep only the characters that are allowed; a free-text tool takes {"input":
// text}, see wire.WrapFreeform.
//
// Refused (capability_missing): sound, documents other than PDF and plain text,
// file ids of another protocol's client.
func WriteDialog(d *wire.Dialog) (body []byte, dropped []string, _ *wire.Problem) {
	w := &writer{d: d, dropped: append([]string(nil), d.Dropped...), version: generation(d.Model), limit: maxTokens(d), native: d.Client == wire.Messages}
	system, turns := w.turns()
	if len(turns) == 0 {
		return nil, nil, wire.Malformed(d.Named("messages", "input", "messages"), "a conversation with something in it besides the system prompt")
	}
	w.plan(turns)
	w.Object().Name("model").Text(d.Model).Name("max_tokens").Int(w.limit)
	w.tools()
	if len(system) > 0 {
		w.Name("system")
		w.blocks(system)
	}
	w.Name("messages").Array()
	for _, t := range turns {
		w.Object().Name("role").Text(string(t.role)).Name("content")
		w.blocks(t.parts)
		w.End()
	}
	w.Close()
	w.sampling()
	w.thinking()
	w.filing()
	if d.Stream {
		w.Name("stream").Bool(true)
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
	version int   // see generation
	limit   int64 // max_tokens
	native  bool  // the client speaks this protocol: what it says stands
	budget  int64 // of thinking; 0: none
	adapt   bool  // thinking is adaptive
	effort  string
	caches  int
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

// plan decides how the model is to think.
func (w *writer) plan(turns []turn) {
	d := w.d
	if w.native {
		w.adapt, w.budget, w.effort = d.ThinkingAuto, d.ThinkingBudget, d.Effort
		return
	}
	wanted := d.ThinkingBudget > 0 || d.Effort != "" && d.Effort != "none"
	if d.ThinkingOff || !wanted {
		return
	}
	last := turns[len(turns)-1]
	forced := d.Choice.Mode == "required" || d.Choice.Mode == "tool"
	if w.version >= adapts && d.ThinkingBudget == 0 {
		w.effort = effortOf(d.Effort, w.version)
		w.adapt = !forced && w.effort != ""
	} else if w.version >= thinks || w.version == imitator {
		if w.budget = budgetOf(d.Effort, w.limit); d.ThinkingBudget > 0 {
			w.budget = min(d.ThinkingBudget, w.limit/2)
		}
		if w.budget < 1024 || forced || last.role == wire.Assistant || last.answersTools() {
			w.budget = 0
		}
	}
	if w.budget == 0 && w.effort == "" {
		w.drop("reasoning_effort", "reasoning.effort", "thinking")
	}
}

// tools writes what may be called and whether it must.
func (w *writer) tools() {
	if len(w.d.Tools) == 0 {
		return
	}
	w.Name("tools").Array()
	for _, tool := range w.d.Tools {
		w.tool(tool)
	}
	w.Close()
	kind := w.d.Choice.Mode
	single := w.d.Parallel != nil && !*w.d.Parallel
	switch {
	case kind == "" && w.d.Parallel == nil:
		return
	case kind == "":
		kind = "auto"
	case kind == "required":
		kind = "any"
	}
	w.Name("tool_choice").Object().Name("type").Text(kind)
	if kind == "tool" {
		w.Name("name").Text(w.d.Choice.Name)
	}
	if w.d.Parallel != nil && kind != "none" {
		w.Name("disable_parallel_tool_use").Bool(single)
	}
	w.End()
}

func (w *writer) tool(tool wire.Tool) {
	description, schema := tool.Description, []byte(tool.Schema)
	if tool.Custom {
		schema = []byte(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`)
		if kind, definition := tool.Syntax(); definition != "" {
			description = strings.TrimSpace(description + "\n\nThe input must match this " + kind + " grammar:\n" + definition)
		}
	}
	if schema == nil {
		schema = []byte(`{"type":"object","properties":{}}`)
	}
	w.Object().Name("name").Text(tool.Name)
	if description != "" {
		w.Name("description").Text(description)
	}
	w.Name("input_schema").Raw(schema)
	if tool.Strict != nil {
		w.Name("strict").Bool(*tool.Strict)
	}
	w.cache(tool.Cache)
	w.End()
}

// cache writes a cache marker, where there is one and it is not one too many.
func (w *writer) cache(marker []byte) {
	if marker == nil {
		return
	}
	if w.caches++; w.caches > 4 {
		w.drop("cache_control", "cache_control", "cache_control")
		return
	}
	w.Name("cache_control").Raw(marker)
}

// maxUser bounds the end user's name, in bytes.
const maxUser = 256

// filing writes who asks and on which terms, and notes what has no place here.
func (w *writer) filing() {
	d := w.d
	if d.User != "" && (len(d.User) <= maxUser || w.native) {
		w.Name("metadata").Object().Name("user_id").Text(d.User).End()
	} else if d.User != "" {
		w.drop("user", "user", "metadata.user_id")
	}
	switch d.Tier {
	case "":
	case "auto":
		w.Name("service_tier").Text("auto")
	case "default":
		w.Name("service_tier").Text("standard_only")
	default:
		w.drop("service_tier", "service_tier", "service_tier")
	}
	for _, row := range [...]struct {
		name, responses string
		given           bool
	}{
		{"seed", "seed", d.Seed != nil},
		{"presence_penalty", "presence_penalty", d.PresencePenalty != nil},
		{"frequency_penalty", "frequency_penalty", d.FrequencyPenalty != nil},
		{"verbosity", "text.verbosity", d.Verbosity != ""},
		{"prompt_cache_key", "prompt_cache_key", d.CacheKey != ""},
		{"metadata", "metadata", d.Metadata != nil},
	} {
		if row.given {
			w.drop(row.name, row.responses, row.name)
		}
	}
}
