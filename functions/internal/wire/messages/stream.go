package messages

import (
	"bytes"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// Stream follows one streamed answer, event by event, without decoding it.
type Stream struct {
	counting wire.Counting
	answer   wire.Answer
	tally    tally
	finish   wire.Status // what the stop reason says; Open before there is one
	output   bool        // there was output
}

// NewStream begins to follow an answer.
func NewStream(counting wire.Counting) *Stream { return &Stream{counting: counting} }

// Event says what an event means. Its kind is the type in its data, or its name
// where the data has none. Once a terminal event has been, all further ones mean
// nothing.
func (s *Stream) Event(name, data []byte) wire.Step {
	if s.output && s.answer.Status == wire.Open && bytes.HasPrefix(data, []byte(`{"type":"content_block_delta"`)) {
		return wire.Step{Output: true} // one of the many after the first: nothing to look at
	}
	v := jsonedit.Read(data)
	if s.answer.Status != wire.Open || v.Kind() != '{' {
		return wire.Step{}
	}
	if kind := v.Get("type"); kind.Len() > 0 {
		name = kind.Bytes()[1 : kind.Len()+1]
	}
	switch string(name) {
	case "content_block_delta":
		s.output = s.output || speaks(v.Get("delta"))
	case "content_block_start":
		s.output = s.output || carries(v.Get("content_block"))
	case "message_start":
		message := v.Get("message")
		s.answer.ID = message.Get("id").Head(wire.MaxName)
		s.answer.Model = message.Get("model").Head(wire.MaxName)
		s.tally.merge(message.Get("usage"))
	case "message_delta":
		return s.delta(v)
	case "message_stop":
		return s.stop()
	case "error":
		s.answer.Status, s.answer.Err = wire.Failed, wire.ErrorIn(0, v)
		return wire.Step{Status: wire.Failed, Err: s.answer.Err}
	}
	return wire.Step{Output: s.output}
}

// delta reads the event that says why the answer ends and what it used.
func (s *Stream) delta(v jsonedit.Value) wire.Step {
	s.tally.merge(v.Get("usage"))
	step := wire.Step{Output: s.output}
	if reason := v.Get("delta", "stop_reason"); reason.Len() > 0 {
		s.finish, step.Closing = finished(reason), true
	}
	return step
}

// stop is the terminal event. Without a stop reason before it, it is taken at
// its word.
func (s *Stream) stop() wire.Step {
	s.answer.Status = max(s.finish, wire.Completed)
	return wire.Step{Status: s.answer.Status}
}

// speaks reports whether a delta carries output: text, thinking, a tool's input,
// citations. A signature alone is none: it says nothing without its block.
func speaks(delta jsonedit.Value) bool {
	for each := delta.Each(); each.Next(); {
		if !each.Is("type") && !each.Is("signature") && each.Value().Filled() {
			return true
		}
	}
	return false
}

// carries reports whether a block's start already has content. Text, thinking
// and tool calls come by deltas, so their start is an announcement unless it is
// filled; blocks of other kinds, such as redacted thinking and results of server
// tools, come whole in their start.
func carries(block jsonedit.Value) bool {
	kind := block.Get("type")
	switch {
	case kind.Is("text"):
		return block.Get("text").Filled()
	case kind.Is("thinking"):
		return block.Get("thinking").Filled()
	case kind.Is("tool_use"), kind.Is("server_tool_use"), kind.Is("mcp_tool_use"):
		return block.Get("input").Filled()
	case kind.Is("compaction"):
		return block.Get("content").Filled()
	}
	return block.Exists()
}

// End says what the answer is if the stream ends here without its terminal
// event: with a stop reason it is whole, otherwise it was cut.
func (s *Stream) End() wire.Status {
	if s.answer.Status != wire.Open {
		return s.answer.Status
	}
	return s.finish
}

// Answer returns what is known of the answer so far.
func (s *Stream) Answer() wire.Answer {
	a := s.answer
	a.Usage, a.HasUsage = s.tally.usage(s.counting)
	return a
}
