package bolt

import (
	"bytes"
	"context"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"holdfast/affinity/store"
)

// What one page looks at and carries at most; beyond it the page ends early,
// with a cursor.
const (
	lookAtOnce = 1000
	pageBytes  = 4 << 20
)

// Query implements store.Store.
func (s *Store) Query(ctx context.Context, q store.Query) (store.Page, error) {
	if err := store.CheckQuery(ctx, q); err != nil {
		return store.Page{}, err
	}
	after, started, err := q.Position()
	if err != nil {
		return store.Page{}, err
	}
	lo, hi := span(q)
	if started {
		at := recordKey(after.Key)
		if q.Indexed {
			at = indexKey(store.Index{Partition: q.Partition, Sort: after.Sort}, at)
		}
		if q.Reverse {
			hi = at
		} else {
			lo = append(at, 0) // the next key there could be
		}
	}
	var page store.Page
	err = s.view(func(t *tables) error {
		page, err = t.page(q, lo, hi, s.now())
		return err
	})
	return page, err
}

// span returns the keys of the query as [lo, hi).
func span(q store.Query) (lo, hi []byte) {
	prefix := partitionPrefix(q.Partition)
	sort := func(s string) []byte { // clones, since lo and hi must not share memory
		if q.Indexed {
			return escape(slices.Clone(prefix), s)
		}
		return append(slices.Clone(prefix), s...)
	}
	lo = sort(q.From)
	switch {
	case q.To == "":
		hi = after(prefix)
	case q.Indexed: // behind every record at To, before the next sort
		hi = append(sort(q.To), 0, 0xfe)
	default:
		hi = append(sort(q.To), 0)
	}
	return lo, hi
}

// after returns the first key behind all that begin with prefix, whose first
// byte, of a length, is never 0xff.
func after(prefix []byte) []byte {
	b := slices.Clone(prefix)
	for i := len(b) - 1; ; i-- {
		if b[i]++; b[i] != 0 {
			return b[:i+1]
		}
	}
}

// page collects what lies in [lo, hi), as much as one page may have.
func (t *tables) page(q store.Query, lo, hi []byte, now time.Time) (store.Page, error) {
	from := t.bucket(q.Table)
	if q.Indexed {
		from = t.index(q.Table)
	}
	var page store.Page
	var last store.Position
	looked, size := 0, 0
	for k := range keys(from.Cursor(), lo, hi, q.Reverse) {
		// Asked before a key is taken, so that a cursor always has something behind it.
		if len(page.Handles) == q.PageSize() || looked == lookAtOnce || size >= pageBytes {
			page.Cursor = q.CursorAfter(last)
			break
		}
		e, at, err := t.found(q, k)
		if err != nil {
			return store.Page{}, err
		}
		last = at
		looked++
		if h := e.handle(at.Key, now); h.Revision() != "" {
			size += len(e.record.Value)
			page.Handles = append(page.Handles, h)
		}
	}
	return page, nil
}

// found returns the entry that a key of the query's bucket stands for.
func (t *tables) found(q store.Query, k []byte) (e *entry, at store.Position, err error) {
	key := k
	if q.Indexed {
		if key, err = recordOfIndexKey(k); err != nil {
			return nil, at, damaged()
		}
	}
	if at.Key, err = parseRecordKey(q.Table, key); err != nil {
		return nil, at, damaged()
	}
	if e, err = t.get(q.Table, key); err != nil {
		return nil, at, err
	}
	if e == nil { // an index that points to nothing
		return nil, at, damaged()
	}
	if at.Sort = at.Key.Sort; q.Indexed {
		at.Sort = e.record.Index.Sort
	}
	return e, at, nil
}

// keys yields the keys in [lo, hi), backwards where asked for.
func keys(c *bbolt.Cursor, lo, hi []byte, reverse bool) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		k, _ := c.Seek(lo)
		next := c.Next
		if reverse {
			next = c.Prev
			// Seek stops at or behind hi, which is not part of the span.
			if k, _ = c.Seek(hi); k == nil {
				k, _ = c.Last()
			} else {
				k, _ = c.Prev()
			}
		}
		for ; k != nil && bytes.Compare(k, lo) >= 0 && bytes.Compare(k, hi) < 0; k, _ = next() {
			if !yield(k) {
				return
			}
		}
	}
}
