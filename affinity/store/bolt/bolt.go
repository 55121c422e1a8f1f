// Package bolt is the store driver that keeps records in one file.
//
// Invariants: a write is on disk, fsync included, before it is acknowledged,
// and a process may be killed at any moment: what was acknowledged is there,
// and no record is torn. One process at a time has the file open. Every record
// carries a checksum over its key and content.
//
// Expired records are taken out by later writes, a few at a time; no request
// walks over all of them. The file does not shrink, its pages are used again.
//
// Concurrency: reads run beside each other and beside the one transaction that
// writes; writes that wait for it share the next one.
//
// Errors: those of package store; ErrLocked, ErrForeign and ErrDamaged from
// Open. A call that meets damage fails with store.ErrUnavailable and ErrDamaged,
// both.
package bolt

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"holdfast/affinity/store"
)

// Store is an open store file.
type Store struct {
	now   func() time.Time
	db    *bbolt.DB
	group *group
}

// Close waits for writes under way and lets go of the file. Calls after it fail
// with store.ErrUnavailable.
func (s *Store) Close() error {
	s.group.close()
	return s.db.Close()
}

// view runs f over the newest commit. bbolt reports a damaged page by a panic.
func (s *Store) view(f func(*tables) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = damaged()
		}
	}()
	err = s.db.View(func(tx *bbolt.Tx) error { return f(&tables{tx: tx}) })
	if err != nil && !errors.Is(err, store.ErrUnavailable) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// Read implements store.Store.
func (s *Store) Read(ctx context.Context, keys ...store.Key) ([]store.Handle, error) {
	if err := store.CheckRead(ctx, keys); err != nil {
		return nil, err
	}
	handles := make([]store.Handle, len(keys))
	err := s.view(func(t *tables) error {
		now := s.now()
		for i, k := range keys {
			e, err := t.get(k.Table, recordKey(k))
			if err != nil {
				return err
			}
			handles[i] = e.handle(k, now)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return handles, nil
}

// Swap implements store.Store.
func (s *Store) Swap(ctx context.Context, h store.Handle, next store.Record) (store.Handle, error) {
	if err := store.CheckSwap(ctx, h, next); err != nil {
		return store.Handle{}, err
	}
	// A caller that leaves early may change its value while the write goes on.
	mine := &entry{rand.Text(), store.Record{Value: slices.Clone(next.Value), Expires: store.RoundExpiry(next.Expires), Index: next.Index}}
	k := h.Key()
	var got store.Handle
	err := s.group.do(ctx, func(t *tables) (bool, error) {
		now := s.now()
		key := recordKey(k)
		old, err := t.get(k.Table, key)
		if err != nil {
			return false, err
		}
		if got = old.handle(k, now); got.Revision() != h.Revision() {
			return false, store.ErrConflict
		}
		got = mine.handle(k, now)
		return t.write(k.Table, key, old, mine, now), nil
	})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return store.Handle{}, err // got may still be written to
	}
	return got, err
}

// Add implements store.Store. A sum that overflows 64 bits is refused.
func (s *Store) Add(ctx context.Context, k store.Key, deltas map[string]int64, expires time.Time) (map[string]int64, error) {
	if err := store.CheckAdd(ctx, k, deltas); err != nil {
		return nil, err
	}
	deltas = maps.Clone(deltas)
	var sums map[string]int64
	err := s.group.do(ctx, func(t *tables) (bool, error) {
		now := s.now()
		key := recordKey(k)
		old, err := t.get(k.Table, key)
		if err != nil {
			return false, err
		}
		next, live := old.live(now)
		if next.Expires = store.LaterExpiry(next.Expires, store.RoundExpiry(expires)); !live {
			next.Expires = store.RoundExpiry(expires)
		}
		if next.Counters, err = store.AddCounters(next.Counters, deltas); err != nil {
			return false, err
		}
		sums = maps.Clone(deltas)
		for name := range sums {
			sums[name] = next.Counters[name]
		}
		return t.write(k.Table, key, old, &entry{rand.Text(), next}, now), nil
	})
	if err != nil {
		return nil, err
	}
	return sums, nil
}
