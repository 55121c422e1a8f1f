package bolt

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/bbolt"

	"holdfast/affinity/store"
)

// WithClock returns another client of the open file with a clock of its own.
func (s *Store) WithClock(now func() time.Time) *Store {
	return &Store{now: now, db: s.db, group: s.group}
}

// Hold puts a write in front of all others that lasts until release is closed.
func (s *Store) Hold(release <-chan struct{}) error {
	return s.group.do(context.Background(), func(*tables) (bool, error) {
		<-release
		return false, nil
	})
}

// Commits counts the transactions that the file has seen.
func (s *Store) Commits() (n int, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		n = tx.ID()
		return nil
	})
	return n, err
}

// Stored counts the keys of each bucket, expired records included.
func (s *Store) Stored() (map[string]int, error) {
	n := map[string]int{}
	return n, s.db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			n[string(name)] = b.Stats().KeyN
			return nil
		})
	})
}

// Check holds bbolt's own rules against the whole file.
func (s *Store) Check() error {
	return s.db.View(func(tx *bbolt.Tx) error {
		var all []error
		for e := range tx.Check() {
			all = append(all, e)
		}
		return errors.Join(all...)
	})
}

// Scribble changes the stored bytes of a record without its checksum.
func (s *Store) Scribble(table string, key []byte, change func([]byte) []byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(table))
		return b.Put(key, change(append([]byte(nil), b.Get(key)...)))
	})
}

// Misplace notes an expiry for a record that does not have it.
func (s *Store) Misplace(k store.Key, expires time.Time) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(expiryBucket)).Put(expiryKey(k.Table, expires, recordKey(k)), nil)
	})
}

// RecordKey is where a record lies in its bucket.
var RecordKey = recordKey
