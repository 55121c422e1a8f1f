// Package upstream makes one attempt at one deployment: it builds the request,
// sends it, and says what came of it.
//
// Invariants: no redirect is followed; a private address is dialled only where
// the connection allows it; nothing that a client sent chooses the host; a
// request that died on a reused connection before any byte of an answer is
// told apart, since sockets go stale while a process is frozen; every wait has
// an end.
//
// Concurrency: a Client is shared by all goroutines; a Response belongs to the
// one that asked.
//
// Errors: Do returns a *Failure, whose Kind callers branch on. Neither it nor
// anything else here carries a URL, a key, or a body.
package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// Request is one attempt, complete.
type Request struct {
	Method       string
	URL          *url.URL
	Header       http.Header // credentials included; not changed
	Body         []byte      // nil: none
	Sign         *Signer     // adds the credential instead; nil: Header holds it
	AllowPrivate bool
	Fresh        bool          // over a new connection
	FirstByte    time.Duration // until the first byte of the answer's body; 0: no bound
	Idle         time.Duration // between bytes after it; 0: no bound
}

// Response is an answer whose body is still to be read.
type Response struct {
	Status int
	Header http.Header
	Body   io.ReadCloser // reads fail with a *Failure
}

// Kind is how an attempt ended without a whole answer.
type Kind uint8

// The kinds of Failure.
const (
	Connect   Kind = iota // nothing was sent: the provider cannot have acted
	Broken                // the connection died after the request was sent
	Stale                 // a reused connection died before any byte of an answer
	Silent                // no byte within the bound
	Cancelled             // the caller's context ended
	Expired               // the exchange's deadline came
	Refused               // the address is private and not allowed
	Unsigned              // there are no credentials to sign with; nothing was sent
)

// String returns the kind's name in logs.
func (k Kind) String() string {
	return [...]string{"connect", "broken", "stale", "silent", "cancelled", "expired", "private_address", "unsigned"}[k]
}

// Failure is an attempt's end without a whole answer.
type Failure struct {
	Kind  Kind
	cause error
}

// Error names the kind only: causes of net/http hold URLs.
func (f *Failure) Error() string { return "upstream: " + f.Kind.String() }

// Unwrap returns the cause, for tests and debug logs that redact it.
func (f *Failure) Unwrap() error { return f.cause }

// errSilent is the cancellation cause of an attempt whose timer ran out.
var errSilent = errors.New("no byte in time")

// Client sends attempts.
type Client struct {
	kept  [2]*http.Transport // by AllowPrivate
	fresh [2]*http.Transport // a new connection for every request
}

// New returns a Client with its own connection pools.
func New() *Client {
	return &Client{
		kept:  [2]*http.Transport{transport(false, true), transport(true, true)},
		fresh: [2]*http.Transport{transport(false, false), transport(true, false)},
	}
}

// Close drops idle connections.
func (c *Client) Close() {
	for _, t := range c.kept {
		t.CloseIdleConnections()
	}
}

// Do sends the request and returns once the answer's headers are there. The
// caller closes the body. Where a signature is refused and there are other
// credentials by now, the request is sent once more with those: the refused one
// was not acted on.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	private := 0
	if r.AllowPrivate {
		private = 1
	}
	over := c.kept[private]
	if r.Fresh {
		over = c.fresh[private]
	}
	answer, key, err := send(ctx, over, r)
	if err != nil || r.Sign == nil || answer.Status != http.StatusUnauthorized && answer.Status != http.StatusForbidden {
		return answer, err
	}
	if !r.Sign.renewed(ctx, key) {
		return answer, nil
	}
	_ = answer.Body.Close()
	answer, _, err = send(ctx, over, r)
	return answer, err
}

// staleWithin bounds how long after its begin a request may die and still be
// put down to a socket that was dead before: that shows at the first packet. A
// provider that worked longer may have acted.
const staleWithin = 500 * time.Millisecond

// flight is one HTTP exchange on its way, in one piece of memory.
type flight struct {
	trace    httptrace.ClientTrace
	reused   atomic.Bool // these three are set by the transport's goroutines
	sent     atomic.Bool
	answered atomic.Bool
	sending  bytes.Reader
	response Response
	body     body
}

// request makes the request of r under the attempt's context.
func (f *flight) request(attempt context.Context, r Request) *http.Request {
	f.trace = httptrace.ClientTrace{GotConn: f.gotConn, WroteHeaders: f.wroteHeaders, GotFirstResponseByte: f.gotFirstByte}
	request := (&http.Request{
		Method: r.Method, URL: r.URL, Host: r.URL.Host, Header: r.Header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(httptrace.WithClientTrace(attempt, &f.trace))
	if r.Body != nil { // in a form that the transport knows: headers and body leave together
		f.sending.Reset(r.Body)
		request.Body, request.ContentLength = io.NopCloser(&f.sending), int64(len(r.Body))
	}
	return request
}

func (f *flight) gotConn(i httptrace.GotConnInfo) { f.reused.Store(i.Reused) }
func (f *flight) wroteHeaders()                   { f.sent.Store(true) }
func (f *flight) gotFirstByte()                   { f.answered.Store(true) }

// send makes one HTTP exchange. It returns the access key that signed it.
func send(ctx context.Context, over *http.Transport, r Request) (_ *Response, key string, _ error) {
	attempt, cancel := context.WithCancelCause(ctx)
	begun, f := time.Now(), new(flight)
	request := f.request(attempt, r)
	if r.Sign != nil {
		var err error
		if key, err = r.Sign.sign(ctx, request, r.Body); err != nil {
			cancel(nil)
			return nil, "", &Failure{Kind: Unsigned, cause: err}
		}
	}
	watch := newWatch(cancel, r.FirstByte)
	answer, err := over.RoundTrip(request)
	if err != nil {
		watch.stop()
		failure := &Failure{Kind: kindOf(ctx, attempt, err, f.sent.Load()), cause: err}
		if failure.Kind == Broken && f.reused.Load() && !f.answered.Load() && time.Since(begun) < staleWithin {
			failure.Kind = Stale
		}
		cancel(nil)
		return nil, key, failure
	}
	f.body = body{from: answer.Body, caller: ctx, attempt: attempt, cancel: cancel, watch: watch, idle: r.Idle}
	f.response = Response{Status: answer.StatusCode, Header: answer.Header, Body: &f.body}
	return &f.response, key, nil
}

// kindOf names what ended an exchange. The caller's own end outranks all else;
// then our timers; then what the network said.
func kindOf(caller, attempt context.Context, err error, sent bool) Kind {
	switch {
	case caller.Err() != nil && errors.Is(context.Cause(caller), context.DeadlineExceeded):
		return Expired
	case caller.Err() != nil:
		return Cancelled
	case errors.Is(context.Cause(attempt), errSilent):
		return Silent
	case errors.Is(err, ErrPrivateAddress):
		return Refused
	case !sent:
		return Connect
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return Connect
	}
	return Broken
}
