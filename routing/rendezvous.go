package routing

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
)

// rendezvous is the weighted rendezvous hash (highest random weight): with
// w/-ln(h) the highest of several is distributed as the weights are, and a
// member that joins or leaves moves its own share only. Every process computes
// the same. A seed without bytes is a seed as well.
func rendezvous(seed []byte, id string, weight float64) float64 {
	return weight / -math.Log(unit(hash(seed, id)))
}

// hash is the first 64 bits of SHA-256 over the seed, its length, and the id.
func hash(seed []byte, id string) uint64 {
	var room [192]byte
	b := binary.BigEndian.AppendUint32(room[:0], uint32(len(seed)))
	b = append(b, seed...)
	b = append(b, id...)
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint64(sum[:8])
}

// unit maps a hash into (0, 1), both ends excluded: a float64 has 53 bits.
func unit(h uint64) float64 { return (float64(h>>11) + 0.5) / (1 << 53) }

// KeyOrder returns the indices of the keys of one connection in the order in
// which a session asks for them: by rendezvous hash, so that nothing is stored
// and equal sets of keys give equal choices everywhere. A key that is refused
// or limited is passed over for the next. The ids are names of the keys, never
// secrets.
func KeyOrder(seed []byte, ids []string) []int {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(hash(seed, ids[b]), hash(seed, ids[a]))
	})
	return order
}

// KeyRotation returns the indices of n keys, from the turn of a counter on: the
// order where no session asks.
func KeyRotation(turn uint64, n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = int((turn%uint64(n) + uint64(i)) % uint64(n))
	}
	return order
}
