package bolt_test

import (
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/affinity/store"
)

func hitKeys(i int) [3]store.Key {
	n := strconv.Itoa(i)
	return [3]store.Key{
		{Table: store.Affinity, Partition: "owner/preference" + n, Sort: "s"},
		{Table: store.Affinity, Partition: "pool/cooldowns", Sort: "s"},
		{Table: store.Config, Partition: "revision", Sort: "current"},
	}
}

// filled opens a store with 10,000 preferences, each of about real size.
func filled(b *testing.B) store.Store {
	s := open(b, filepath.Join(b.TempDir(), "store.db"), time.Now)
	gate := make(chan error, 256)
	for i := range 10_000 {
		go func() {
			for _, k := range hitKeys(i) {
				if _, err := s.Add(b.Context(), k, map[string]int64{"n": 1}, time.Time{}); err != nil {
					gate <- err
					return
				}
			}
			gate <- nil
		}()
	}
	for range 10_000 {
		if err := <-gate; err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkRead is the read of a preference hit: three keys over two tables.
func BenchmarkRead(b *testing.B) {
	s := filled(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		keys := hitKeys(i % 10_000)
		if _, err := s.Read(b.Context(), keys[:]...); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSwap renews one preference after the other, alone and from 32
// goroutines, which share commits.
func BenchmarkSwap(b *testing.B) {
	renew := func(b *testing.B, s store.Store, i int) {
		k := hitKeys(i % 10_000)[0]
		handles, err := s.Read(b.Context(), k)
		if err != nil {
			b.Error(err)
			return
		}
		next, _ := handles[0].Record()
		next.Value, next.Expires = make([]byte, 200), time.Now().Add(time.Hour)
		if _, err := s.Swap(b.Context(), handles[0], next); err != nil {
			b.Error(err)
		}
	}
	b.Run("alone", func(b *testing.B) {
		s := filled(b)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			renew(b, s, i)
		}
	})
	b.Run("32", func(b *testing.B) {
		s := filled(b)
		b.ReportAllocs()
		b.SetParallelism(16)
		var next atomic.Int64
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				renew(b, s, int(next.Add(1)))
			}
		})
	})
}
