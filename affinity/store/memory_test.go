package store_test

import (
	"testing"
	"time"

	"holdfast/affinity/store"
	"holdfast/affinity/store/storetest"
)

func TestMemoryConforms(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New: func(_ testing.TB, now func() time.Time) store.Store {
			return store.NewMemory(store.MemoryConfig{Now: now})
		},
		Second: func(_ testing.TB, s store.Store, now func() time.Time) store.Store {
			return s.(*store.Memory).WithClock(now)
		},
	})
}
