package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/affinity/store"
	"holdfast/affinity/store/dynamo"
)

// Most of what these measure is the emulator.
func benchStore(b *testing.B) *dynamo.Store {
	b.Helper()
	prefix := randomPrefix(b)
	client := newClient(b, backend.Endpoint())
	if err := dynamo.CreateTables(b.Context(), client, prefix); err != nil {
		b.Fatal(err)
	}
	s, err := dynamo.New(dynamo.Config{Client: client, Prefix: prefix})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1, 6, 25} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			s := benchStore(b)
			keys := make([]store.Key, n)
			for i := range keys {
				keys[i] = store.Key{Table: store.Tables()[i%4], Partition: "p", Sort: fmt.Sprint(i)}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Read(b.Context(), keys...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSwap(b *testing.B) {
	s := benchStore(b)
	h := read(b, s)
	next := store.Record{Value: make([]byte, 100), Expires: time.Now().Add(time.Hour)}
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if h, err = s.Swap(b.Context(), h, next); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	s := benchStore(b)
	expires := time.Now().Add(time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Add(b.Context(), key, map[string]int64{"n": 1}, expires); err != nil {
			b.Fatal(err)
		}
	}
}
