package exchange

import (
	"context"
	"errors"
	"net/http"
	"time"

	"holdfast/functions/internal/telemetry"
	"holdfast/functions/internal/wire"
	"holdfast/routing"
)

// tried is what came of one attempt.
type tried struct {
	outcome routing.Outcome
	status  int                 // the provider's HTTP status; 0 where there was none
	header  http.Header         // the provider's
	body    []byte              // the provider's error body; nil where there is none to show
	fault   *wire.UpstreamError // what the provider said
	problem *wire.Problem       // ours, in the place of what the provider has said, or would have
	shown   bool                // the provider's own error event has reached the client
	usage   *wire.Usage         // what it has reported so far, where it is not an answer
	refusal *wire.Problem       // why the client does not get what the provider has made; nil: it does
}

// run makes the attempts that routing asks for, one after the other, until one
// of them has answered the client or the client is told why none has.
func (e *exchange) run(ctx context.Context) {
	if e.caches {
		e.reply.copy(maxKept)
	}
	if e.facts.Stream && e.in.Bypass == nil { // there nothing is added
		e.reply.watch()
		defer e.reply.end()
	}
	var made []tried
	e.attempts, e.step = e.decision.Start(e.Now())
	e.planned = e.step.Candidate
	for e.step.Action == routing.Try && !e.fixed() {
		if len(e.places) > 0 && e.step.Candidate.Target != e.serving.Target { // nobody runs there any more
			e.catchUp(ctx)
		}
		e.reply.still(func() { e.enter(e.step) })
		t := e.attempt(ctx)
		made = append(made, t)
		e.reply.still(func() { e.next(t.outcome) })
	}
	e.catchUp(ctx)
	e.reply.end() // no heartbeat between looking at what has left and writing the rest
	e.conclude(made)
}

// next asks routing what follows an attempt.
func (e *exchange) next(outcome routing.Outcome) {
	if outcome.Class != routing.Incapable && !e.asked { // who could not be asked does not stand for a failure
		e.asked, e.planned = true, e.serving
	}
	e.step = e.attempts.Next(e.Now(), outcome)
}

// enter takes what the step says as the current attempt's.
func (e *exchange) enter(step routing.Step) {
	switch {
	case step.NextKey:
		e.shift++
	case step.Candidate.Target != e.serving.Target:
		e.shift = 0
	}
	e.serving = step.Candidate
}

// fixed reports whether the next step would leave the target that headers have
// already named to the client.
func (e *exchange) fixed() bool {
	return e.serving.Target != nil && e.step.Candidate.Target != e.serving.Target && e.reply.started()
}

// attempt waits as long as the step says, makes one attempt, and notes it.
func (e *exchange) attempt(ctx context.Context) tried {
	if !pause(ctx, e.step.Wait) {
		return tried{outcome: routing.Outcome{Class: ended(ctx)}}
	}
	target := e.serving.Target
	if !e.acquire(ctx, target) {
		return tried{outcome: routing.Outcome{Class: routing.AtLimit}}
	}
	begun := e.Now()
	e.booked = false
	t := e.mend(ctx, e.try(ctx))
	if account := e.serving.Target.Account; t.outcome.Class == routing.CredentialRefused && e.SecretRefused != nil && len(account.Keys) > 0 {
		e.SecretRefused(account.Keys[e.keyOf(account)])
	}
	e.passOver(t)
	e.cut(t)
	if !e.booked {
		e.bookUse(target, e.line.Usage)
	}
	if t.outcome.Class == routing.Success {
		e.bookLatency(target, e.in.Start.Add(e.line.FirstByte).Sub(begun))
	}
	e.line.Attempts = append(e.line.Attempts, telemetry.Attempt{
		Deployment: target.ID, Outcome: t.outcome.Class.String(), Status: t.status,
		Millis: e.Now().Sub(begun).Milliseconds(), Usage: e.reported(t),
	})
	return t
}

// pause waits and reports whether the exchange still has time.
func pause(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ended names why an exchange's context is over.
func ended(ctx context.Context) routing.Class {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return routing.Expired
	}
	return routing.Cancelled
}

// try makes one attempt at the current candidate.
func (e *exchange) try(ctx context.Context) (t tried) {
	call, rewritten, err := e.call(e.serving.Target)
	otherKey := len(e.serving.Target.Account.Keys) > e.shift+1
	var p *wire.Problem
	switch {
	case errors.As(err, &p):
		return tried{outcome: routing.Outcome{Class: routing.Incapable}, problem: p}
	case err != nil:
		e.Log.ErrorContext(ctx, "an attempt cannot be built", "deployment", e.serving.Target.ID, "error", err)
		return tried{outcome: routing.Outcome{Class: routing.CredentialRefused, Unsent: true, OtherKey: otherKey}}
	}
	defer func() { t.outcome.OtherKey = otherKey }()
	call.Fresh = e.step.Fresh
	answer, err := e.Upstream.Do(ctx, call)
	if err != nil {
		return failed(err)
	}
	switch {
	case answer.Status != http.StatusOK && (e.codec.task == "" || answer.Status/100 != 2):
		return e.rejected(answer)
	case e.facts.Stream || e.in.Bypass != nil && e.codec.follow != nil: // the bypass passes on what comes
		return e.relay(ctx, answer, rewritten)
	}
	return e.whole(ctx, answer, rewritten)
}

// conclude tells the client how a run ended that no attempt has answered.
func (e *exchange) conclude(made []tried) {
	switch e.step.Action {
	case routing.Done:
		if p := made[len(made)-1].refusal; p != nil {
			e.refuse(p)
		}
	case routing.Try: // the next target would not be the one named to the client
		e.refuse(wire.Refuse(wire.UpstreamFailed))
	case routing.Abort:
		e.abort(made[len(made)-1])
	case routing.Refuse:
		code := e.unavailable(wire.Code(e.step.Refusal.Code))
		if e.sealed && code == wire.ContinuationUnavailable {
			code = wire.StartNewConversation
		}
		e.refuse(withheldFor(wire.Refuse(code), e.step.Refusal.Lacks).After(e.step.Refusal.RetryAfter))
	case routing.Relay:
		e.pass(made[e.step.Relay-1])
	}
}
