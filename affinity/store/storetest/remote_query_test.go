package storetest

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"holdfast/affinity/store"
)

// spot is an item at its place in a query.
type spot struct {
	at   store.Position
	item item
}

func compare(a, b store.Position) int {
	return cmp.Or(cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.Key.Partition, b.Key.Partition), cmp.Compare(a.Key.Sort, b.Key.Sort))
}

// find returns what lies in q's partition and bounds, in q's order.
func (s *server) find(q store.Query) []spot {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []spot
	for k, i := range s.items {
		partition, sort := k.Partition, k.Sort
		if q.Indexed {
			partition, sort = i.record.Index.Partition, i.record.Index.Sort
		}
		if k.Table == q.Table && partition == q.Partition && sort >= q.From && (q.To == "" || sort <= q.To) {
			found = append(found, spot{store.Position{Sort: sort, Key: k}, i})
		}
	}
	slices.SortFunc(found, func(a, b spot) int {
		if q.Reverse {
			a, b = b, a
		}
		return compare(a.at, b.at)
	})
	return found
}

// Query counts expired items towards the limit before it leaves them out, so
// its pages may be short, or empty, before the end.
func (d *remote) Query(ctx context.Context, q store.Query) (store.Page, error) {
	if err := store.CheckQuery(ctx, q); err != nil && !d.is(boundless) {
		return store.Page{}, err
	}
	found := d.server.find(q)
	skip, err := d.skip(q, found)
	if err != nil {
		return store.Page{}, err
	}
	end := min(skip+q.PageSize(), len(found))
	var page store.Page
	for _, p := range found[skip:end] {
		h := d.handle(p.at.Key, p.item)
		if d.is(queryShowsExpired) {
			h = store.NewHandle(p.at.Key, p.item.revision, p.item.record)
		}
		if h.Revision() != "" {
			page.Handles = append(page.Handles, h)
		}
	}
	if end < len(found) && !(d.is(cursorStopsAtGap) && len(page.Handles) == 0) {
		page.Cursor = d.cursor(q, end, found[end-1].at)
	}
	return page, nil
}

func (d *remote) cursor(q store.Query, end int, last store.Position) string {
	if d.is(cursorCounts) {
		return strconv.Itoa(end)
	}
	return q.CursorAfter(last)
}

// skip returns how many of found the cursor leaves behind.
func (d *remote) skip(q store.Query, found []spot) (int, error) {
	if d.is(cursorCounts) {
		n, err := strconv.Atoi(cmp.Or(q.Cursor, "0"))
		return min(n, len(found)), err
	}
	after, started, err := q.Position()
	if err != nil || !started {
		return 0, err
	}
	return slices.IndexFunc(append(found, spot{}), func(p spot) bool {
		c := compare(p.at, after)
		if q.Reverse {
			c = -c
		}
		return c > 0 || c == 0 && d.is(cursorRepeats) || p.at == (store.Position{})
	}), nil
}
