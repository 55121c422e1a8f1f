package exchange

import (
	"errors"
	"io"
	"net/http"

	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/responses"
	"holdfast/functions/internal/wire/sse"
	"holdfast/routing"
)

// resume passes on the stream of a response in the background, from where the
// client has asked for it. It ends as the stream itself does; one that is cut is
// broken off, and the client may ask for the rest again.
func (s *inquiry) resume(from *upstream.Response, events *sse.Reader) *wire.Problem {
	s.reply.watch()
	defer s.reply.end()
	following := responses.NewStream(counting(s.serving.Target))
	s.exchange.following = following
	s.line.Status = http.StatusOK
	shape := s.guarding(retold{new(responses.Teller)})
	var held []byte
	for {
		event, err := events.Next()
		if err != nil {
			return s.cut(held, from.Header, err)
		}
		step := following.Event(event.Name, event.Data)
		if held = shape.Event(held, *event); s.guardStopped(shape) {
			return s.barred
		}
		if step.Status == wire.Open && events.Buffered() && len(held) < maxHeldBytes {
			continue
		}
		if s.line.FirstByte == 0 {
			s.line.FirstByte = s.Now().Sub(s.in.Start)
		}
		if s.reply.send(held, http.StatusOK, s.passed(from.Header, eventStream)) != nil {
			s.left()
		}
		held = held[:0]
		if step.Status != wire.Open {
			s.seen(following.Answer())
			return nil
		}
	}
}

// retold shapes a stream as the gateway tells every answer.
type retold struct{ *responses.Teller }

// Body implements shaper.
func (t retold) Body(body []byte) ([]byte, error) { return t.Teller.Body(body), nil }

// cut ends a stream whose upstream has stopped before its end.
func (s *inquiry) cut(held []byte, header http.Header, err error) *wire.Problem {
	t := failed(err)
	if t.outcome.Class == routing.Cancelled {
		s.left()
	}
	if len(held) > 0 && errors.Is(err, io.EOF) {
		_ = s.reply.send(held, http.StatusOK, s.passed(header, eventStream))
	}
	if t.outcome.Class == routing.Expired {
		return wire.Refuse(wire.DeadlineExceeded)
	}
	return wire.Refuse(wire.UpstreamFailed)
}
