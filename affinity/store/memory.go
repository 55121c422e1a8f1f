package store

import (
	"context"
	"crypto/rand"
	"maps"
	"math"
	"slices"
	"time"
)

// MemoryConfig sets up a Memory. The zero value works.
type MemoryConfig struct {
	Now       func() time.Time // nil: time.Now
	Ephemeral int              // capacity of the table Affinity; 0: 8,192
	Durable   int              // capacity of each other table; 0: 1,048,576
}

// Default capacities, and the bytes that one place holds. A record takes one
// place, and one more for each further stretch of that many bytes of its value
// and counters, so that a capacity bounds the number of records and their bytes
// alike: 256 MiB ephemeral, 1 GiB in each durable table.
const (
	ephemeralPlaces = 8192
	ephemeralBytes  = 32 << 10
	durablePlaces   = 1 << 20
	durableBytes    = 1 << 10
	counterBytes    = MaxNameBytes + 16 // what one counter is taken to cost
)

// Memory is the driver that keeps records in this process: for tests, demos,
// and as the local record while a shared store fails.
//
// The table Affinity is ephemeral: when it is full, the record with the
// earliest expiry leaves, expired ones first. It leaves from the owner who
// takes the most places, so that no owner pushes out those who hold no more
// than their share; the owner of a record is its partition up to the first
// slash. The other tables are durable: nothing leaves before its expiry, and
// when one is full a write that needs another place fails with ErrFull. Swap
// over a live record that does not grow, and deleting, always work.
//
// Reads of different keys share no lock; writes to one table take turns.
// There is no goroutine: expired records are taken out by later writes.
type Memory struct {
	now    func() time.Time
	tables []*shelf
}

// NewMemory returns an empty Memory.
func NewMemory(c MemoryConfig) *Memory {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Ephemeral <= 0 {
		c.Ephemeral = ephemeralPlaces
	}
	if c.Durable <= 0 {
		c.Durable = durablePlaces
	}
	m := &Memory{now: c.Now}
	for _, t := range Tables() {
		if t == Affinity {
			m.tables = append(m.tables, newShelf(newRoom(c.Ephemeral, ephemeralBytes, true)))
			continue
		}
		m.tables = append(m.tables, newShelf(newRoom(c.Durable, durableBytes, false)))
	}
	return m
}

// Read implements Store.
func (m *Memory) Read(ctx context.Context, keys ...Key) ([]Handle, error) {
	if err := CheckRead(ctx, keys); err != nil {
		return nil, err
	}
	now := m.now()
	handles := make([]Handle, len(keys))
	for i, k := range keys {
		handles[i] = m.tables[k.Table].read(k).handle(k, now)
	}
	return handles, nil
}

// Swap implements Store.
func (m *Memory) Swap(ctx context.Context, h Handle, next Record) (Handle, error) {
	if err := CheckSwap(ctx, h, next); err != nil {
		return Handle{}, err
	}
	next = Record{Value: slices.Clone(next.Value), Expires: RoundExpiry(next.Expires), Index: next.Index}
	t := m.tables[h.key.Table]
	t.writer.Lock()
	defer t.writer.Unlock()
	now := m.now()
	if stands := t.read(h.key).handle(h.key, now); stands.revision != h.revision {
		return stands, ErrConflict
	}
	return t.write(h.key, next, now)
}

// Add implements Store. A sum that overflows 64 bits is refused.
func (m *Memory) Add(ctx context.Context, key Key, deltas map[string]int64, expires time.Time) (map[string]int64, error) {
	if err := CheckAdd(ctx, key, deltas); err != nil {
		return nil, err
	}
	t := m.tables[key.Table]
	t.writer.Lock()
	defer t.writer.Unlock()
	now := m.now()
	next, live := t.read(key).live(now)
	if next.Expires = LaterExpiry(next.Expires, RoundExpiry(expires)); !live {
		next.Expires = RoundExpiry(expires)
	}
	sums, err := AddCounters(next.Counters, deltas)
	if err != nil {
		return nil, err
	}
	next.Counters = sums
	if _, err := t.write(key, next, now); err != nil {
		return nil, err
	}
	return pick(sums, deltas), nil
}

// Query implements Store.
func (m *Memory) Query(ctx context.Context, q Query) (Page, error) {
	if err := CheckQuery(ctx, q); err != nil {
		return Page{}, err
	}
	after, started, err := q.Position()
	if err != nil {
		return Page{}, err
	}
	return m.tables[q.Table].query(q, after, started, m.now()), nil
}

// AddCounters returns counters with the deltas added, for drivers that compute
// the sums themselves; counters stays as it is. A sum that overflows 64 bits is
// ErrInvalid.
func AddCounters(counters, deltas map[string]int64) (map[string]int64, error) {
	sums := make(map[string]int64, len(counters)+len(deltas))
	maps.Copy(sums, counters)
	for name, d := range deltas {
		n := sums[name]
		if d > 0 && n > math.MaxInt64-d || d < 0 && n < math.MinInt64-d {
			return nil, invalid("a counter overflows")
		}
		sums[name] = n + d
	}
	return sums, nil
}

// pick returns those sums that deltas names.
func pick(sums, deltas map[string]int64) map[string]int64 {
	out := make(map[string]int64, len(deltas))
	for name := range deltas {
		out[name] = sums[name]
	}
	return out
}

// version is one state of a record. It never changes, so that handles may share
// it; nil is a record that is not there.
type version struct {
	revision string
	record   Record
}

func newVersion(r Record) *version { return &version{revision: rand.Text(), record: r} }

func (v *version) index() Index {
	if v == nil {
		return Index{}
	}
	return v.record.Index
}

func (v *version) live(now time.Time) (Record, bool) {
	if v == nil || !v.record.Live(now) {
		return Record{}, false
	}
	return v.record, true
}

func (v *version) handle(k Key, now time.Time) Handle {
	if r, live := v.live(now); live {
		return NewHandle(k, v.revision, r)
	}
	return NewHandle(k, "", Record{})
}
