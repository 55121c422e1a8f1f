package chat

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// ReadResponse reads a JSON answer. It fails with wire.ErrAnswer where the bytes
// are no whole object, or one that neither has choices nor tells of an error.
func ReadResponse(body []byte, counting wire.Counting) (wire.Answer, error) {
	v := jsonedit.Read(body)
	if v.Kind() != '{' || !jsonedit.Valid(body) {
		return wire.Answer{}, wire.ErrAnswer
	}
	a := wire.Answer{ID: v.Get("id").Head(wire.MaxName), Model: v.Get("model").Head(wire.MaxName)}
	if fault := v.Get("error"); fault.Filled() {
		a.Status, a.Err = wire.Failed, wire.ErrorIn(0, fault)
		return a, nil
	}
	choices := v.Get("choices")
	if choices.Kind() != '[' {
		return wire.Answer{}, wire.ErrAnswer
	}
	a.Status = wire.Completed
	usage, fault := v.Get("usage"), jsonedit.Value{}
	for each := choices.Each(); each.Next(); {
		a.Status = max(a.Status, finished(each.Value().Get("finish_reason")))
		usage = either(usage, each.Value().Get("usage"))
		fault = either(fault, each.Value().Get("error"))
	}
	if a.Status == wire.Failed {
		a.Err = wire.ErrorIn(0, fault)
	}
	a.Usage, a.HasUsage = wire.ReadUsage(usage, usageNames(), counting)
	return a, nil
}

// finished is the status that a finish reason stands for.
func finished(reason jsonedit.Value) wire.Status {
	switch {
	case reason.Is("length"), reason.Is("model_length"), reason.Is("content_filter"): // the second is Mistral's
		return wire.Incomplete
	case reason.Is("error"): // OpenRouter
		return wire.Failed
	}
	return wire.Completed
}

func usageNames() wire.UsageNames {
	return wire.UsageNames{
		Input: "prompt_tokens", InputDetails: "prompt_tokens_details",
		Output: "completion_tokens", OutputDetails: "completion_tokens_details",
	}
}
