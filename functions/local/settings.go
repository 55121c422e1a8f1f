package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"holdfast/functions/internal/app"
	"holdfast/routing/catalog"
)

// defaultFile is the configuration document that is taken where it exists.
const defaultFile = "holdfast.yaml"

// settings are the command line with the environment behind it.
type settings struct {
	environment app.Environment
	environ     []string
	file        string // "" when there is no configuration file
	addr        string
	store       string
	data        string
	demo        bool // simulated accounts run
	lambda      int  // environments that serve instead of this process; 0: none
	force       bool
	check       bool
}

// readSettings parses flags; environment variables stand behind them.
func readSettings(args, environ []string, errs io.Writer) (settings, error) {
	s := settings{environ: environ}
	var err error
	if s.environment, err = app.ReadEnvironment(environ); err != nil {
		fmt.Fprintln(errs, "holdfast:", err)
		return s, err
	}
	flags := flag.NewFlagSet("holdfast", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&s.file, "config", s.environment.Config, "configuration `FILE` (default "+defaultFile+" if present, else the demo)")
	flags.StringVar(&s.addr, "addr", "127.0.0.1:8080", "`HOST:PORT` of the gateway")
	flags.StringVar(&s.store, "store", orElse(s.environment.Store, "bolt"), "where records live: memory, bolt or dynamodb")
	flags.StringVar(&s.data, "data", ".holdfast", "`DIR` of the bolt file")
	flags.IntVar(&s.lambda, "lambda", 0, "serve through `N` real gateway bootstraps behind a local Lambda Runtime API (with -store dynamodb)")
	flags.BoolVar(&s.demo, "demo", false, "simulated provider accounts on loopback (default on when there is neither a configuration file nor a provider key)")
	flags.BoolVar(&s.force, "config-force", false, "replace the stored revision by the file")
	flags.BoolVar(&s.check, "check", false, "validate the configuration, print every problem with its path, exit 1 if any")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("unexpected argument %q", flags.Arg(0))
		fmt.Fprintln(errs, "holdfast:", err)
		return s, err
	}
	if s.addr == "" { // which would be any port of every interface
		err := errors.New("-addr takes HOST:PORT, such as 127.0.0.1:8080")
		fmt.Fprintln(errs, "holdfast:", err)
		return s, err
	}
	if s.file == "" {
		if _, err := os.Stat(defaultFile); err == nil {
			s.file = defaultFile
		}
	}
	if s.force && s.file == "" {
		err := errors.New("-config-force replaces the stored revision by a file, and there is none: name it with -config FILE, or write " + defaultFile)
		fmt.Fprintln(errs, "holdfast:", err)
		return s, err
	}
	if given(flags, "data") && s.store != "bolt" {
		fmt.Fprintf(errs, "warning: -data is the place of -store bolt; -store %s does not use it\n", s.store)
	}
	if !given(flags, "demo") {
		found, problems := catalog.Discover(environ)
		s.demo = s.file == "" && found == nil && len(problems) == 0
	}
	return s, nil
}

func orElse(value, other string) string {
	if value != "" {
		return value
	}
	return other
}

func given(flags *flag.FlagSet, name string) bool {
	found := false
	flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// origin says where a document came from.
type origin uint8

const (
	fromFile origin = iota
	fromEnvironment
	fromDemo
)

// errNothingConfigured is a start without file, keys and demo.
var errNothingConfigured = errors.New("nothing is configured: write " + defaultFile + ", set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start with -demo")

// document reads the configuration that the settings name, with every problem.
func document(s settings) (*catalog.Document, origin, []catalog.Problem, error) {
	if s.file != "" {
		data, err := readBounded(s.file)
		if err != nil {
			return nil, fromFile, nil, err
		}
		doc, problems := catalog.Load(data)
		return doc, fromFile, problems, nil
	}
	if s.demo {
		return catalog.Demo(), fromDemo, nil, nil
	}
	doc, problems := catalog.Discover(s.environ)
	if doc == nil && len(problems) == 0 {
		return nil, fromEnvironment, nil, errNothingConfigured
	}
	return doc, fromEnvironment, problems, nil
}

// readBounded reads a file of at most the size that a document may have.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, catalog.MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return data, nil
}

// check prints every problem of the configuration and returns the exit code.
func check(s settings, out io.Writer) int {
	doc, _, problems, err := document(s)
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	if catalog.HasErrors(problems) {
		problems = append(problems, app.CheckAround(doc, s.environ)...)
	} else {
		problems = append(problems, app.Check(doc, s.environ)...)
	}
	shown := map[string]bool{}
	for _, p := range problems {
		if line := p.String(); !shown[line] { // reading and compiling see some alike
			shown[line] = true
			fmt.Fprintln(out, line)
		}
	}
	if catalog.HasErrors(problems) {
		return 1
	}
	fmt.Fprintln(out, "configuration is valid")
	return 0
}
