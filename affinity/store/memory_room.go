package store

import (
	"container/heap"
	"math"
	"strings"
	"time"
)

// room counts the places of a shelf and knows who leaves next. Every step costs
// a logarithm of the number of records at most. Its user holds the shelf's
// writer lock.
type room struct {
	places int // there are
	bytes  int // one place holds
	taken  int
	leaves queue // every node that expires, the earliest first

	owners  map[string]*owner // nil where nobody is evicted
	largest owners            // the same, who takes most places first
}

// seat is what the room notes on a node. A node that has none takes no places.
type seat struct {
	places  int
	expires int64  // Unix seconds; never is the largest
	at      [2]int // its place in each queue, -1 where it does not stand there
	owner   *owner // nil where nobody is evicted
}

const never = math.MaxInt64

// The two queues that a node may stand in; its seat has its place in each.
const (
	inRoom = iota
	inOwner
)

// owner is who answers for a part of the ephemeral records.
type owner struct {
	name   string
	places int
	nodes  queue // all of the owner's, the earliest expiry first
	at     int
}

func newRoom(places, bytes int, evict bool) *room {
	r := &room{places: places, bytes: bytes, leaves: queue{slot: inRoom}}
	if evict {
		r.owners = map[string]*owner{}
	}
	return r
}

// size returns the places that a record takes. Keys do not count: they are
// hashes of one length, and what they cost is the same for each record. A record
// larger than the room takes all of it, so that it can be kept at all.
func (r *room) size(rec Record) int {
	bytes := len(rec.Value) + counterBytes*len(rec.Counters)
	return min(1+max(bytes-1, 0)/r.bytes, r.places)
}

// ownerOf returns who answers for a key: its partition up to the first slash,
// where those who build partitions put a hash of the caller's scope.
func ownerOf(k Key) string {
	name, _, _ := strings.Cut(k.Partition, "/")
	return name
}

// fits reports whether next fits in place of n, which may be nil.
func (r *room) fits(n *node, next Record) bool {
	more := r.size(next)
	if n != nil {
		more -= n.seat.places
	}
	return r.taken+more <= r.places
}

// expired returns a node whose time has passed, or nil. It is not n.
func (r *room) expired(now time.Time, n *node) *node {
	first := r.leaves.first(n)
	if first == nil || first.seat.expires > now.Unix() {
		return nil
	}
	return first
}

// victim returns who must leave so that next fits under k, or nil. It is not n,
// the key's own node.
func (r *room) victim(k Key, n *node, next Record, now time.Time) *node {
	if expired := r.expired(now, n); expired != nil {
		return expired
	}
	if r.owners == nil {
		return nil
	}
	more := r.size(next)
	if n != nil {
		more -= n.seat.places
	}
	from := r.largest.first(nil)
	// Whoever would be the largest after this write makes room for it himself.
	// Without that, two owners of one size would take from each other in turn.
	if own := r.owners[ownerOf(k)]; own != nil && own.places+more > from.places && own.nodes.first(n) != nil {
		from = own
	}
	if from.nodes.first(n) == nil {
		from = r.largest.first(from) // the largest owner has nothing but n
	}
	return from.nodes.first(n)
}

// seat counts n with its new record, whether it had a seat or not.
func (r *room) seat(n *node, rec Record) {
	first := n.seat.places == 0
	places := r.size(rec)
	grown := places - n.seat.places
	n.seat.places = places
	r.taken += grown
	n.seat.expires = never
	if !rec.Expires.IsZero() {
		n.seat.expires = rec.Expires.Unix()
	}
	if first {
		n.seat.at = [2]int{-1, -1} // the zero value would mean the head of each queue
	}
	r.leaves.put(n, n.seat.expires != never)
	if r.owners == nil {
		return
	}
	if first {
		r.join(n)
	}
	o := n.seat.owner
	o.places += grown
	o.nodes.put(n, true)
	heap.Fix(&r.largest, o.at)
}

func (r *room) join(n *node) {
	name := ownerOf(n.key)
	o := r.owners[name]
	if o == nil {
		o = &owner{name: name, nodes: queue{slot: inOwner}}
		r.owners[name] = o
		heap.Push(&r.largest, o)
	}
	n.seat.owner = o
}

// leave takes n's seat away.
func (r *room) leave(n *node) {
	r.taken -= n.seat.places
	r.leaves.put(n, false)
	if o := n.seat.owner; o != nil {
		o.places -= n.seat.places
		o.nodes.put(n, false)
		if len(o.nodes.nodes) == 0 {
			heap.Remove(&r.largest, o.at)
			delete(r.owners, o.name)
		} else {
			heap.Fix(&r.largest, o.at)
		}
	}
	n.seat = seat{}
}

// queue is a heap of nodes by expiry. Each node knows its place in it.
type queue struct {
	nodes []*node
	slot  int
}

// put lets n stand in the queue, at its right place, or not.
func (q *queue) put(n *node, in bool) {
	switch at := n.seat.at[q.slot]; {
	case in && at < 0:
		heap.Push(q, n)
	case in:
		heap.Fix(q, at)
	case at >= 0:
		heap.Remove(q, at)
	}
}

// first returns the node that leaves first, or nil; not is passed over.
func (q *queue) first(not *node) *node {
	if len(q.nodes) == 0 {
		return nil
	}
	if q.nodes[0] != not {
		return q.nodes[0]
	}
	var next *node
	// A heap's second smallest is one of the head's two children.
	for i := 1; i < min(3, len(q.nodes)); i++ {
		if next == nil || q.Less(i, next.seat.at[q.slot]) {
			next = q.nodes[i]
		}
	}
	return next
}

// The methods of heap.Interface. Swap, Push and Pop keep each node's note of its
// place, which is what makes moving and removing a node logarithmic.

func (q *queue) Len() int { return len(q.nodes) }

func (q *queue) Less(i, j int) bool { return q.nodes[i].seat.expires < q.nodes[j].seat.expires }

func (q *queue) Swap(i, j int) {
	q.nodes[i], q.nodes[j] = q.nodes[j], q.nodes[i]
	q.nodes[i].seat.at[q.slot], q.nodes[j].seat.at[q.slot] = i, j
}

func (q *queue) Push(x any) {
	n := x.(*node)
	n.seat.at[q.slot] = len(q.nodes)
	q.nodes = append(q.nodes, n)
}

func (q *queue) Pop() any {
	last := len(q.nodes) - 1
	n := q.nodes[last]
	q.nodes[last] = nil
	q.nodes = q.nodes[:last]
	n.seat.at[q.slot] = -1
	return n
}

// owners is a heap by the places taken, most first.
type owners []*owner

// first returns who takes the most places; not is passed over. There is somebody
// else whenever a record does not fit beside those of one owner alone.
func (o owners) first(not *owner) *owner {
	if o[0] != not {
		return o[0]
	}
	if len(o) == 2 || o[1].places > o[2].places {
		return o[1]
	}
	return o[2]
}

func (o owners) Len() int           { return len(o) }
func (o owners) Less(i, j int) bool { return o[i].places > o[j].places }
func (o owners) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].at, o[j].at = i, j
}

func (o *owners) Push(x any) {
	x.(*owner).at = len(*o)
	*o = append(*o, x.(*owner))
}

func (o *owners) Pop() any {
	last := len(*o) - 1
	gone := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return gone
}
