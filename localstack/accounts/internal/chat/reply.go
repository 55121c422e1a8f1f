package chat

import (
	"holdfast/localstack/accounts/internal/answer"
	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/refusal"
)

// Body is the whole answer as JSON.
func (q *Request) Body(r *answer.Reply) []byte {
	q.mint(r)
	b := make([]byte, 0, 1024+len(r.Text))
	b = q.head(b, r, "chat.completion")
	b = append(b, `"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	if len(r.Calls) > 0 {
		b = append(b, "null"...)
	} else {
		b = emit.Quote(b, r.Text)
	}
	b = append(b, `,"refusal":null,"annotations":[]`...)
	for i, c := range r.Calls {
		b = append(b, separator(i, `,"tool_calls":[`)...)
		b = emit.String(b, `{"id":`, c.ID)
		b = emit.String(b, `,"type":"function","function":{"name":`, c.Name)
		b = emit.String(b, `,"arguments":`, c.Arguments)
		b = append(b, "}}"...)
	}
	if len(r.Calls) > 0 {
		b = append(b, ']')
	}
	b = emit.String(b, `},"logprobs":null,"finish_reason":`, finish(r.Ending))
	b = append(b, `}],"usage":`...)
	return append(usage(b, r), '}')
}

// Stream is the whole answer as events.
func (q *Request) Stream(r *answer.Reply) *emit.Events {
	q.mint(r)
	s := &stream{want: q.StreamOptions.IncludeUsage}
	s.Bytes = make([]byte, 0, 4096)
	s.head = q.head([]byte("data: "), r, "chat.completion.chunk")
	if len(r.Calls) > 0 {
		s.delta(`"role":"assistant","content":null,"refusal":null`, false)
		s.calls(r.Calls)
	} else {
		s.delta(`"role":"assistant","content":"","refusal":null`, false)
		answer.Pieces(r.Text, s.text)
	}
	s.chunk(func(b []byte) []byte {
		b = emit.String(append(b, `{"index":0,"delta":{}`...), `,"logprobs":null,"finish_reason":`, finish(r.Ending))
		return append(b, '}')
	}, false)
	if s.want {
		s.Bytes = append(append(s.Bytes, s.head...), `"choices":[],"usage":`...)
		s.Bytes = append(usage(s.Bytes, r), "}\n\n"...)
		s.End(false)
	}
	s.Bytes = append(s.Bytes, "data: [DONE]\n\n"...)
	s.End(false)
	return &s.Events
}

// Failure is the error event of this protocol; the sequence does not matter.
func (q *Request) Failure(r *refusal.Refusal, _ *answer.Reply, _ int) []byte { return r.OpenAIEvent() }

// stream appends chunks behind one common head.
type stream struct {
	emit.Events
	head []byte
	want bool // usage was asked for, so each chunk says null
}

func (s *stream) chunk(choice func([]byte) []byte, output bool) {
	s.Bytes = append(append(s.Bytes, s.head...), `"choices":[`...)
	s.Bytes = append(choice(s.Bytes), ']')
	if s.want {
		s.Bytes = append(s.Bytes, `,"usage":null`...)
	}
	s.Bytes = append(s.Bytes, "}\n\n"...)
	s.End(output)
}

// delta is a chunk whose delta has the given members.
func (s *stream) delta(members string, output bool) {
	s.chunk(func(b []byte) []byte {
		b = append(append(b, `{"index":0,"delta":{`...), members...)
		return append(b, `},"logprobs":null,"finish_reason":null}`...)
	}, output)
}

func (s *stream) text(piece string) {
	s.chunk(func(b []byte) []byte {
		b = emit.String(append(b, `{"index":0,"delta":{`...), `"content":`, piece)
		return append(b, `},"logprobs":null,"finish_reason":null}`...)
	}, true)
}

// calls streams each call: its name first, then its arguments in pieces.
func (s *stream) calls(calls []answer.Call) {
	for i, c := range calls {
		b := emit.Int(nil, `"tool_calls":[{"index":`, i)
		b = emit.String(b, `,"id":`, c.ID)
		b = emit.String(b, `,"type":"function","function":{"name":`, c.Name)
		s.delta(string(append(b, `,"arguments":""}}]`...)), true)
		answer.Pieces(c.Arguments, func(piece string) {
			b := emit.Int(nil, `"tool_calls":[{"index":`, i)
			b = emit.String(b, `,"function":{"arguments":`, piece)
			s.delta(string(append(b, "}}]"...)), true)
		})
	}
}

// mint gives the calls their ids.
func (q *Request) mint(r *answer.Reply) {
	for i := range r.Calls {
		r.Calls[i].ID = r.Mint("call_")
	}
}

// head is the members that every object of one answer shares.
func (q *Request) head(b []byte, r *answer.Reply, object string) []byte {
	b = emit.String(b, `{"id":`, r.ID)
	b = emit.String(b, `,"object":`, object)
	b = emit.Int(b, `,"created":`, int(r.Created.Unix()))
	b = emit.String(b, `,"model":`, q.Model)
	b = emit.String(b, `,"service_tier":"default","system_fingerprint":`, "fp_"+r.Account)
	return append(b, ',')
}

func usage(b []byte, r *answer.Reply) []byte {
	if r.Broken {
		return append(b, `{"prompt_tokens":"many","completion_tokens":-1,"total_tokens":null,"prompt_tokens_details":[]}`...)
	}
	b = emit.Int(b, `{"prompt_tokens":`, r.Usage.Total)
	b = emit.Int(b, `,"completion_tokens":`, r.Usage.Output)
	b = emit.Int(b, `,"total_tokens":`, r.Usage.Total+r.Usage.Output)
	b = emit.Int(b, `,"prompt_tokens_details":{"cached_tokens":`, r.Usage.Read)
	b = emit.Int(b, `,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":`, r.Usage.Reasoning)
	return append(b, `,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`...)
}

func finish(e answer.Ending) string {
	switch e {
	case answer.Length:
		return "length"
	case answer.Calling:
		return "tool_calls"
	}
	return "stop"
}

// separator opens a list at its first member.
func separator(i int, open string) string {
	if i == 0 {
		return open
	}
	return ","
}
