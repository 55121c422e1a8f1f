package runtimeapi

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// Headers and trailers of the Runtime API.
const (
	headerRequestID = "Lambda-Runtime-Aws-Request-Id"
	headerDeadline  = "Lambda-Runtime-Deadline-Ms"
	headerARN       = "Lambda-Runtime-Invoked-Function-Arn"
	headerTrace     = "Lambda-Runtime-Trace-Id"
	headerErrorType = "Lambda-Runtime-Function-Error-Type"
	headerErrorBody = "Lambda-Runtime-Function-Error-Body" // base64, in trailers
)

// contentIntegration is the content type of an answer that begins with a
// prelude.
const contentIntegration = "application/vnd.awslambda.http-integration-response"

// maxReport bounds what is read of an error report, in bytes.
const maxReport = 256 << 10

// routes is the Runtime API of 2018-06-01.
func (e *environment) routes() http.Handler {
	mux := http.NewServeMux()
	const root = "/2018-06-01/runtime/"
	mux.HandleFunc("GET "+root+"invocation/next", e.next)
	mux.HandleFunc("POST "+root+"invocation/{id}/response", e.response)
	mux.HandleFunc("POST "+root+"invocation/{id}/error", e.failure)
	mux.HandleFunc("POST "+root+"init/error", e.initFailure)
	return mux
}

// next hands out an invocation. Asking for it ends the one before.
func (e *environment) next(w http.ResponseWriter, r *http.Request) {
	process := e.ask()
	given := e.await(r.Context())
	if !e.take(process, given) {
		panic(http.ErrAbortHandler) // nobody waits for an answer any more
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set(headerRequestID, given.id)
	h.Set(headerDeadline, strconv.FormatInt(given.deadline.UnixMilli(), 10))
	h.Set(headerARN, "arn:aws:lambda:local:000000000000:function:"+functionName)
	h.Set(headerTrace, given.trace)
	h.Set("Content-Length", strconv.Itoa(len(given.event)))
	_, _ = w.Write(given.event) // a process that is gone fails the invocation by its end
	given.event = nil
}

// ask notes that the process waits: with nothing else to do it may be frozen.
// It returns which of the environment's processes that is.
func (e *environment) ask() (process int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ready {
		e.ready, e.startUp = true, time.Since(e.started)
		e.runtime.Log.Info("environment ready", "environment", e.number, "milliseconds", e.startUp.Milliseconds())
	}
	e.asking++
	for id, i := range e.invocations {
		if i.answered && e.runtime.Concurrency == 1 {
			i.expiry.Stop()
			delete(e.invocations, id)
		}
	}
	e.freeze()
	e.change()
	return e.processes
}

// await waits for an invocation; nil where the process or the Runtime ends.
func (e *environment) await(ctx context.Context) *invocation {
	select {
	case <-ctx.Done():
		return nil
	case <-e.runtime.closing:
		<-ctx.Done() // an idle process hears nothing until it is ended
		return nil
	case i := <-e.runtime.work:
		return i
	}
}

// take notes that a process no longer waits, and what for. Where it has ended
// meanwhile the invocation goes to another, and take reports false.
func (e *environment) take(process int, i *invocation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asking--
	e.change()
	if i == nil {
		return false
	}
	if e.process == nil || e.processes != process {
		go e.runtime.offer(i)
		return false
	}
	e.given++
	i.deadline = time.Now().Add(e.runtime.Timeout)
	i.expiry = time.AfterFunc(e.runtime.Timeout, func() { e.expire(i) })
	e.invocations[i.id] = i
	e.thaw()
	return true
}

// expire ends a process that is past an invocation's deadline.
func (e *environment) expire(i *invocation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.invocations[i.id] == i {
		e.runtime.Log.Error("invocation timed out", "environment", e.number, "request_id", i.id)
		e.kill()
	}
}

// find returns the invocation that a request is about.
func (e *environment) find(w http.ResponseWriter, r *http.Request) *invocation {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := e.invocations[r.PathValue("id")]
	if i == nil || i.answered {
		http.Error(w, `{"errorMessage":"Invalid request ID","errorType":"InvalidRequestID"}`, http.StatusBadRequest)
		return nil
	}
	i.answered = true
	return i
}

// response takes an answer in, for as long as the function writes it.
func (e *environment) response(w http.ResponseWriter, r *http.Request) {
	i := e.find(w, r)
	if i == nil {
		return
	}
	a := &answer{body: r.Body, integration: r.Header.Get("Content-Type") == contentIntegration, taken: make(chan error, 1)}
	a.broken = func() error { return reported(r.Trailer) }
	i.deliver(a)
	err := <-a.taken
	e.answered(i)
	switch {
	case errors.Is(err, errTooLarge):
		http.Error(w, `{"errorMessage":"Exceeded maximum allowed payload size","errorType":"RequestEntityTooLarge"}`, http.StatusRequestEntityTooLarge)
	default:
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"status":"OK"}`)
	}
}

// answered ends an invocation where nothing tells when its process has done
// all that it leaves.
func (e *environment) answered(i *invocation) {
	if e.runtime.Concurrency == 1 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	i.expiry.Stop()
	delete(e.invocations, i.id)
	e.change()
}

// functionError is an error that a function reports.
type functionError struct{ Type, Message string }

func (f *functionError) Error() string { return "function error " + f.Type + ": " + f.Message }

// reported is the error that a streamed answer's trailers tell of.
func reported(trailer http.Header) error {
	kind := trailer.Get(headerErrorType)
	if kind == "" {
		return nil
	}
	body, err := base64.StdEncoding.DecodeString(trailer.Get(headerErrorBody))
	if err != nil {
		body = nil
	}
	return parseError(kind, body)
}

// parseError reads an error object.
func parseError(kind string, body []byte) *functionError {
	var said struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	if json.Unmarshal(body, &said) != nil {
		return &functionError{Type: kind}
	}
	if kind == "" {
		kind = said.Type
	}
	return &functionError{Type: kind, Message: said.Message}
}

// failure takes an error in place of an answer.
func (e *environment) failure(w http.ResponseWriter, r *http.Request) {
	i := e.find(w, r)
	if i == nil {
		return
	}
	i.fail(e.read(r))
	e.answered(i)
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

// initFailure takes the reason of a process that is about to end.
func (e *environment) initFailure(w http.ResponseWriter, r *http.Request) {
	e.runtime.Log.Error("environment cannot start", "environment", e.number, "error", e.read(r))
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

func (e *environment) read(r *http.Request) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxReport))
	if err != nil {
		return err
	}
	return parseError(r.Header.Get(headerErrorType), body)
}
