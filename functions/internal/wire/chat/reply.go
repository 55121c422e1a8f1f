package chat

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// ReadReply reads a JSON answer into the neutral form: the first choice,
// reasoning before text before calls. It fails with wire.ErrAnswer as
// ReadResponse does, and where the answer tells of an error.
//
// Finish reasons: stop is StopEnd, or StopTool where tools were called after
// all, or StopRefusal beside a refusal; length and model_length are StopLength;
// tool_calls and function_call StopTool; content_filter StopFilter; words of
// imitators count as stop.
func ReadReply(body []byte, counting wire.Counting) (wire.Reply, error) {
	answer, err := ReadResponse(body, counting)
	if err != nil || answer.Status == wire.Failed {
		return wire.Reply{}, wire.ErrAnswer
	}
	v := jsonedit.Read(body)
	r := wire.Reply{ID: answer.ID, Model: answer.Model, Usage: answer.Usage, HasUsage: answer.HasUsage}
	r.Created, _ = v.Get("created").Int()
	choice := firstChoice(v.Get("choices"))
	message := choice.Get("message")
	r.Parts = said(message)
	for each := message.Get("tool_calls").Each(); each.Next() && len(r.Parts) < wire.MaxReplyParts; {
		if call, ok := toolCall(each.Value()); ok {
			if call.CallID == "" {
				call.CallID = newCallID()
			}
			r.Parts = append(r.Parts, call)
		}
	}
	r.Stop = stopOf(choice.Get("finish_reason"), r.Parts)
	return r, nil
}

// firstChoice is the choice with the index 0, or without any.
func firstChoice(choices jsonedit.Value) jsonedit.Value {
	for each := choices.Each(); each.Next(); {
		if n, ok := each.Value().Get("index").Int(); !ok || n == 0 {
			return each.Value()
		}
	}
	return jsonedit.Value{}
}

// said is the reasoning, the text and the refusal of a message.
func said(message jsonedit.Value) []wire.Part {
	thought, text := contentOf(message.Get("content"))
	if named := either(message.Get("reasoning_content"), message.Get("reasoning")).Text(); named != "" {
		thought = named
	}
	var parts []wire.Part
	for _, part := range [...]wire.Part{
		{Kind: wire.Reasoning, Text: thought}, {Kind: wire.Text, Text: text}, {Kind: wire.Refusal, Text: message.Get("refusal").Text()},
	} {
		if part.Text != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// contentOf is the content of a message or a delta: a string, or Mistral's
// chunks, among which there may be thinking.
func contentOf(v jsonedit.Value) (thought, text string) {
	if v.Kind() == '"' {
		return "", v.Text()
	}
	for each := v.Each(); each.Next(); {
		chunk := each.Value()
		text += chunk.Get("text").Text()
		for inner := chunk.Get("thinking").Each(); inner.Next(); {
			thought += inner.Value().Get("text").Text()
		}
	}
	return thought, text
}

// stopOf is what a finish reason stands for beside the parts of the answer.
func stopOf(reason jsonedit.Value, parts []wire.Part) wire.Stop {
	var called, refused bool
	for i := range parts {
		called = called || parts[i].Kind == wire.ToolCall
		refused = refused || parts[i].Kind == wire.Refusal
	}
	switch {
	case reason.Len() == 0:
		return ""
	case reason.Is("length"), reason.Is("model_length"):
		return wire.StopLength
	case reason.Is("content_filter"):
		return wire.StopFilter
	case called:
		return wire.StopTool
	case refused:
		return wire.StopRefusal
	}
	return wire.StopEnd
}

// WriteReply writes an answer for a client of this protocol. Texts become one,
// as do reasoning texts (reasoning_content) and refusals; signatures and what is
// sealed are valid with their maker only and left out.
//
// Finish reasons: StopEnd, StopSequence and StopPause are stop; StopLength
// length; StopTool tool_calls; StopFilter content_filter; StopRefusal is stop
// beside a refusal's own words and content_filter without. An answer that has not
// said why it ended gets stop, or tool_calls where it calls tools: clients go on
// asking without.
func WriteReply(r wire.Reply) []byte {
	var w jsonedit.Writer
	var thought, text, refusal []byte
	calls := 0
	for _, part := range r.Parts {
		switch part.Kind {
		case wire.Reasoning:
			thought = append(thought, part.Text...)
		case wire.Text:
			text = append(text, part.Text...)
		case wire.Refusal:
			refusal = append(refusal, part.Text...)
		case wire.ToolCall:
			calls++
		}
	}
	w.Object().Name("id").Text(r.ID).Name("object").Text("chat.completion").Name("created").Int(r.Created).Name("model").Text(r.Model)
	w.Name("choices").Array().Object().Name("index").Int(0).Name("message").Object().Name("role").Text("assistant")
	orNull(w.Name("content"), text)
	orNull(w.Name("refusal"), refusal)
	if len(thought) > 0 {
		w.Name("reasoning_content").Text(string(thought))
	}
	if calls > 0 {
		w.Name("tool_calls").Array()
		for _, part := range r.Parts {
			if part.Kind == wire.ToolCall {
				writeCall(&w, part)
			}
		}
		w.Close()
	}
	w.End().Name("logprobs").Raw(nil).Name("finish_reason").Text(finishReason(r.Stop, calls > 0, len(refusal) > 0)).End().Close()
	if r.HasUsage {
		writeUsage(w.Name("usage"), r.Usage)
	}
	return w.End().Bytes()
}

func orNull(w *jsonedit.Writer, text []byte) {
	if len(text) == 0 {
		w.Raw(nil)
		return
	}
	w.Text(string(text))
}

// writeCall writes a whole call.
func writeCall(w *jsonedit.Writer, call wire.Part) {
	w.Object().Name("id").Text(call.CallID)
	if call.Custom {
		w.Name("type").Text("custom").Name("custom").Object().Name("name").Text(call.Name).Name("input").Text(call.Arguments)
	} else {
		w.Name("type").Text("function").Name("function").Object().Name("name").Text(call.Name).Name("arguments").Text(call.Arguments)
	}
	w.End().End()
}

func finishReason(stop wire.Stop, called, refused bool) string {
	switch {
	case stop == wire.StopLength:
		return "length"
	case stop == wire.StopTool, stop == "" && called:
		return "tool_calls"
	case stop == wire.StopFilter, stop == wire.StopRefusal && !refused:
		return "content_filter"
	}
	return "stop"
}

// writeUsage writes tokens in this protocol's way: what a cache gave or took is
// part of the prompt. It has no words for how long a cache entry lives.
func writeUsage(w *jsonedit.Writer, u wire.Usage) {
	writes := u.CacheWrite5m + u.CacheWrite1h
	prompt := u.Input + u.CacheRead + writes
	w.Object().Name("prompt_tokens").Int(prompt).Name("completion_tokens").Int(u.Output).Name("total_tokens").Int(prompt + u.Output)
	w.Name("prompt_tokens_details").Object().Name("cached_tokens").Int(u.CacheRead)
	if writes > 0 {
		w.Name("cache_write_tokens").Int(writes)
	}
	w.End().Name("completion_tokens_details").Object().Name("reasoning_tokens").Int(u.Reasoning).End().End()
}
