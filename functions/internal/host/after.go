package host

import (
	"context"
	"sync"
	"time"
)

// AfterLimit bounds one piece of after-response work.
const AfterLimit = 10 * time.Second

// After runs work that must be booked but that no client waits for: renewals,
// counters, the ledger. On net/http it runs beside the closing stream; the
// server's stop waits for it. The zero After is ready.
//
// The work's context keeps the exchange's values, outlives its cancellation,
// and ends after AfterLimit.
type After struct {
	running sync.WaitGroup
}

// Go starts work and returns at once.
func (a *After) Go(ctx context.Context, work func(context.Context)) {
	a.running.Go(func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), AfterLimit)
		defer cancel()
		work(bounded)
	})
}

// Wait returns when everything started so far has ended.
func (a *After) Wait() { a.running.Wait() }
