package ledger

import (
	"context"
	"errors"
	"time"

	"holdfast/affinity/store"
)

// listing is one page of sessions in the making.
type listing struct {
	*Reader
	filter Filter
	limit  int
	mark   string
	at     cursor
	walk   *walk
	page   SessionPage
	passed int // sessions that are chosen and were passed over for the offset

	next store.Handle // taken from the walk, but not on the page
	more bool         // there is such a one
}

// run fills the page. Without a filter the hours' counts say how many sessions
// there are, and where an offset leads; with one they are counted one by one.
func (l *listing) run(ctx context.Context, first bool) (SessionPage, error) {
	l.page.Sessions = []Session{}
	limit, budget, to := store.MaxPage, filteredBudget, time.Time{}
	if l.filter.open() {
		limit, budget = min(l.limit+l.at.Skip+1, store.MaxPage), plainBudget-shards
		total, err := l.count(ctx, l.filter.From)
		if err != nil {
			return SessionPage{}, err
		}
		if first {
			to = total.leap(&l.at.Skip)
			limit = min(l.limit+l.at.Skip+1, store.MaxPage)
		}
		if l.page.Total, l.page.AtLeast, err = l.since(ctx, total, l.filter.From); err != nil {
			return SessionPage{}, err
		}
	}
	l.walk = newWalk(l.Store, sessionQueries(limit, l.filter.From, to), l.at.After, budget)
	ended, err := l.fill(ctx)
	if err == nil && !l.filter.open() {
		err = l.total(ctx, ended)
	}
	if err != nil {
		return SessionPage{}, err
	}
	if !ended {
		l.page.Next = l.at.text(l.mark)
	}
	return l.page, nil
}

// sessionQueries ask for the sessions that were active last in a stretch of time.
func sessionQueries(limit int, from, to time.Time) []store.Query {
	queries := make([]store.Query, shards)
	for i := range queries {
		queries[i] = spanned(store.Query{Partition: sessionList(i), Indexed: true, Limit: limit}, "", from, to)
	}
	return queries
}

// total counts the sessions that are chosen: those of the pages so far, told by
// the cursor, and of this one, and then those that follow, as far as that may go.
// Once all are counted, the cursor carries their number from page to page.
func (l *listing) total(ctx context.Context, ended bool) error {
	l.at.Seen += l.passed + len(l.page.Sessions)
	l.page.Total = max(l.at.Seen, l.at.Total)
	if l.at.Total == 0 && !ended {
		behind, all, err := l.behind(ctx)
		if err != nil {
			return err
		}
		if l.page.Total, l.page.AtLeast = l.at.Seen+behind, !all; all {
			l.at.Total = l.page.Total
		}
	}
	l.page.AtLeast = l.page.AtLeast || l.page.Total > maxTotal
	return nil
}

// behind counts the sessions that are chosen behind the page; all is false where
// there may be more than it has looked at.
func (l *listing) behind(ctx context.Context) (n int, all bool, _ error) {
	rest := &listing{Reader: l.Reader, filter: l.filter, at: l.at, walk: l.walk}
	rest.walk.left += countBudget
	h, more := l.next, l.more
	for {
		if more {
			_, _, found, err := rest.stands(ctx, h, true)
			switch {
			case errors.Is(err, errSpent):
				return n, false, nil
			case err != nil:
				return n, false, err
			case found:
				n++
			}
		}
		var err error
		switch h, _, more, err = rest.walk.next(ctx); {
		case errors.Is(err, errSpent):
			return n, false, nil
		case err != nil || !more:
			return n, true, err
		}
	}
}

// one is the page of a single session. It is looked through as far as it takes.
func (l *listing) one(ctx context.Context, digits string) (SessionPage, error) {
	l.page.Sessions, l.walk = []Session{}, &walk{left: filteredBudget}
	read, err := l.Store.Read(ctx, sessionKey(digits))
	if err != nil {
		return SessionPage{}, err
	}
	if _, known := read[0].Record(); !known {
		return l.page, nil
	}
	err = l.visit(ctx, read[0])
	if errors.Is(err, errSpent) {
		l.page.Next, l.page.AtLeast, err = l.at.text(l.mark), true, nil
	}
	l.page.Total = len(l.page.Sessions) + l.passed
	return l.page, err
}

// fill goes on until the page is full, the work of a page is done, or there is
// nothing more: then it reports true.
func (l *listing) fill(ctx context.Context) (ended bool, _ error) {
	for {
		h, sort, ok, err := l.walk.next(ctx)
		switch {
		case errors.Is(err, errSpent):
			return false, nil
		case err != nil:
			return false, err
		case !ok:
			return true, nil
		case len(l.page.Sessions) == l.limit:
			l.next, l.more = h, true
			return false, nil
		}
		err = l.visit(ctx, h)
		switch {
		case errors.Is(err, errSpent):
			l.next, l.more = h, true
			return false, nil
		case err != nil:
			return false, err
		}
		l.at.After, l.at.Within, l.at.Inner = sort, "", ""
	}
}

// visit adds a session to the page where it is chosen and not passed over.
func (l *listing) visit(ctx context.Context, h store.Handle) error {
	s, latest, found, err := l.stands(ctx, h, false)
	if err != nil || !found {
		return err
	}
	if l.at.Skip > 0 {
		l.at.Skip--
		l.passed++
		return nil
	}
	l.page.Sessions = append(l.page.Sessions, Session{
		ID: sessionPrefix + digitsOf(h), UserPath: latest.UserPath, Sums: s.sums, First: time.UnixMilli(s.first).UTC(), Last: time.UnixMilli(s.last).UTC(),
		Deployments: s.names(seenDeployment), Models: s.names(seenModel), Latest: latest,
	})
	return nil
}

// digitsOf is the session's id in its record's address.
func digitsOf(h store.Handle) string { return h.Key().Partition[len("session/"):] }

// stands finds the latest exchange of a session that is chosen. Who only counts
// is told that there is one, and not always which.
func (l *listing) stands(ctx context.Context, h store.Handle, counts bool) (s *session, latest Event, found bool, err error) {
	digits := digitsOf(h)
	if s, err = decodeSession(h); err != nil {
		return s, latest, false, err
	}
	if !l.filter.open() && !l.filter.may(digits, s) {
		return s, latest, false, nil
	}
	if counts && l.filter.must(s) {
		return s, latest, true, nil
	}
	if latest, err = decodeEvent(s.latest); err != nil {
		return s, latest, false, err
	}
	if l.filter.open() || l.filter.Matches(&latest) {
		return s, latest, true, nil
	}
	found, err = l.search(ctx, digits, &latest)
	return s, latest, found, err
}

// search looks through a session's own exchanges for the latest that is chosen.
// What it has looked at when the page's work is done, the next page need not.
func (l *listing) search(ctx context.Context, digits string, latest *Event) (found bool, _ error) {
	f := l.filter
	f.Session = sessionPrefix + digits
	after := ""
	if l.at.Within == digits {
		after = l.at.Inner
	}
	w := newWalk(l.Store, eventQueries(f, store.MaxPage), after, l.walk.left)
	err := eachEvent(ctx, w, func(e Event, sort string) bool {
		l.at.Within, l.at.Inner = digits, sort
		if found = f.Matches(&e); found {
			*latest = e
		}
		return !found
	})
	l.walk.left = w.left
	if errors.Is(err, errStopped) {
		err = nil
	}
	return found, err
}
