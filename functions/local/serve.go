package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast/affinity/store"
	"holdfast/affinity/store/bolt"
	"holdfast/affinity/store/dynamo/chain"
	"holdfast/functions/console/web"
	"holdfast/functions/internal/app"
	"holdfast/functions/internal/host"
	"holdfast/functions/internal/telemetry"
	"holdfast/localstack/accounts"
	"holdfast/routing/catalog"
)

// How long a stop takes at most.
const (
	grace    = 29 * time.Second // for exchanges and what follows them; those that are left learn of it before
	lastWait = 2 * time.Second  // of grace, for bootstraps whose clients are gone
	atMost   = 30 * time.Second // whatever else may hang
)

// serve runs until ctx ends.
func serve(ctx context.Context, s settings, out, errs io.Writer) error {
	log := telemetry.NewLog(errs, s.environment.LogLevel)
	if s.lambda != 0 && (s.lambda < 0 || s.store != "dynamodb") {
		return errLambda
	}
	doc, from, problems, err := document(s)
	if err != nil {
		return err
	}
	for _, p := range problems {
		fmt.Fprintln(errs, p)
	}
	for _, p := range app.Check(doc, s.environ) {
		if p.Warning && !slices.Contains(problems, p) {
			fmt.Fprintln(errs, p)
		}
	}
	if catalog.HasErrors(problems) {
		return app.ErrInvalidDocument
	}
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("listen: %w (another address: -addr HOST:PORT, or PORT=9000 make run)", err)
	}
	defer listener.Close()
	records, closeStore, err := openStore(ctx, s)
	if err != nil {
		return err
	}
	defer closeStore()
	urls, closeDemo, err := simulate(s)
	if err != nil {
		return err
	}
	defer closeDemo()

	gateway, err := app.New(ctx, app.Options{
		Environment: s.environment, Environ: s.environ, Document: doc, Store: records,
		FromFile: from == fromFile, CallerKey: from == fromEnvironment,
		Force: s.force, Elsewhere: s.lambda > 0, Demo: urls, Console: web.Files(), Credit: chain.Credit, Log: log,
	})
	if err != nil {
		return err
	}
	defer gateway.Close()
	server := host.Server{Handler: gateway.Handler, After: gateway.After, Grace: grace, Log: log}
	if s.lambda > 0 {
		functions, stop, err := startLambda(ctx, s, urls, log, errs)
		if err != nil {
			return err
		}
		defer stop()
		server.Grace -= lastWait
		server.Handler = besideOperator(gateway.Operator, functions)
	}
	greet(out, listener.Addr(), gateway)
	return server.Serve(ctx, listener)
}

// openStore opens the store that the settings name.
func openStore(ctx context.Context, s settings) (store.Store, func(), error) {
	switch s.store {
	case "memory":
		return store.NewMemory(store.MemoryConfig{}), func() {}, nil
	case "bolt":
		if err := os.MkdirAll(s.data, 0o700); err != nil {
			return nil, nil, fmt.Errorf("data directory: %w", err)
		}
		b, err := bolt.Open(bolt.Config{Path: filepath.Join(s.data, "holdfast.db")})
		if err != nil {
			return nil, nil, err
		}
		return b, func() { _ = b.Close() }, nil
	case "dynamodb":
		return app.OpenDynamoDB(ctx, s.environment, chain.Credit)
	}
	return nil, nil, errors.New("-store takes memory, bolt or dynamodb")
}

// simulate starts the simulated accounts where the settings want them.
func simulate(s settings) (map[string]string, func(), error) {
	if !s.demo {
		return nil, func() {}, nil
	}
	fleet, err := accounts.Start("alpha", "bravo", "charlie")
	if err != nil {
		return nil, nil, err
	}
	urls := map[string]string{}
	for _, name := range []string{"alpha", "bravo", "charlie"} {
		urls[name] = fleet.URL(name) + "/v1"
	}
	return urls, func() { _ = fleet.Close() }, nil // the process ends with it
}
