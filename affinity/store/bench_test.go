package store_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/affinity/store"
)

// hit is what a preference hit reads: three keys over two tables.
func hit(n int) []store.Key {
	return []store.Key{
		{Table: store.Affinity, Partition: fmt.Sprintf("owner%d/preference%d", n%100, n), Sort: "s"},
		{Table: store.Affinity, Partition: "pool/cooldowns", Sort: "s"},
		{Table: store.Config, Partition: "revision", Sort: "current"},
	}
}

const hits = 8000

// filled returns a memory that holds nearly all preferences it can, and the
// keys of each hit.
func filled(b *testing.B) (*store.Memory, [][]store.Key) {
	m := store.NewMemory(store.MemoryConfig{})
	keys := make([][]store.Key, hits)
	for i := range keys {
		keys[i] = hit(i)
		for _, k := range keys[i] {
			replace(b, m, k, i)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	return m, keys
}

var value = make([]byte, 200)

func replace(b *testing.B, s store.Store, k store.Key, i int) {
	handles, err := s.Read(b.Context(), k)
	if err != nil {
		b.Error(err)
		return
	}
	if _, err := s.Swap(b.Context(), handles[0], store.Record{Value: value, Expires: time.Now().Add(time.Hour + time.Duration(i)*time.Second)}); err != nil {
		b.Error(err)
	}
}

func BenchmarkMemoryRead(b *testing.B) {
	m, keys := filled(b)
	for i := 0; b.Loop(); i++ {
		if _, err := m.Read(b.Context(), keys[i%hits]...); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMemoryReadParallel(b *testing.B) {
	m, keys := filled(b)
	ctx := b.Context()
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for i := int(n.Add(1)) * 1000; pb.Next(); i++ {
			if _, err := m.Read(ctx, keys[i%hits]...); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkMemorySwap renews one preference after the other by the handle of
// the renewal before.
func BenchmarkMemorySwap(b *testing.B) {
	m, keys := filled(b)
	handles := make([]store.Handle, hits)
	for i := range handles {
		got, err := m.Read(b.Context(), keys[i][0])
		if err != nil {
			b.Fatal(err)
		}
		handles[i] = got[0]
	}
	expires := time.Now().Add(2 * time.Hour)
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		h, err := m.Swap(b.Context(), handles[i%hits], store.Record{Value: value, Expires: expires})
		if err != nil {
			b.Fatal(err)
		}
		handles[i%hits] = h
	}
}

// BenchmarkMemoryEvict writes new preferences into a full memory.
func BenchmarkMemoryEvict(b *testing.B) {
	m, _ := filled(b)
	for i := 0; b.Loop(); i++ {
		replace(b, m, hit(hits + i)[0], i)
	}
}

func BenchmarkGuardRead(b *testing.B) {
	m, keys := filled(b)
	g := store.NewGuard(store.GuardConfig{Store: m})
	for i := 0; b.Loop(); i++ {
		if _, err := g.Read(b.Context(), keys[i%hits]...); err != nil {
			b.Fatal(err)
		}
	}
}
