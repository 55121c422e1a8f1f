package exchange

import (
	"context"
	"time"

	"holdfast/functions/internal/budget"
)

// closing notes, just before the client can see the end of its answer, what will
// be booked to its limits afterwards: its next request may come sooner.
func (e *exchange) closing() {
	if e.allowed.granted && e.allowed.booked == nil {
		e.allowed.booked = e.ending.Begin(e.allowed.accounts, e.consumed())
	}
}

// consumed is what the exchange has used, as far as that is known.
func (e *exchange) consumed() budget.Amount {
	used := budget.Amount{Requests: 1}
	if u := e.line.Usage; u != nil && e.found == nil {
		used.Tokens = total(*u)
	}
	if e.line.Cost != nil {
		used.Nanos = budget.Nanos(*e.line.Cost)
	}
	return used
}

// near reports whether bookings that were on their way when the limits were read
// may decide about a soft one.
func (e *exchange) near(now time.Time) bool {
	for i, ending := range e.allowed.ending {
		if e.allowed.accounts[i].Near(e.allowed.read[i], ending, now) {
			return true
		}
	}
	return false
}

// caughtUp waits for the bookings of answers that had ended in this process when
// the limits were read, and reads those again. It reports whether there were any.
func (e *exchange) caughtUp(ctx context.Context) bool {
	if e.allowed.ending == nil {
		return false
	}
	e.allowed.ending = nil
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	e.ending.Wait(ctx, e.allowed.accounts)
	read, err := e.Store.Read(ctx, e.allowed.keys()...)
	if err != nil {
		return false
	}
	e.takeAllowances(read)
	return true
}
