package messages

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// ReadResponse reads a JSON answer. It fails with wire.ErrAnswer where the bytes
// are no whole object, or one that neither has content nor tells of an error.
func ReadResponse(body []byte, counting wire.Counting) (wire.Answer, error) {
	v := jsonedit.Whole(body)
	if v.Kind() != '{' {
		return wire.Answer{}, wire.ErrAnswer
	}
	a := wire.Answer{ID: v.Get("id").Head(wire.MaxName), Model: v.Get("model").Head(wire.MaxName)}
	if v.Get("type").Is("error") || v.Get("error").Filled() {
		a.Status, a.Err = wire.Failed, wire.ErrorIn(0, v)
		return a, nil
	}
	if v.Get("content").Kind() != '[' {
		return wire.Answer{}, wire.ErrAnswer
	}
	var t tally
	t.merge(v.Get("usage"))
	a.Usage, a.HasUsage = t.usage(counting)
	a.Status = finished(v.Get("stop_reason"))
	return a, nil
}

// finished is the status that a stop reason stands for.
func finished(reason jsonedit.Value) wire.Status {
	switch {
	case reason.Is("max_tokens"), reason.Is("model_context_window_exceeded"), reason.Is("refusal"):
		return wire.Incomplete
	}
	return wire.Completed
}

// tally gathers usage over a stream's events: the last value of each field
// wins, and a field that is not there or null changes nothing.
type tally struct {
	seen                     bool
	input, output, reasoning int64
	cacheRead, cacheWrite    int64
	short, long              int64 // of cacheWrite, by lifetime
}

func (t *tally) merge(v jsonedit.Value) {
	for each := v.Each(); each.Next(); {
		value := each.Value()
		switch {
		case each.Is("input_tokens"):
			t.last(&t.input, value)
		case each.Is("output_tokens"):
			t.last(&t.output, value)
		case each.Is("cache_read_input_tokens"):
			t.last(&t.cacheRead, value)
		case each.Is("cache_creation_input_tokens"):
			t.last(&t.cacheWrite, value)
		case each.Is("cache_creation"):
			t.last(&t.short, value.Get("ephemeral_5m_input_tokens"))
			t.last(&t.long, value.Get("ephemeral_1h_input_tokens"))
		case each.Is("output_tokens_details"):
			t.last(&t.reasoning, value.Get("thinking_tokens"))
		}
	}
}

func (t *tally) last(into *int64, v jsonedit.Value) {
	if n, ok := wire.Tokens(v); ok {
		*into, t.seen = n, true
	}
}

// usage is what was gathered. A total of cache writes that exceeds its parts
// counts as short-lived, the lifetime that is the default.
func (t *tally) usage(counting wire.Counting) (wire.Usage, bool) {
	writes := max(t.cacheWrite, t.short+t.long)
	u := wire.Usage{
		Input: t.input, CacheRead: t.cacheRead, Output: t.output, Reasoning: t.reasoning,
		CacheWrite1h: t.long, CacheWrite5m: writes - t.long,
	}
	if counting == wire.Inside {
		u.Input = max(0, t.input-t.cacheRead-writes)
	}
	return u, t.seen
}
