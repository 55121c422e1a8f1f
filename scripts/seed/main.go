// Command seed puts a configuration document, with its callers' keys, into the
// tables of a deployment:
//
//	go run ./scripts/seed [-prefix holdfast-] [-replace REVISION] FILE
//	go run ./scripts/seed -check FILE
//
// The document is refused where a secret stands in it or where a reference leads
// somewhere that the gateway's role does not read. Callers' keys that are named
// as env: are read from this process's environment and stored as their SHA-256.
//
// It writes by compare-and-swap on the revision: over an empty store, or over
// the very revision that -replace names, and never over one that it has not been
// told of. A gateway acts on a new revision with its next request. Where the
// tables are is decided by AWS_REGION and AWS_ENDPOINT_URL_DYNAMODB.
//
// It exits 0 when the document rules, 1 when it does not, 2 on wrong flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"holdfast/infra/table"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the command line.
type options struct {
	file    string
	prefix  string
	replace string // the revision that is to be replaced; "": there is none yet
	check   bool   // say what is wrong and write nothing
}

// run is main with everything it touches passed in. It returns the exit code.
func run(ctx context.Context, args []string, lookup func(string) (string, bool), out, errs io.Writer) int {
	o, err := parse(args, lookup, errs)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2 // what is wrong has been said
	}
	doc, problems, err := load(o, lookup)
	for _, p := range problems {
		fmt.Fprintln(errs, p)
	}
	if err != nil {
		fmt.Fprintln(errs, "seed:", err)
		return 1
	}
	if o.check {
		fmt.Fprintln(out, "the document can be deployed")
		return 0
	}
	if err := store(ctx, o, doc, out); err != nil {
		fmt.Fprintln(errs, "seed:", err)
		return 1
	}
	return 0
}

// errUsage is a wrong command line.
var errUsage = errors.New("wrong flags")

func parse(args []string, lookup func(string) (string, bool), errs io.Writer) (options, error) {
	o := options{prefix: table.DefaultPrefix}
	if prefix, set := lookup("HOLDFAST_TABLE_PREFIX"); set && prefix != "" {
		o.prefix = prefix
	}
	flags := flag.NewFlagSet("seed", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.prefix, "prefix", o.prefix, "of the tables' `names`")
	flags.StringVar(&o.replace, "replace", "", "the `REVISION` that the document takes the place of")
	flags.BoolVar(&o.check, "check", false, "say what is wrong with the document and write nothing")
	flags.Usage = func() {
		fmt.Fprint(errs, "usage: seed [-prefix holdfast-] [-replace REVISION] FILE\n       seed -check FILE\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() != 1 {
		fmt.Fprintln(errs, "seed: name one file")
		return o, errUsage
	}
	o.file = flags.Arg(0)
	return o, nil
}

// stem is the prefix without its separator, below which secrets are kept.
func (o options) stem() string { return strings.TrimRight(o.prefix, "-") }
