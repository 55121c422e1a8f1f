package exchange

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"holdfast/affinity/store"
	"holdfast/routing/catalog"
)

// lease is one running call at a deployment that bounds its concurrency. It
// lapses by itself, so that a process that dies gives its place back.
type lease struct {
	ID    string    `json:"id"`
	Until time.Time `json:"until"`
}

// place is a lease that this exchange holds.
type place struct {
	target *catalog.Target
	record store.Handle // that it stands in, as it was written
}

// leaseTries bounds how often taking or giving back a place meets others who
// do the same.
const leaseTries = 12

// leasesIn are the leases of a record that have not lapsed.
func leasesIn(h store.Handle, now time.Time) []lease {
	record, live := h.Record()
	if !live {
		return nil
	}
	var all []lease
	if json.Unmarshal(record.Value, &all) != nil {
		return nil // whatever it is, it holds no places
	}
	return slices.DeleteFunc(all, func(l lease) bool { return !l.Until.After(now) })
}

// acquire takes a place at a deployment that bounds its concurrency. It reports
// false where there is none. One place is enough for all attempts of an
// exchange there. A store that fails lets everybody in.
func (e *exchange) acquire(ctx context.Context, t *catalog.Target) bool {
	if t.Limits.Concurrency == 0 || e.placed(t) {
		return true
	}
	h, known := e.load.slots[t.ID]
	delete(e.load.slots, t.ID) // good for one look: whoever asks again asks the store
	if !known {                // or reached by a fallback, or beyond what one read may hold
		read, err := e.Store.Read(ctx, slotsKey(t.ID))
		if err != nil {
			e.Log.WarnContext(ctx, "a place was not counted", "deployment", t.ID, "error", err)
			return true
		}
		h = read[0]
	}
	until, _ := ctx.Deadline()
	mine := lease{ID: e.in.ID, Until: e.Now().Add(time.Until(until))}
	for range leaseTries {
		running := leasesIn(h, e.Now())
		if len(running) >= t.Limits.Concurrency {
			return false
		}
		taken, err := e.writeLeases(ctx, h, append(running, mine))
		switch {
		case err == nil:
			if e.places == nil {
				e.later(e.vacate) // whatever becomes of the exchange
			}
			e.places = append(e.places, place{t, taken})
			return true
		case !errors.Is(err, store.ErrConflict):
			e.Log.WarnContext(ctx, "a place was not counted", "deployment", t.ID, "error", err)
			return true
		}
		h = taken
	}
	return false // so many others are at it that it is full
}

// placed reports whether the exchange holds a place at a deployment.
func (e *exchange) placed(t *catalog.Target) bool {
	return slices.ContainsFunc(e.places, func(p place) bool { return p.target == t })
}

// vacate gives all places back: when a deployment is left for another one, before
// the client sees the end of its answer, and in any case when the exchange is over.
func (e *exchange) vacate(ctx context.Context) {
	for _, p := range e.places {
		e.release(ctx, p.record)
	}
	e.places = e.places[:0]
}

// release gives the exchange's places in a record back.
func (e *exchange) release(ctx context.Context, h store.Handle) {
	for range leaseTries {
		running := leasesIn(h, e.Now())
		rest := slices.DeleteFunc(slices.Clone(running), func(l lease) bool { return l.ID == e.in.ID })
		if len(rest) == len(running) {
			return
		}
		next, err := e.writeLeases(ctx, h, rest)
		if !errors.Is(err, store.ErrConflict) {
			if err != nil {
				e.Log.WarnContext(ctx, "a place lapses instead of being given back", "error", err)
			}
			return
		}
		h = next
	}
}

func (e *exchange) writeLeases(ctx context.Context, h store.Handle, all []lease) (store.Handle, error) {
	if len(all) == 0 {
		return e.Store.Swap(ctx, h, store.Delete())
	}
	last := slices.MaxFunc(all, func(a, b lease) int { return a.Until.Compare(b.Until) })
	value, err := json.Marshal(all)
	if err != nil {
		return h, err
	}
	return e.Store.Swap(ctx, h, store.Record{Value: value, Expires: last.Until})
}
