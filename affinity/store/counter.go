package store

import "strconv"

// Counter is a place for counters that many requests add to. With Shards above
// one they are spread over that many records in partitions of their own, so
// that writers rarely meet; a reader reads all of them and takes the Sum.
//
// A sum over shards is no snapshot: additions made while it is read may be in it
// or not. A limit that must hold exactly is a Counter without shards, where the
// answer of each Add is the true value after it.
type Counter struct {
	Key    Key // of the first shard, and of the only one
	Shards int // 0 and 1: not sharded
}

// Keys returns the keys of all shards, to be read together. They count towards
// MaxReadKeys.
func (c Counter) Keys() []Key {
	keys := make([]Key, max(c.Shards, 1))
	for i := range keys {
		keys[i] = c.shard(i)
	}
	return keys
}

// Shard returns the key to add to. Pick any n, at random for one: equal ones
// give equal shards.
func (c Counter) Shard(n uint64) Key {
	return c.shard(int(n % uint64(max(c.Shards, 1))))
}

// shard keeps the first shard at the counter's own key, so that what was counted
// before a counter was sharded stays in the sum.
func (c Counter) shard(i int) Key {
	k := c.Key
	if i > 0 {
		k.Partition += "#" + strconv.Itoa(i)
	}
	return k
}

// Sum adds up the counters of the handles' live records.
func Sum(handles ...Handle) map[string]int64 {
	sums := map[string]int64{}
	for _, h := range handles {
		for name, n := range h.record.Counters {
			sums[name] += n
		}
	}
	return sums
}
