package app

import (
	"context"
	"time"

	"holdfast/affinity/store"
	"holdfast/functions/internal/host"
	"holdfast/functions/internal/ledger"
	"holdfast/functions/internal/telemetry"
)

// records is where exchanges are written down once they have ended. The ledger's
// calls have a guard of their own: what fails there says nothing about the path
// before an answer.
type records struct {
	book  *ledger.Book
	read  *ledger.Reader
	meter *telemetry.Meter
	watch func(*telemetry.Exchange)
	trace func(context.Context, *telemetry.Exchange) // nil: there is no collector
}

// records makes them. Nothing of OpenTelemetry is there unless a collector is.
func (o Options) records(configuration *Configuration, after *host.After) records {
	guarded := store.NewGuard(store.GuardConfig{Store: o.Store, Now: o.Now})
	c := ledger.Config{Store: guarded, Now: o.Now, Log: o.Log, Background: after.Keep, Retention: func() time.Duration {
		return time.Duration(configuration.Current().Catalog.Ledger().Retention)
	}}
	if !o.OnLambda { // where the next request waits for the books
		c.Gather = gatherEvents
	}
	if _, here := o.Store.(*store.Memory); here {
		c.AtOnce = 1
	}
	r := records{book: ledger.New(c), read: &ledger.Reader{Store: guarded, Now: o.Now}, meter: telemetry.NewMeter(o.Now)}
	if o.Environment.Collector != "" {
		r.trace = telemetry.NewTracer(o.Environment.Collector, o.Environment.CollectorHeaders, o.Log).Send
	}
	r.watch = func(e *telemetry.Exchange) {
		r.meter.Observe(e)
		e.Embed = o.OnLambda
	}
	return r
}

// gatherEvents is how long events of a busy process wait for others: a crash
// loses those of so much time.
const gatherEvents = 25 * time.Millisecond

// numbers are what the metrics page shows beside exchanges.
func (r records) numbers(guarded *store.Guard) []telemetry.Number {
	status := guarded.Status()
	resting := 0.0
	if status.Resting {
		resting = 1
	}
	written, lost := r.book.Counts()
	return []telemetry.Number{
		{Name: "holdfast_store_calls_total", Kind: "counter", Help: "Calls that reached the store.", Value: float64(status.Calls)},
		{Name: "holdfast_store_errors_total", Kind: "counter", Help: "Calls of the store that failed.", Value: float64(status.Failures)},
		{Name: "holdfast_store_refused_total", Kind: "counter", Help: "Calls that were not made while the store rested after failures.", Value: float64(status.Refused)},
		{Name: "holdfast_store_resting", Kind: "gauge", Help: "1 while the store is not asked.", Value: resting},
		{Name: "holdfast_ledger_events_total", Kind: "counter", Help: "Exchanges that were booked.", Value: float64(written)},
		{Name: "holdfast_ledger_lost_total", Kind: "counter", Help: "Exchanges that could not be booked.", Value: float64(lost)},
	}
}
