package store

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/btree"
)

// shelf is one table of a Memory. Its nodes stand in a map, for reads, and in
// one or two trees, for queries.
//
// Whoever holds writer is the only one that changes anything. Maps are changed
// under their shard's lock as well, trees under the lock order, so that neither
// reads nor queries wait for more than one step of a writer.
type shelf struct {
	seed   maphash.Seed
	shards [32]shard

	writer sync.Mutex
	room   *room // guarded by writer

	order   sync.RWMutex
	primary *btree.BTreeG[place]
	index   *btree.BTreeG[place]
}

type shard struct {
	sync.RWMutex
	nodes map[Key]*node
}

// node is where a key's versions follow each other.
type node struct {
	key     Key
	current atomic.Pointer[version]
	seat    seat // guarded by the shelf's writer
}

// place is where a tree has a node: by its key, or by its index.
type place struct {
	partition, sort string
	key             Key // tells places of equal sort apart
	node            *node
}

// before orders places as queries give them: bytewise, partitions together.
func (a place) before(b place) bool {
	if c := strings.Compare(a.partition, b.partition); c != 0 {
		return c < 0
	}
	if c := strings.Compare(a.sort, b.sort); c != 0 {
		return c < 0
	}
	if c := strings.Compare(a.key.Partition, b.key.Partition); c != 0 {
		return c < 0
	}
	return a.key.Sort < b.key.Sort
}

func (n *node) primaryPlace() place {
	return place{partition: n.key.Partition, sort: n.key.Sort, key: n.key, node: n}
}

func (n *node) indexPlace(ix Index) place {
	return place{partition: ix.Partition, sort: ix.Sort, key: n.key, node: n}
}

func newShelf(r *room) *shelf {
	const degree = 32
	s := &shelf{seed: maphash.MakeSeed(), room: r,
		primary: btree.NewG(degree, place.before), index: btree.NewG(degree, place.before)}
	for i := range s.shards {
		s.shards[i].nodes = map[Key]*node{}
	}
	return s
}

// shard spreads keys by a hash that is seeded, so that nobody outside can choose
// keys that meet.
func (s *shelf) shard(k Key) *shard {
	h := maphash.String(s.seed, k.Partition)*31 + maphash.String(s.seed, k.Sort)
	return &s.shards[h%uint64(len(s.shards))]
}

// find returns the key's node or nil.
func (s *shelf) find(k Key) *node {
	d := s.shard(k)
	d.RLock()
	defer d.RUnlock()
	return d.nodes[k]
}

// read returns the key's newest version, which may have expired, or nil.
func (s *shelf) read(k Key) *version {
	if n := s.find(k); n != nil {
		return n.current.Load()
	}
	return nil
}

// write makes next the key's record and returns its handle. The caller holds
// writer.
func (s *shelf) write(k Key, next Record, now time.Time) (Handle, error) {
	n := s.find(k)
	if !next.Live(now) {
		if n != nil {
			s.remove(n)
		}
		return NewHandle(k, "", Record{}), nil
	}
	if err := s.makeRoom(k, n, next, now); err != nil {
		return Handle{}, err
	}
	if n == nil {
		n = &node{key: k}
		s.insert(n)
	}
	v := newVersion(next)
	s.replace(n, v)
	s.room.seat(n, next)
	return NewHandle(k, v.revision, v.record), nil
}

// makeRoom takes records out until next fits beside the rest. n, the key's own
// node, is never among them.
func (s *shelf) makeRoom(k Key, n *node, next Record, now time.Time) error {
	for range sweepAtOnce {
		expired := s.room.expired(now, n)
		if expired == nil {
			break
		}
		s.remove(expired)
	}
	for !s.room.fits(n, next) {
		leaving := s.room.victim(k, n, next, now)
		if leaving == nil {
			return ErrFull
		}
		s.remove(leaving)
	}
	return nil
}

// insert gives n its places. It has no version yet, so nobody sees it.
func (s *shelf) insert(n *node) {
	d := s.shard(n.key)
	d.Lock()
	d.nodes[n.key] = n
	d.Unlock()
	s.order.Lock()
	s.primary.ReplaceOrInsert(n.primaryPlace())
	s.order.Unlock()
}

// replace shows v, or nothing where it is nil, to reads and queries at once.
func (s *shelf) replace(n *node, v *version) {
	from, to := n.current.Load().index(), v.index()
	if from == to {
		n.current.Store(v)
		return
	}
	s.order.Lock()
	defer s.order.Unlock()
	n.current.Store(v)
	if from != (Index{}) {
		s.index.Delete(n.indexPlace(from))
	}
	if to != (Index{}) {
		s.index.ReplaceOrInsert(n.indexPlace(to))
	}
}

// remove takes n out. It is gone for everybody in one step, by its version; what
// follows only tidies up.
func (s *shelf) remove(n *node) {
	s.room.leave(n)
	s.replace(n, nil)
	s.order.Lock()
	s.primary.Delete(n.primaryPlace())
	s.order.Unlock()
	d := s.shard(n.key)
	d.Lock()
	delete(d.nodes, n.key)
	d.Unlock()
}

// query walks a tree from the cursor or the bound on. It looks at a bounded
// number of records, so that a run of expired ones ends a page early.
func (s *shelf) query(q Query, after Position, started bool, now time.Time) Page {
	tree := s.primary
	if q.Indexed {
		tree = s.index
	}
	var page Page
	limit, looked, last, more := q.PageSize(), 0, place{}, false // last is where the cursor will point
	visit := func(p place) bool {
		if p.partition != q.Partition || q.To != "" && p.sort > q.To || p.sort < q.From {
			return false
		}
		if started && p.sort == after.Sort && p.key == after.Key {
			return true // a walk begins with the record that the last page ended with
		}
		if more = len(page.Handles) == limit || looked == lookAtOnce; more {
			return false
		}
		looked, last = looked+1, p
		if h := p.node.current.Load().handle(p.key, now); h.revision != "" {
			page.Handles = append(page.Handles, h)
		}
		return true
	}
	s.order.RLock()
	if start := q.start(after, started); q.Reverse {
		tree.DescendLessOrEqual(start, visit)
	} else {
		tree.AscendGreaterOrEqual(start, visit)
	}
	s.order.RUnlock()
	if more {
		page.Cursor = q.CursorAfter(Position{Sort: last.sort, Key: last.key})
	}
	return page
}

// start is the place at which the walk begins: the cursor's, or the bound's. No
// record has an empty key, so a place without one lies before its equals; a
// zero byte more lies behind them.
func (q Query) start(after Position, started bool) place {
	switch {
	case started:
		return place{partition: q.Partition, sort: after.Sort, key: after.Key}
	case !q.Reverse:
		return place{partition: q.Partition, sort: q.From}
	case q.To != "":
		return place{partition: q.Partition, sort: q.To + "\x00"}
	}
	return place{partition: q.Partition + "\x00"}
}

const (
	sweepAtOnce = 4    // expired records that one write takes out beside its own work
	lookAtOnce  = 1000 // records that one page looks at
)
