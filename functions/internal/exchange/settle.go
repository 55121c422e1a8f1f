package exchange

import (
	"context"
	"sync"
	"sync/atomic"
)

// later adds work that no client waits for.
func (e *exchange) later(work func(context.Context)) { e.rest = append(e.rest, work) }

// settleLater does, after the last byte has gone, what no client waits for: all
// of it side by side, then the exchange's one line and the ledger's event, when
// everything is known.
func (e *exchange) settleLater(ctx context.Context) {
	e.line.End = e.Now()
	e.After(ctx, func(ctx context.Context) {
		sideBySide(ctx, e.rest)
		event := e.explained()
		e.Watch(&e.line)
		e.line.Log(ctx, e.Log)
		last := make([]func(context.Context), 0, 3)
		last = append(last, func(ctx context.Context) { _ = e.Ledger.Hand(ctx, event) }) // it says itself what it could not book
		if e.line.Task != nil {
			last = append(last, e.bookTask)
		}
		if e.Trace != nil {
			last = append(last, func(ctx context.Context) { e.Trace(ctx, &e.line) })
		}
		sideBySide(ctx, last)
	})
}

// sideBySide runs all work at once, the first here. A panic in one is the
// caller's.
func sideBySide(ctx context.Context, all []func(context.Context)) {
	if len(all) == 0 {
		return
	}
	if len(all) == 1 {
		all[0](ctx)
		return
	}
	var running sync.WaitGroup
	var panicked atomic.Pointer[any]
	guarded := func(work func(context.Context)) {
		defer func() {
			if caught := recover(); caught != nil {
				panicked.Store(&caught)
			}
		}()
		work(ctx)
	}
	for _, work := range all[1:] {
		running.Go(func() { guarded(work) })
	}
	guarded(all[0])
	running.Wait()
	if caught := panicked.Load(); caught != nil {
		panic(*caught)
	}
}
