package responses

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// ReadReply reads a whole answer into the neutral form. It fails with
// wire.ErrAnswer where the bytes are none. Output of kinds that only a provider's
// own tools make is passed over: a request that comes from another protocol
// offers none of those.
func ReadReply(body []byte, c wire.Counting) (wire.Reply, error) {
	a, err := ReadResponse(body, c)
	if err != nil {
		return wire.Reply{}, err
	}
	v := jsonedit.Read(body)
	r := wire.Reply{ID: a.ID, Model: a.Model, Usage: a.Usage, HasUsage: a.HasUsage}
	r.Created, _ = v.Get("created_at").Int()
	for each := v.Get("output").Each(); each.Next() && len(r.Parts) < wire.MaxReplyParts; {
		r.Parts = appendParts(r.Parts, each.Value())
	}
	r.Stop = stopOf(v, r.Parts)
	return r, nil
}

// appendParts appends an item of the output as parts.
func appendParts(parts []wire.Part, it jsonedit.Value) []wire.Part {
	switch kind := it.Get("type"); {
	case kind.Is("message"):
		for each := it.Get("content").Each(); each.Next(); {
			switch v := each.Value(); {
			case v.Get("type").Is("output_text"):
				parts = append(parts, wire.Part{Kind: wire.Text, Text: v.Get("text").Text()})
			case v.Get("type").Is("refusal"):
				parts = append(parts, wire.Part{Kind: wire.Refusal, Text: v.Get("refusal").Text()})
			}
		}
	case kind.Is("function_call"), kind.Is("custom_tool_call"):
		parts = append(parts, callOf(it))
	case kind.Is("reasoning"):
		if p := reasoningOf(it); p.Text != "" || p.Sealed != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// callOf reads a tool call with what it is called with.
func callOf(it jsonedit.Value) wire.Part {
	p := wire.Part{Kind: wire.ToolCall, CallID: it.Get("call_id").Text(), Name: it.Get("name").Text(),
		Arguments: it.Get("arguments").Text()}
	if it.Get("type").Is("custom_tool_call") {
		p.Custom, p.Arguments = true, it.Get("input").Text()
	}
	return p
}

// reasoningOf reads the summary of a reasoning item, else its text.
func reasoningOf(it jsonedit.Value) wire.Part {
	p := wire.Part{Kind: wire.Reasoning, Text: paragraphs(it.Get("summary")), Sealed: it.Get("encrypted_content").Text()}
	p.Summary = p.Text != ""
	if p.Text == "" {
		p.Text = paragraphs(it.Get("content"))
	}
	return p
}

func paragraphs(list jsonedit.Value) string {
	var parts []part
	for each := list.Each(); each.Next(); {
		parts = append(parts, part{Text: each.Value().Get("text").Text()})
	}
	return join(parts)
}

// stopOf says why an answer ended, by its object and what is in it.
func stopOf(response jsonedit.Value, parts []wire.Part) wire.Stop {
	var calls, refuses bool
	for i := range parts {
		calls = calls || parts[i].Kind == wire.ToolCall
		refuses = refuses || parts[i].Kind == wire.Refusal
	}
	return stop(response, calls, refuses)
}

// stop is why an answer ended: this protocol tells limits and filters, the rest
// shows in what the answer holds.
func stop(response jsonedit.Value, calls, refuses bool) wire.Stop {
	reason := response.Get("incomplete_details", "reason")
	switch {
	case response.Get("status").Is("incomplete") && reason.Is("content_filter"):
		return wire.StopFilter
	case response.Get("status").Is("incomplete"):
		return wire.StopLength
	case calls:
		return wire.StopTool
	case refuses:
		return wire.StopRefusal
	}
	return wire.StopEnd
}
