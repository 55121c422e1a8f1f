// Command local runs Holdfast on one machine: the gateway, an embedded store
// and, where nothing else is configured, simulated provider accounts.
//
// It prints where it listens and how to try it on standard output, logs on
// standard error, and exits 0 on SIGTERM or SIGINT once running exchanges have
// finished (bounded by 30 s), also where it has not yet begun to serve, 1 where it
// cannot start, 2 on wrong flags. A signal that comes again changes nothing. Whoever
// reads its output may leave: it goes on without.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"holdfast/functions/internal/host"
)

func main() {
	host.TuneMemory(os.LookupEnv)
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(ctx, func() { time.AfterFunc(atMost, func() { os.Exit(0) }) })
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with everything it touches passed in. It returns the exit code.
func run(ctx context.Context, args, environ []string, out, errs io.Writer) int {
	s, err := readSettings(args, environ, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // the flag package has said why
	}
	if s.check {
		return check(s, out)
	}
	if err := serve(ctx, s, out, errs); err != nil && ctx.Err() == nil { // a start that was called off has not failed
		fmt.Fprintln(errs, "holdfast:", err)
		return 1
	}
	return 0
}
