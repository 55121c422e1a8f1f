// Package runtimeapi runs a function's built bootstrap as Lambda does: several
// environments at once, each a process of its own before a Runtime API of its
// own, and before all of them a function URL in RESPONSE_STREAM mode.
//
// Invariants: an environment serves one invocation at a time (or as many as
// Concurrency says), and takes the next one only when it has asked for it; an
// answer reaches the client chunk by chunk while the function writes it; an
// answer that the function breaks off, or whose process dies, breaks the
// client's connection and never ends cleanly; a client that leaves is not
// noticed by the function; a process that is killed, at its deadline or by
// somebody else, is replaced; no process outlives its Runtime.
//
// As on Lambda: 6 MiB for an event, 200 MiB for an answer, 429 where too many
// requests wait, 502 where the function fails before its answer begins.
// Otherwise than on Lambda, requests wait for a free environment, since there
// is a fixed number of them.
//
// Concurrency: a Runtime is safe for use by many goroutines.
//
// Errors: Start returns what stops it; afterwards clients get what the function
// URL would say, and the log says why.
package runtimeapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of Lambda.
const (
	MaxEvent  = 6 << 20   // bytes of an event, its JSON included
	MaxAnswer = 200 << 20 // bytes of a streamed answer
)

// DefaultTimeout is how long an invocation may take where Config does not say.
const DefaultTimeout = 15 * time.Minute

// defaultQueue is how many requests may wait where Config does not say.
const defaultQueue = 1000

// Config says what runs. Bootstrap is required.
type Config struct {
	Bootstrap    string        // path of the executable
	Environments int           // 0: 1
	Concurrency  int           // invocations at a time in each environment; 0: 1
	Env          []string      // NAME=value, all that the processes get beside Lambda's own
	Timeout      time.Duration // of an invocation, after-response work included; 0: DefaultTimeout
	Freeze       bool          // stop processes between invocations, as Lambda does
	Queue        int           // requests that may wait for an environment; 0: 1000
	Output       io.Writer     // what the processes print; nil: nowhere
	Log          *slog.Logger  // nil: none

	maxAnswer int // bytes; 0: MaxAnswer
}

// Runtime runs environments and is the http.Handler of their function URL.
type Runtime struct {
	Config
	work         chan *invocation // to whoever asks for the next one
	waiting      atomic.Int64
	closing      chan struct{}
	closeOnce    sync.Once
	environments []*environment
	running      sync.WaitGroup // environments' loops
}

// errClosed is what Runtime Close ends everything with.
var errClosed = errors.New("runtimeapi: closed")

// Start starts the environments. It does not wait for them: requests do.
func Start(c Config) (*Runtime, error) {
	c.Environments, c.Concurrency = max(c.Environments, 1), max(c.Concurrency, 1)
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Queue <= 0 {
		c.Queue = defaultQueue
	}
	if c.maxAnswer <= 0 {
		c.maxAnswer = MaxAnswer
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	r := &Runtime{Config: c, work: make(chan *invocation), closing: make(chan struct{})}
	for i := range c.Environments {
		e, err := newEnvironment(r, i)
		if err != nil {
			return nil, errors.Join(err, r.Close(context.Background()))
		}
		r.environments = append(r.environments, e)
	}
	for _, e := range r.environments {
		r.running.Go(e.run)
	}
	return r, nil
}

// Environment is what is to be seen of one environment.
type Environment struct {
	Number      int
	PID         int           // of its process; 0 between two
	Ready       bool          // the process has asked for an invocation
	Busy        bool          // it serves one, or what that has left to do
	StartUp     time.Duration // from the process's start to its first question
	Invocations int           // that the process was given
	Processes   int           // that the environment has had
}

// Environments returns the state of all environments.
func (r *Runtime) Environments() []Environment {
	all := make([]Environment, 0, len(r.environments))
	for _, e := range r.environments {
		all = append(all, e.state())
	}
	return all
}

// Waiting returns how many requests wait for an environment.
func (r *Runtime) Waiting() int { return int(r.waiting.Load()) }

// Close lets running invocations end until ctx does, then ends all processes
// and waits for them. Requests that come meanwhile are refused.
func (r *Runtime) Close(ctx context.Context) error {
	r.closeOnce.Do(func() { close(r.closing) })
	var err error
	for _, e := range r.environments {
		err = errors.Join(err, e.idle(ctx))
	}
	for _, e := range r.environments {
		e.close()
	}
	r.running.Wait()
	return err
}

// closed reports whether Close was called.
func (r *Runtime) closed() bool {
	select {
	case <-r.closing:
		return true
	default:
		return false
	}
}
