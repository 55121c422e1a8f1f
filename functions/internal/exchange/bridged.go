package exchange

import (
	"crypto/rand"
	"mime"
	"net/http"
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/bridge"
	"holdfast/functions/internal/wire/sse"
	"holdfast/routing/catalog"
)

// native reports whether a target is spoken to in the client's own protocol:
// bytes pass through. Endpoints that no protocol is named after have one form.
func (e *exchange) native(t *catalog.Target) bool {
	switch e.in.Endpoint {
	case wire.EndpointChat, wire.EndpointResponses, wire.EndpointMessages:
		return t.Protocol == e.in.Endpoint
	}
	return true
}

// speaks is the codec of the protocol that a target is spoken to in.
func (e *exchange) speaks(t *catalog.Target) *codec {
	if e.native(t) {
		return e.codec
	}
	return e.codecs[t.Protocol]
}

// translate says the client's request in a target's protocol.
func (e *exchange) translate(t *catalog.Target) (wire.Rewritten, error) {
	facts, err := e.body()
	if err != nil {
		return wire.Rewritten{}, err
	}
	options := bridge.Options{
		Model: t.UpstreamModel, Provider: t.Account.Provider, Asked: e.facts.Model, Counting: counting(t), Stamp: e.stamp(),
	}
	options.Stamp.ID, options.History = answerID(e.in.Endpoint), e.history
	if t.Account.Preset.Hint.Body == "prompt_cache_key" {
		options.CacheKey = e.hint(t)
	}
	translation, p := bridge.Request(facts, wire.Protocol(t.Protocol), options)
	if p != nil {
		return wire.Rewritten{}, p
	}
	e.reply.still(func() { e.bridge, e.answerID = translation, options.Stamp.ID })
	return wire.Rewritten{Body: translation.Body}, nil
}

// droppedHeader tells the client which members of its request the deployment that
// answers does not see.
const droppedHeader = "X-Holdfast-Dropped"

// dropped are the members that the current attempt's deployment does not see,
// separated by commas.
func (e *exchange) dropped() string {
	if e.bridge == nil {
		return ""
	}
	return strings.Join(e.bridge.Dropped, ", ")
}

// passed copies what may pass of a provider's headers. An answer is called what it
// is: clients go by that, and some providers name their own wrongly, or not at all. The
// bypass leaves it as it is.
func (e *exchange) passed(from http.Header, kind string) func(http.Header) {
	return func(to http.Header) {
		pass(from)(to)
		if said := to["Content-Type"]; len(said) == 1 && said[0] == kind { // as nearly always
			return
		}
		if named, _, err := mime.ParseMediaType(to.Get("Content-Type")); e.in.Bypass == nil && (e.bridge != nil || err != nil || named != kind) {
			to.Set("Content-Type", kind)
		}
	}
}

// answerID makes the id of an answer in the form of the client's protocol.
func answerID(endpoint string) string {
	text := strings.ToLower(rand.Text())
	switch endpoint {
	case wire.EndpointResponses:
		return "resp_" + text
	case wire.EndpointMessages:
		return "msg_" + text
	}
	return "chatcmpl-" + text
}

// stamp signs what the gateway says in a provider's place.
func (e *exchange) stamp() wire.Stamp {
	return wire.Stamp{RequestID: e.in.ID, Model: e.facts.Model, At: e.Now()}
}

// bridged gives the client the answer of another protocol in its own.
type bridged struct {
	*bridge.Translation
	*bridge.Stream
}

// Event appends the client's events for one of the upstream's; without one the
// stream has ended whole.
func (b bridged) Event(dst []byte, e sse.Event) []byte {
	if len(e.Raw) == 0 {
		return b.Stream.End(dst)
	}
	return b.Stream.Event(dst, e.Name, e.Data)
}

// Body returns the client's form of a whole answer.
func (b bridged) Body(body []byte) ([]byte, error) {
	told, _, err := b.Translation.Answer(body)
	return told, err
}
