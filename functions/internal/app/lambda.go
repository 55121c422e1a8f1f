package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"holdfast/affinity/store"
	"holdfast/affinity/store/dynamo"
	"holdfast/functions/internal/host"
	"holdfast/functions/internal/httpapi"
	"holdfast/functions/internal/telemetry"
	"holdfast/routing/catalog"
)

// loadLimit bounds how long a first request waits for store, secret and
// configuration, in all.
const loadLimit = 5 * time.Second

// ErrNotOnLambda refuses stores that one environment would have for itself.
var ErrNotOnLambda = errors.New("HOLDFAST_STORE: only dynamodb is shared by the environments of a function")

// Lambda composes the data plane of a process that starts without a network
// call: store, secret and configuration are fetched with the first request.
// Until that works, requests are refused as configuration_unavailable, each
// after another try.
//
// What rules is the stored revision; until there is one, the document that
// HOLDFAST_CONFIG names, the demo's where HOLDFAST_DEMO_ACCOUNTS says where its
// accounts run, or what the provider keys of the environment amount to. Of
// these a file is stored where there is no revision yet.
func Lambda(environ []string, logs io.Writer) (http.Handler, *slog.Logger, error) {
	return onFirstRequest(environ, logs, func(*Options) {})
}

// onFirstRequest returns what is composed with its first request, after change
// has seen the options.
func onFirstRequest(environ []string, logs io.Writer, change func(*Options)) (*lazy, *slog.Logger, error) {
	environment, err := ReadEnvironment(environ)
	if err != nil {
		return nil, nil, err
	}
	if environment.Store != "" && environment.Store != "dynamodb" {
		return nil, nil, ErrNotOnLambda
	}
	log := telemetry.NewLog(logs, environment.LogLevel)
	return &lazy{
		unready: httpapi.Unready(environment.CORSOrigins),
		log:     log,
		compose: func(ctx context.Context) (*Gateway, error) { return onLambda(ctx, environment, environ, log, change) },
	}, log, nil
}

// onLambda composes the gateway of a function's environment.
func onLambda(ctx context.Context, e Environment, environ []string, log *slog.Logger, change func(*Options)) (*Gateway, error) {
	host.TuneMemory(lookup(environ)) // not before: a start has nothing to collect, and stopping the world takes time
	records, err := dynamo.New(dynamo.Config{Region: e.Region, Endpoint: e.DynamoDB, Prefix: e.TablePrefix})
	if err != nil {
		return nil, err
	}
	o := Options{Environment: e, Environ: environ, Store: store.Store(records), Log: log, OnLambda: true}
	change(&o)
	if o.Demo, err = parseAddresses(e.Demo); err != nil {
		return nil, err
	}
	if err := o.choose(); err != nil {
		return nil, err
	}
	return New(ctx, o)
}

// choose finds the document that rules until one is stored.
func (o *Options) choose() error {
	var problems []catalog.Problem
	switch {
	case o.Environment.Config != "":
		text, err := os.ReadFile(o.Environment.Config)
		if err != nil {
			return fmt.Errorf("HOLDFAST_CONFIG: %w", err)
		}
		o.Document, problems = catalog.Load(text)
		o.FromFile = true
	case len(o.Demo) > 0:
		o.Document = catalog.Demo()
	default:
		o.Document, problems = catalog.Discover(o.Environ)
		o.CallerKey = o.Document != nil
	}
	if catalog.HasErrors(problems) {
		return invalid(problems)
	}
	return nil
}

// parseAddresses reads NAME=URL pairs.
func parseAddresses(list string) (map[string]string, error) {
	all := map[string]string{}
	for one := range strings.SplitSeq(list, ",") {
		if one == "" {
			continue
		}
		name, at, found := strings.Cut(one, "=")
		if !found {
			return nil, fmt.Errorf("HOLDFAST_DEMO_ACCOUNTS: %q is not of the form NAME=URL", one)
		}
		all[name] = at
	}
	return all, nil
}

// FormatAddresses is the list of simulated accounts as HOLDFAST_DEMO_ACCOUNTS
// takes it.
func FormatAddresses(all map[string]string) string {
	var pairs []string
	for name, at := range all {
		pairs = append(pairs, name+"="+at)
	}
	return strings.Join(pairs, ",")
}

// lazy is a data plane that is composed with its first request.
type lazy struct {
	compose func(context.Context) (*Gateway, error)
	unready http.Handler
	log     *slog.Logger

	ready  atomic.Pointer[Gateway]
	flight singleflight.Group // one composition at a time, shared by all who wait
}

// ServeHTTP serves a request once there is a gateway.
func (l *lazy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g := l.ready.Load()
	if g == nil {
		g = l.load(r.Context())
	}
	if g == nil {
		l.unready.ServeHTTP(w, r)
		return
	}
	g.Handler.ServeHTTP(w, r)
}

// load composes the gateway; nil where that does not work now.
func (l *lazy) load(ctx context.Context) *Gateway {
	_, err, _ := l.flight.Do("", func() (any, error) {
		if l.ready.Load() != nil {
			return nil, nil
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadLimit)
		defer cancel()
		g, err := l.compose(bounded)
		if err == nil {
			l.ready.Store(g)
		}
		return nil, err
	})
	if err != nil {
		l.log.ErrorContext(ctx, "the gateway cannot serve yet", "error", err)
	}
	return l.ready.Load()
}
