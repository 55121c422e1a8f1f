package exchange

import (
	"context"

	"holdfast/functions/internal/ledger"
	"holdfast/functions/internal/telemetry"
)

// taskOf is a task as the ledger keeps it. The exchange's own event never books a
// success: that has one of its own.
func taskOf(t *telemetry.Task) *ledger.Task {
	return &ledger.Task{Kind: t.Kind, ID: t.ID, Parameters: t.Parameters}
}

// bookTask books the success of a task that this exchange has seen, apart from the
// exchange: under an id and a time that follow from the task alone. Its price is
// not known here; what it depends on is.
func (e *exchange) bookTask(ctx context.Context) {
	t := e.line.Task
	if t == nil || !t.Finished {
		return
	}
	bill := e.event(nil)
	bill.ID, bill.Time = "ev_"+e.Hash("task", e.in.Principal.Scope.String(), t.Kind, t.ID), t.Started
	bill.Usage, bill.Cost, bill.Saved, bill.Attempts = nil, nil, nil, nil
	bill.FirstByteMS, bill.DurationMS, bill.Model = 0, 0, t.Model
	bill.Task = taskOf(t)
	bill.Task.Succeeded = true
	_ = e.Ledger.Append(ctx, bill) // it says itself what it could not book
}
