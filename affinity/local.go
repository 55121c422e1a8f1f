package affinity

import (
	"crypto/sha256"
	"sync"
	"time"
)

// localLimit bounds the record that a process keeps for itself.
const (
	localLimit  = 8192
	localShards = 16
)

// local remembers what worked in this process, per preference range. It is kept
// up to date always and consulted only while the store fails; nothing in it is
// ever written back. It holds at most localLimit ranges, dropping the one that
// was updated longest ago; every operation is O(1) under one shard's lock.
type local struct {
	shards [localShards]shard
}

// shard is one part of the table: a map over a ring ordered by last update.
type shard struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte]*entry
	ring    entry // sentinel: next is the newest, prev the oldest
}

type entry struct {
	key        [sha256.Size]byte
	target     Target
	expires    time.Time // zero: never
	next, prev *entry
}

func newLocal() *local {
	l := new(local)
	for i := range l.shards {
		s := &l.shards[i]
		s.entries = make(map[[sha256.Size]byte]*entry)
		s.ring.next, s.ring.prev = &s.ring, &s.ring
	}
	return l
}

func (l *local) shard(key [sha256.Size]byte) *shard { return &l.shards[key[0]%localShards] }

// get returns what is remembered and has not expired.
func (l *local) get(key [sha256.Size]byte, now time.Time) (Target, bool) {
	s := l.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e == nil || !e.expires.IsZero() && !e.expires.After(now) {
		return Target{}, false
	}
	return e.target, true
}

// put remembers a target until expires.
func (l *local) put(key [sha256.Size]byte, t Target, expires time.Time) {
	s := l.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	switch {
	case e != nil:
		e.unlink()
	case len(s.entries) < localLimit/localShards:
		e = &entry{key: key}
		s.entries[key] = e
	default: // the oldest makes room
		e = s.ring.prev
		e.unlink()
		delete(s.entries, e.key)
		e.key = key
		s.entries[key] = e
	}
	e.target, e.expires = t, expires
	e.link(&s.ring)
}

// drop forgets a range that the shared record no longer holds.
func (l *local) drop(key [sha256.Size]byte) {
	s := l.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[key]; e != nil {
		e.unlink()
		delete(s.entries, key)
	}
}

func (e *entry) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
}

func (e *entry) link(ring *entry) {
	e.prev, e.next = ring, ring.next
	ring.next.prev = e
	ring.next = e
}
