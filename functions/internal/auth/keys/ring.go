package keys

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/affinity/store"
	"holdfast/routing/catalog"
)

// Fresh is how long a key that the store has confirmed may be taken as it was.
const Fresh = 60 * time.Second

// maxSeen bounds the keys of one of a Ring's two halves.
const maxSeen = 4096

// Seen is a key as this process has last read it.
type Seen struct {
	Entry
	At     time.Time               // when the store confirmed it
	Placed *atomic.Pointer[Placed] // its caller, once somebody has worked it out
}

// Placed is a key's caller within one configuration.
type Placed struct {
	Within *catalog.Catalog
	Caller *catalog.Caller
}

// Ring remembers the stored keys that this process has seen, at most 8,192.
type Ring struct {
	Store store.Store
	Now   func() time.Time

	mu         sync.Mutex
	young, old map[[32]byte]Seen // old ones give way when young is full
}

// Recall returns a key that the store has confirmed within Fresh.
func (r *Ring) Recall(sum [32]byte) (Seen, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, known := r.young[sum]
	if !known {
		seen, known = r.old[sum]
	}
	return seen, known && r.Now().Sub(seen.At) < Fresh
}

// Look asks the store for a key: one read. ErrNotFound where there is none.
func (r *Ring) Look(ctx context.Context, sum [32]byte) (Seen, error) {
	read, err := r.Store.Read(ctx, Address(sum))
	if err != nil {
		return Seen{}, err
	}
	return r.Note(sum, read[0])
}

// Note takes what was read under a key's Address. A key that is gone is
// forgotten; one that has not changed is not decoded again.
func (r *Ring) Note(sum [32]byte, h store.Handle) (Seen, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, known := r.young[sum]
	if !known {
		seen = r.old[sum]
	}
	if h.Revision() == "" || h.Revision() != seen.Revision() {
		e, err := Read(h)
		if err != nil {
			delete(r.young, sum)
			delete(r.old, sum)
			return Seen{}, err
		}
		seen = Seen{Entry: e, Placed: new(atomic.Pointer[Placed])}
	}
	seen.At = r.Now()
	if r.young == nil || !known && len(r.young) >= maxSeen {
		r.young, r.old = make(map[[32]byte]Seen), r.young
	}
	r.young[sum] = seen
	return seen, nil
}
