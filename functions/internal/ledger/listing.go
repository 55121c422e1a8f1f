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
}

// run fills the page. Without a filter the hours' counts say how many sessions
// there are, and where an offset leads.
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
		l.page.Total, l.page.AtLeast = total.from(l.filter.From)
	}
	queries := make([]store.Query, shards)
	for i := range queries {
		queries[i] = spanned(store.Query{Partition: sessionList(i), Indexed: true, Limit: limit}, "", l.filter.From, to)
	}
	l.walk = newWalk(l.Store, queries, l.at.After, budget)
	ended, err := l.fill(ctx)
	if err != nil {
		return SessionPage{}, err
	}
	if !ended {
		l.page.Next = l.at.text(l.mark)
	}
	if !l.filter.open() {
		l.page.Total, l.page.AtLeast = l.passed+len(l.page.Sessions), !ended || !first
	}
	return l.page, nil
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
			return false, nil
		}
		err = l.visit(ctx, h)
		switch {
		case errors.Is(err, errSpent):
			return false, nil
		case err != nil:
			return false, err
		}
		l.at.After, l.at.Within, l.at.Inner = sort, "", ""
	}
}

// visit adds a session to the page where it is chosen and not passed over.
func (l *listing) visit(ctx context.Context, h store.Handle) error {
	digits := h.Key().Partition[len("session/"):]
	s, err := decodeSession(h)
	if err != nil {
		return err
	}
	if !l.filter.open() && !l.filter.may(digits, s) {
		return nil
	}
	latest, err := decodeEvent(s.latest)
	if err != nil {
		return err
	}
	if !l.filter.open() && !l.filter.Matches(&latest) {
		if found, err := l.search(ctx, digits, &latest); !found || err != nil {
			return err
		}
	}
	if l.at.Skip > 0 {
		l.at.Skip--
		l.passed++
		return nil
	}
	l.page.Sessions = append(l.page.Sessions, Session{
		ID: sessionPrefix + digits, UserPath: latest.UserPath, Sums: s.sums, First: time.UnixMilli(s.first).UTC(), Last: time.UnixMilli(s.last).UTC(),
		Deployments: s.names(seenDeployment), Models: s.names(seenModel), Latest: latest,
	})
	return nil
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

// census counts sessions by the hour of their last activity.
type census struct {
	hours map[int64]int64 // by the hour since 1970
	now   int64
}

// count reads the census since the filter's beginning.
func (r *Reader) count(ctx context.Context, from time.Time) (census, error) {
	c := census{hours: map[int64]int64{}, now: r.Now().Unix() / 3600}
	err := r.days(ctx, byTotal, from, time.Time{}, func(date time.Time, _ string, d *day) {
		for hour := range d.hours {
			if n := d.hours[hour][Settled]; n != 0 {
				c.hours[date.Unix()/3600+int64(hour)] += n
			}
		}
	})
	return c, err
}

// from is how many sessions were active last since a time, and whether there may
// be more: those of an hour that the time is within.
func (c census) from(at time.Time) (total int, atLeast bool) {
	first := int64(0)
	if !at.IsZero() {
		first = (at.Unix() + 3599) / 3600
	}
	for hour, n := range c.hours {
		if hour >= first {
			total += int(n)
		}
	}
	inside := !at.IsZero() && at.Unix()%3600 != 0
	return total, inside || total > maxTotal
}

// leap takes whole hours off an offset, and returns the end of those that are
// left; the zero time where that is now.
func (c census) leap(skip *int) time.Time {
	to := time.Time{}
	if *skip == 0 || len(c.hours) == 0 {
		return to
	}
	first := c.now
	for hour := range c.hours {
		first = min(first, hour)
	}
	for hour := c.now + 1; hour >= first && int64(*skip) >= c.hours[hour]; hour-- {
		*skip -= int(c.hours[hour])
		to = time.Unix(hour*3600, 0)
	}
	return to
}

// days visits the days of a dimension. To is the first that does not count.
func (r *Reader) days(ctx context.Context, dimension string, from, to time.Time, visit func(date time.Time, name string, d *day)) error {
	queries := make([]store.Query, shards)
	for i := range queries {
		queries[i] = store.Query{Partition: dayPartition(i, dimension)}
		if !from.IsZero() {
			queries[i].From = dateOf(from)
		}
		if !to.IsZero() {
			queries[i].To = dateOf(to.Add(-1)) + "0" // behind the names of that day
		}
	}
	w := newWalk(r.Store, queries, "", maxDayRequests)
	for {
		h, sort, ok, err := w.next(ctx)
		if err != nil || !ok {
			return err
		}
		d, err := decodeDay(h)
		if err != nil {
			return err
		}
		date, name := dayName(sort)
		at, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return ErrCorrupt
		}
		visit(at, name, d)
	}
}

// maxDayRequests bounds what one dimension of a summary costs.
const maxDayRequests = 48
