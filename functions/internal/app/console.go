package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"

	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/console"
	"holdfast/functions/internal/exchange"
	"holdfast/functions/internal/httpapi"
	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// LambdaConsole composes the admin API and the web console of a process that
// starts without a network call, as Lambda does for the data plane. HOLDFAST_GATEWAY_URL
// says where the playground's requests go.
func LambdaConsole(environ []string, logs io.Writer, files fs.FS) (http.Handler, *slog.Logger, error) {
	served, log, err := onFirstRequest(environ, logs, func(o *Options) { o.Console = files })
	if err != nil {
		return nil, nil, err
	}
	compose := served.compose
	served.compose = func(ctx context.Context) (*Gateway, error) {
		g, err := compose(ctx)
		if err == nil {
			g.Handler = g.Operator
		}
		return g, err
	}
	return served, log, nil
}

// withConsole puts the console, where there is one, on an edge.
func (o Options) withConsole(edge httpapi.Config, adminKey string, configuration *Configuration, directory *auth.Directory, secret installationSecret) httpapi.Config {
	if o.Console == nil {
		return edge
	}
	c := console.Config{
		AdminKey: adminKey, Files: o.Console, Gateway: o.Environment.GatewayURL,
		Callers: callers{configuration, directory}, Hash: secret.hash, Now: o.Now,
	}
	if o.isDemo() {
		c.DemoKey = catalog.DemoKey
	}
	served := console.New(c)
	edge.Console, edge.Admin = served, served.Admit(edge.Admin)
	return edge
}

// callers finds whom an API key belongs to, as the gateway does.
type callers struct {
	configuration *Configuration
	directory     *auth.Directory
}

// Caller returns the key's caller and the catalog that rules it.
func (c callers) Caller(ctx context.Context, key string) (*catalog.Caller, *catalog.Catalog, *wire.Problem) {
	known, err := c.configuration.Refresh(ctx)
	if known == nil {
		return nil, nil, wire.Refuse(wire.ConfigurationUnavailable)
	}
	header := http.Header{"Authorization": {"Bearer " + key}}
	who, unknown := c.directory.Find(ctx, known.Catalog, header)
	switch {
	case unknown == nil:
		return who.Caller, known.Catalog, nil
	case err != nil: // nobody can say that it is not known
		return nil, nil, wire.Refuse(wire.ConfigurationUnavailable)
	case !errors.Is(unknown, auth.ErrUnknown):
		return nil, nil, exchange.NotLetIn(unknown)
	}
	return nil, nil, wire.Refuse(wire.InvalidAPIKey).Saying("This key is neither the admin key nor a known API key. Check it and try again.")
}
