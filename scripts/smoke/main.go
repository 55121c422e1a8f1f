// Command smoke proves a deployment from outside, as a client:
//
//	go run ./scripts/smoke [-model NAME] [-endpoint chat] [-origin URL] [-unsupported CHECK,...] URL KEY
//
// It checks that the gateway is alive, refuses what it must, recognises a
// conversation, keeps it on one deployment, streams while the provider still
// answers, lets pages call it and bounds a request. It asks a dozen short
// questions and one for a long answer, which the provider bills.
//
// -unsupported names checks that the place cannot pass, such as streaming on an
// emulator that answers in one piece; they are listed as not supported there,
// neither passed nor failed. It exits 0 when no check has failed, 1 when one
// has, 2 on wrong arguments. It never prints the key.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// patience bounds one check.
const patience = 3 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run makes every check and says what came of it. It returns the exit code.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	p, unsupported, err := parse(args, errs)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2 // what is wrong has been said
	}
	failed := 0
	for _, c := range checks() {
		if slices.Contains(unsupported, c.name) {
			fmt.Fprintf(out, "n/a   %-12s not supported here\n", c.name)
			continue
		}
		detail, err := bounded(ctx, p, c)
		if err != nil {
			failed++
			fmt.Fprintf(out, "FAIL  %-12s %v\n", c.name, err)
			continue
		}
		fmt.Fprintf(out, "ok    %-12s %s\n", c.name, detail)
	}
	if failed > 0 {
		fmt.Fprintf(out, "%d of %d checks failed\n", failed, len(checks()))
		return 1
	}
	return 0
}

func bounded(ctx context.Context, p *probe, c check) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.run(ctx, p)
}

// errUsage is a wrong command line.
var errUsage = errors.New("wrong arguments")

func parse(args []string, errs io.Writer) (*probe, []string, error) {
	flags := flag.NewFlagSet("smoke", flag.ContinueOnError)
	flags.SetOutput(errs)
	p := newProbe()
	flags.StringVar(&p.model, "model", "", "the `NAME` of the model or group to ask (default: the first that the key may use)")
	flags.StringVar(&p.endpoint, "endpoint", "chat", "`chat`, responses or messages")
	flags.StringVar(&p.origin, "origin", "https://page.example.com", "the `ORIGIN` of a page that may call")
	unsupported := flags.String("unsupported", "", "`CHECKS` that the place cannot pass, separated by commas")
	flags.Usage = func() {
		fmt.Fprintln(errs, "usage: smoke [-model NAME] [-endpoint chat] [-origin URL] [-unsupported CHECK,...] URL KEY")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return nil, nil, err
	}
	skip := strings.FieldsFunc(*unsupported, func(r rune) bool { return r == ',' })
	for _, name := range skip {
		if !slices.ContainsFunc(checks(), func(c check) bool { return c.name == name }) {
			fmt.Fprintf(errs, "smoke: there is no check %q\n", name)
			return nil, nil, errUsage
		}
	}
	if _, known := paths()[p.endpoint]; !known || flags.NArg() != 2 {
		fmt.Fprintln(errs, "smoke: takes URL KEY, and chat, responses or messages as -endpoint")
		return nil, nil, errUsage
	}
	base, err := url.Parse(flags.Arg(0))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		fmt.Fprintln(errs, "smoke: the URL must be whole, as in https://abc.lambda-url.eu-central-1.on.aws")
		return nil, nil, errUsage
	}
	p.base = strings.TrimSuffix(strings.TrimSuffix(base.String(), "/"), "/v1")
	p.key = flags.Arg(1)
	return p, skip, nil
}
