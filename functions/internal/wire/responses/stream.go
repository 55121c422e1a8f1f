package responses

import (
	"bytes"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// Stream follows one streamed answer, event by event, without decoding it.
type Stream struct {
	counting wire.Counting
	answer   wire.Answer
	created  int64 // Unix seconds, 0 while unknown
	sequence int64 // number of the last event, -1 before there is one
	output   bool  // there was output
}

// NewStream begins to follow an answer.
func NewStream(counting wire.Counting) *Stream { return &Stream{counting: counting, sequence: -1} }

// Event says what an event means. Its kind is the type in its data, or its name
// where the data has none. Once a terminal event has been, all further ones mean
// nothing.
func (s *Stream) Event(name, data []byte) wire.Step {
	if s.output && s.answer.Status == wire.Open && s.plain(data) {
		return wire.Step{Output: true}
	}
	v := jsonedit.Read(data)
	if s.answer.Status != wire.Open || v.Kind() != '{' {
		return wire.Step{}
	}
	var response, payload jsonedit.Value
	for each := v.Each(); each.Next(); {
		switch {
		case each.Is("type"):
			if kind := each.Value(); kind.Len() > 0 {
				name = kind.Bytes()[1 : kind.Len()+1]
			}
		case each.Is("sequence_number"):
			if n, ok := each.Value().Int(); ok {
				s.sequence = n
			}
		case each.Is("response"):
			response = each.Value()
		case each.Is("delta"), each.Is("text"), each.Is("arguments"), each.Is("refusal"), each.Is("input"), each.Is("code"):
			payload = longer(payload, each.Value())
		}
	}
	if step, terminal := s.terminal(name, v, response); terminal {
		return step
	}
	s.snapshot(response)
	s.output = s.output || speaks(name, payload)
	return wire.Step{Output: s.output}
}

// plain takes in a delta, one of the many after the first output, of which
// nothing matters but its number. It reports whether data is one, in the form
// that providers write it.
func (s *Stream) plain(data []byte) bool {
	kind, found := bytes.CutPrefix(data, []byte(`{"type":"response.`))
	end := bytes.IndexByte(kind, '"')
	if !found || end < 0 || !bytes.HasSuffix(kind[:end], []byte(".delta")) {
		return false
	}
	const number = `"sequence_number":`
	if at := bytes.Index(data, []byte(number)); at >= 0 {
		if n, ok := jsonedit.Read(data[at+len(number):]).Int(); ok {
			s.sequence = n
		}
	}
	return true
}

// terminal reads the events that end an answer.
func (s *Stream) terminal(name []byte, v, response jsonedit.Value) (wire.Step, bool) {
	status := ending(name)
	if status == wire.Open {
		return wire.Step{}, false
	}
	fault := v
	if response.Exists() {
		readObject(&s.answer, response, s.counting)
		fault = response.Get("error")
	}
	s.answer.Status, s.answer.Err = status, nil
	if status == wire.Failed {
		s.answer.Err = wire.ErrorIn(0, fault)
	}
	return wire.Step{Status: status, Err: s.answer.Err}, true
}

// ending is the status that a kind of event brings; Open where it ends nothing.
func ending(kind []byte) wire.Status {
	switch string(kind) {
	case "response.completed":
		return wire.Completed
	case "response.incomplete":
		return wire.Incomplete
	case "response.failed", "response.cancelled", "error":
		return wire.Failed
	}
	return wire.Open
}

// snapshot takes in what the first events say of the answer: once.
func (s *Stream) snapshot(response jsonedit.Value) {
	if s.answer.ID != "" || !response.Exists() {
		return
	}
	s.answer.ID = response.Get("id").Head(wire.MaxName)
	s.answer.Model = response.Get("model").Head(wire.MaxName)
	s.created, _ = response.Get("created_at").Int()
}

// speaks reports whether an event of that kind carries output: a delta with
// something in it, a finished text or tool call, a finished item, an image.
// Announcements of items, parts and tool calls are none.
func speaks(kind []byte, payload jsonedit.Value) bool {
	switch {
	case bytes.HasSuffix(kind, []byte(".delta")), bytes.HasSuffix(kind, []byte(".done")) && payload.Exists():
		return payload.Filled()
	}
	return string(kind) == "response.output_item.done" || bytes.HasSuffix(kind, []byte(".partial_image"))
}

// longer returns the value with more bytes.
func longer(a, b jsonedit.Value) jsonedit.Value {
	if len(b.Bytes()) > len(a.Bytes()) {
		return b
	}
	return a
}

// End says what the answer is if the stream ends here: without its terminal
// event it was cut.
func (s *Stream) End() wire.Status { return s.answer.Status }

// Answer returns what is known of the answer so far.
func (s *Stream) Answer() wire.Answer { return s.answer }
