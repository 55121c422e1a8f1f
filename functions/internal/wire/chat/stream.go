package chat

import (
	"bytes"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// Stream follows one streamed answer, event by event, without decoding it.
type Stream struct {
	counting wire.Counting
	answer   wire.Answer
	finish   wire.Status // what the finish reasons say; Open before there is one
	output   bool        // there was output: deltas need no further look
}

// NewStream begins to follow an answer.
func NewStream(counting wire.Counting) *Stream { return &Stream{counting: counting} }

// Event says what an event means. Once a terminal event has been, all further
// ones mean nothing.
func (s *Stream) Event(_, data []byte) wire.Step {
	data = bytes.TrimSpace(data)
	switch {
	case s.answer.Status != wire.Open || len(data) == 0:
		return wire.Step{}
	case string(data) == "[DONE]":
		return s.done()
	case s.output && data[0] == '{' && plain(data):
		return wire.Step{Output: true}
	}
	if v := jsonedit.Read(data); v.Kind() == '{' {
		return s.chunk(v)
	}
	return wire.Step{}
}

// plain reports whether a chunk, among the many after the first output, has
// nothing to look at: no end, no usage, no error. The usual ends of such a chunk
// are looked for first: the last choice goes on, and nothing comes after it.
func plain(data []byte) bool {
	if bytes.HasSuffix(data, []byte(`"finish_reason":null}]}`)) || bytes.HasSuffix(data, []byte(`"finish_reason":null}],"usage":null}`)) {
		return true
	}
	return jsonedit.Void(data, `"finish_reason"`) && jsonedit.Void(data, `"usage"`) && jsonedit.Void(data, `"error"`)
}

// done is the terminal event. Without a finish reason before it, it is taken
// at its word.
func (s *Stream) done() wire.Step {
	s.answer.Status = s.End()
	if s.answer.Status == wire.Open {
		s.answer.Status = wire.Completed
	}
	return wire.Step{Status: s.answer.Status}
}

// chunk reads one chunk's members.
func (s *Stream) chunk(v jsonedit.Value) wire.Step {
	var step wire.Step
	var choices, usage, fault jsonedit.Value
	for each := v.Each(); each.Next(); {
		switch {
		case each.Is("choices"):
			choices = each.Value()
		case each.Is("usage"):
			usage = each.Value()
		case each.Is("error"):
			fault = each.Value()
		case each.Is("object") && each.Value().Is("error"):
			fault = v
		case each.Is("x_groq"):
			usage = either(usage, each.Value().Get("usage"))
		case s.answer.ID == "" && each.Is("id"):
			s.answer.ID = each.Value().Head(wire.MaxName)
		case s.answer.Model == "" && each.Is("model"):
			s.answer.Model = each.Value().Head(wire.MaxName)
		}
	}
	if fault.Filled() {
		return s.fail(wire.ErrorIn(0, fault))
	}
	step.UsageOnly = true
	for each := choices.Each(); each.Next(); {
		step.UsageOnly = false
		s.choice(each.Value(), &step, &usage, &fault)
	}
	if s.finish == wire.Failed {
		return s.fail(wire.ErrorIn(0, fault))
	}
	u, ok := wire.ReadUsage(usage, usageNames(), s.counting)
	if ok {
		s.answer.Usage, s.answer.HasUsage = u, true
	}
	step.UsageOnly = step.UsageOnly && ok
	return step
}

// choice reads one choice: its finish reason, and its delta until there was
// output.
func (s *Stream) choice(v jsonedit.Value, step *wire.Step, usage, fault *jsonedit.Value) {
	for each := v.Each(); each.Next(); {
		switch {
		case each.Is("delta"):
			if !s.output {
				s.output = speaks(each.Value())
			}
			step.Output = step.Output || s.output
		case each.Is("finish_reason") && each.Value().Len() > 0: // some send "" until there is one
			step.Closing = true
			s.finish = max(s.finish, finished(each.Value()))
		case each.Is("usage"): // Moonshot
			*usage = either(*usage, each.Value())
		case each.Is("error"): // OpenRouter, with the finish reason error
			*fault = each.Value()
		}
	}
}

// speaks reports whether a delta carries output: text, reasoning, or a tool
// call's arguments. A role, a call's announcement and empty strings are none.
func speaks(delta jsonedit.Value) bool {
	for each := delta.Each(); each.Next(); {
		switch v := each.Value(); {
		case each.Is("content"), each.Is("reasoning_content"), each.Is("reasoning"), each.Is("reasoning_details"),
			each.Is("refusal"), each.Is("audio"), each.Is("images"):
			if v.Filled() {
				return true
			}
		case each.Is("function_call"):
			if v.Get("arguments").Filled() {
				return true
			}
		case each.Is("tool_calls"):
			for call := v.Each(); call.Next(); {
				if c := call.Value(); c.Get("function", "arguments").Filled() || c.Get("custom", "input").Filled() {
					return true
				}
			}
		}
	}
	return false
}

func (s *Stream) fail(e *wire.UpstreamError) wire.Step {
	s.answer.Status, s.answer.Err = wire.Failed, e
	return wire.Step{Status: wire.Failed, Err: e}
}

// End says what the answer is if the stream ends here without its terminal
// event: with a finish reason it is whole, otherwise it was cut.
func (s *Stream) End() wire.Status {
	if s.answer.Status != wire.Open {
		return s.answer.Status
	}
	return s.finish
}

// Answer returns what is known of the answer so far.
func (s *Stream) Answer() wire.Answer { return s.answer }

// either returns the first of two values that is given.
func either(a, b jsonedit.Value) jsonedit.Value {
	if a.Given() {
		return a
	}
	return b
}
