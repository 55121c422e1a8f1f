package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/affinity/store"
)

// How a write that fails is tried again.
const (
	maxConflicts = 64
	maxFailures  = 4
	firstPause   = 25 * time.Millisecond // doubled from failure to failure
)

// fewAtOnce is how many writes are under way in a small batch: what is booked
// afterwards leaves room for what clients wait for.
const fewAtOnce = 4

// keeping is how long records are kept; 0 is for ever.
type keeping time.Duration

// until is when what happened at a time is no longer kept.
func (k keeping) until(at time.Time) time.Time {
	if k <= 0 {
		return time.Time{}
	}
	return at.Add(time.Duration(k))
}

// work is what a batch changes.
type work struct {
	*Book
	by        mark
	retention keeping
	sessions  map[string][]*booking // by scoped id
	days      map[store.Key][]share // of keys, models, deployments
	names     map[named]store.Key

	mu     sync.Mutex
	totals map[store.Key][]share // filled as sessions say when they were last active
}

// named is a day of one name.
type named struct {
	at              int64 // days since 1970
	dimension, name string
}

// apply books a batch's events, as far as they are not booked yet. It may be
// repeated and interrupted at will. Events come first, since they say which batch
// counts them; totals come last, since sessions say where they count.
func (b *Book) apply(ctx context.Context, by mark, events []*booking) error {
	w := &work{
		Book: b, by: by, retention: keeping(b.Retention()),
		sessions: map[string][]*booking{}, days: map[store.Key][]share{}, totals: map[store.Key][]share{}, names: map[named]store.Key{},
	}
	if err := w.keep(ctx, events); err != nil {
		return err
	}
	known, err := w.look(ctx)
	if err != nil {
		return err
	}
	tasks := make([]task, 0, len(w.sessions)+len(w.days))
	for digits := range w.sessions {
		tasks = append(tasks, func(ctx context.Context) error { return w.session(ctx, digits, known[sessionKey(digits)]) })
	}
	for key, shares := range w.days {
		tasks = append(tasks, func(ctx context.Context) error { return w.day(ctx, known[key], shares) })
	}
	if err := b.all(ctx, tasks); err != nil {
		return err
	}
	return w.total(ctx, known)
}

// task is a part of the work that depends on no other that runs with it.
type task func(context.Context) error

// all runs tasks, as many at a time as the store is worth it, and returns the
// first error.
func (b *Book) all(ctx context.Context, tasks []task) error {
	if b.AtOnce == 1 || len(tasks) == 1 {
		for _, one := range tasks {
			if err := one(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(min(b.AtOnce, max(fewAtOnce, len(tasks)/4)))
	for _, one := range tasks {
		group.Go(func() error { return one(ctx) })
	}
	return group.Wait()
}

// keep writes the events that are not written yet, and sorts those that this
// batch counts into what they change.
func (w *work) keep(ctx context.Context, events []*booking) error {
	seen, mine := make(map[store.Key]bool, len(events)), make([]bool, len(events))
	tasks := make([]task, 0, len(events))
	for i, one := range events {
		key := one.key()
		if seen[key] {
			continue
		}
		seen[key] = true
		tasks = append(tasks, func(ctx context.Context) (err error) { mine[i], err = w.own(ctx, key, one); return err })
	}
	if err := w.all(ctx, tasks); err != nil {
		return err
	}
	for i, one := range events {
		if mine[i] {
			w.sort(one)
		}
	}
	return nil
}

// own writes an event and reports whether this batch counts it: not where an
// earlier one does.
func (w *work) own(ctx context.Context, key store.Key, one *booking) (bool, error) {
	room, _ := w.rooms.Get().(*packer)
	if room == nil {
		room = new(packer)
	}
	defer w.rooms.Put(room)
	at, record := store.NewHandle(key, "", store.Record{}), one.record(room, w.by, w.retention)
	for range maxConflicts {
		stands, err := w.swap(ctx, at, record)
		switch {
		case !errors.Is(err, store.ErrConflict):
			return err == nil, err
		case stands.Revision() != "":
			_, by, err := openEvent(stands)
			return by == mark{slot: w.by.slot, number: w.by.number}, err
		}
		at = stands
	}
	return false, store.ErrConflict
}

// sort adds an event to what it changes.
func (w *work) sort(one *booking) {
	e := &one.event
	if digits, scoped := hexOf(e.SessionID); scoped {
		w.sessions[digits] = append(w.sessions[digits], one)
	}
	s := share{hour: e.Time.Hour(), sums: one.sums}
	into := func(all map[store.Key][]share, dimension, name string) {
		this := named{e.Time.Unix() / (24 * 60 * 60), dimension, name}
		key, known := w.names[this]
		if !known {
			key = dayKey(w.by.slot%shards, dimension, dateOf(e.Time), name)
			w.names[this] = key
		}
		all[key] = joined(all[key], s)
	}
	into(w.totals, byTotal, "")
	into(w.days, byKey, e.Key)
	into(w.days, byModel, e.Model)
	if e.Deployment != "" {
		into(w.days, byDeployment, e.Deployment)
	}
}

// look reads all records that change.
func (w *work) look(ctx context.Context) (map[store.Key]store.Handle, error) {
	var keys []store.Key
	for digits := range w.sessions {
		keys = append(keys, sessionKey(digits))
	}
	keys = slices.AppendSeq(keys, maps.Keys(w.days))
	return w.readAll(ctx, slices.AppendSeq(keys, maps.Keys(w.totals)))
}

// readAll reads any number of keys.
func (w *work) readAll(ctx context.Context, keys []store.Key) (map[store.Key]store.Handle, error) {
	known := make(map[store.Key]store.Handle, len(keys))
	for len(keys) > 0 {
		n := min(len(keys), store.MaxReadKeys)
		read, err := w.read(ctx, keys[:n]...)
		if err != nil {
			return nil, err
		}
		for i, h := range read {
			known[keys[i]] = h
		}
		keys = keys[n:]
	}
	return known, nil
}

// session counts the batch's events of a session and notes when it was last
// active before and after them.
func (w *work) session(ctx context.Context, digits string, h store.Handle) error {
	events := w.sessions[digits]
	var before, after int64
	err := w.change(ctx, h, func(h store.Handle) (store.Record, bool, error) {
		s, err := decodeSession(h)
		if err != nil {
			return store.Record{}, false, err
		}
		taken := s.take(w.by, events)
		before = s.marks.of(w.by.slot).before
		if after = before; !taken {
			for _, one := range events {
				after = max(after, one.event.Time.UnixMilli())
			}
			return store.Record{}, false, nil
		}
		after = s.last
		return store.Record{
			Value: s.encode(), Index: sessionIndex(digits, s.last), Expires: w.retention.until(time.UnixMilli(s.last)),
		}, true, nil
	})
	if err == nil && after != before {
		w.settle(before, -1)
		w.settle(after, 1)
	}
	return err
}

// settle notes that a session's last activity is now, or is no longer, in an
// hour. 0 is no hour.
func (w *work) settle(at, delta int64) {
	if at == 0 {
		return
	}
	when := time.UnixMilli(at).UTC()
	key := dayKey(w.by.slot%shards, byTotal, dateOf(when), "")
	s := share{hour: when.Hour()}
	s.sums[Settled] = delta
	w.mu.Lock()
	defer w.mu.Unlock()
	w.totals[key] = joined(w.totals[key], s)
}

// day counts the batch's shares in one day of one name.
func (w *work) day(ctx context.Context, h store.Handle, shares []share) error {
	return w.change(ctx, h, func(h store.Handle) (store.Record, bool, error) {
		d, err := decodeDay(h)
		if err != nil || !d.take(w.by, shares) {
			return store.Record{}, false, err
		}
		return store.Record{Value: d.encode(), Expires: w.retention.until(dayEnd(h.Key()))}, true, nil
	})
}

// total counts the batch in the days of the whole gateway, when all else is
// known. Days that sessions have left were not looked at yet.
func (w *work) total(ctx context.Context, known map[store.Key]store.Handle) error {
	var missing []store.Key
	for key := range w.totals {
		if _, looked := known[key]; !looked {
			missing = append(missing, key)
		}
	}
	found, err := w.readAll(ctx, missing)
	if err != nil {
		return err
	}
	maps.Copy(known, found)
	tasks := make([]task, 0, len(w.totals))
	for key, shares := range w.totals {
		tasks = append(tasks, func(ctx context.Context) error { return w.day(ctx, known[key], shares) })
	}
	return w.all(ctx, tasks)
}

// change swaps a record for its next form until that has worked, or there is
// nothing to change.
func (w *work) change(ctx context.Context, h store.Handle, next func(store.Handle) (store.Record, bool, error)) error {
	for range maxConflicts {
		record, changes, err := next(h)
		if err != nil || !changes {
			return err
		}
		written, err := w.swap(ctx, h, record)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, store.ErrConflict):
			return err
		}
		h = written
	}
	return store.ErrConflict
}

// swap is a Swap that is tried again where nothing was written. Where it is not
// known whether something was, it says ErrConflict with what stands now: the
// record itself tells.
func (b *Book) swap(ctx context.Context, h store.Handle, record store.Record) (store.Handle, error) {
	for failures := 1; ; failures++ {
		written, err := b.Store.Swap(ctx, h, record)
		switch {
		case err == nil, errors.Is(err, store.ErrConflict):
			return written, err
		case errors.Is(err, store.ErrUnknown):
			read, err := b.read(ctx, h.Key())
			if err != nil {
				return h, err
			}
			return read[0], store.ErrConflict
		case !errors.Is(err, store.ErrUnavailable) || failures == maxFailures || !pause(ctx, firstPause<<failures):
			return h, err
		}
	}
}

// read is a Read that is tried again.
func (b *Book) read(ctx context.Context, keys ...store.Key) ([]store.Handle, error) {
	for failures := 1; ; failures++ {
		read, err := b.Store.Read(ctx, keys...)
		if err == nil || !errors.Is(err, store.ErrUnavailable) || failures == maxFailures || !pause(ctx, firstPause<<failures) {
			return read, err
		}
	}
}

// pause waits, and reports whether there was time for it.
func pause(ctx context.Context, span time.Duration) bool {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
