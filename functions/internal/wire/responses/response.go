package responses

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// ReadResponse reads a JSON answer. It fails with wire.ErrAnswer where the bytes
// are no whole object, or one that has neither output nor a status nor an error.
func ReadResponse(body []byte, counting wire.Counting) (wire.Answer, error) {
	v := jsonedit.Whole(body)
	if v.Kind() != '{' {
		return wire.Answer{}, wire.ErrAnswer
	}
	if v.Get("output").Kind() != '[' && !v.Get("status").Filled() && !v.Get("error").Filled() {
		return wire.Answer{}, wire.ErrAnswer
	}
	var a wire.Answer
	readObject(&a, v, counting)
	return a, nil
}

// readObject takes in a response object: the whole answer, or the snapshot in
// a stream's event.
func readObject(a *wire.Answer, v jsonedit.Value, counting wire.Counting) {
	var status, fault jsonedit.Value
	for each := v.Each(); each.Next(); {
		switch {
		case each.Is("id"):
			a.ID = each.Value().Head(wire.MaxName)
		case each.Is("model"):
			a.Model = each.Value().Head(wire.MaxName)
		case each.Is("status"):
			status = each.Value()
		case each.Is("error"):
			fault = each.Value()
		case each.Is("usage"):
			if u, ok := wire.ReadUsage(each.Value(), usageNames(), counting); ok {
				a.Usage, a.HasUsage = u, true
			}
		}
	}
	a.Status = statusOf(status, fault)
	if a.Status == wire.Failed {
		a.Err = wire.ErrorIn(0, fault)
	}
}

// statusOf reads a response's status. An answer without one is whole unless it
// carries an error.
func statusOf(status, fault jsonedit.Value) wire.Status {
	switch {
	case status.Is("failed"), status.Is("cancelled"):
		return wire.Failed
	case status.Is("incomplete"):
		return wire.Incomplete
	case status.Is("queued"), status.Is("in_progress"):
		return wire.Open
	case fault.Filled():
		return wire.Failed
	}
	return wire.Completed
}

func usageNames() wire.UsageNames {
	return wire.UsageNames{
		Input: "input_tokens", InputDetails: "input_tokens_details",
		Output: "output_tokens", OutputDetails: "output_tokens_details",
	}
}
