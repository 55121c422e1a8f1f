package runtimeapi

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Pauses between processes that end before they ask for anything.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 5 * time.Second
)

// environment is one place where the function runs: a Runtime API, and one
// process after the other before it.
type environment struct {
	runtime *Runtime
	number  int
	server  *http.Server
	address string

	mu          sync.Mutex
	process     *os.Process // nil between two
	started     time.Time
	startUp     time.Duration
	ready       bool
	asking      int // questions for the next invocation that wait
	invocations map[string]*invocation
	given       int // invocations to this process
	processes   int
	changed     chan struct{} // closed, and made anew, at every change of asking or process
}

func newEnvironment(r *Runtime, number int) (*environment, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &environment{
		runtime: r, number: number, address: listener.Addr().String(),
		invocations: map[string]*invocation{}, changed: make(chan struct{}),
	}
	e.server = &http.Server{Handler: e.routes()}
	go func() { _ = e.server.Serve(listener) }() // ends with close
	return e, nil
}

// run starts processes until the Runtime closes. It keeps its thread, so that
// a process that is tied to its parent's life is tied to the whole of it.
func (e *environment) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for pause := firstPause; !e.runtime.closed(); {
		ready, err := e.once()
		if e.runtime.closed() {
			return
		}
		e.runtime.Log.Error("environment ended", "environment", e.number, "error", err, "ready", ready)
		if ready {
			pause = firstPause
			continue
		}
		e.runtime.refuseWaiting()
		select {
		case <-time.After(pause):
		case <-e.runtime.closing:
		}
		pause = min(2*pause, maxPause)
	}
}

// once runs one process to its end and reports whether it became ready.
func (e *environment) once() (ready bool, err error) {
	command := exec.Command(e.runtime.Bootstrap)
	command.Env = append(slices.Clone(e.runtime.Env), e.variables()...)
	command.Stdout, command.Stderr = e.runtime.Output, e.runtime.Output
	command.SysProcAttr = tied()
	e.mu.Lock()
	if e.runtime.closed() {
		e.mu.Unlock()
		return false, errClosed
	}
	e.started = time.Now()
	if err := command.Start(); err != nil {
		e.mu.Unlock()
		return false, err
	}
	e.process, e.ready, e.given, e.startUp = command.Process, false, 0, 0
	e.processes++
	e.mu.Unlock()
	err = command.Wait()
	return e.ended(), err
}

// ended forgets the process and fails what it was serving.
func (e *environment) ended() (ready bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, i := range e.invocations {
		i.fail(errDied)
		i.expiry.Stop()
		delete(e.invocations, id)
	}
	e.process = nil
	e.change()
	return e.ready
}

// variables are what Lambda itself tells a process.
func (e *environment) variables() []string {
	variables := []string{
		"AWS_LAMBDA_RUNTIME_API=" + e.address,
		"AWS_LAMBDA_FUNCTION_NAME=" + functionName,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + functionName,
		"AWS_LAMBDA_LOG_STREAM_NAME=" + strconv.Itoa(e.number),
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"_HANDLER=bootstrap",
	}
	if n := e.runtime.Concurrency; n > 1 {
		variables = append(variables, "AWS_LAMBDA_MAX_CONCURRENCY="+strconv.Itoa(n))
	}
	return variables
}

// functionName is what the function is called here.
const functionName = "holdfast-gateway"

// state is what Environments shows.
func (e *environment) state() Environment {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Environment{
		Number: e.number, Ready: e.ready, StartUp: e.startUp, Invocations: e.given, Processes: e.processes,
		Busy: e.process != nil && e.ready && e.asking < e.runtime.Concurrency,
	}
	if e.process != nil {
		s.PID = e.process.Pid
	}
	return s
}

// change tells those who wait. The caller holds mu.
func (e *environment) change() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// idle returns when the process serves nothing, or ctx ends.
func (e *environment) idle(ctx context.Context) error {
	for {
		e.mu.Lock()
		busy := e.process != nil && e.ready && (e.asking < e.runtime.Concurrency || len(e.invocations) > 0)
		changed := e.changed
		e.mu.Unlock()
		if !busy {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// kill ends the process at once; a stopped one too. The caller holds mu.
func (e *environment) kill() {
	if e.process != nil {
		_ = e.process.Kill() // it may have ended already
	}
}

// close ends the process and the Runtime API.
func (e *environment) close() {
	e.mu.Lock()
	e.kill()
	e.mu.Unlock()
	_ = e.server.Close() // connections of a process that is gone
}
