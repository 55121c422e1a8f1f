package app

import (
	"context"
	"errors"
	"time"

	"holdfast/affinity/store"
	"holdfast/affinity/store/revision"
	"holdfast/functions/internal/admin"
	"holdfast/routing/catalog"
)

// unstored names the revision of a document that rules without being stored.
const unstored = "initial"

// Stored returns the document in force, fit to be shown, and its revision.
func (c *Configuration) Stored(ctx context.Context) ([]byte, string, error) {
	head, err := c.revisions.head(ctx)
	if err != nil {
		return nil, "", err
	}
	doc, name := c.given.Load(), unstored
	if stored := revisionOf(head); stored != "" {
		name = stored
		if doc, err = c.revisions.document(ctx, stored); err != nil {
			return nil, "", err
		}
	}
	text, err := doc.Public().JSON()
	return text, name, err
}

// Replace makes a document rule if the given revision is still in force. Its
// literal secrets stay in this process, which is a warning, and a problem where
// other processes call the providers: they would have no key.
func (c *Configuration) Replace(ctx context.Context, from string, doc *catalog.Document) (string, []catalog.Problem, error) {
	if _, problems := Compile(doc, "", c.environ, c.secrets); catalog.HasErrors(problems) {
		return "", problems, nil
	}
	found := c.newLiterals(doc)
	if catalog.HasErrors(found) {
		return "", found, nil
	}
	head, err := c.revisions.head(ctx)
	if err != nil {
		return "", nil, err
	}
	if now := revisionOf(head); now != from && !(now == "" && from == unstored) {
		return "", nil, store.ErrConflict
	}
	c.secrets.local.add(doc)
	if head, err = c.revisions.put(ctx, head, doc.Public(), c.now()); err != nil {
		return "", nil, err
	}
	_, err = c.Follow(ctx, []store.Handle{head})
	return revisionOf(head), found, err
}

// newLiterals tells of provider secrets in a document that no file has brought to
// the processes that need them.
func (c *Configuration) newLiterals(doc *catalog.Document) []catalog.Problem {
	message := "a literal secret stays in this process: it is gone when that ends, and no other can use the connection; write env:NAME, ssm:/path or secretsmanager:arn"
	if c.elsewhere {
		message = "a literal secret would stay in this process, and others call the providers; keep it where they find it and write env:NAME, ssm:/path or secretsmanager:arn"
	}
	var found []catalog.Problem
	for _, path := range doc.NewLiterals(c.secrets.local.get) {
		found = append(found, catalog.Problem{Path: path, Message: message, Warning: !c.elsewhere})
	}
	return found
}

// maxRevision bounds the name of a revision, in bytes.
const maxRevision = 100

// Revision returns the document that was stored under a name.
func (c *Configuration) Revision(ctx context.Context, name string) ([]byte, error) {
	if name == "" || len(name) > maxRevision {
		return nil, admin.ErrNoRevision
	}
	plain, err := revision.Log{Store: c.revisions.store}.Document(ctx, name)
	if errors.Is(err, revision.ErrDamaged) || errors.Is(err, store.ErrInvalid) {
		return nil, admin.ErrNoRevision
	}
	return plain, err
}

// Revisions lists what was stored in [from, to), newest first; zero times are no
// bounds.
func (c *Configuration) Revisions(ctx context.Context, from, to time.Time, cursor string, limit int) ([]string, string, error) {
	return revision.Log{Store: c.revisions.store}.List(ctx, from, to, cursor, limit)
}
