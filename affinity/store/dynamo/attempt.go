package dynamo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"holdfast/affinity/store"
)

// maxAttempts is how often one request is sent at most.
const maxAttempts = 2

// The delay between attempts lies between pause and three times that, so that
// clients which failed together do not come back together.
const pause = 10 * time.Millisecond

// end is how one attempt ended, as far as a client can tell.
type end uint8

const (
	done     end = iota // answered: success
	conflict            // answered: the condition failed, nothing was written
	refused             // nothing was written, and asking again will not help
	busy                // nothing was written, asking again may help
	faulty              // answered with a server error: a write may have been applied
	lost                // no usable answer: it may have been applied, or be so later
)

// doubtful says that a write may have been applied.
func (e end) doubtful() bool { return e >= faulty }

// final says that the attempt is not followed by another.
func (e end) final() bool { return e <= refused }

// attempt sends one request within its own deadline and tells how it ended.
func (s *Store) attempt(ctx context.Context, operation string, number int, send func(context.Context) error) (end, error) {
	ctx, cancel := context.WithTimeout(ctx, s.attemptTimeout)
	defer cancel()
	var l line
	start := time.Now()
	err := send(l.watch(ctx))
	s.observe(Attempt{Operation: operation, Number: number, Took: time.Since(start), Err: err})
	e := classify(err, &l)
	if e == lost {
		s.hangUp()
	}
	return e, err
}

// ask sends a request that changes nothing, at most twice.
func (s *Store) ask(ctx context.Context, operation string, send func(context.Context) error) error {
	for number := 1; ; number++ {
		e, err := s.attempt(ctx, operation, number, send)
		if e == done {
			return nil
		}
		if e.final() || number == maxAttempts || !wait(ctx, pause) {
			return unavailable(operation, err)
		}
	}
}

// wait sleeps between d and 3d and reports whether the context outlived it.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d + rand.N(2*d))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// line watches whether a request got a connection. It only ever proves that
// nothing was sent; with a transport that is not net/http's it proves nothing.
type line struct{ asked, got atomic.Bool }

func (l *line) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { l.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { l.got.Store(true) },
	})
}

// neverSent says for certain that err came before any byte left: no connection
// was to be had, or the request failed while it was built and signed.
func (l *line) neverSent(err error) bool {
	if l.got.Load() {
		return false
	}
	var send *smithyhttp.RequestSendError
	var canceled *smithy.CanceledError
	return l.asked.Load() || !errors.As(err, &send) && !errors.As(err, &canceled)
}

func classify(err error, l *line) end {
	if err == nil {
		return done
	}
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return conflict
	}
	var answered *smithyhttp.ResponseError // also made, with status 0, without an answer
	if errors.As(err, &answered) && answered.HTTPStatusCode() > 0 {
		return classifyStatus(answered.HTTPStatusCode(), err)
	}
	if l.neverSent(err) {
		return busy
	}
	return lost
}

func classifyStatus(status int, err error) end {
	switch {
	case status >= 500:
		return faulty
	case status < 400: // an answer of success that cannot be read
		return lost
	case throttled(err) || status == http.StatusTooManyRequests:
		return busy
	default:
		return refused
	}
}

func throttled(err error) bool {
	return retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}.IsErrorThrottle(err).Bool()
}

func unavailable(operation string, err error) error {
	return fmt.Errorf("%w: %s: %w", store.ErrUnavailable, operation, err)
}

func unknown(operation string, err error) error {
	return fmt.Errorf("%w: %s: %w", store.ErrUnknown, operation, err)
}
