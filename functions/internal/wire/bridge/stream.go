package bridge

import (
	"encoding/hex"

	"github.com/google/uuid"

	"holdfast/functions/internal/wire"
)

// Stream translates one streamed answer.
type Stream struct {
	back   back
	from   reader
	to     writer
	fail   func(*wire.Problem, wire.Stamp) []byte
	stamp  wire.Stamp
	answer wire.Answer
	read   []wire.Delta // scratch
	passed []wire.Delta // scratch
}

// Stream begins the way back of a streamed answer.
func (t *Translation) Stream() *Stream {
	to := t.client.events()
	return &Stream{
		back: t.fitting.back(), from: t.target.deltas(t.options.Counting), to: to, fail: t.client.failure(to),
		stamp: t.options.Stamp, answer: wire.Answer{ID: t.options.Stamp.ID, Model: t.options.Asked},
	}
}

// Event appends to dst the client's events for one event of the target's, the
// terminal ones included. Many events of a target mean nothing yet, or nothing
// to the client. An event that tells of a failure appends nothing: how the
// client's stream ends then is for the exchange to decide.
func (s *Stream) Event(dst, name, data []byte) []byte {
	s.read = s.from.Event(name, data, s.read[:0])
	return s.tell(dst)
}

// End appends what the client still has to see of an answer that the target has
// ended whole but without its terminal event.
func (s *Stream) End(dst []byte) []byte {
	s.read = s.from.End(s.read[:0])
	return s.tell(dst)
}

// tell writes the steps that were read.
func (s *Stream) tell(dst []byte) []byte {
	s.passed = s.passed[:0]
	for i := range s.read {
		s.passed = s.back.pass(s.read[i], s.passed)
	}
	for i := range s.passed {
		d := &s.passed[i]
		s.note(d)
		dst = s.to.Append(dst, *d)
	}
	return dst
}

// note keeps what the exchange must know of the answer.
func (s *Stream) note(d *wire.Delta) {
	switch d.Kind {
	case wire.ReplyBegin:
		d.ID, d.Model = s.stamp.ID, s.stamp.Model
	case wire.ReplyUsage:
		s.answer.Usage, s.answer.HasUsage = d.Usage, true
	case wire.ReplyStop:
		s.answer.Status = wire.Open
		s.back.stopped = d.Stop
	case wire.ReplyEnd:
		s.answer.Status = statusOf(s.back.stopped)
	}
}

// statusOf is how an answer that stopped so counts.
func statusOf(stop wire.Stop) wire.Status {
	if stop == wire.StopLength || stop == wire.StopFilter {
		return wire.Incomplete
	}
	return wire.Completed
}

// Answer returns what is known of the answer so far: the id and the model as the
// client sees them, the tokens as the ledger counts them. Open until the terminal
// event, and for good where the target failed.
func (s *Stream) Answer() wire.Answer { return s.answer }

// Failure is the event by which a broken answer ends in the client's protocol. It
// goes on from the events that the client has seen.
func (s *Stream) Failure(p *wire.Problem, by wire.Stamp) []byte {
	if by.ID == "" {
		by.ID = s.stamp.ID
	}
	return s.fail(p, by)
}

// Items returns the finished items of an answer to a Responses client, as that
// sees them: a JSON array. For other clients it is nil.
func (s *Stream) Items() []byte {
	if to, ok := s.to.(interface{ Items() []byte }); ok {
		return to.Items()
	}
	return nil
}

func hexOf(id uuid.UUID) string { return hex.EncodeToString(id[:]) }
