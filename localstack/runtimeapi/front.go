package runtimeapi

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// errBusy says that too many requests wait already.
var errBusy = errors.New("runtimeapi: too many requests wait")

// ServeHTTP is the function URL: it waits for an environment, and passes its
// answer on while it is being written.
func (r *Runtime) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	id := uuid.New()
	trace := "Root=1-" + strconv.FormatInt(time.Now().Unix(), 16) + "-" + hex.EncodeToString(id[:12])
	w.Header().Set("X-Amzn-Requestid", id.String())
	w.Header().Set("X-Amzn-Trace-Id", trace)
	text, err := newEvent(request, id.String(), trace, time.Now())
	if err != nil {
		r.refuse(w, id.String(), err)
		return
	}
	i := &invocation{id: id.String(), trace: trace, event: text, result: make(chan result, 1)}
	if err := r.submit(request.Context(), i); err != nil {
		r.refuse(w, i.id, err)
		return
	}
	got := <-i.result // a client that leaves from here on is not noticed
	if got.err != nil {
		r.refuse(w, i.id, got.err)
		return
	}
	r.pass(w, i.id, got.answer)
}

// submit waits for an environment that takes the invocation.
func (r *Runtime) submit(ctx context.Context, i *invocation) error {
	defer r.waiting.Add(-1)
	if r.waiting.Add(1) > int64(r.Queue) {
		return errBusy
	}
	select {
	case <-r.closing:
		return errClosed
	default:
	}
	select {
	case r.work <- i:
		return nil
	case <-r.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// offer submits an invocation again that a process did not live to take.
func (r *Runtime) offer(i *invocation) {
	if err := r.submit(context.Background(), i); err != nil {
		i.fail(err)
	}
}

// refuseWaiting fails what waits now, unless there is still a process that may
// take it.
func (r *Runtime) refuseWaiting() {
	for _, e := range r.Environments() {
		if e.PID != 0 {
			return
		}
	}
	for {
		select {
		case i := <-r.work:
			i.fail(errDied)
		default:
			return
		}
	}
}

// refuse answers what the function URL itself has to say.
func (r *Runtime) refuse(w http.ResponseWriter, id string, err error) {
	status, kind, body := http.StatusBadGateway, "InternalFailure", "Internal Server Error"
	switch {
	case errors.Is(err, errEvent):
		status, kind = http.StatusRequestEntityTooLarge, "RequestEntityTooLargeException"
		body = `{"Message":"Request must be smaller than ` + strconv.Itoa(MaxEvent) + ` bytes for the InvokeFunction operation"}`
	case errors.Is(err, errRequest):
		status, kind, body = http.StatusBadRequest, "BadRequestException", `{"Message":"Bad Request"}`
	case errors.Is(err, errBusy):
		status, kind = http.StatusTooManyRequests, "TooManyRequestsException"
		body = `{"Reason":"ConcurrentInvocationLimitExceeded","Type":"User","message":"Rate Exceeded."}`
	case errors.Is(err, errClosed):
		status, kind, body = http.StatusServiceUnavailable, "ServiceUnavailableException", `{"Message":"Service Unavailable"}`
	}
	r.Log.Warn("request refused", "request_id", id, "status", status, "error", err)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", kind)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// pass hands an answer to the client, and tells the function's side when all of
// it was read.
func (r *Runtime) pass(w http.ResponseWriter, id string, a *answer) {
	begun, err := relay(w, a, r.maxAnswer)
	a.taken <- err
	if err == nil {
		return
	}
	if !begun {
		r.refuse(w, id, err)
		return
	}
	r.Log.Warn("answer broken off", "request_id", id, "error", err)
	panic(http.ErrAbortHandler)
}
