package messages

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// ReadReply reads a JSON answer into the neutral form, block by block. It fails
// with wire.ErrAnswer as ReadResponse does, and where the answer is an error.
// What the provider's own tools did, and citations, are left out. An answer
// refused without a word says why in a Refusal, where the provider does.
//
// Stop reasons: end_turn is StopEnd, max_tokens and
// model_context_window_exceeded StopLength, tool_use StopTool, stop_sequence
// StopSequence, refusal StopRefusal, pause_turn StopPause; words of imitators
// count as end_turn.
func ReadReply(body []byte, counting wire.Counting) (wire.Reply, error) {
	answer, err := ReadResponse(body, counting)
	if err != nil || answer.Status == wire.Failed {
		return wire.Reply{}, wire.ErrAnswer
	}
	v := jsonedit.Read(body)
	r := wire.Reply{ID: answer.ID, Model: answer.Model, Usage: answer.Usage, HasUsage: answer.HasUsage}
	for each := v.Get("content").Each(); each.Next() && len(r.Parts) < wire.MaxReplyParts; {
		if part, ok := replyPart(each.Value()); ok {
			r.Parts = append(r.Parts, part)
		}
	}
	r.Stop = stopOf(v.Get("stop_reason"))
	r.StopText = v.Get("stop_sequence").Text()
	if why := explanation(v); r.Stop == wire.StopRefusal && len(r.Parts) == 0 && why != "" {
		r.Parts = []wire.Part{{Kind: wire.Refusal, Text: why}}
	}
	return r, nil
}

// explanation is why an answer was refused, in the provider's words.
func explanation(v jsonedit.Value) string { return v.Get("stop_details", "explanation").Text() }

// replyPart is a block of an answer, and whether it has something to say.
func replyPart(v jsonedit.Value) (wire.Part, bool) {
	switch kind := v.Get("type"); {
	case kind.Is("text"):
		part := wire.Part{Kind: wire.Text, Text: v.Get("text").Text()}
		return part, part.Text != ""
	case kind.Is("thinking"):
		part := wire.Part{Kind: wire.Reasoning, Text: v.Get("thinking").Text(), Signature: v.Get("signature").Text()}
		return part, part.Text != "" || part.Signature != ""
	case kind.Is("redacted_thinking"):
		part := wire.Part{Kind: wire.Reasoning, Sealed: v.Get("data").Text()}
		return part, part.Sealed != ""
	case kind.Is("tool_use"):
		return toolCall(v)
	}
	return wire.Part{}, false
}

func stopOf(reason jsonedit.Value) wire.Stop {
	switch {
	case reason.Len() == 0:
		return ""
	case reason.Is("max_tokens"), reason.Is("model_context_window_exceeded"):
		return wire.StopLength
	case reason.Is("tool_use"):
		return wire.StopTool
	case reason.Is("stop_sequence"):
		return wire.StopSequence
	case reason.Is("refusal"):
		return wire.StopRefusal
	case reason.Is("pause_turn"):
		return wire.StopPause
	}
	return wire.StopEnd
}

// WriteReply writes an answer for a client of this protocol. A refusal is text
// with the stop reason refusal; reasoning is a thinking block, with the signature
// that its maker gave it or an empty one, never one made up; what is sealed but
// unsigned is left out.
//
// Stop reasons: StopEnd is end_turn, StopLength max_tokens, StopTool tool_use,
// StopSequence stop_sequence, StopFilter and StopRefusal refusal, StopPause
// pause_turn. An answer that has not said why it ended gets end_turn, or tool_use
// where it calls tools.
func WriteReply(r wire.Reply) []byte {
	var w jsonedit.Writer
	w.Object().Name("id").Text(r.ID).Name("type").Text("message").Name("role").Text("assistant").Name("model").Text(r.Model)
	w.Name("content").Array()
	called := false
	for _, part := range r.Parts {
		called = called || part.Kind == wire.ToolCall
		writeReplyPart(&w, part)
	}
	w.Close()
	writeStop(&w, r.Stop, r.StopText, called)
	writeUsage(w.Name("usage"), r.Usage)
	return w.End().Bytes()
}

func writeReplyPart(w *jsonedit.Writer, part wire.Part) {
	switch part.Kind {
	case wire.Text, wire.Refusal:
		if part.Text != "" {
			w.Object().Name("type").Text("text").Name("text").Text(part.Text).End()
		}
	case wire.Reasoning:
		if part.Text != "" || part.Signature != "" {
			w.Object().Name("type").Text("thinking").Name("thinking").Text(part.Text).Name("signature").Text(part.Signature).End()
		}
	case wire.ToolCall:
		writeCall(w, part)
		w.End()
	}
}

// writeStop writes why an answer ended.
func writeStop(w *jsonedit.Writer, stop wire.Stop, text string, called bool) {
	reason := "end_turn"
	switch stop {
	case wire.StopLength:
		reason = "max_tokens"
	case wire.StopTool:
		reason = "tool_use"
	case wire.StopSequence:
		reason = "stop_sequence"
	case wire.StopFilter, wire.StopRefusal:
		reason = "refusal"
	case wire.StopPause:
		reason = "pause_turn"
	case "":
		if called {
			reason = "tool_use"
		}
	}
	w.Name("stop_reason").Text(reason).Name("stop_sequence")
	if reason == "stop_sequence" {
		w.Text(text)
	} else {
		w.Raw(nil)
	}
}

// writeUsage writes tokens in this protocol's way: what a cache gave or took is
// counted beside the input.
func writeUsage(w *jsonedit.Writer, u wire.Usage) {
	w.Object().Name("input_tokens").Int(u.Input).
		Name("cache_creation_input_tokens").Int(u.CacheWrite5m + u.CacheWrite1h).Name("cache_read_input_tokens").Int(u.CacheRead)
	if u.CacheWrite5m+u.CacheWrite1h > 0 {
		w.Name("cache_creation").Object().Name("ephemeral_5m_input_tokens").Int(u.CacheWrite5m).
			Name("ephemeral_1h_input_tokens").Int(u.CacheWrite1h).End()
	}
	w.Name("output_tokens").Int(u.Output)
	if u.Reasoning > 0 {
		w.Name("output_tokens_details").Object().Name("thinking_tokens").Int(u.Reasoning).End()
	}
	w.End()
}
