package exchange

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"holdfast/affinity"
	"holdfast/functions/internal/wire"
	"holdfast/routing"
)

// headers fills in what every answer past identification says.
func (e *exchange) headers(h http.Header) {
	if e.session.ID != "" {
		put(h, "X-Holdfast-Request-Id", e.in.ID, "X-Session-Id", e.session.ID, "X-Holdfast-Session-Source", string(e.session.Source))
	} else {
		put(h, "X-Holdfast-Request-Id", e.in.ID)
	}
	if e.in.Endpoint == wire.EndpointResponses {
		h.Set(historyMode, "portable")
	}
	if e.plan == nil {
		return
	}
	candidate := e.serving
	if candidate.Target == nil {
		candidate = e.planned
	}
	var target affinity.Target
	if candidate.Target != nil {
		target = wanted(candidate)
	}
	if dropped := e.dropped(); dropped != "" && e.serving.Target != nil {
		h.Set(droppedHeader, dropped)
	}
	word := string(e.plan.Outcome(target))
	e.line.Affinity = word
	t := candidate.Target
	if t == nil {
		put(h, "X-Holdfast-Affinity", word, "X-Holdfast-Attempts", strconv.Itoa(e.made()))
		return
	}
	put(h, "X-Holdfast-Affinity", word, "X-Holdfast-Attempts", strconv.Itoa(e.made()), "X-Holdfast-Deployment", t.ID)
	e.line.Deployment, e.line.Connection, e.line.Provider, e.line.UpstreamModel = t.ID, t.Account.ID, t.Account.Provider, t.UpstreamModel
}

// made is how many calls have been made, the one that is answering included.
func (e *exchange) made() int {
	if e.step.Action == routing.Try && e.serving.Target != nil {
		return e.attempts.Calls() + 1
	}
	return e.attempts.Calls() + e.sent
}

// refuse answers with a problem of our own, or ends a stream that has begun
// with it.
func (e *exchange) refuse(p *wire.Problem) {
	e.line.Status, e.line.ErrorCode = p.Status, string(p.Code)
	e.closing()
	e.settle()
	if e.reply.started() {
		e.breakOff(p)
	}
	body := e.codec.problem(p, e.in.ID)
	_ = e.reply.body(body, p.Status, func(h http.Header) {
		h.Set("Content-Type", "application/json")
		h.Set("X-Holdfast-Error", string(p.Code))
		if e.shape() == wire.EndpointMessages {
			h.Set("Request-Id", e.in.ID) // where this protocol's clients look for it
		}
		if text := p.RetrySeconds(); text != "" {
			h.Set("Retry-After", text)
		}
	})
}

// settle makes the headers of a failed exchange say what was planned.
func (e *exchange) settle() {
	if !e.reply.started() {
		e.serving = routing.Candidate{}
	}
}

// breakOff ends a stream that has begun: the protocol's own error event, then
// an aborted connection. A clean end would look like success to several
// clients.
func (e *exchange) breakOff(p *wire.Problem) {
	e.line.Status, e.line.ErrorCode = http.StatusOK, string(p.Code)
	if e.following == nil { // only heartbeats have been sent
		e.following = e.codec.follow(wire.ByProtocol)
	}
	last := e.following.Failure(p, e.stamp())
	_ = e.reply.send(last, http.StatusOK, nil)
	panic(http.ErrAbortHandler)
}

// abort ends an exchange after output, or one whose client has left.
func (e *exchange) abort(t tried) {
	if t.outcome.Class == routing.Cancelled {
		e.left()
	}
	if t.shown { // the provider's own error event was the last that was sent
		e.line.ErrorCode = string(wire.UpstreamFailed)
		panic(http.ErrAbortHandler)
	}
	p := wire.Refuse(wire.UpstreamFailed)
	if t.outcome.Class == routing.Expired {
		p = wire.Refuse(wire.DeadlineExceeded)
	}
	e.breakOff(p)
}

// turnAway answers with a problem that was met before any deployment was asked.
// What is the client's own doing is told even to one that seems to have left:
// it may only have closed its sending side. Anything else may come of its
// leaving.
func (e *exchange) turnAway(ctx context.Context, p *wire.Problem) {
	if p.Status >= http.StatusInternalServerError && ctx.Err() != nil && ended(ctx) == routing.Cancelled {
		e.left()
	}
	e.refuse(p)
}

// left ends an exchange whose client has gone: nobody reads what would be said.
func (e *exchange) left() {
	e.line.Cancelled, e.line.Status = true, statusClientLeft
	panic(http.ErrAbortHandler)
}

// statusClientLeft is the status in the log of an exchange that nobody waits
// for any more.
const statusClientLeft = 499

// pass answers with the provider's own error. A 429 and a 503 always say when
// to come back: some clients give up at once otherwise.
func (e *exchange) pass(t tried) {
	switch {
	case t.status == http.StatusPaymentRequired: // the operator's bill, never the client's
		e.refuse(wire.Refuse(wire.UpstreamCredentials))
		return
	case t.body == nil || e.reply.started():
		e.refuse(told(t).After(e.step.RetryAfter))
		return
	}
	e.closing()
	e.settle()
	e.line.Status, e.line.ErrorCode = t.status, orElse(t.fault.Code, t.fault.Type)
	_ = e.reply.body(e.presentable(t), t.status, func(h http.Header) {
		pass(t.header)(h)
		if !aboutRequest(t.outcome.Class) {
			h.Set("X-Holdfast-Error", string(wire.UpstreamFailed))
		}
		e.comeBack(h, t.status)
	})
}

// comeBack makes an error say when to come back: as the provider says, or sooner
// where others of the pool are back before it. A 429 and a 503 always say
// something.
func (e *exchange) comeBack(h http.Header, status int) {
	said, back := retryAfter(h, e.Now()), e.step.RetryAfter
	waits := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	switch {
	case back > 0 && (said == 0 || back < said):
		h.Del("Retry-After-Ms")
	case h.Get("Retry-After") != "" && said > 0 || said == 0 && !waits:
		return
	default: // in the header that everybody reads
		back = max(time.Second, said)
	}
	h.Set("Retry-After", strconv.Itoa(int((back+time.Second-1)/time.Second)))
}

func orElse(value, other string) string {
	if value != "" {
		return value
	}
	return other
}
