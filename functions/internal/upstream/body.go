package upstream

import (
	"context"
	"io"
	"time"
)

// watch cancels an attempt on which no byte comes in time.
type watch struct {
	timer *time.Timer
}

func newWatch(cancel context.CancelCauseFunc, first time.Duration) watch {
	if first <= 0 {
		return watch{}
	}
	return watch{time.AfterFunc(first, func() { cancel(errSilent) })}
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// next grants another span of silence.
func (w *watch) next(cancel context.CancelCauseFunc, span time.Duration) {
	switch {
	case span <= 0:
		w.stop()
	case w.timer == nil:
		*w = newWatch(cancel, span)
	default:
		w.timer.Reset(span)
	}
}

// body is an answer's body under the deployment's idle timer. It is read by
// one goroutine.
type body struct {
	from    io.ReadCloser
	caller  context.Context
	attempt context.Context
	cancel  context.CancelCauseFunc
	watch   watch
	idle    time.Duration
}

// Read fails with io.EOF at the answer's end and a *Failure otherwise.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if n > 0 {
		b.watch.next(b.cancel, b.idle)
	}
	if err != nil {
		b.watch.stop()
		if err != io.EOF {
			err = &Failure{Kind: kindOf(b.caller, b.attempt, err, true), cause: err}
		}
	}
	return n, err
}

// Close ends the attempt: what is left of the answer is not waited for.
func (b *body) Close() error {
	b.watch.stop()
	b.cancel(context.Canceled)
	return b.from.Close()
}
