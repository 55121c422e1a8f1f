package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/functions/internal/telemetry"
	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/chat"
	"holdfast/routing"
	"holdfast/routing/catalog"
)

// errand is one call that is not a generation: about a thing that an account
// owns, or one that passes through as it is. There is no other target for it,
// and what becomes of it never cools anybody.
type errand struct {
	method  string
	path    string // escaped, below the target's base URL, beginning with a slash
	query   string
	headers []string // of the client's, those that pass; canonical
	body    []byte   // nil: none
	kind    string   // Content-Type of body
	safe    bool     // may be sent twice
}

// errands begins an exchange of errands. Its reply says who serves once owned
// has said so.
func (x *Exchange) errands(w http.ResponseWriter, r *http.Request, in Request) *exchange {
	e := &exchange{Exchange: x, in: in, http: r, codec: x.codecs[in.Endpoint], turn: x.turns.Add(1), unpaid: true}
	if e.codec == nil {
		e.codec = &codec{problem: chat.ErrorBody}
	}
	e.step.Action = routing.Done // no attempt is under way
	e.facts, _ = wire.Inspect("", []byte("{}"))
	e.reply = newReply(w, nil, e.headers)
	e.line = telemetry.Exchange{Start: in.Start, RequestID: in.ID, Endpoint: in.Endpoint, KeyID: in.Principal.Caller.ID, UserPath: in.Principal.Caller.UserPath}
	return e
}

// current looks for a newer configuration while the owner is read: an errand
// has no plan whose one read could tell of it. The function that it returns
// waits for it, and judges the caller again where there is one.
func (e *exchange) current(ctx context.Context) (settled func() *wire.Problem) {
	found := make(chan *Snapshot, 1)
	go func() {
		fresh, _ := e.Configuration.Refresh(ctx) // without the store, what is known rules
		found <- fresh
	}()
	return func() *wire.Problem {
		fresh := <-found
		if fresh == e.in.Snapshot {
			return nil
		}
		e.in.Snapshot = fresh
		return e.again(ctx)
	}
}

// owned validates who made a thing, as the creator of a response is validated
// that is continued, and makes it the one target of this exchange. Cooldowns
// and limits are about generation: they keep nobody from its own things.
func (e *exchange) owned(o affinity.Owner) *wire.Problem {
	known := e.in.Snapshot.Catalog
	e.plan = &affinity.Plan{Owner: &o}
	if o.Session != "" {
		e.session = identity.Session{ID: o.Session, Lane: o.Lane, Source: identity.Inherited}
	}
	target := known.Deployment(o.Deployment)
	if e.pool = known.Pool(o.Model); e.pool == nil && target != nil {
		e.pool = known.Pool(target.Model)
	}
	if e.pool == nil || target == nil || target.Account.ID != o.Connection {
		return wire.Refuse(wire.ContinuationUnavailable)
	}
	e.line.Model = e.pool.Name
	e.describe()
	e.decision = routing.Plan(routing.Request{
		Catalog: known, Caller: e.in.Principal.Caller, Pool: e.pool, Endpoint: o.Endpoint, Native: strings.HasPrefix(o.Endpoint, bypassing), Now: e.Now(),
		Owner: &routing.Owner{Deployment: o.Deployment, BaseURL: o.BaseURL, Boundary: o.Boundary},
	})
	_, step := e.decision.Start(e.Now())
	if step.Action != routing.Try {
		return wire.Refuse(wire.Code(step.Refusal.Code)).After(step.Refusal.RetryAfter)
	}
	e.planned, e.serving = step.Candidate, step.Candidate
	return nil
}

// send makes the call: once more over a fresh connection where the first died
// before any answer and that does no harm, and with the connection's next key
// where one is refused or limited. Where there is an answer its body is to be
// closed; tried says what it means.
func (e *exchange) send(ctx context.Context, q errand) (*upstream.Response, tried) {
	target, fresh := e.serving.Target, false
	for {
		call, err := e.errandCall(target, q)
		if err != nil {
			e.Log.ErrorContext(ctx, "a call cannot be built", "deployment", target.ID, "error", err)
			return nil, tried{outcome: routing.Outcome{Class: routing.CredentialRefused}}
		}
		call.Fresh = fresh
		begun := e.Now()
		answer, err := e.Upstream.Do(ctx, call)
		e.sent++
		t := tried{outcome: routing.Outcome{Class: routing.Success}}
		if err != nil {
			t = failed(err)
		} else if t.status = answer.Status; answer.Status >= http.StatusBadRequest || answer.Status/100 == 3 && answer.Status != http.StatusNotModified {
			t = e.rejected(answer)
			answer = nil
		}
		e.line.Attempts = append(e.line.Attempts, telemetry.Attempt{
			Deployment: target.ID, Outcome: t.outcome.Class.String(), Status: t.status, Millis: e.Now().Sub(begun).Milliseconds(),
		})
		switch {
		case t.outcome.Class == routing.Stale && q.safe && !fresh:
			fresh = true
		case t.outcome.Class.Keyed() && e.shift+1 < len(target.Account.Keys):
			e.shift++
		default:
			return answer, t
		}
	}
}

// errandCall builds the call.
func (e *exchange) errandCall(t *catalog.Target, q errand) (upstream.Request, error) {
	base, err := e.BaseURL(t.BaseURL)
	if err != nil {
		return upstream.Request{}, err
	}
	at, err := below(base, q.path)
	if err != nil {
		return upstream.Request{}, err
	}
	at.RawQuery = q.query
	header := make(http.Header, 12)
	for _, name := range q.headers {
		if values := e.http.Header[name]; len(values) > 0 {
			header[name] = values
		}
	}
	if t.Protocol == catalog.Messages && header.Get("Anthropic-Version") == "" {
		header.Set("Anthropic-Version", anthropicVersion)
	}
	if q.body != nil {
		header.Set("Content-Type", q.kind)
	}
	header.Set("Accept-Encoding", "identity")
	header.Set("User-Agent", "holdfast")
	for name, value := range t.Account.Headers {
		header.Set(name, value)
	}
	return upstream.Request{
		Method: q.method, URL: at, Header: header, Body: q.body, Sign: e.signer(t),
		AllowPrivate: t.Account.AllowPrivateNetwork || t.Account.Provider == catalog.Simulated,
		FirstByte:    t.TimeoutJSON, Idle: t.IdleTimeout,
	}, e.authenticate(t, header)
}

// below is a URL under a base. A /v1 that both have is not doubled.
func below(base *url.URL, escaped string) (*url.URL, error) {
	at := *base
	prefix := strings.TrimSuffix(base.EscapedPath(), "/")
	if strings.HasSuffix(prefix, "/v1") && (escaped == "/v1" || strings.HasPrefix(escaped, "/v1/")) {
		escaped = strings.TrimPrefix(escaped, "/v1")
	}
	at.RawPath = prefix + escaped
	var err error
	at.Path, err = url.PathUnescape(at.RawPath)
	return &at, err
}

// undone tells the client why an errand has no answer.
func (e *exchange) undone(t tried) {
	switch t.outcome.Class {
	case routing.Cancelled:
		e.left()
	case routing.Expired:
		e.refuse(wire.Refuse(wire.DeadlineExceeded))
	case routing.CredentialRefused:
		e.refuse(wire.Refuse(wire.UpstreamCredentials))
	case routing.UnknownModel: // the thing is unknown, not a model
		t.outcome.Class = routing.Rejected
		e.pass(t)
	default:
		e.pass(t)
	}
}

// deliver passes an answer on while it comes: nothing of it is kept. Headers go
// by the list of what may pass, and by more for content.
func (e *exchange) deliver(answer *upstream.Response, more func(name string) bool) {
	defer answer.Body.Close()
	e.line.Status = answer.Status
	head := func(h http.Header) {
		for name, values := range answer.Header {
			if passedBack(name) || more(name) {
				h[name] = values
			}
		}
	}
	flush := answer.Header.Get("Content-Length") == "" // its end is not known: it may come slowly
	held, _ := e.rooms.Get().(*room)
	if held == nil {
		held = newRoom()
	}
	defer e.rooms.Put(held)
	buffer := held.read
	for {
		n, err := answer.Body.Read(buffer)
		if e.line.FirstByte == 0 && (n > 0 || err != nil) {
			e.line.FirstByte = e.Now().Sub(e.in.Start)
		}
		if n > 0 || errors.Is(err, io.EOF) {
			if e.reply.pour(buffer[:n], answer.Status, head, flush) != nil {
				e.left()
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			e.torn(err)
			return
		}
	}
}

// torn ends an answer whose upstream has broken off: what has begun must not
// look whole.
func (e *exchange) torn(err error) {
	t := failed(err)
	if !e.reply.started() || t.outcome.Class == routing.Cancelled {
		e.undone(t)
		return
	}
	e.line.ErrorCode = string(wire.UpstreamFailed)
	panic(http.ErrAbortHandler)
}
