package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestStopHasLastWords: an exchange that does not finish within the grace
// period meets its deadline a little before, and can still tell its client.
func TestStopHasLastWords(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	running, booked := make(chan struct{}), false
	after := new(After)
	s := Server{After: after, Grace: farewell + 100*time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(running)
			<-r.Context().Done()
			after.Go(r.Context(), func(ctx context.Context) { booked = ctx.Err() == nil })
			if !errors.Is(context.Cause(r.Context()), context.DeadlineExceeded) {
				t.Errorf("the exchange ends by %v", context.Cause(r.Context()))
			}
			io.WriteString(w, "last words")
		}),
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	words := make(chan string, 1)
	go func() {
		answer, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			words <- err.Error()
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		words <- string(text)
	}()
	<-running
	stop()
	if got := <-words; got != "last words" {
		t.Errorf("the client got %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !booked {
		t.Error("after-response work was not done before the end")
	}
}

// TestStopDoesNotWaitForEver: work after answers that never ends, such as a line
// for a log that nobody reads, does not keep a stop from ending.
func TestStopDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, after := make(chan struct{}), new(After)
		defer func() {
			close(stuck)
			time.Sleep(2 * idleFor) // its goroutine waits so long for more
		}()
		after.Go(t.Context(), func(context.Context) { <-stuck })
		ctx, stop := context.WithCancel(t.Context())
		s := Server{After: after, Grace: 20 * time.Second, Log: slog.New(slog.DiscardHandler)}
		l := &quiet{closed: make(chan struct{})}
		begun := time.Now()
		stop()
		if err := s.Serve(ctx, l); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != s.Grace {
			t.Errorf("the stop took %v, want %v", took, s.Grace)
		}
	})
}

// quiet is a listener that nobody calls.
type quiet struct {
	once   sync.Once
	closed chan struct{}
}

func (q *quiet) Accept() (net.Conn, error) { <-q.closed; return nil, net.ErrClosed }
func (q *quiet) Close() error              { q.once.Do(func() { close(q.closed) }); return nil }
func (q *quiet) Addr() net.Addr            { return &net.TCPAddr{} }

// TestStopWaitsForWhatIsKept: the stop waits for work that bounds itself, and no
// longer than for all else after answers.
func TestStopWaitsForWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after, done := new(After), false
		after.Keep(func() { time.Sleep(AfterLimit - time.Second); done = true })
		if !after.waitFor(AfterLimit) || !done {
			t.Error("the stop has not waited")
		}
		begun := time.Now()
		after.Keep(func() { time.Sleep(2 * AfterLimit) })
		if after.waitFor(AfterLimit) || time.Since(begun) != AfterLimit {
			t.Errorf("the stop has waited for %s", time.Since(begun))
		}
		after.Wait()
	})
}
