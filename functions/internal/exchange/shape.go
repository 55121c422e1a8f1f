package exchange

import (
	"holdfast/functions/internal/wire/sse"
	"holdfast/routing/catalog"
)

// shaper turns an upstream's answer into what the client gets. One belongs to
// one attempt and sees either all events of its stream, in order, or its body.
type shaper interface {
	// Event appends the client's bytes for one event. An event without Raw is
	// the end of a stream that is whole without a terminal event.
	Event(dst []byte, e sse.Event) []byte
	// Body returns the client's form of a JSON answer. An error means that the
	// answer cannot be told to the client: the attempt has failed.
	Body(body []byte) ([]byte, error)
}

// shaper gives an attempt's answer the form that its client reads.
func (e *exchange) shaper() shaper {
	switch {
	case e.bridge != nil:
		told := bridged{e.bridge, e.bridge.Stream()}
		e.following = told.Stream
		return e.remembering(told, false)
	case e.codec.task != "":
		return unaddressed{}
	}
	return e.remembering(passthrough{}, true)
}

// speaksResponses reports whether a target keeps responses by ids of its own.
func (e *exchange) speaksResponses(t *catalog.Target) bool { return t.Protocol == catalog.Responses }

// passthrough leaves everything as it is.
type passthrough struct{}

// Event appends the event's own bytes.
func (passthrough) Event(dst []byte, e sse.Event) []byte { return append(dst, e.Raw...) }

// Body returns the body itself.
func (passthrough) Body(body []byte) ([]byte, error) { return body, nil }
