package chat

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// ReadResponse reads a JSON answer. It fails with wire.ErrAnswer where the bytes
// are no whole object, or one that neither has choices nor tells of an error.
func ReadResponse(body []byte, counting wire.Counting) (wire.Answer, error) {
	v := jsonedit.Whole(body)
	if v.Kind() != '{' {
		return wire.Answer{}, wire.ErrAnswer
	}
	var a wire.Answer
	var choices, usage, fault jsonedit.Value
	for each := v.Each(); each.Next(); {
		switch {
		case each.Is("id"):
			a.ID = each.Value().Head(wire.MaxName)
		case each.Is("model"):
			a.Model = each.Value().Head(wire.MaxName)
		case each.Is("choices"):
			choices = each.Value()
		case each.Is("usage"):
			usage = each.Value()
		case each.Is("error"):
			fault = each.Value()
		}
	}
	if fault.Filled() {
		a.Status, a.Err = wire.Failed, wire.ErrorIn(0, fault)
		return a, nil
	}
	if choices.Kind() != '[' {
		return wire.Answer{}, wire.ErrAnswer
	}
	a.Status, fault = wire.Completed, jsonedit.Value{}
	for each := choices.Each(); each.Next(); {
		of := each.Enter()
		for of.Next() {
			switch {
			case of.Is("finish_reason"):
				a.Status = max(a.Status, finished(of.Value()))
			case of.Is("usage"):
				usage = either(usage, of.Value())
			case of.Is("error"):
				fault = either(fault, of.Value())
			}
		}
		each.Leave(&of)
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
