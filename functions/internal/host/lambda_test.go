package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// newEvent is a function URL event of a method and a target.
func newEvent(method, path, body string) *events.LambdaFunctionURLRequest {
	e := &events.LambdaFunctionURLRequest{Version: "2.0", RawPath: path, Body: body, Headers: map[string]string{"host": "here.example"}}
	e.RequestContext.HTTP.Method = method
	e.RequestContext.HTTP.SourceIP = "192.0.2.7"
	return e
}

// result is an answer that was read to its end and closed.
type result struct {
	*events.LambdaFunctionURLStreamingResponse
	body string
	err  error
}

// invoke serves one event with a handler.
func invoke(t *testing.T, event *events.LambdaFunctionURLRequest, handler http.HandlerFunc) result {
	t.Helper()
	l := &Lambda{Handler: handler, Log: slog.New(slog.DiscardHandler)}
	a, err := l.Invoke(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(a.Body)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return result{a, string(body), err}
}

// TestPanics shows how answers end whose handler does not: a 500 where nothing
// has left, a broken stream where something has.
func TestPanics(t *testing.T) {
	const secret = "the words of a prompt"
	rows := []struct {
		name    string
		handler http.HandlerFunc
		early   bool
		logged  string
	}{
		{"at once", func(http.ResponseWriter, *http.Request) { panic(secret) }, true, "withheld"},
		{"an error with content", func(http.ResponseWriter, *http.Request) { panic(errors.New(secret)) }, true, "withheld"},
		{"of the runtime", func(_ http.ResponseWriter, r *http.Request) { _ = []int{}[len(r.Method)] }, true, "index out of range"},
		{"after headers", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Secret", secret)
			w.WriteHeader(200)
			panic(secret)
		}, true, "withheld"},
		{"a status that is none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(7) }, true, "withheld"},
		{"aborted at once", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true, ""},
		{"after output", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "half"); panic(secret) }, false, "withheld"},
		{"after a flush", func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); panic(secret) }, false, "withheld"},
		{"aborted", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			panic(http.ErrAbortHandler)
		}, false, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var log bytes.Buffer
			l := &Lambda{Handler: row.handler, Log: slog.New(slog.NewJSONHandler(&log, nil))}
			a, err := l.Invoke(t.Context(), newEvent("GET", "/", ""))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(a.Body)
			_ = a.Close()
			switch {
			case row.early && (a.StatusCode != 500 || err != nil || a.Headers["Content-Type"] != "application/json" || !strings.Contains(string(body), "server_error")):
				t.Errorf("%d %v %s %v", a.StatusCode, a.Headers, body, err)
			case !row.early && (a.StatusCode != 200 || !errors.Is(err, errBroken)):
				t.Errorf("%d, ended with %v; want a broken stream", a.StatusCode, err)
			}
			if text := log.String(); !strings.Contains(text, row.logged) || row.logged == "" && text != "" {
				t.Errorf("logged %q", text)
			}
			if strings.Contains(log.String()+string(body), secret) || a.Headers["X-Secret"] != "" {
				t.Errorf("content is shown: %s %s", log.String(), body)
			}
			if row.logged != "" && !strings.Contains(log.String(), "host.TestPanics") {
				t.Errorf("no place in %s", log.String())
			}
		})
	}
}

// TestAfterWaitsForTheEnd shows that work given to After starts when the body is
// closed, runs side by side, may leave more, and is done when Close returns.
func TestAfterWaitsForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var after After
		type key struct{}
		ran := make(chan string, 8)
		both := make(chan struct{})
		l := &Lambda{Log: slog.New(slog.DiscardHandler), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx := context.WithValue(r.Context(), key{}, "mine")
			ctx, cancel := context.WithCancel(ctx)
			after.Go(ctx, func(ctx context.Context) {
				both <- struct{}{} // meets the other one: they run side by side
				if ctx.Err() != nil || ctx.Value(key{}) != "mine" {
					t.Errorf("the work's context: %v %v", ctx.Err(), ctx.Value(key{}))
				}
				after.Go(ctx, func(context.Context) { ran <- "third" })
				ran <- "one"
			})
			after.Go(ctx, func(context.Context) { <-both; ran <- "two" })
			after.Go(ctx, func(context.Context) { panic("costs nothing but itself") })
			cancel()
			_, _ = io.WriteString(w, "all")
		})}
		a, err := l.Invoke(t.Context(), newEvent("GET", "/", ""))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(a.Body); string(body) != "all" || err != nil {
			t.Fatalf("%q %v", body, err)
		}
		synctest.Wait()
		if len(ran) != 0 {
			t.Error("work ran before the end of the stream")
		}
		_ = a.Close()
		if len(ran) != 3 {
			t.Errorf("%d of 3 were done at the end of the invocation", len(ran))
		}
	})
}

// TestDeadlines shows the time that a handler and what it leaves are given.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var after After
		var ran atomic.Int32
		begun := time.Now()
		ctx, cancel := context.WithDeadline(t.Context(), begun.Add(20*time.Second))
		defer cancel()
		handler := func(w http.ResponseWriter, r *http.Request) {
			after.Go(r.Context(), func(ctx context.Context) {
				ran.Add(1)
				<-ctx.Done()
				if got := time.Since(begun); got != 19500*time.Millisecond {
					t.Errorf("work ended after %v, half a second before the end of the invocation is wanted", got)
				}
			})
			after.Go(r.Context(), func(context.Context) { ran.Add(1) })
			<-r.Context().Done()
			if got := time.Since(begun); got != 17*time.Second {
				t.Errorf("the request ended after %v, want 3 s before the invocation", got)
			}
			_, _ = io.WriteString(w, "last words")
		}
		l := &Lambda{Handler: http.HandlerFunc(handler), Log: slog.New(slog.DiscardHandler)}
		a, err := l.Invoke(ctx, newEvent("GET", "/", ""))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(a.Body); string(body) != "last words" || err != nil {
			t.Errorf("%q %v", body, err)
		}
		_ = a.Close()
		if n := ran.Load(); n != 2 {
			t.Errorf("%d pieces of work were done, want 2", n)
		}
	})
}

// TestAfterLimit shows that one piece of work has ten seconds where the
// invocation has more.
func TestAfterLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var after After
		var took time.Duration
		invoke(t, newEvent("GET", "/", ""), func(_ http.ResponseWriter, r *http.Request) {
			begun := time.Now()
			after.Go(r.Context(), func(ctx context.Context) {
				<-ctx.Done()
				took = time.Since(begun)
			})
		})
		if took != AfterLimit {
			t.Errorf("the work had %v, want %v", took, AfterLimit)
		}
	})
}

// TestNobodyReads shows that closing an answer that nobody can take ends its
// handler, and waits for it.
func TestNobodyReads(t *testing.T) {
	ended := false
	l := &Lambda{Log: slog.New(slog.DiscardHandler), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		if _, err := io.WriteString(w, "lost"); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("writing ended with %v", err)
		}
		<-r.Context().Done()
		ended = true
	})}
	a, err := l.Invoke(t.Context(), newEvent("GET", "/", ""))
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Close()
	if !ended {
		t.Error("the handler still runs")
	}
}

// TestAfterOnNetHTTP shows that work starts at once where no invocation waits
// for it, and that Wait returns when it has ended.
func TestAfterOnNetHTTP(t *testing.T) {
	var after After
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := false
	after.Go(ctx, func(ctx context.Context) {
		if ctx.Err() != nil {
			t.Error("the work's context ended with the exchange")
		}
		done = true
	})
	after.Wait()
	if !done {
		t.Error("not done")
	}
}
