package responses

import (
	"slices"

	"holdfast/localstack/accounts/internal/answer"
	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/refusal"
)

// stream numbers the events as it appends them.
type stream struct{ emit.Events }

// event appends one event. Fill adds the members after the sequence number,
// each with a comma before it.
func (s *stream) event(kind string, output bool, fill func([]byte) []byte) {
	s.Bytes = open(s.Bytes, kind, s.Len())
	s.Bytes = append(fill(s.Bytes), "}\n\n"...)
	s.End(output)
}

func open(b []byte, kind string, sequence int) []byte {
	b = append(b, `event: `+kind+"\ndata: "+`{"type":"`+kind+`"`...)
	return emit.Int(b, `,"sequence_number":`, sequence)
}

// Stream is the whole answer as events.
func (q *Request) Stream(r *answer.Reply) *emit.Events {
	s := &stream{}
	s.Bytes = make([]byte, 0, 8192)
	whole := func(state string) func([]byte) []byte {
		return func(b []byte) []byte { return q.object(append(b, `,"response":`...), r, state, "null") }
	}
	s.event("response.created", false, whole("in_progress"))
	s.event("response.in_progress", false, whole("in_progress"))
	for i, m := range q.outputs(r) {
		s.item(&m, i)
	}
	s.event("response."+ended(r), false, whole(ended(r)))
	return &s.Events
}

// Failure is the event that ends a stream which cannot go on.
func (q *Request) Failure(f *refusal.Refusal, r *answer.Reply, sequence int) []byte {
	if f.Plain {
		b := open(nil, "error", sequence)
		b = emit.OrNull(append(b, `,"code":`...), f.Code)
		b = emit.String(b, `,"message":`, f.Message)
		b = emit.OrNull(append(b, `,"param":`...), f.Param)
		return append(b, "}\n\n"...)
	}
	code := f.Code
	if code == "" {
		code = "server_error"
	}
	failure := emit.String(nil, `{"code":`, code)
	failure = append(emit.String(failure, `,"message":`, f.Message), '}')
	b := append(open(nil, "response.failed", sequence), `,"response":`...)
	return append(q.object(b, r, "failed", string(failure)), "}\n\n"...)
}

// item appends everything between an item's beginning and its end.
func (s *stream) item(m *made, index int) {
	whole := func(done bool) func([]byte) []byte {
		return func(b []byte) []byte {
			b = emit.Int(b, `,"output_index":`, index)
			return m.append(append(b, `,"item":`...), done)
		}
	}
	s.event("response.output_item.added", false, whole(false))
	at := emit.Int(emit.String(nil, `,"item_id":`, m.id), `,"output_index":`, index)
	switch m.kind {
	case "reasoning":
		s.summary(m, at)
	case "message":
		s.message(m, at)
	default:
		s.call(m, at)
	}
	s.event("response.output_item.done", false, whole(true))
}

func (s *stream) summary(m *made, at []byte) {
	if m.text == "" {
		return
	}
	at = append(at, `,"summary_index":0`...)
	part := func(text string) func([]byte) []byte {
		return func(b []byte) []byte {
			b = emit.String(append(b, at...), `,"part":{"type":"summary_text","text":`, text)
			return append(b, '}')
		}
	}
	s.event("response.reasoning_summary_part.added", false, part(""))
	answer.Pieces(m.text, func(piece string) {
		s.event("response.reasoning_summary_text.delta", true, member(at, `,"delta":`, piece))
	})
	s.event("response.reasoning_summary_text.done", false, member(at, `,"text":`, m.text))
	s.event("response.reasoning_summary_part.done", false, part(m.text))
}

func (s *stream) message(m *made, at []byte) {
	at = append(at, `,"content_index":0`...)
	part := func(text string) func([]byte) []byte {
		return func(b []byte) []byte { return appendText(append(append(b, at...), `,"part":`...), text) }
	}
	said := append(slices.Clip(at), `,"logprobs":[]`...)
	s.event("response.content_part.added", false, part(""))
	answer.Pieces(m.text, func(piece string) {
		s.event("response.output_text.delta", true, member(said, `,"delta":`, piece))
	})
	s.event("response.output_text.done", false, member(said, `,"text":`, m.text))
	s.event("response.content_part.done", false, part(m.text))
}

func (s *stream) call(m *made, at []byte) {
	answer.Pieces(m.call.Arguments, func(piece string) {
		s.event("response.function_call_arguments.delta", true, member(at, `,"delta":`, piece))
	})
	s.event("response.function_call_arguments.done", false, func(b []byte) []byte {
		b = emit.String(append(b, at...), `,"name":`, m.call.Name)
		return emit.String(b, `,"arguments":`, m.call.Arguments)
	})
}

// member is a place followed by one string member.
func member(at []byte, name, value string) func([]byte) []byte {
	return func(b []byte) []byte { return emit.String(append(b, at...), name, value) }
}
