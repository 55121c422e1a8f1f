// Command simulate plays a trace of conversations against ways of routing them
// to provider accounts, and says what each comes to: the share of the input that
// is read from prompt caches, money, moves, balance, and what the gateway's own
// store is asked for.
//
//	go run ./scripts/simulate -sessions 100000 -accounts 8
//	go run ./scripts/simulate -trace log.jsonl -svg out/
//	go run ./scripts/simulate -sessions 1000 -write trace.jsonl
//
// A trace is JSON lines in order of time, one a request, as any gateway's log
// can be turned into; Request says which fields there are. Holdfast's own
// decisions are made by its own packages, over a store in memory and simulated
// time; the accounts' caches follow the rules that providers publish: whole steps
// of 128 tokens, nothing below 1,024, kept for a while after each use.
//
// All policies see each request in turn, so that one pass over the trace is
// enough and memory depends on the sessions that live at one time.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	world world
	shape shape
	trace string // a file, "" to generate one
	write string // where the trace goes instead of being played
	json  string // where the results go
	svg   string // folder of the plots
}

func parse(args []string, errs io.Writer) (options, error) {
	o := options{world: defaultWorld(), shape: defaultShape()}
	f := flag.NewFlagSet("simulate", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.trace, "trace", "", "play this `FILE` of JSON lines instead of generating sessions")
	f.StringVar(&o.write, "write", "", "write the generated trace to this `FILE` and play nothing")
	f.StringVar(&o.json, "json", "", "write the results to this `FILE`")
	f.StringVar(&o.svg, "svg", "", "write plots into this `FOLDER`")
	f.IntVar(&o.world.accounts, "accounts", o.world.accounts, "provider accounts")
	f.IntVar(&o.world.instances, "instances", o.world.instances, "processes of the gateway")
	f.Float64Var(&o.world.ttl, "ttl", o.world.ttl, "seconds that a prompt cache keeps a prefix after each use: 300 or 3600")
	f.Float64Var(&o.world.between, "mtbf", o.world.between, "mean seconds between an account's outages; 0: none")
	f.Float64Var(&o.world.outage, "mttr", o.world.outage, "mean seconds of an outage")
	f.Float64Var(&o.world.refused, "refused", o.world.refused, "share of calls that an account refuses with 429")
	f.Float64Var(&o.world.price.input, "input", o.world.price.input, "USD per million fresh input tokens")
	f.Float64Var(&o.world.price.cached, "cached", o.world.price.cached, "USD per million tokens read from a cache")
	f.Float64Var(&o.world.price.written, "written", o.world.price.written, "USD per million tokens written to a cache")
	f.Float64Var(&o.world.price.output, "output", o.world.price.output, "USD per million output tokens")
	f.Uint64Var(&o.world.seed, "seed", o.world.seed, "of everything random")
	f.IntVar(&o.shape.sessions, "sessions", o.shape.sessions, "conversations to generate")
	f.Float64Var(&o.shape.perSecond, "rate", o.shape.perSecond, "new conversations a second")
	f.Float64Var(&o.shape.turns, "turns", o.shape.turns, "mean turns of a conversation")
	f.Float64Var(&o.shape.opening, "opening", o.shape.opening, "mean tokens of an opening, the shared part excluded")
	f.Float64Var(&o.shape.growth, "growth", o.shape.growth, "mean tokens that a turn adds, its answer excluded")
	f.Float64Var(&o.shape.think, "think", o.shape.think, "mean seconds between an answer and the next turn")
	f.IntVar(&o.shape.shared, "shared", o.shape.shared, "tokens that all conversations begin with: system prompt and tools")
	f.Float64Var(&o.shape.agents, "agents", o.shape.agents, "mean sub-agents of a conversation")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.shape.seed = o.world.seed
	return o, errors.Join(o.world.check(), o.shape.check())
}

func run(args []string, out, errs io.Writer) error {
	o, err := parse(args, errs)
	if err != nil {
		return err
	}
	requests, closeTrace, err := o.requests()
	if err != nil {
		return err
	}
	defer closeTrace()
	if o.write != "" {
		return writeTrace(o.write, requests)
	}
	results, err := simulate(o.world, policies(), requests)
	if err != nil {
		return err
	}
	report(out, o.world, results)
	if o.json != "" {
		if err := writeJSON(o.json, results); err != nil {
			return err
		}
	}
	if o.svg != "" {
		return plot(o.svg, results)
	}
	return nil
}

// requests is the trace of a file or a generated one.
func (o options) requests() (iter.Seq2[Request, error], func(), error) {
	if o.trace == "" {
		return generate(o.shape), func() {}, nil
	}
	f, err := os.Open(o.trace)
	if err != nil {
		return nil, nil, err
	}
	return read(f), func() { _ = f.Close() }, nil // it was only read
}

func writeTrace(name string, requests iter.Seq2[Request, error]) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(f)
	for r, failed := range requests {
		if err = failed; err == nil {
			err = writeRequest(buffered, r)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, buffered.Flush(), f.Close())
}

func writeJSON(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}
