// Package host serves one http.Handler where the process happens to run.
//
// Invariants: a handler's panic never takes the process down; running
// exchanges are finished on a stop, bounded by a grace period, near whose end
// those that are left meet their deadline and can tell their clients; what a handler
// handed to After is done before Serve returns, within the same period, and, on
// Lambda, before the next invocation.
//
// Concurrency: handlers run concurrently; After is safe for all of them.
//
// Errors: Serve returns nil after an orderly stop, and the listener's error
// otherwise.
package host

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Bounds of the net/http host. Bodies and answers have their own, set by those
// who read and write them.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 256 << 10
	farewell          = 2 * time.Second // of the grace period: for exchanges that did not finish to say so,
	booking           = time.Second     // and, within it, for what they leave to do
)

// Server is the net/http host.
type Server struct {
	Handler http.Handler
	After   *After
	Grace   time.Duration // how long a stop takes at most, after-response work included
	Log     *slog.Logger
}

// Serve accepts on l until ctx ends, then stops accepting, lets running
// exchanges and their after-response work finish within Grace, and returns.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	exchanges, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	server := &http.Server{
		Handler:           s.Handler,
		BaseContext:       func(net.Listener) context.Context { return exchanges },
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),

		DisableGeneralOptionsHandler: true, // OPTIONS * gets an answer with a request id, as all do
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Grace)
	defer cancel()
	last := time.AfterFunc(max(0, s.Grace-farewell), func() { stop(context.DeadlineExceeded) })
	defer last.Stop()
	exchanging, cancel := context.WithTimeout(grace, max(0, s.Grace-booking))
	defer cancel()
	if err := server.Shutdown(exchanging); errors.Is(err, context.DeadlineExceeded) {
		s.Log.Warn("exchanges were still running at the end of the grace period", "grace", s.Grace)
		_ = server.Close() // the listener is closed already; what is left are their connections
	}
	if err := s.After.waitUntil(grace); err != nil {
		s.Log.Warn("work after answers was still running at the end of the grace period", "grace", s.Grace)
	}
	return nil
}
