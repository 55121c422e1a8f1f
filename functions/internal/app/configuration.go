package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/affinity/store/revision"
	"holdfast/functions/internal/exchange"
	"holdfast/functions/internal/guard"
	"holdfast/routing/catalog"
)

// Configuration holds the snapshot in force and follows the stored revision.
//
// A document that was never stored (the demo's, a discovered one) rules until a
// revision is stored; from then on the store does.
type Configuration struct {
	revisions revisions
	names     revision.Names
	secrets   secrets
	elsewhere bool // other processes call the providers
	environ   []string
	log       *slog.Logger
	now       func() time.Time

	current atomic.Pointer[exchange.Snapshot]
	given   atomic.Pointer[catalog.Document] // that rules while none is stored
	loading sync.Mutex                       // one load of a new revision at a time
	refused string                           // the newest revision that did not compile, under loading
}

// ErrInvalidDocument is a document that may not rule.
var ErrInvalidDocument = errors.New("configuration is not valid")

// Compile turns a document into a snapshot. The environment's session switches
// override the document.
func Compile(doc *catalog.Document, revision string, environ []string, s secrets) (*exchange.Snapshot, []catalog.Problem) {
	doc, problems := catalog.Overlay(doc, environ)
	compiled, found := catalog.Compile(doc, revision, s.Resolve)
	problems = append(problems, found...)
	sessions, err := identity.Compile(rules(doc.Session))
	if err != nil {
		problems = append(problems, catalog.Problem{Path: "session.headers", Message: err.Error()})
	}
	if catalog.HasErrors(problems) {
		return nil, problems
	}
	return &exchange.Snapshot{Catalog: compiled, Sessions: sessions, Guards: guard.Compile(compiled.Guards()), Locked: s.locked(compiled)}, problems
}

// rules maps the document's session settings onto the resolver's.
func rules(s catalog.Session) identity.Rules {
	r := identity.Rules{Enabled: s.Enabled, AutoDetect: s.AutoDetect, Builtin: s.BuiltinRules}
	for _, h := range s.Headers {
		r.Headers = append(r.Headers, identity.Header{Name: h.Header, Transform: h.Transform})
	}
	return r
}

// Use makes a document rule this process until the store has a revision.
func (c *Configuration) Use(doc *catalog.Document, revision string) []catalog.Problem {
	snapshot, problems := Compile(doc, revision, c.environ, c.secrets)
	if snapshot != nil {
		c.current.Store(snapshot)
		c.given.Store(doc)
	}
	return problems
}

// Current returns the newest snapshot that this process knows.
func (c *Configuration) Current() *exchange.Snapshot { return c.current.Load() }

// Keys returns the record that names the stored revision.
func (c *Configuration) Keys() []store.Key { return c.revisions.keys }

// Follow returns the snapshot of the revision that read names. A stored
// document that does not compile here (a secret is missing in this process, or
// it was written by a newer version) leaves the current one in force.
func (c *Configuration) Follow(ctx context.Context, read []store.Handle) (*exchange.Snapshot, error) {
	now := c.current.Load()
	if len(read) == 0 {
		return now, nil
	}
	named := c.names.Of(read[0])
	if named == "" || now != nil && named == now.Catalog.Revision() {
		return now, nil
	}
	c.loading.Lock()
	defer c.loading.Unlock()
	now = c.current.Load()
	if named == c.refused || now != nil && named == now.Catalog.Revision() {
		return now, nil
	}
	doc, err := c.revisions.document(ctx, named)
	if err != nil {
		return now, fmt.Errorf("stored configuration %s: %w", named, err)
	}
	if problems := c.Use(doc, named); catalog.HasErrors(problems) {
		c.refused = named
		for _, p := range problems {
			c.log.Error("stored configuration cannot rule", "revision", named, "problem", p.String())
		}
		return now, nil
	}
	c.log.Info("configuration changed", "revision", named)
	return c.current.Load(), nil
}

// Refresh asks the store for a newer revision and returns what rules.
func (c *Configuration) Refresh(ctx context.Context) (*exchange.Snapshot, error) {
	head, err := c.revisions.head(ctx)
	if err == nil {
		_, err = c.Follow(ctx, []store.Handle{head})
	}
	if err != nil {
		c.log.WarnContext(ctx, "a newer configuration cannot be asked for", "error", err)
	}
	return c.Current(), err
}

// Start finds out which document rules: the stored revision where the store has
// one. A file's document becomes the stored revision where there is none, or in
// any case when forced; one that was built in or discovered never does.
func (c *Configuration) Start(ctx context.Context, doc *catalog.Document, fromFile, force bool, now time.Time) error {
	if len(c.Keys()) == 0 {
		return nil
	}
	head, err := c.revisions.head(ctx)
	if err != nil {
		return fmt.Errorf("stored configuration: %w", err)
	}
	switch {
	case fromFile && (revisionOf(head) == "" || force):
		head, err = c.revisions.put(ctx, head, doc.Public(), now)
		if errors.Is(err, store.ErrConflict) && !force {
			err = nil // another process seeded first: its revision rules
		}
	case revisionOf(head) == "":
		return nil
	case fromFile:
		c.warnIfOther(ctx, revisionOf(head), doc)
	}
	if err != nil {
		return fmt.Errorf("stored configuration: %w", err)
	}
	if _, err := c.Follow(ctx, []store.Handle{head}); err != nil {
		return err
	}
	if c.Current().Catalog.Revision() != revisionOf(head) {
		return fmt.Errorf("%w: the stored revision %s cannot rule here; -config-force replaces it by the file", ErrInvalidDocument, revisionOf(head))
	}
	return nil
}

// warnIfOther tells an operator whose file is not what rules.
func (c *Configuration) warnIfOther(ctx context.Context, revision string, doc *catalog.Document) {
	stored, err := c.revisions.document(ctx, revision)
	if err != nil {
		return // Follow reports it
	}
	ours, err1 := doc.Public().JSON()
	theirs, err2 := stored.JSON()
	if err1 == nil && err2 == nil && !bytes.Equal(ours, theirs) {
		c.log.Warn("the file differs from the stored configuration, which rules; -config-force replaces it", "revision", revision)
	}
}
