package bolt

import (
	"bytes"
	"encoding/binary"
	"time"

	"go.etcd.io/bbolt"

	"holdfast/affinity/store"
)

// tables is the file inside one transaction.
type tables struct {
	tx      *bbolt.Tx
	records [4]*bbolt.Bucket // by table, once asked for
	failed  error            // a change that did not get into the transaction
}

func (t *tables) bucket(of store.Table) *bbolt.Bucket {
	if t.records[of] == nil {
		t.records[of] = t.tx.Bucket([]byte(of.String()))
	}
	return t.records[of]
}

func (t *tables) index(of store.Table) *bbolt.Bucket {
	return t.tx.Bucket([]byte(of.String() + indexSuffix))
}

// get returns the key's entry, expired or not, or nil.
func (t *tables) get(of store.Table, key []byte) (*entry, error) {
	e, err := decode(key, t.bucket(of).Get(key))
	if err != nil {
		return nil, damaged()
	}
	return e, nil
}

// write puts next in the place of old, or takes old out where next has already
// expired. It returns whether that changes anything, and uses the occasion to
// sweep.
func (t *tables) write(of store.Table, key []byte, old, next *entry, now time.Time) bool {
	t.sweep(now, key)
	if !next.record.Live(now) {
		if old == nil {
			return false
		}
		t.remove(of, key, old)
		return true
	}
	t.try(t.bucket(of).Put(key, encode(key, next)))
	var before store.Record
	if old != nil {
		before = old.record
	}
	t.reexpire(of, key, before.Expires, next.record.Expires)
	t.reindex(of, key, before.Index, next.record.Index)
	return true
}

// remove takes a record out, with everything that points to it.
func (t *tables) remove(of store.Table, key []byte, old *entry) {
	t.try(t.bucket(of).Delete(key))
	t.reexpire(of, key, old.record.Expires, time.Time{})
	t.reindex(of, key, old.record.Index, store.Index{})
}

// reexpire moves a record's expiry key; zero is none.
func (t *tables) reexpire(of store.Table, key []byte, from, to time.Time) {
	if from.Equal(to) {
		return
	}
	b := t.tx.Bucket([]byte(expiryBucket))
	if !from.IsZero() {
		t.try(b.Delete(expiryKey(of, from, key)))
	}
	if !to.IsZero() {
		t.try(b.Put(expiryKey(of, to, key), nil))
	}
}

// reindex moves a record's index key. A table without an index never gets here
// with one, by the bounds of Swap.
func (t *tables) reindex(of store.Table, key []byte, from, to store.Index) {
	if from == to {
		return
	}
	b := t.index(of)
	if from != (store.Index{}) {
		t.try(b.Delete(indexKey(from, key)))
	}
	if to != (store.Index{}) {
		t.try(b.Put(indexKey(to, key), nil))
	}
}

// try notes the first change that failed. bbolt refuses only what the bounds of
// package store exclude, so the whole transaction is given up.
func (t *tables) try(err error) {
	if t.failed == nil {
		t.failed = err
	}
}

// sweepAtOnce bounds what one write takes out beside its own work; it is more
// than the one record that a write can add.
const sweepAtOnce = 4

// sweep takes out records that have expired, except the one under mine: its
// write is under way and will move the keys that point to it.
func (t *tables) sweep(now time.Time, mine []byte) {
	b := t.tx.Bucket([]byte(expiryBucket))
	for range sweepAtOnce {
		k, _ := b.Cursor().First()
		if len(k) < 9 || int64(binary.BigEndian.Uint64(k)) > now.Unix() {
			return
		}
		k = bytes.Clone(k) // bbolt's own memory changes with the bucket
		of, key := store.Table(k[8]), k[9:]
		if bytes.Equal(key, mine) {
			return
		}
		if old := t.expired(of, key, now); old != nil {
			t.remove(of, key, old)
		} else {
			t.try(b.Delete(k))
		}
	}
}

// expired returns the entry that an expiry key points to, or nil where there is
// none to take out: a sweep trusts what the record says.
func (t *tables) expired(of store.Table, key []byte, now time.Time) *entry {
	if of > store.Ledger {
		return nil
	}
	e, err := t.get(of, key)
	if err != nil || e == nil || e.record.Live(now) {
		return nil
	}
	return e
}
