package ledger

import (
	"context"
	"encoding/base64"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"holdfast/affinity/store"
)

// errSpent ends a walk that has asked the store as often as it may. What was
// found so far is a page, with a cursor.
var errSpent = errors.New("ledger: as much was looked at as one page may")

// walk goes through records of several partitions together, the latest first.
type walk struct {
	store   store.Store
	sources []*source
	left    int // requests that it may still make
	after   string
}

// source is one partition on its way.
type source struct {
	query store.Query
	page  []store.Handle
	done  bool // there is nothing beyond page
}

// newWalk begins behind the position after, "" for the newest, and looks back to
// the sort key from.
func newWalk(s store.Store, queries []store.Query, after string, budget int) *walk {
	w := &walk{store: s, left: budget, after: after}
	for _, q := range queries {
		q.Table, q.Reverse = store.Ledger, true
		if after != "" && (q.To == "" || after < q.To) {
			q.To = after
		}
		w.sources = append(w.sources, &source{query: q, done: q.To != "" && q.To < q.From})
	}
	return w
}

// next returns the next record and its position; ok is false at the end.
func (w *walk) next(ctx context.Context) (h store.Handle, sort string, ok bool, _ error) {
	for {
		if err := w.fill(ctx); err != nil {
			return store.Handle{}, "", false, err
		}
		var from *source
		for _, s := range w.sources {
			if len(s.page) > 0 && (from == nil || s.position(0) > from.position(0)) {
				from = s
			}
		}
		if from == nil {
			return store.Handle{}, "", false, nil
		}
		h, sort = from.page[0], from.position(0)
		from.page = from.page[1:]
		if sort != w.after { // the page before has ended with it
			return h, sort, true, nil
		}
	}
}

// fill asks for more where there may be more and nothing is at hand.
func (w *walk) fill(ctx context.Context) error {
	for {
		var empty []*source
		for _, s := range w.sources {
			if len(s.page) == 0 && !s.done {
				empty = append(empty, s)
			}
		}
		if len(empty) == 0 {
			return nil
		}
		if w.left < len(empty) {
			return errSpent
		}
		w.left -= len(empty)
		group, ctx := errgroup.WithContext(ctx)
		for _, s := range empty {
			group.Go(func() error { return s.ask(ctx, w.store) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
}

func (s *source) ask(ctx context.Context, from store.Store) error {
	page, err := from.Query(ctx, s.query)
	if err != nil {
		return err
	}
	s.page, s.query.Cursor, s.done = page.Handles, page.Cursor, page.Cursor == ""
	return nil
}

// position is where a record of the page stands.
func (s *source) position(i int) string {
	if s.query.Indexed {
		record, _ := s.page[i].Record()
		return record.Index.Sort
	}
	return s.page[i].Key().Sort
}

// spanned adds the bounds of a time to a query over sort keys that begin with
// prefix and the time.
func spanned(q store.Query, prefix string, from, to time.Time) store.Query {
	q.From, q.To = prefix, prefix+"~"
	if !from.IsZero() {
		q.From = prefix + millis(from.UnixMilli())
	}
	if !to.IsZero() {
		q.To = prefix + millis(to.Add(time.Millisecond-1).UnixMilli()) // before all of the next millisecond
	}
	return q
}

// cursor is where a page of a list has ended.
type cursor struct {
	After  string `json:"a,omitempty"` // position of the last record that is done with
	Skip   int    `json:"s,omitzero"`  // records that are still to be passed over
	Within string `json:"w,omitempty"` // a session that was not looked through
	Inner  string `json:"i,omitempty"` // position in it
	Seen   int    `json:"n,omitzero"`  // sessions that are chosen and were on pages before, or passed over
	Total  int    `json:"t,omitzero"`  // all sessions that are chosen; 0: they are not counted yet
}

// text returns the cursor for a list's clients.
func (c cursor) text(mark string) string {
	inner, err := json.Marshal(c)
	if err != nil {
		panic(err) // texts of our own always encode
	}
	return base64.RawURLEncoding.EncodeToString(append([]byte(mark), inner...))
}

// parseCursor reads what text has made for the same list.
func parseCursor(text, mark string) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(plain) < len(mark) || string(plain[:len(mark)]) != mark {
		return cursor{}, ErrInvalid
	}
	var c cursor
	if json.Unmarshal(plain[len(mark):], &c) != nil || len(c.After) > store.MaxKeyBytes || len(c.Inner) > store.MaxKeyBytes || min(c.Skip, c.Seen, c.Total) < 0 {
		return cursor{}, ErrInvalid
	}
	return c, nil
}
