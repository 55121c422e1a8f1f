// Package bridge lets a client of one protocol be served by a deployment of
// another: a request is read into the neutral form, fitted to the target and
// written in its protocol; what the target answers goes the same way back, whole
// or event by event.
//
// Invariants: nothing that could change the meaning is left out in silence. What
// the target cannot take is refused with 400, or dropped by name (the table is in
// this folder's README.md). What binds a conversation to one provider,
// signatures and ciphertext, never crosses. What is written is in proportion to
// what was read. A client sees the ids, the order of events and the terminal
// event of its own protocol.
//
// Concurrency: a Translation belongs to one attempt, a Stream to one answer.
//
// Errors: requests fail with a wire.Problem, answers with wire.ErrAnswer.
package bridge

import (
	"slices"

	"github.com/google/uuid"

	"holdfast/functions/internal/wire"
)

// Options are what a translation must know about its exchange.
type Options struct {
	Model    string        // the upstream's name for the model
	Provider string        // of the deployment, as the catalog names its preset; "" where not known
	Asked    string        // the model as the client asked for it
	Stamp    wire.Stamp    // of the answer; without an ID it gets one
	Counting wire.Counting // of the target
	History  []byte        // a JSON array of restored Responses items, which go before the input; nil: none
	CacheKey string        // the session's identity for the upstream, where the client gave none; "": none
}

// Bridges reports whether requests of a client's endpoint (chat, responses,
// messages) can be served by a deployment that speaks another protocol.
func Bridges(endpoint, protocol string) bool {
	return endpoint != protocol && speaks(endpoint) && speaks(protocol)
}

func speaks(name string) bool {
	return name == string(wire.Chat) || name == string(wire.Responses) || name == string(wire.Messages)
}

// Translation is one request in the target's protocol, and the way back of its
// answer.
type Translation struct {
	Body    []byte
	Dropped []string // members that the target does not see, in the client's words; clean for a header

	options Options
	client  speaker
	target  listener
	fitting fitting
	items   []byte
}

// Request translates a client's body for a target protocol, which must be one
// that Bridges allows. f stays as it is.
func Request(f *wire.Facts, to wire.Protocol, o Options) (*Translation, *wire.Problem) {
	d, p := read(f, o.History)
	if p != nil {
		return nil, p
	}
	d.Model, d.Provider = o.Model, o.Provider
	hinted := d.CacheKey == "" && o.CacheKey != ""
	t := &Translation{options: o, target: listen(to)}
	if p := t.fitting.fit(d, to, o); p != nil {
		return nil, p
	}
	body, dropped, p := write(to, d)
	if p != nil {
		return nil, p
	}
	t.Body = body
	for _, name := range slices.Concat(d.Dropped, dropped) {
		if name != "prompt_cache_key" || !hinted { // the client does not know of our hint
			t.Dropped = wire.Note(t.Dropped, name)
		}
	}
	t.stamp(f.Endpoint)
	t.client = speak(f, t.options.Stamp)
	return t, nil
}

// stamp completes what the answer is signed with.
func (t *Translation) stamp(endpoint string) {
	s := &t.options.Stamp
	s.Model = t.options.Asked
	if s.ID != "" {
		return
	}
	prefix := map[string]string{wire.EndpointChat: "chatcmpl-", wire.EndpointResponses: "resp_", wire.EndpointMessages: "msg_"}[endpoint]
	id := uuid.New()
	s.ID = prefix + hexOf(id)
}

// Answer translates the target's whole answer. Of one that tells of a failure
// there is no body, and the wire.Answer says so.
func (t *Translation) Answer(body []byte) ([]byte, wire.Answer, error) {
	known, err := t.target.answer(body, t.options.Counting)
	if err != nil {
		return nil, wire.Answer{}, err
	}
	known.ID, known.Model = t.options.Stamp.ID, t.options.Asked
	if known.Status == wire.Failed || known.Status == wire.Open {
		return nil, known, nil
	}
	r, err := t.target.reply(body, t.options.Counting)
	if err != nil {
		return nil, wire.Answer{}, err
	}
	r = t.fitting.reply(r)
	r.ID, r.Model, r.Created = t.options.Stamp.ID, t.options.Asked, t.options.Stamp.At.Unix()
	out, items := t.client.whole(r)
	t.items = items
	return out, known, nil
}

// Items returns the output of the answer that Answer has translated for a
// Responses client, as that sees it: a JSON array of items. For other clients it
// is nil.
func (t *Translation) Items() []byte { return t.items }
