package runtimeapi

import (
	"errors"
	"io"
	"sync"
	"time"
)

// How an invocation may fail, beside what the function itself reports.
var (
	errDied     = errors.New("runtimeapi: the process ended before its answer was whole")
	errTooLarge = errors.New("runtimeapi: the answer is larger than a stream may be")
)

// invocation is one event on its way through an environment.
type invocation struct {
	id       string
	trace    string
	event    []byte
	deadline time.Time
	expiry   *time.Timer // kills the process at the deadline
	answered bool        // under its environment's mu

	once   sync.Once
	result chan result // exactly one is sent
}

// result is an answer that begins, or why there is none.
type result struct {
	answer *answer
	err    error
}

// answer is a stream that a function is still writing.
type answer struct {
	body        io.Reader
	integration bool         // it begins with a prelude
	broken      func() error // after the body's end: what its trailers say
	taken       chan error   // buffered: tells the function's side how the reading ended
}

func (i *invocation) deliver(a *answer) {
	i.once.Do(func() { i.result <- result{answer: a} })
}

// fail ends an invocation without an answer. One whose answer has begun ends by
// its body.
func (i *invocation) fail(err error) {
	i.once.Do(func() { i.result <- result{err: err} })
}
