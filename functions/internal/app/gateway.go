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
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"holdfast/affinity"
	"holdfast/affinity/store"
	"holdfast/affinity/store/dynamo"
	"holdfast/functions/internal/admin"
	"holdfast/functions/internal/admin/trail"
	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/auth/keys"
	"holdfast/functions/internal/budget"
	"holdfast/functions/internal/exchange"
	"holdfast/functions/internal/host"
	"holdfast/functions/internal/httpapi"
	"holdfast/functions/internal/upstream"
	"holdfast/routing/catalog"
)

// Options say what a gateway is made of.
type Options struct {
	Environment Environment
	Environ     []string          // NAME=value, for session switches and secrets
	Document    *catalog.Document // nil: the stored one, or no start
	FromFile    bool              // the document is an operator's: it seeds the store
	CallerKey   bool              // the document has no caller: one is made
	Force       bool              // replace the stored revision by the document
	Elsewhere   bool              // other processes, which read the same file, call the providers
	Store       store.Store
	Demo        map[string]string // base URLs of the simulated accounts, by name
	Console     fs.FS             // the console's built front end; nil: this process serves none

	// Credit finds AWS's region and credentials for secrets that are kept there,
	// where the environment holds no access key; nil: nobody does.
	Credit func(context.Context, dynamo.Config) (dynamo.Config, error)

	OnLambda bool // CloudWatch reads numbers out of the log

	Log *slog.Logger
	Now func() time.Time // default: time.Now
}

// Gateway is a ready data plane.
type Gateway struct {
	Handler       http.Handler
	Operator      http.Handler // the admin API and the console alone
	After         *host.After
	Configuration *Configuration
	client        *upstream.Client
	callerKey     string
	adminKey      string // made for the demo; "" where the operator has set one, or none
	administered  bool
}

// New composes the data plane.
func New(ctx context.Context, o Options) (*Gateway, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	guarded := store.NewGuard(store.GuardConfig{Store: o.Store, Now: o.Now})
	if o.Document == nil {
		return stored(ctx, o, guarded)
	}
	references := o.references(newLocalSecrets(o.Document))
	var err error
	if o.Environment, err = o.Environment.resolved(references); err != nil {
		return nil, err
	}
	secret, err := installation(ctx, guarded, o.Environment.Secret)
	if err != nil {
		return nil, err
	}
	doc, callerKey := o.Document, ""
	if o.CallerKey {
		doc, callerKey = withCaller(doc, secret)
	}
	configuration := &Configuration{secrets: references, elsewhere: o.Elsewhere, environ: o.Environ, log: o.Log, now: o.Now}
	configuration.revisions = revisionsIn(guarded)
	if problems := configuration.Use(doc, ""); catalog.HasErrors(problems) {
		return nil, invalid(problems)
	}
	if err := configuration.Start(ctx, doc, o.FromFile, o.Force, o.Now()); err != nil {
		return nil, err
	}
	return assemble(o, guarded, secret, configuration, callerKey), nil
}

// assemble puts the parts together.
func assemble(o Options, guarded *store.Guard, secret installationSecret, configuration *Configuration, callerKey string) *Gateway {
	client, after := upstream.New(), new(host.After)
	directory := &auth.Directory{Ring: &keys.Ring{Store: guarded, Now: o.Now}, Now: o.Now}
	kept := o.records(configuration, after)
	sessions := affinity.New(affinity.Config{Store: guarded, Now: o.Now, Log: o.Log})
	flow := exchange.New(exchange.Config{
		Configuration: configuration,
		Callers:       directory,
		Affinity:      sessions,
		Store:         guarded,
		Upstream:      client,
		Secrets:       configuration.secrets.Resolve,
		Signer:        upstream.NewSigner(upstream.SignerConfig{Find: o.signatory, Now: o.Now}),
		SecretRefused: configuration.secrets.refused,
		BaseURL:       addresses(o.Demo).resolver(),
		Hash:          secret.hasher(),
		After:         after.Go,
		Ledger:        kept.book,
		Watch:         kept.watch,
		Trace:         kept.trace,
		Now:           o.Now,
		Log:           o.Log,
	})
	adminKey, shown := o.Environment.AdminKey, ""
	if adminKey == "" && o.isDemo() {
		adminKey = "hf-admin-" + secret.hash("admin key")
		shown = adminKey
	}
	edge := o.withConsole(httpapi.Config{
		Exchange: flow, Configuration: configuration, Callers: directory, Origins: o.Environment.CORSOrigins, OriginSecret: o.Environment.Origin, Now: o.Now, Log: o.Log,
		Admin: admin.New(admin.Config{Key: adminKey, Configuration: configuration, Snapshot: configuration.Current, Planner: flow,
			Keys: keys.Book{Store: guarded, Now: o.Now}, Trail: trail.Trail{Store: guarded, Now: o.Now},
			Ledger: kept.read, Health: flow, Affinity: sessions,
			Budgets: func(ctx context.Context, of []catalog.Allowance) ([]*budget.Spent, error) {
				return budget.Spending(ctx, guarded, of, o.Now())
			},
			Metrics: func(w io.Writer) error { return kept.meter.Write(w, kept.numbers(guarded)...) }, Hash: secret.hash, Now: o.Now}),
	}, adminKey, configuration, directory, secret)
	return &Gateway{
		Handler: httpapi.New(edge), Operator: httpapi.NewOperator(edge), After: after, Configuration: configuration, client: client, callerKey: callerKey, adminKey: shown, administered: adminKey != "",
	}
}

// isDemo reports whether nothing but the demo is configured: its keys open
// simulated accounts only, so they may be known to everybody.
func (o Options) isDemo() bool { return len(o.Demo) > 0 && !o.FromFile && !o.CallerKey }

// AdminKey returns the admin key that was made for the demo, "" otherwise.
func (g *Gateway) AdminKey() string { return g.adminKey }

// Administered reports whether there is an admin key: without one the admin API
// and the console are closed.
func (g *Gateway) Administered() bool { return g.administered }

// Caller returns a key and a model to try the gateway with: the demo's, or the
// key that was made here. Both are "" where the operator has given out keys.
func (g *Gateway) Caller() (key, model string) {
	known := g.Configuration.Current().Catalog
	key = g.callerKey
	if known.CallerBySHA256(sha256.Sum256([]byte(catalog.DemoKey))) != nil {
		key = catalog.DemoKey
	}
	if public := known.Public(); key != "" && len(public) > 0 {
		model = public[0].Name
	}
	return key, model
}

// withCaller adds a caller to a document that has none. Its key follows from
// the installation's secret, so that it stays the same over restarts.
func withCaller(doc *catalog.Document, secret installationSecret) (*catalog.Document, string) {
	key := "sk-hf-" + secret.hash("caller key")
	with := *doc
	with.Keys = append(slices.Clone(doc.Keys), catalog.Key{ID: "local", Key: key, User: "local"})
	return &with, key
}

// lookup returns a function that reads variables given as NAME=value.
func lookup(environ []string) func(string) (string, bool) {
	known := make(map[string]string, len(environ))
	for _, variable := range environ {
		if name, value, ok := strings.Cut(variable, "="); ok {
			known[name] = value
		}
	}
	return func(name string) (string, bool) {
		value, found := known[name]
		return value, found
	}
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
