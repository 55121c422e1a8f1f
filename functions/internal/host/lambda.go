package host

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

// Times that an invocation's end is approached in.
const (
	// lastWords is left of an invocation when its request's context ends: a
	// client that is told why is better off than one whose stream breaks.
	lastWords = 3 * time.Second
	// parting is left when after-response work ends: an environment that is
	// killed at its deadline takes its warm connections with it.
	parting = 500 * time.Millisecond
)

// Lambda serves a handler behind a function URL in RESPONSE_STREAM mode.
//
// Every Write leaves at once and Flush has nothing to add; the status and the
// headers are those of the first write. A panic becomes a 500 or, where output
// has begun, a broken stream. Work given to After runs when the client's stream
// has ended. Request contexts end three seconds before the invocation does.
//
// Lambda never tells that a client has left: an answer is produced to its end,
// so the handler's own limits must bound it.
//
// Several invocations may be served at once.
type Lambda struct {
	Handler http.Handler
	Log     *slog.Logger

	// Compressed lets answers say their Content-Encoding: the handler compresses
	// whole files by itself. A gateway's answers never are, since what comes from
	// a provider must not name a coding that has been undone.
	Compressed bool
}

// Start serves invocations until the environment ends. It does not return.
func (l *Lambda) Start() { lambda.StartHandlerFunc(l.Invoke) }

// Invoke serves one event. It returns once the headers are there; the body is
// read while the handler goes on, and closing it ends the invocation: Close
// waits for the handler and its after-response work.
func (l *Lambda) Invoke(ctx context.Context, event *events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
	if event == nil { // somebody invokes the function itself, with null
		event = &events.LambdaFunctionURLRequest{}
	}
	end, bounded := ctx.Deadline()
	if !bounded {
		end = time.Now().Add(15 * time.Minute) // the longest that Lambda grants
	}
	after := &backlog{deadline: end.Add(-parting)}
	ctx, cancel := context.WithDeadline(context.WithValue(ctx, invocationKey{}, after), end.Add(-lastWords))
	a := newAnswer(event.RequestContext.HTTP.Method == http.MethodHead)
	a.compressed = l.Compressed
	body := &body{PipeReader: a.reader, handled: make(chan struct{}), cancel: cancel, after: after, guard: l.guard}
	go func() {
		defer close(body.handled)
		defer cancel()
		l.serve(ctx, a, event)
	}()
	left := <-a.left
	return &events.LambdaFunctionURLStreamingResponse{
		StatusCode: left.status, Headers: left.headers, Cookies: left.cookies, Body: body,
	}, nil
}

// serve runs the handler and ends its answer, whatever happens.
func (l *Lambda) serve(ctx context.Context, a *answer, event *events.LambdaFunctionURLRequest) {
	returned := false
	defer func() {
		caught := recover()
		if returned {
			a.end()
			return
		}
		if caught != http.ErrAbortHandler {
			l.report(ctx, "handler panicked", caught)
		}
		a.fail()
	}()
	request, err := newRequest(ctx, event)
	if err != nil {
		a.refuse(http.StatusBadRequest, "invalid_request_error", err.Error())
	} else {
		if !l.Compressed {
			request.Header.Del("Accept-Encoding") // no coding is offered to whom cannot say that it is used
		}
		l.Handler.ServeHTTP(a, request)
	}
	returned = true
}

// guard runs after-response work: a panic there costs that work, not the
// process.
func (l *Lambda) guard(work func()) {
	defer func() {
		if caught := recover(); caught != nil {
			l.report(context.Background(), "after-response work panicked", caught)
		}
	}()
	work()
}

// report logs a panic by its place. Its text is shown only where the Go runtime
// wrote it: any other may hold content.
func (l *Lambda) report(ctx context.Context, what string, caught any) {
	text := "withheld"
	var known runtime.Error
	if err, isError := caught.(error); isError && errors.As(err, &known) {
		text = known.Error()
	}
	l.Log.ErrorContext(ctx, what, "at", origin(), "panic", text)
}

// origin names the function that panicked, outside of this package.
func origin() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") && !strings.Contains(frame.Function, "/internal/host.(*") {
			return frame.Function + ":" + strconv.Itoa(frame.Line)
		}
		if !more {
			return "unknown"
		}
	}
}
