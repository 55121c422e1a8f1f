package messages

import (
	"holdfast/localstack/accounts/internal/answer"
	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/refusal"
)

// Body is the whole answer as JSON.
func (q *Request) Body(r *answer.Reply) []byte {
	q.mint(r)
	b := q.head(make([]byte, 0, 1024+len(r.Text)), r)
	b = append(b, `"content":[`...)
	first := len(b)
	next := func() {
		if len(b) > first {
			b = append(b, ',')
		}
	}
	if r.Thought != "" {
		b = emit.String(b, `{"type":"thinking","thinking":`, q.shown(r))
		b = append(emit.String(b, `,"signature":`, q.sign(r)), '}')
	}
	if r.Text != "" {
		next()
		b = append(emit.String(b, `{"type":"text","text":`, r.Text), '}')
	}
	for _, c := range r.Calls {
		next()
		b = emit.String(b, `{"type":"tool_use","id":`, c.ID)
		b = emit.String(b, `,"name":`, c.Name)
		b = append(append(append(b, `,"input":`...), c.Arguments...), '}')
	}
	b = ending(append(b, `],`...), r)
	b = append(b, `,"usage":`...)
	return append(usage(b, r, r.Usage.Output), '}')
}

// Stream is the whole answer as events.
func (q *Request) Stream(r *answer.Reply) *emit.Events {
	q.mint(r)
	s := &stream{}
	s.Bytes = make([]byte, 0, 4096)
	s.event("message_start", false, func(b []byte) []byte {
		b = q.head(append(b, `,"message":`...), r)
		b = append(b, `"content":[],"stop_reason":null,"stop_sequence":null,"usage":`...)
		return append(usage(b, r, 1), '}')
	})
	if r.Thought != "" {
		s.block(`{"type":"thinking","thinking":"","signature":""}`, func() {
			answer.Pieces(q.shown(r), func(piece string) { s.delta(`{"type":"thinking_delta","thinking":`, piece, true) })
			s.delta(`{"type":"signature_delta","signature":`, q.sign(r), false)
		})
	}
	if r.Text != "" {
		s.block(`{"type":"text","text":""}`, func() {
			answer.Pieces(r.Text, func(piece string) { s.delta(`{"type":"text_delta","text":`, piece, true) })
		})
	}
	for _, c := range r.Calls {
		b := emit.String(nil, `{"type":"tool_use","id":`, c.ID)
		s.block(string(append(emit.String(b, `,"name":`, c.Name), `,"input":{}}`...)), func() {
			s.delta(`{"type":"input_json_delta","partial_json":`, "", false)
			answer.Pieces(c.Arguments, func(piece string) { s.delta(`{"type":"input_json_delta","partial_json":`, piece, true) })
		})
	}
	s.event("message_delta", false, func(b []byte) []byte {
		b = append(ending(append(b, `,"delta":{`...), r), `},"usage":`...)
		return usage(b, r, r.Usage.Output)
	})
	s.event("message_stop", false, func(b []byte) []byte { return b })
	return &s.Events
}

// Failure is the error event of this protocol; the sequence does not matter.
func (q *Request) Failure(f *refusal.Refusal, r *answer.Reply, _ int) []byte {
	return f.AnthropicEvent(r.Mint("req_"))
}

// Count is the answer to a request that only counts tokens.
func (q *Request) Count(tokens int) []byte {
	return append(emit.Int(nil, `{"input_tokens":`, tokens), '}')
}

// stream appends events whose data repeats the event's name as its type.
type stream struct {
	emit.Events
	blocks int
	pinged bool
}

func (s *stream) event(kind string, output bool, fill func([]byte) []byte) {
	s.Bytes = append(s.Bytes, `event: `+kind+"\ndata: "+`{"type":"`+kind+`"`...)
	s.Bytes = append(fill(s.Bytes), "}\n\n"...)
	s.End(output)
}

// block appends one content block. A ping follows the first beginning, as the
// provider sends it.
func (s *stream) block(begin string, deltas func()) {
	s.event("content_block_start", false, func(b []byte) []byte {
		return append(append(emit.Int(b, `,"index":`, s.blocks), `,"content_block":`...), begin...)
	})
	if !s.pinged {
		s.pinged = true
		s.event("ping", false, func(b []byte) []byte { return b })
	}
	deltas()
	s.event("content_block_stop", false, func(b []byte) []byte { return emit.Int(b, `,"index":`, s.blocks) })
	s.blocks++
}

func (s *stream) delta(member, value string, output bool) {
	s.event("content_block_delta", output, func(b []byte) []byte {
		b = append(emit.Int(b, `,"index":`, s.blocks), `,"delta":`...)
		return append(emit.String(b, member, value), '}')
	})
}

// mint gives the calls their ids.
func (q *Request) mint(r *answer.Reply) {
	for i := range r.Calls {
		r.Calls[i].ID = r.Mint("toolu_")
	}
}

// shown is the thinking as the client sees it: not at all where it was told to
// be omitted, while the signature still holds it.
func (q *Request) shown(r *answer.Reply) string {
	if q.Thinking.Display == "omitted" {
		return ""
	}
	return r.Thought
}

func (q *Request) sign(r *answer.Reply) string { return q.box.Seal(signatureSeal, r.Thought) }

func (q *Request) head(b []byte, r *answer.Reply) []byte {
	b = emit.String(b, `{"id":`, r.ID)
	b = emit.String(b, `,"type":"message","role":"assistant","model":`, q.Model)
	return append(b, ',')
}

// ending appends why the answer stopped.
func ending(b []byte, r *answer.Reply) []byte {
	reason := "end_turn"
	switch r.Ending {
	case answer.Length:
		reason = "max_tokens"
	case answer.Calling:
		reason = "tool_use"
	case answer.Stop:
		reason = "stop_sequence"
	}
	b = emit.String(b, `"stop_reason":`, reason)
	return emit.OrNull(append(b, `,"stop_sequence":`...), r.Stop)
}

func usage(b []byte, r *answer.Reply, output int) []byte {
	if r.Broken {
		return append(b, `{"input_tokens":"many","output_tokens":-1,"cache_read_input_tokens":null,"cache_creation":[]}`...)
	}
	u := r.Usage
	b = emit.Int(b, `{"input_tokens":`, u.Fresh())
	b = emit.Int(b, `,"cache_creation_input_tokens":`, u.WriteShort+u.WriteLong)
	b = emit.Int(b, `,"cache_read_input_tokens":`, u.Read)
	b = emit.Int(b, `,"cache_creation":{"ephemeral_5m_input_tokens":`, u.WriteShort)
	b = emit.Int(b, `,"ephemeral_1h_input_tokens":`, u.WriteLong)
	b = emit.Int(b, `},"output_tokens":`, output)
	b = emit.Int(b, `,"output_tokens_details":{"thinking_tokens":`, min(u.Reasoning, output))
	return append(b, `},"service_tier":"standard"}`...)
}
