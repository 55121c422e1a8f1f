// Package app is the composition root: it turns environment, document and
// store into handlers. It is the only place that names concrete parts.
//
// Invariants: nothing here serves a request itself; what is made here is made
// once and shared.
//
// Errors: New returns what stops a start, with the path or the variable that is
// wrong, and never a secret.
package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"holdfast/affinity"
	"holdfast/affinity/store"
	"holdfast/functions/internal/exchange"
	"holdfast/functions/internal/host"
	"holdfast/functions/internal/httpapi"
	"holdfast/functions/internal/upstream"
	"holdfast/routing/catalog"
)

// Options say what a gateway is made of.
type Options struct {
	Environment Environment
	Environ     []string // NAME=value, for session switches
	Document    *catalog.Document
	Stored      bool // the document may become, and give way to, the stored revision
	Force       bool // replace the stored revision by the document
	Store       store.Store
	Demo        map[string]string // base URLs of the simulated accounts, by name
	Log         *slog.Logger
	Now         func() time.Time // default: time.Now
}

// Gateway is a ready data plane.
type Gateway struct {
	Handler       http.Handler
	After         *host.After
	Configuration *Configuration
	client        *upstream.Client
}

// New composes the data plane.
func New(ctx context.Context, o Options) (*Gateway, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	guarded := store.NewGuard(o.Store, store.GuardConfig{Now: o.Now})
	references := secrets{lookup: os.LookupEnv}
	configuration := &Configuration{secrets: references, environ: o.Environ, log: o.Log}
	if o.Stored {
		configuration.revisions.store = guarded
	}
	if problems := configuration.Use(o.Document, ""); catalog.HasErrors(problems) {
		return nil, invalid(problems)
	}
	if err := configuration.Seed(ctx, o.Document, o.Force, o.Now()); err != nil {
		return nil, err
	}
	secret, err := installation(ctx, guarded, o.Environment.Secret)
	if err != nil {
		return nil, err
	}
	client, after := upstream.New(), new(host.After)
	flow := exchange.New(exchange.Config{
		Configuration: configuration,
		Affinity:      affinity.New(affinity.Config{Store: guarded, Now: o.Now, Log: o.Log}),
		Store:         guarded,
		Upstream:      client,
		Secrets:       references.Resolve,
		BaseURL:       addresses(o.Demo).resolve,
		Hash:          secret.hash,
		After:         after.Go,
		Now:           o.Now,
		Log:           o.Log,
	})
	return &Gateway{
		Handler: httpapi.New(httpapi.Config{
			Exchange: flow, Configuration: configuration, Origins: o.Environment.CORSOrigins, Now: o.Now, Log: o.Log,
		}),
		After: after, Configuration: configuration, client: client,
	}, nil
}

// Close releases connections. Call it after the host has stopped.
func (g *Gateway) Close() { g.client.Close() }

// invalid is the error of a document that may not rule: its problems as lines.
func invalid(problems []catalog.Problem) error {
	all := []error{ErrInvalidDocument}
	for _, p := range problems {
		if !p.Warning {
			all = append(all, errors.New(p.String()))
		}
	}
	return errors.Join(all...)
}
