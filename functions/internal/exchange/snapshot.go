package exchange

import (
	"context"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/functions/internal/guard"
	"holdfast/routing/catalog"
)

// Snapshot is one configuration revision, compiled. It never changes.
type Snapshot struct {
	Catalog  *catalog.Catalog
	Sessions *identity.Resolver
	Guards   *guard.Rules              // nil: none
	Locked   map[*catalog.Account]bool // those none of whose keys is in this process; nil: none
}

// Configuration gives the snapshot in force.
type Configuration interface {
	// Current returns the newest snapshot that this process knows.
	Current() *Snapshot
	// Keys returns the records that tell of a newer revision, read in the
	// exchange's one round trip; none where the document is a file's.
	Keys() []store.Key
	// Follow returns the snapshot that the records read by Keys name, loading
	// it where it is new.
	Follow(ctx context.Context, read []store.Handle) (*Snapshot, error)
	// Refresh asks the store by itself: before a caller or a model is refused
	// that a newer revision may know. Where the store fails it is Current, with the error.
	Refresh(ctx context.Context) (*Snapshot, error)
}
