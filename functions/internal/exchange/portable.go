package exchange

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/responses"
	"holdfast/functions/internal/wire/sse"
)

// historyMode is the header that tells a Responses client that what it keeps of
// its answers can go on at any account.
const historyMode = "X-Holdfast-History-Mode"

// portable gives a Responses client an account's answer without what only that
// account could use again, and records what the account has said.
type portable struct {
	teller responses.Teller
	record *responses.Record
}

// Event appends the client's bytes for one event.
func (p *portable) Event(dst []byte, e sse.Event) []byte {
	p.record.Event(e.Name, e.Data)
	return p.teller.Event(dst, e)
}

// Body returns the client's form of a whole answer.
func (p *portable) Body(body []byte) ([]byte, error) {
	p.record.Body(body)
	return p.teller.Body(body), nil
}

// recorded passes on what another shaper makes and records the response that the
// client sees, for a target that keeps none itself.
type recorded struct {
	shaper
	record *responses.Record
}

// Event appends the client's bytes for one event.
func (r recorded) Event(dst []byte, e sse.Event) []byte {
	from := len(dst)
	dst = r.shaper.Event(dst, e)
	r.record.Events(dst[from:])
	return dst
}

// Body returns the client's form of a whole answer.
func (r recorded) Body(body []byte) ([]byte, error) {
	body, err := r.shaper.Body(body)
	if err == nil {
		r.record.Body(body)
	}
	return body, err
}

// noted passes an answer on as it is and notes the ids of its items, by which its
// client may refer to them.
type noted struct {
	shaper
	record *responses.Record
}

// Event appends the client's bytes for one event.
func (n noted) Event(dst []byte, e sse.Event) []byte {
	n.record.Event(e.Name, e.Data)
	return n.shaper.Event(dst, e)
}

// Body returns the client's form of a whole answer.
func (n noted) Body(body []byte) ([]byte, error) {
	n.record.Body(body)
	return n.shaper.Body(body)
}

// keepsContent reports whether the answer's content goes into our own history:
// not where the client asks that nothing be stored, and not of a conversation
// that the provider keeps, whose items we do not know.
func (e *exchange) keepsContent() bool {
	return e.codec.publishes && !e.in.Principal.Scope.IsZero() && (e.facts.Store == nil || *e.facts.Store) && e.bound.conversation == ""
}

// remembering puts the recording of an answer around what shapes it.
func (e *exchange) remembering(s shaper, native bool) shaper {
	switch {
	case e.in.Endpoint == bypassResponses:
		e.record = new(responses.Record)
		return noted{s, e.record}
	case e.in.Endpoint != wire.EndpointResponses:
		return s
	case native:
		e.record = &responses.Record{Content: e.keepsContent()}
		return &portable{record: e.record}
	case e.keepsContent():
		e.record = &responses.Record{Content: true, Whole: true}
		return recorded{s, e.record}
	}
	return s
}
