package ledger

import (
	"context"
	"errors"
	"time"

	"holdfast/affinity/store"
)

// How often a page may ask the store.
const (
	plainBudget    = 8  // without a filter
	filteredBudget = 32 // with one: a page may come short, with a cursor
	countBudget    = 72 // beside that, to count what follows a filtered page of sessions: 10,000 of them, and some that must be looked through
)

// Reader reports what was booked.
type Reader struct {
	Store store.Store
	Now   func() time.Time
}

// Page says which part of a list is wanted. Limit is from 1 to store.MaxPage.
type Page struct {
	Limit  int
	Offset int    // sessions only; not together with a cursor
	Cursor string // Next of the page before; "" for the first
}

// EventPage is a part of the list of exchanges, the newest first.
type EventPage struct {
	Events []Event
	Next   string // "" at the end; a page may be short, or empty, and have one
}

// Events lists the exchanges that are chosen. Errors: ErrInvalid for the cursor,
// the store's, ErrCorrupt.
func (r *Reader) Events(ctx context.Context, f Filter, p Page) (EventPage, error) {
	mark := f.fingerprint("events")
	at, err := parseCursor(p.Cursor, mark)
	if err != nil {
		return EventPage{}, err
	}
	limit, budget := store.MaxPage, filteredBudget
	if f == (Filter{Session: f.Session, From: f.From, To: f.To}) {
		limit, budget = min(p.Limit+1, store.MaxPage), plainBudget
	}
	w := newWalk(r.Store, eventQueries(f, limit), at.After, budget)
	page := EventPage{Events: []Event{}}
	err = eachEvent(ctx, w, func(e Event, sort string) bool {
		if len(page.Events) == p.Limit {
			return false
		}
		at.After = sort
		if f.Matches(&e) {
			page.Events = append(page.Events, e)
		}
		return true
	})
	switch {
	case errors.Is(err, errSpent), errors.Is(err, errStopped):
		page.Next = at.text(mark)
	case err != nil:
		return EventPage{}, err
	}
	return page, nil
}

// errStopped ends a walk whose user has had enough.
var errStopped = errors.New("ledger: stopped")

// eachEvent goes on to the end, or until visit returns false.
func eachEvent(ctx context.Context, w *walk, visit func(e Event, sort string) bool) error {
	for {
		h, sort, ok, err := w.next(ctx)
		if err != nil || !ok {
			return err
		}
		text, _, err := openEvent(h)
		if err != nil {
			return err
		}
		e, err := decodeEvent(text)
		if err != nil {
			return err
		}
		if !visit(e, sort) {
			return errStopped
		}
	}
}

// eventQueries are those of a session's own partition, or of all shards.
func eventQueries(f Filter, limit int) []store.Query {
	if digits, scoped := hexOf(f.Session); scoped {
		q := store.Query{Partition: "session/" + digits, Limit: limit}
		return []store.Query{spanned(q, eventPrefix, f.From, f.To)}
	}
	all := make([]store.Query, shards)
	for i := range all {
		all[i] = spanned(store.Query{Partition: eventList(i), Indexed: true, Limit: limit}, "", f.From, f.To)
	}
	return all
}

// Session is what is known of one session.
type Session struct {
	ID          string // scoped
	UserPath    string
	Sums        Sums // of the whole session, whatever is filtered
	First, Last time.Time
	Deployments []string // that have served it
	Models      []string
	Latest      Event // of those that are chosen
}

// SessionPage is a part of the list of sessions, those that were active last
// first.
type SessionPage struct {
	Sessions []Session
	Next     string
	Total    int  // all that are chosen
	AtLeast  bool // there may be more than Total
}

// maxTotal is up to which number of sessions Total is promised to be exact.
const maxTotal = 10_000

// Sessions lists the sessions that have an exchange that is chosen.
func (r *Reader) Sessions(ctx context.Context, f Filter, p Page) (SessionPage, error) {
	mark := f.fingerprint("sessions")
	at, err := parseCursor(p.Cursor, mark)
	if err != nil {
		return SessionPage{}, err
	}
	if p.Cursor == "" {
		at.Skip = p.Offset
	}
	l := &listing{Reader: r, filter: f, limit: p.Limit, at: at, mark: mark}
	if digits, one := hexOf(f.Session); one {
		return l.one(ctx, digits)
	}
	return l.run(ctx, p.Cursor == "")
}
