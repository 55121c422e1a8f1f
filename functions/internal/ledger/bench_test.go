package ledger

import (
	"fmt"
	"sync/atomic"
	"testing"

	"holdfast/affinity/store"
)

// BenchmarkAppend is what booking one exchange costs a busy process.
func BenchmarkAppend(b *testing.B) {
	c := newClock()
	book := newBook(store.NewMemory(store.MemoryConfig{Now: c.Now}), c)
	var n atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1)
			e := Event{
				ID: fmt.Sprint("ev_", i), Time: c.Now(), SessionID: scoped(int(i % 64)), Key: "k", UserPath: "/a/b", Model: "m", Deployment: "d",
				Endpoint: "chat", Status: 200, Attempts: []Attempt{{Deployment: "d", Outcome: "success", Status: 200, Millis: 3}},
				Usage: &Usage{Input: 10, CacheRead: 1000, Output: 20}, Explanation: []byte(`{"candidates":[{"deployment":"a","kept":true,"rank":1}]}`),
			}
			e.Cost, e.Saved = Charge(price(), *e.Usage)
			_ = book.Append(b.Context(), e)
		}
	})
}
