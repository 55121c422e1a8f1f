package exchange

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/bridge"
	"holdfast/functions/internal/wire/sse"
	"holdfast/routing"
)

// Some deployments do not answer in the form that was asked for, or call their answer
// what it is not. On the unified routes the client gets the form that it wants all the
// same, or another deployment is asked. The bypass leaves answers as they are. How an
// answer begins says what it is; its content type counts where that says nothing.

// onePiece reports whether an answer is one of JSON, not of events, by its first byte
// (0: there is none).
func onePiece(first byte, h http.Header) bool {
	return first == '{' || !isStream(h) && !sse.Opens(first)
}

// begun is a body of which the beginning has been read.
type begun struct {
	io.Reader
	io.Closer
}

// untold reports whether a whole answer has come where events were asked for. One
// that is still being made has nothing to tell yet.
func (e *exchange) untold(read wire.Answer) bool {
	return e.facts.Stream && e.in.Bypass == nil && (read.Status == wire.Completed || read.Status == wire.Incomplete)
}

// streamed relays a whole answer as the stream that was asked for.
func (e *exchange) streamed(ctx context.Context, from *upstream.Response, sent wire.Rewritten, body []byte) tried {
	events, err := bridge.Streamed(e.protocol(), sent.Body, body)
	if err != nil {
		return tried{outcome: routing.Outcome{Class: routing.ServerError}, header: from.Header, fault: &wire.UpstreamError{}}
	}
	header := from.Header.Clone()
	header.Set("Content-Type", eventStream)
	return e.relay(ctx, &upstream.Response{Status: from.Status, Header: header, Body: io.NopCloser(bytes.NewReader(events))}, sent)
}

// gathered is the answer in one piece where it has come as events unasked; else the
// body as it is.
func (e *exchange) gathered(h http.Header, sent, body []byte) []byte {
	if !sse.Opens(sse.First(body)) || e.facts.Stream || e.in.Bypass != nil || e.codec.follow == nil {
		return body
	}
	whole, err := bridge.Gathered(e.protocol(), sent, body)
	if err != nil {
		return body
	}
	h.Set("Content-Type", "application/json")
	return whole
}

// protocol is what the current attempt's deployment is spoken to in.
func (e *exchange) protocol() wire.Protocol { return wire.Protocol(e.serving.Target.Protocol) }
