package app

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"holdfast/affinity/store"
)

// ErrNoConfiguration says that there is no document, stored or given.
var ErrNoConfiguration = errors.New("no configuration is stored yet")

// stored composes the data plane under the stored document alone. It fetches
// that and the installation's secret side by side.
func stored(ctx context.Context, o Options, guarded *store.Guard) (*Gateway, error) {
	configuration := &Configuration{
		revisions: revisionsIn(guarded), secrets: o.references(&localSecrets{by: map[string]string{}}),
		environ: o.Environ, log: o.Log, now: o.Now,
	}
	configuration.secrets.away = o.Console != nil // a function of its own
	configuration.elsewhere = o.Console != nil
	var secret installationSecret
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		if o.Environment, err = o.Environment.resolved(configuration.secrets); err == nil {
			secret, err = installation(ctx, guarded, o.Environment.Secret)
		}
		return err
	})
	both.Go(func() error { return configuration.load(ctx) })
	if err := both.Wait(); err != nil {
		return nil, err
	}
	return assemble(o, guarded, secret, configuration, ""), nil
}

// load makes the stored document rule.
func (c *Configuration) load(ctx context.Context) error {
	head, err := c.revisions.head(ctx)
	if err != nil {
		return fmt.Errorf("stored configuration: %w", err)
	}
	if revisionOf(head) == "" {
		return ErrNoConfiguration
	}
	snapshot, err := c.Follow(ctx, []store.Handle{head})
	switch {
	case err != nil:
		return err
	case snapshot == nil: // Follow has logged every problem
		return fmt.Errorf("%w: the stored revision %s cannot rule here", ErrInvalidDocument, revisionOf(head))
	}
	return nil
}
