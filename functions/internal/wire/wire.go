// Package wire holds the neutral values that the protocols' codecs and the
// exchange speak to each other in: Facts of a request, Steps and Answers of a
// response, Usage, UpstreamError, Problem.
//
// A client's body is read once, by Inspect, which finds its members and decodes
// next to nothing. Codecs (chat, responses, messages) edit the bytes, read what
// the exchange must know of an answer, and write errors in their own form; they
// never meet each other.
//
// Invariants: what comes from outside is bounded before it is kept; a Problem
// or an UpstreamError never holds a request's content, at most bounded and
// cleaned names and the provider's own words.
//
// Concurrency: values are for one exchange; nothing here is shared.
package wire

import (
	"errors"
	"time"
)

// Protocol is the wire format that a deployment speaks.
type Protocol string

// The protocols.
const (
	Chat      Protocol = "chat"      // OpenAI Chat Completions
	Responses Protocol = "responses" // OpenAI Responses
	Messages  Protocol = "messages"  // Anthropic Messages
)

// The endpoints that Inspect knows; any other needs nothing but a valid body.
const (
	EndpointChat        = "chat"
	EndpointResponses   = "responses"
	EndpointMessages    = "messages"
	EndpointCountTokens = "count_tokens" // of messages
	EndpointCompact     = "compact"      // of responses
	EndpointEmbeddings  = "embeddings"
	EndpointVideos      = "videos"
)

// Edits are the changes that a body gets on its way to a deployment of the
// client's own protocol. The zero Edits strip the gateway's own members only.
type Edits struct {
	Model        string   // the upstream's name for the model; "" keeps the client's
	Keep         []string // members of ours that this provider takes itself and that therefore stay
	HintField    string   // top-level member for the session's upstream identity; "": none
	HintValue    string   // set where the client gave none
	IncludeUsage bool     // chat: ask for usage on a stream where the client did not
	Portable     bool     // responses: input loses what only the account that made it can use
	Foreign      bool     // messages: the target is not Anthropic's, the rotating attribution block goes
}

// Rewritten is a body ready to send.
type Rewritten struct {
	Body       []byte
	UsageAdded bool // the client did not ask for the stream's usage-only chunk: it is to be spared that
}

// Status is how far an answer has come.
type Status uint8

// The states of an answer.
const (
	Open       Status = iota // not at its end: queued, in progress, or cut off
	Completed                // at its end, whole
	Incomplete               // at its end, stopped by a limit or a filter; what is there stands
	Failed                   // at its end, by the upstream's own word
)

// Step is what one event of a stream means for the exchange.
type Step struct {
	Output    bool           // text, reasoning or tool deltas: no other target from here on
	Closing   bool           // says why the answer ends; only usage and the terminal event can follow
	UsageOnly bool           // carries usage and nothing else, only because usage was asked for
	Status    Status         // other than Open on the terminal event
	Err       *UpstreamError // with Failed: what the upstream says
}

// Answer is what the exchange must know of a response, JSON or stream alike.
type Answer struct {
	ID       string // as the upstream gave it; "" where it gave none
	Model    string // as the upstream names it
	Status   Status
	Usage    Usage
	HasUsage bool           // the upstream reported usage
	Err      *UpstreamError // with Failed
}

// ErrAnswer is an answer that is no whole answer of the protocol: the upstream
// broke off or sent something else.
var ErrAnswer = errors.New("wire: not an answer of the protocol")

// MaxName bounds the ids and model names that are kept of an answer, in bytes.
const MaxName = 256

// Stamp is what a gateway-made end of a stream is signed with where the
// upstream has not said it.
type Stamp struct {
	RequestID string // of the exchange, as in X-Request-Id
	ID        string // of the answer, in the form of the client's protocol; "" where the upstream's stands
	Model     string // as the client asked for it
	At        time.Time
}
