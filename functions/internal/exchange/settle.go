package exchange

import (
	"context"
	"sync"

	"holdfast/functions/internal/telemetry"
)

// later adds work that no client waits for.
func (e *exchange) later(work func(context.Context)) { e.rest = append(e.rest, work) }

// settleLater does, after the last byte has gone, what no client waits for: all
// of it side by side, then the ledger's event and, last of all, the exchange's one
// line: whoever reads it finds all else done.
func (e *exchange) settleLater(ctx context.Context) {
	e.line.End = e.Now()
	e.closing() // where the answer did not end as it should
	e.After(ctx, func(ctx context.Context) {
		e.sideBySide(ctx, e.rest)
		e.safely(ctx, e.report)
	})
}

// report writes what the exchange was to the log, the ledger and the traces.
func (e *exchange) report(ctx context.Context) {
	event := e.explained()
	e.Watch(&e.line)
	if e.line.Task == nil && e.Trace == nil {
		_ = e.Ledger.Hand(ctx, event, func() { e.line.Log(ctx, e.Log) }) // it says itself what it could not book
		return
	}
	last := []func(context.Context){func(ctx context.Context) { _ = e.Ledger.Append(ctx, event) }, e.bookTask}
	if e.Trace != nil {
		e.line.TraceParent = e.http.Header.Get("Traceparent")
		last = append(last, func(ctx context.Context) { e.Trace(ctx, &e.line) })
	}
	e.sideBySide(ctx, last)
	e.line.Log(ctx, e.Log)
}

// sideBySide runs all work at once, the first here.
func (e *exchange) sideBySide(ctx context.Context, all []func(context.Context)) {
	if len(all) == 0 {
		return
	}
	var running sync.WaitGroup
	for _, work := range all[1:] {
		running.Go(func() { e.safely(ctx, work) })
	}
	e.safely(ctx, all[0])
	running.Wait()
}

// safely runs one piece of work. Nobody answers for a panic in it, and it must not
// end the process that other exchanges are served by.
func (e *exchange) safely(ctx context.Context, work func(context.Context)) {
	defer func() {
		if caught := recover(); caught != nil {
			e.Log.ErrorContext(ctx, "work after an answer panicked", "request_id", e.in.ID, "at", telemetry.Origin())
		}
	}()
	work(ctx)
}
