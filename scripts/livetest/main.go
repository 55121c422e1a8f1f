// Command livetest measures against real providers whether conversations keep
// their prompt cache through the gateway:
//
//	OPENAI_API_KEY=… ANTHROPIC_API_KEY=… go run ./scripts/livetest [-config FILE] [-budget USD] [-wait 3s] [-yes]
//
// It starts a gateway of its own over the providers whose keys the environment
// holds (or over a document's connections and deployments), and holds one
// conversation of two turns with each connection and protocol: a prefix that no
// cache has seen before and that is long enough for all of them, then the same
// prefix with another question. What counts is the number of cached tokens that
// the provider itself reports for the second turn; never a latency, and never an
// answer that the gateway has kept.
//
// It costs money. What will be asked, and the most that it may cost by list
// price, is printed first and has to be agreed to (-yes agrees); above -budget
// nothing is asked at all. It exits 0 when every second turn was read from a
// cache by the deployment of the first, 1 when one was not, 2 when nothing could
// be tried. Keys are never printed.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"holdfast/localstack/e2e/process"
	"holdfast/routing/catalog"
)

// patience bounds one turn.
const patience = 5 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, process.Build)
	stop()
	os.Exit(code)
}

// settings are what the command line says.
type settings struct {
	config string
	budget float64
	wait   time.Duration
	yes    bool
}

// errUsage is a command line or an environment that nothing can be tried with.
var errUsage = errors.New("nothing to try")

// build compiles the gateway into a folder and returns the binary's path.
type build func(folder string) (string, error)

// run does everything and returns the exit code.
func run(ctx context.Context, args, environ []string, in io.Reader, out io.Writer, compile build) int {
	s, doc, rows, err := prepare(args, environ, out)
	if err != nil {
		fmt.Fprintln(out, "livetest:", err)
		return 2
	}
	if !agreed(s, rows, in, out) {
		return 2
	}
	gateway, stop, err := start(doc, environ, compile)
	if err != nil {
		fmt.Fprintln(out, "livetest:", err)
		return 2
	}
	defer stop()
	failed := 0
	for i := range rows {
		rows[i].measure(ctx, gateway, s.wait)
		if rows[i].verdict() != "ok" {
			failed++
		}
	}
	report(out, rows)
	if failed > 0 {
		fmt.Fprintf(out, "%d of %d conversations did not keep their cache\n", failed, len(rows))
		return 1
	}
	return 0
}

// prepare finds out what is to be asked.
func prepare(args, environ []string, out io.Writer) (s settings, doc *catalog.Document, rows []row, _ error) {
	flags := flag.NewFlagSet("livetest", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&s.config, "config", "", "document whose connections and deployments are tried; default: the provider keys of the environment")
	flags.Float64Var(&s.budget, "budget", 1, "most that it may cost, USD")
	flags.DurationVar(&s.wait, "wait", 3*time.Second, "between the turns, for caches that are written behind the answer")
	flags.BoolVar(&s.yes, "yes", false, "agree to the cost")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return s, nil, nil, errUsage
	}
	doc, err := document(s.config, environ)
	if err != nil {
		return s, nil, nil, err
	}
	rows, err = plan(doc)
	return s, doc, rows, err
}

// agreed announces what it will cost and asks whether that is meant.
func agreed(s settings, rows []row, in io.Reader, out io.Writer) bool {
	total := 0.0
	fmt.Fprintf(out, "Two turns of about %d tokens each with:\n", prefixTokens)
	for _, r := range rows {
		known := ""
		if r.price == nil {
			known = " (no list price: a dear one is supposed)"
		}
		fmt.Fprintf(out, "  %-24s %-10s %-32s at most $%.4f%s\n", r.connection, r.protocol, r.model, r.most(), known)
		total += r.most()
	}
	fmt.Fprintf(out, "Together at most $%.4f.\n", total)
	switch {
	case total > s.budget:
		fmt.Fprintf(out, "That is more than the budget of $%.2f: nothing is asked. Give another -budget, or fewer keys or models.\n", s.budget)
		return false
	case s.yes:
		return true
	}
	fmt.Fprint(out, "Go on? Type yes: ")
	line, _ := bufio.NewReader(in).ReadString('\n')
	return strings.TrimSpace(line) == "yes"
}

// start runs a gateway over the document, with the environment's secrets.
func start(doc *catalog.Document, environ []string, compile build) (url string, stop func(), _ error) {
	folder, err := os.MkdirTemp("", "holdfast-livetest-")
	if err != nil {
		return "", nil, err
	}
	text, err := doc.JSON()
	if err != nil {
		return "", nil, err
	}
	binary, err := compile(folder)
	if err != nil {
		return "", nil, err
	}
	gateway, err := process.Start(process.Options{Binary: binary, Config: string(text), Data: folder, Env: secretsOf(environ), Unread: true})
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(folder))
	}
	return gateway.URL, func() { gateway.Stop(); os.RemoveAll(folder) }, nil
}

// secretsOf are the variables that a document may refer to. Those that steer a
// gateway are left out: this one has its own document, store and caller.
func secretsOf(environ []string) []string {
	var kept []string
	for _, variable := range environ {
		if !strings.HasPrefix(variable, "HOLDFAST_") && !strings.HasPrefix(variable, "SESSION_") && !strings.HasPrefix(variable, "OTEL_") {
			kept = append(kept, variable)
		}
	}
	return kept
}
