package exchange

import (
	"net/http"
	"strconv"

	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/routing"
	"holdfast/routing/catalog"
)

// CountTokens says how many tokens a Messages request has: as the session's
// deployment counts them where it speaks the protocol, else by an estimate that
// says so. Nothing is claimed, nothing is committed, no preference moves and no
// deployment cools: clients ask in bursts, beside their conversation.
func (x *Exchange) CountTokens(w http.ResponseWriter, r *http.Request, in Request) {
	ctx, leave := attached(r.Context(), false)
	defer leave()
	in.Endpoint = wire.EndpointCountTokens
	e := x.errands(w, r, in)
	e.in.Endpoint = wire.EndpointMessages // whose session, preference and deployments these are
	defer e.settleLater(ctx)
	if p := e.prepare(ctx); p != nil {
		e.turnAway(ctx, p)
		return
	}
	_, first := e.decision.Start(e.Now())
	if first.Action != routing.Try { // nobody may serve now, which is no reason not to count
		e.guess()
		return
	}
	e.planned, e.serving = first.Candidate, first.Candidate
	if first.Candidate.Target.Protocol != catalog.Messages {
		e.guess()
		return
	}
	answer, t := e.send(ctx, errand{
		method: http.MethodPost, path: "/v1/messages/count_tokens", query: r.URL.RawQuery, headers: e.codec.passes,
		body: e.codec.rewrite(e.facts, e.edits(first.Candidate.Target)).Body, kind: "application/json", safe: true,
	})
	e.counted(answer, t)
}

// counted passes a count on, or an error that is about the request; whatever else
// becomes of it, an estimate is more use to the client.
func (e *exchange) counted(answer *upstream.Response, t tried) {
	body, t := e.small(answer, t)
	_, is := jsonedit.Read(body).Get("input_tokens").Int()
	switch class := t.outcome.Class; {
	case body != nil && is:
		e.line.Status = answer.Status
		_ = e.reply.body(body, answer.Status, func(h http.Header) {
			pass(answer.Header)(h)
			h.Set("Content-Length", strconv.Itoa(len(body)))
		})
	case class == routing.Cancelled:
		e.left()
	case aboutRequest(class) && t.body != nil && t.status != http.StatusNotFound && t.status != http.StatusMethodNotAllowed: // where nobody counts
		e.pass(t)
	default:
		e.guess()
	}
}

// guess answers with an estimate.
func (e *exchange) guess() {
	e.line.Status = http.StatusOK
	body := strconv.AppendInt([]byte(`{"input_tokens":`), e.facts.GuessedTokens(), 10)
	_ = e.reply.body(append(body, "}\n"...), http.StatusOK, func(h http.Header) {
		h.Set("Content-Type", "application/json")
		h.Set("X-Holdfast-Estimated", "true")
	})
}
