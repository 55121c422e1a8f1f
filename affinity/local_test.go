package affinity

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/affinity/identity"
)

func (l *local) size() int {
	n := 0
	for i := range l.shards {
		n += len(l.shards[i].entries)
	}
	return n
}

func TestLocalIsBounded(t *testing.T) {
	l := newLocal()
	now := time.Unix(1000, 0)
	for i := range 3 * localLimit {
		l.put(identity.Hash("k", fmt.Sprint(i)), Target{Deployment: fmt.Sprint(i)}, now.Add(time.Hour))
	}
	if l.size() != localLimit {
		t.Errorf("%d entries, want %d", l.size(), localLimit)
	}
	newest := 3*localLimit - 1
	if got, ok := l.get(identity.Hash("k", fmt.Sprint(newest)), now); !ok || got.Deployment != fmt.Sprint(newest) {
		t.Errorf("the newest is gone: %v %v", got, ok)
	}
	if _, ok := l.get(identity.Hash("k", "0"), now); ok {
		t.Error("the oldest is still there")
	}
}

// What is updated stays; what is not makes room.
func TestLocalDropsTheStalest(t *testing.T) {
	l := newLocal()
	now := time.Unix(1000, 0)
	kept := identity.Hash("k", "kept")
	for i := range 4 * localLimit {
		l.put(identity.Hash("k", fmt.Sprint(i)), Target{Deployment: "x"}, time.Time{})
		if i%(localLimit/localShards/4) == 0 {
			l.put(kept, Target{Deployment: fmt.Sprint(i)}, time.Time{})
		}
	}
	if _, ok := l.get(kept, now); !ok {
		t.Error("an entry that was kept up to date was dropped")
	}
}

func TestLocalExpiryAndDrop(t *testing.T) {
	l := newLocal()
	now := time.Unix(1000, 0)
	key := identity.Hash("k", "1")
	l.put(key, Target{Deployment: "a"}, now.Add(time.Second))
	if _, ok := l.get(key, now.Add(time.Second)); ok {
		t.Error("alive at its expiry")
	}
	l.put(key, Target{Deployment: "b"}, time.Time{})
	if got, ok := l.get(key, now.Add(1e6*time.Hour)); !ok || got.Deployment != "b" {
		t.Errorf("%v %v", got, ok)
	}
	l.drop(key)
	l.drop(key)
	if _, ok := l.get(key, now); ok || l.size() != 0 {
		t.Error("not dropped")
	}
}

func TestLocalConcurrently(t *testing.T) {
	l := newLocal()
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 2000 {
				key := identity.Hash("k", fmt.Sprint((g*7+i)%1500))
				l.put(key, Target{Deployment: "x"}, time.Time{})
				if got, ok := l.get(key, time.Unix(1, 0)); ok && got.Deployment != "x" {
					t.Errorf("read %v", got)
				}
				if i%5 == 0 {
					l.drop(key)
				}
			}
		})
	}
	all.Wait()
	if l.size() > 1500 {
		t.Errorf("%d entries of 1500 keys", l.size())
	}
}
