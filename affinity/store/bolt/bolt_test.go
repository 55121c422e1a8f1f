package bolt_test

import (
	"path/filepath"
	"testing"
	"time"

	"holdfast/affinity/store"
	"holdfast/affinity/store/bolt"
	"holdfast/affinity/store/storetest"
)

func open(t testing.TB, path string, now func() time.Time) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(bolt.Config{Path: path, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestConforms(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New: func(t testing.TB, now func() time.Time) store.Store {
			return open(t, filepath.Join(t.TempDir(), "store.db"), now)
		},
		Second: func(_ testing.TB, s store.Store, now func() time.Time) store.Store {
			return s.(*bolt.Store).WithClock(now)
		},
	})
}
