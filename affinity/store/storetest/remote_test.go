package storetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"holdfast/affinity/store"
)

// server keeps items and tests conditions, as a database far away would.
type server struct {
	mu    sync.Mutex
	items map[store.Key]item
}

type item struct {
	revision string
	record   store.Record
}

// update writes what next makes of the key's item where ok holds of it, and
// returns the item that was there.
func (s *server) update(k store.Key, ok func(item) bool, next func(item) item) (old item, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old = s.items[k]
	if done = ok(old); done {
		s.items[k] = next(old)
	}
	return old, done
}

// remote is a driver over a server whose transport sends a write a second time
// where no answer came. Right is one that conforms; each mutant makes it wrong
// in one way.
type remote struct {
	server *server
	now    func() time.Time
	next   func() Fault
	mutant mutant
}

func (d *remote) is(m mutant) bool { return d.mutant == m }

// live is the drivers' one question to an item.
func (d *remote) live(i item) bool { return i.revision != "" && i.record.Live(d.now()) }

func (d *remote) handle(k store.Key, i item) store.Handle {
	if !d.live(i) && !(d.is(readsExpired) && i.revision != "") {
		return store.NewHandle(k, "", store.Record{})
	}
	return store.NewHandle(k, i.revision, i.record)
}

func (d *remote) Read(ctx context.Context, keys ...store.Key) ([]store.Handle, error) {
	if err := store.CheckRead(ctx, keys); err != nil && !d.is(boundless) {
		return nil, err
	}
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	var handles []store.Handle
	for i, k := range keys {
		it := d.server.items[k]
		if d.is(partialRead) && i >= 16 {
			it = item{}
		}
		handles = append(handles, d.handle(k, it))
	}
	return handles, nil
}

// condition is Swap's: the item is as h saw it.
func (d *remote) condition(h store.Handle) func(item) bool {
	return func(i item) bool {
		switch {
		case d.is(plainPut):
			return true
		case h.Revision() == "" && d.is(absentIgnoresExpiry):
			return i.revision == ""
		case h.Revision() == "":
			return !d.live(i)
		case d.is(liveIgnoresExpiry):
			return i.revision == h.Revision()
		}
		return i.revision == h.Revision() && d.live(i)
	}
}

// send makes up to two attempts. answered: the last attempt's answer arrived;
// maybe: an earlier one may have been applied.
func (d *remote) send(attempt func()) (answered, maybe bool) {
	for range 2 {
		travel()
		switch d.next() {
		case Refused:
		case Lost:
			attempt()
			maybe = true
		default:
			attempt()
			return true, maybe
		}
	}
	return false, maybe
}

// travel lets others go first, as a way over a network does.
func travel() {
	for range 4 {
		runtime.Gosched()
	}
}

func (d *remote) Swap(ctx context.Context, h store.Handle, next store.Record) (store.Handle, error) {
	if err := store.CheckSwap(ctx, h, next); err != nil && !d.is(boundless) {
		return store.Handle{}, err
	}
	value := slices.Clone(next.Value)
	if d.is(sharesBytes) {
		value = next.Value
	}
	mine := item{revision: d.revision(next), record: store.Record{
		Value: value, Expires: d.round(next.Expires), Index: next.Index}}
	if d.is(swapKeepsCounters) {
		mine.record.Counters = next.Counters
	}
	var old item
	var done bool
	answered, maybe := d.send(func() {
		old, done = d.server.update(h.Key(), d.condition(h), func(item) item { return mine })
		if !done && d.is(renewsOnMismatch) {
			d.server.update(h.Key(), d.live, func(i item) item {
				i.record.Expires = store.LaterExpiry(i.record.Expires, mine.record.Expires)
				return i
			})
		}
	})
	switch {
	case !answered && (maybe && !d.is(lostIsUnavailable)):
		return store.Handle{}, store.ErrUnknown
	case !answered:
		return store.Handle{}, store.ErrUnavailable
	case done, old.revision == mine.revision && !d.is(noOwnRevisionCheck):
		return d.handle(h.Key(), mine), nil
	case maybe && !d.is(lostIsConflict) && !d.is(noOwnRevisionCheck):
		return store.Handle{}, store.ErrUnknown
	case d.is(bareConflict):
		return store.NewHandle(h.Key(), "", store.Record{}), store.ErrConflict
	}
	return d.handle(h.Key(), old), store.ErrConflict
}

func (d *remote) revision(next store.Record) string {
	if d.is(revisionOfValue) {
		sum := sha256.Sum256(next.Value)
		return hex.EncodeToString(sum[:])
	}
	return rand.Text()
}

func (d *remote) round(t time.Time) time.Time {
	if d.is(roundsDown) && !t.IsZero() {
		return t.Truncate(time.Second)
	}
	return store.RoundExpiry(t)
}

func (d *remote) Add(ctx context.Context, k store.Key, deltas map[string]int64, expires time.Time) (map[string]int64, error) {
	if err := store.CheckAdd(ctx, k, deltas); err != nil && !d.is(boundless) {
		return nil, err
	}
	var sums map[string]int64
	answered, maybe := d.send(func() { sums = d.apply(k, deltas, expires) })
	switch {
	case answered && (!maybe || d.is(resentAddIsSuccess)):
		maps.DeleteFunc(sums, func(name string, _ int64) bool { _, named := deltas[name]; return !named })
		return sums, nil
	case maybe && !d.is(lostIsUnavailable):
		return nil, store.ErrUnknown
	}
	return nil, store.ErrUnavailable
}

// apply adds on the server and returns all sums.
func (d *remote) apply(k store.Key, deltas map[string]int64, expires time.Time) (sums map[string]int64) {
	always := func(item) bool { return true }
	if d.is(addTakesTwoSteps) {
		d.server.mu.Lock()
		read := d.server.items[k]
		d.server.mu.Unlock()
		travel()
		d.server.update(k, always, func(item) item { i, s := d.sum(read, deltas, expires); sums = s; return i })
		return sums
	}
	d.server.update(k, always, func(i item) item { i, sums = d.sum(i, deltas, expires); return i })
	return sums
}

func (d *remote) sum(i item, deltas map[string]int64, expires time.Time) (item, map[string]int64) {
	next := store.Record{Expires: d.round(expires)}
	if d.live(i) || d.is(addRevives) && i.revision != "" {
		next = i.record
		next.Expires = store.LaterExpiry(i.record.Expires, d.round(expires))
		if d.is(addShortens) {
			next.Expires = d.round(expires)
		}
	}
	sums, _ := store.AddCounters(next.Counters, deltas)
	next.Counters = maps.Clone(sums)
	revision := rand.Text()
	if d.is(addKeepsRevision) && d.live(i) {
		revision = i.revision
	}
	return item{revision, next}, sums
}
