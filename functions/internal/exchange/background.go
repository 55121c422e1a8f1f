package exchange

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"

	"holdfast/affinity"
	"holdfast/functions/internal/budget"
	"holdfast/functions/internal/ledger"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/sse"
)

// visible makes the id of a response that goes on without its client usable as
// soon as the client can see it: who is cut off may ask for it again. Its
// target is final from then on, since the work is under way there.
func (r *relay) visible() {
	if r.early || !r.facts.Background {
		return
	}
	id := r.reading.Answer().ID
	if id == "" {
		return
	}
	r.early, r.output = true, true
	booked, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), soon)
	defer cancel()
	if err := r.publish(booked, wire.Answer{ID: id, Status: wire.Open}); err != nil {
		r.Log.WarnContext(r.ctx, "a response in the background cannot be asked for", "request_id", r.in.ID, "error", err)
		r.held = sse.AppendComment(r.held, lost)
	}
	r.await(booked, id)
}

// lost tells the client of a stream that an id in it cannot be used.
const lost = "x-holdfast-continuation: unavailable"

// await puts the bill of a response in the background off until somebody sees its
// end: this exchange, if it stays so long, or one that asks for it later. Where
// that cannot be recorded, this exchange is charged what it seems to use.
func (e *exchange) await(ctx context.Context, id string) {
	if e.in.Bypass != nil || id == "" || e.in.Principal.Scope.IsZero() {
		return
	}
	err := e.Affinity.CreateTask(ctx, e.in.Principal.Scope, affinity.Task{
		Kind: affinity.Background, ID: id, Owner: e.ownerOf(e.serving.Target), Retention: e.retention(),
		Facts: affinity.Facts{Known: true, Started: e.in.Start, Model: e.pool.Name, Parameters: map[string]string{
			labelled: strings.Join(ledger.Labels(e.http.Header.Values(labelHeader)), ","),
		}},
	})
	if err != nil {
		e.Log.WarnContext(ctx, "a response in the background is booked by an estimate", "request_id", e.in.ID, "error", err)
		return
	}
	e.awaited, e.unpaid = id, true
}

// labelled is where the labels of its beginning stand among a task's parameters.
const labelled = "labels"

// bill charges this exchange a whole answer, unless that is in the background and
// others have seen its end before.
func (e *exchange) bill(ctx context.Context, answer wire.Answer) {
	if answer.Status == wire.Open && e.in.Endpoint == wire.EndpointResponses {
		if e.await(ctx, answer.ID); e.awaited != "" {
			return
		}
	}
	used, known := e.used(answer)
	if !known {
		return
	}
	if e.awaited != "" {
		if first, err := e.Affinity.FinishTask(ctx, e.in.Principal.Scope, affinity.Background, e.awaited); err == nil && !first {
			return
		}
		e.unpaid = false
	}
	e.charge(used)
}

// seen bills a response in the background whose end this exchange has been told
// of, the first time that happens: as an event of its own, under an id and a time
// that follow from the response alone.
func (s *inquiry) seen(answer wire.Answer) {
	if answer.Status == wire.Open || answer.Status == wire.Failed && !answer.HasUsage {
		return
	}
	s.later(func(ctx context.Context) {
		scope := s.in.Principal.Scope
		task, err := s.Affinity.Task(ctx, scope, affinity.Background, s.id)
		if err != nil || task.Finished {
			if err != nil && !errors.Is(err, affinity.ErrNotFound) {
				s.Log.WarnContext(ctx, "it is not known whether a response in the background was booked", "request_id", s.in.ID, "error", err)
			}
			return
		}
		first, err := s.Affinity.FinishTask(ctx, scope, affinity.Background, s.id)
		if first || errors.Is(err, affinity.ErrOwnershipUnavailable) { // the ledger takes it once
			s.book(ctx, task, answer)
		}
	})
}

// book books a response in the background, and charges the caller's soft limits.
// Strict ones were charged its estimate when it began.
func (s *inquiry) book(ctx context.Context, task affinity.Task, answer wire.Answer) {
	event := s.event(nil)
	event.ID, event.Time = "ev_"+s.Hash("task", s.in.Principal.Scope.String(), string(task.Kind), task.ID), task.Facts.Started
	event.Endpoint, event.Model, event.Stream, event.Attempts = wire.EndpointResponses, task.Facts.Model, false, nil
	event.Labels = ledger.Labels([]string{task.Facts.Parameters[labelled]})
	event.FirstByteMS, event.DurationMS, event.Usage, event.Cost, event.Saved = 0, 0, nil, nil, nil
	event.Task = &ledger.Task{Kind: string(affinity.Response), ID: task.ID, Succeeded: answer.Status != wire.Failed}
	charged := budget.Amount{}
	if answer.HasUsage {
		used := ledgerUsage(answer.Usage)
		event.Usage = &used
		event.Cost, event.Saved = ledger.Charge(s.serving.Target.Price, used)
		charged.Tokens = total(answer.Usage)
	}
	if event.Cost != nil {
		charged.Nanos = budget.Nanos(event.Cost.Total)
	}
	_ = s.Ledger.Append(ctx, event) // it says itself what it could not book
	if err := budget.Book(ctx, s.Store, s.in.Principal.Caller, charged, s.Now(), rand.Uint64()); err != nil {
		s.Log.WarnContext(ctx, "a limit was not charged", "request_id", s.in.ID, "error", err)
	}
}
