package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
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
