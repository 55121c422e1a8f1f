package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/affinity/store"
	"holdfast/affinity/store/revision"
	"holdfast/routing/catalog"
)

// revisions keeps configuration documents.
type revisions struct {
	store store.Store // nil: documents are not stored
	keys  []store.Key // of the record that names the one in force; not to be added to in place
}

func revisionsIn(s store.Store) revisions {
	return revisions{store: s, keys: slices.Clip([]store.Key{revision.Key()})}
}

// revisionOf returns the revision that a head record names, "" for none.
func revisionOf(head store.Handle) string { return revision.Name(head) }

// head reads the record that names the revision in force.
func (r revisions) head(ctx context.Context) (store.Handle, error) {
	return revision.Log{Store: r.store}.Head(ctx)
}

// put stores a document and makes it rule, if head is still what rules.
func (r revisions) put(ctx context.Context, head store.Handle, doc *catalog.Document, now time.Time) (store.Handle, error) {
	plain, err := doc.JSON()
	if err != nil {
		return head, err
	}
	return revision.Log{Store: r.store}.Put(ctx, head, plain, now)
}

// document loads the document of a revision.
func (r revisions) document(ctx context.Context, name string) (*catalog.Document, error) {
	plain, err := revision.Log{Store: r.store}.Document(ctx, name)
	if err != nil {
		return nil, err
	}
	doc, problems := catalog.Load(plain)
	if catalog.HasErrors(problems) {
		return nil, fmt.Errorf("%w: %s", ErrInvalidDocument, problems[0].String())
	}
	return doc, nil
}
