package exchange

import "context"

// promptly adds work whose effect the session's next request is to find. That
// request may be on its way as soon as the client has seen the end of its answer.
func (e *exchange) promptly(work func(context.Context)) { e.pending = append(e.pending, work) }

// owes reports whether something has to be written before the answer's end.
func (e *exchange) owes() bool {
	return len(e.pending) > 0 || len(e.places) > 0 || len(e.attempts.Failures()) > e.learned
}

// catchUp does, before the client sees the end of its answer, what the session's
// next request is to find, all of it side by side: a deployment rests that told
// this exchange to stay away, a key that was refused is passed over, what was used
// is counted, and a place is free again. The client's leaving does not interfere.
func (e *exchange) catchUp(ctx context.Context) {
	if !e.owes() {
		return
	}
	work := e.pending
	e.pending = nil
	if len(e.places) > 0 {
		work = append(work, e.vacate)
	}
	if failures := e.attempts.Failures()[e.learned:]; len(failures) > 0 {
		e.learned += len(failures)
		work = append(work, func(ctx context.Context) { e.book(ctx, failures) })
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
	defer cancel()
	e.sideBySide(ctx, work)
}
