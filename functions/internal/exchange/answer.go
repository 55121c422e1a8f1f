package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"holdfast/affinity"
	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/responses"
	"holdfast/routing"
)

// maxAnswer bounds a JSON answer, in bytes.
const maxAnswer = 64 << 20

// whole reads a JSON answer to its end and passes it on.
func (e *exchange) whole(ctx context.Context, answer *upstream.Response, rewritten wire.Rewritten) tried {
	defer answer.Body.Close()
	body, err := readAnswer(answer)
	if err != nil {
		return failed(err)
	}
	e.line.FirstByte = e.Now().Sub(e.in.Start)
	e.spoken = int64(len(body)) / bytesPerToken
	body = e.gathered(answer.Header, rewritten.Body, body)
	read, err := e.speaks(e.serving.Target).answer(body, e.counting())
	switch {
	case err == nil && e.untold(read):
		return e.streamed(ctx, answer, rewritten, body)
	case err != nil:
		return tried{outcome: routing.Outcome{Class: routing.ServerError}, header: answer.Header, fault: &wire.UpstreamError{}}
	case read.Status == wire.Failed:
		return e.inside(answer.Header, read.Err)
	case ctx.Err() != nil:
		return tried{outcome: routing.Outcome{Class: ended(ctx)}}
	}
	body, err = e.guarding(e.shaper()).Body(body)
	switch {
	case errors.Is(err, errGuarded):
		return e.withheld(read, answer)
	case err != nil:
		return tried{outcome: routing.Outcome{Class: routing.ServerError}, header: answer.Header, fault: &wire.UpstreamError{}}
	}
	if p := e.keepTask(ctx, body, nil); p != nil {
		return tried{outcome: routing.Outcome{Class: routing.Success}, status: answer.Status, refusal: p}
	}
	notice := e.succeed(ctx, read, answer)
	_ = e.reply.body(body, answer.Status, func(h http.Header) {
		e.passed(answer.Header, "application/json")(h)
		put(h, "Content-Length", strconv.Itoa(len(body)))
		if notice != "" {
			h.Set("X-Holdfast-Continuation", "unavailable")
		}
	})
	return tried{outcome: routing.Outcome{Class: routing.Success}, status: answer.Status}
}

// readAnswer reads a body of the announced size into one buffer.
func readAnswer(answer *upstream.Response) ([]byte, error) {
	size, err := strconv.Atoi(answer.Header.Get("Content-Length"))
	if err != nil || size <= 0 || size > maxAnswer {
		return io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	}
	room := make([]byte, size+1)
	body := room[:size:size]
	if _, err = io.ReadFull(answer.Body, body); err == nil {
		_, _ = answer.Body.Read(room[size:]) // its end, so that the connection can be used again
	}
	return body, err
}

// soon bounds what is written before the client sees the end of its answer.
const soon = 2 * time.Second

// succeed books a whole answer: what the client will rely on before it sees the
// end, the rest afterwards. It returns what to tell the client when a response
// id could not be made usable.
func (e *exchange) succeed(ctx context.Context, answer wire.Answer, from *upstream.Response) (notice string) {
	e.line.Status = from.Status
	if e.bridge != nil {
		answer.ID = e.answerID
	}
	if e.attempts.Spilled() {
		e.plan.Spill()
	}
	served := wanted(e.serving)
	booked := ctx
	if e.books(from, served) {
		var cancel context.CancelFunc
		booked, cancel = context.WithTimeout(context.WithoutCancel(ctx), soon)
		defer cancel()
	}
	e.bill(booked, answer)
	e.closing()
	if err := e.publish(booked, answer); err != nil {
		e.Log.WarnContext(ctx, "a response cannot be continued", "request_id", e.in.ID, "error", err)
		notice = lost
	}
	if err := e.bypassed(booked, answer); err != nil {
		e.Log.WarnContext(ctx, "a response cannot be continued", "request_id", e.in.ID, "error", err)
		notice = lost
	}
	e.bookUse(e.serving.Target, e.line.Usage)
	e.catchUp(ctx)
	e.keepTurnState(booked, from.Header)
	e.keep(answer)
	if e.plan.Changes(served) {
		e.line.Commit = e.commit(booked, served).String()
		return notice
	}
	e.later(func(ctx context.Context) { e.line.Commit = e.commit(ctx, served).String() })
	return notice
}

// books reports whether anything may be written before the answer's end: with
// that, the client's leaving does not interfere.
func (e *exchange) books(from *upstream.Response, served affinity.Target) bool {
	return e.in.Endpoint == wire.EndpointResponses || e.in.Bypass != nil ||
		from.Header.Get(turnState) != "" || e.plan.Changes(served)
}

// commit records where the session was served. An error is the store's and
// never concerns the answer.
func (e *exchange) commit(ctx context.Context, served affinity.Target) affinity.Commit {
	done, err := e.plan.Commit(ctx, served)
	if err != nil {
		e.Log.WarnContext(ctx, "a preference was not recorded", "request_id", e.in.ID, "error", err)
	}
	return done
}

// publish makes the id of a response usable by whoever reads it.
func (e *exchange) publish(ctx context.Context, answer wire.Answer) error {
	if e.in.Endpoint != wire.EndpointResponses || e.in.Principal.Scope.IsZero() {
		return nil
	}
	p := e.plan.Publication(answer.ID)
	p.Owner, p.Retention = e.maker(p.Owner), e.retention()
	if err := e.bindMade(ctx, p.Owner); err != nil || !e.codec.publishes || answer.ID == "" {
		return err
	}
	if e.facts.PreviousResponseID == "" {
		p.Parent = nil // an owner that other references require is no past
	}
	if p.Turn = e.added(answer); p.Turn != nil {
		p.Items = responses.ItemIDs(responses.OutputItems(p.Turn.Output), maxItems)
	}
	return e.Affinity.Publish(ctx, p)
}

// retention is how long ownership and history are kept.
func (e *exchange) retention() time.Duration {
	if retention := time.Duration(e.in.Snapshot.Catalog.Affinity().Retention); retention > 0 {
		return retention
	}
	return affinity.Forever
}
