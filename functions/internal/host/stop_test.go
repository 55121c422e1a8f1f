package host

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// oneCaller is a listener with one connection, then none.
type oneCaller struct {
	quiet
	calls chan net.Conn
}

func (o *oneCaller) Accept() (net.Conn, error) {
	select {
	case c := <-o.calls:
		return c, nil
	case <-o.closed:
		return nil, net.ErrClosed
	}
}

// TestStopDoesNotWaitForHandlers: an exchange that heeds nothing, not even its
// deadline, does not keep a stop beyond the grace period; its connection is cut.
func TestStopDoesNotWaitForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		l := &oneCaller{quiet{closed: make(chan struct{})}, make(chan net.Conn, 1)}
		l.calls <- theirs
		running, stuck := make(chan struct{}), make(chan struct{})
		s := Server{After: new(After), Grace: 20 * time.Second, Log: slog.New(slog.DiscardHandler),
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
				close(running)
				<-stuck
			})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, l) }()
		var client sync.WaitGroup
		client.Go(func() {
			_, _ = io.WriteString(ours, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			_, _ = io.Copy(io.Discard, ours) // ends with the connection
		})
		<-running
		begun := time.Now()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > s.Grace || took < s.Grace-farewell {
			t.Errorf("the stop took %v of %v", took, s.Grace)
		}
		client.Wait()
		close(stuck)
	})
}
