package storetest

import (
	"time"

	"holdfast/affinity/store"
)

// skewCases run over clients of the same tables whose clocks are five seconds
// apart. They may disagree on whether a record is there; they may not both win.
func skewCases() []Case {
	return []Case{
		on("skew/who is ahead takes over an expired record", skewTakesOver),
		on("skew/who is behind writes what is already expired", skewBehind),
		on("skew/race of 32 over a record that only some see", skewRace),
		on("skew/counters over a record that only some see", skewAdds),
	}
}

const skew = 5 * time.Second

// ahead returns the rig of a client whose clock is d ahead, or behind.
func (r *rig) ahead(d time.Duration) *rig {
	r.Helper()
	other := r.through(r.harness.Second(r, r.Store, r.clock.Ahead(d)))
	return other
}

func skewTakesOver(r *rig) {
	ahead, behind := r.ahead(skew), r.ahead(-skew)
	h := r.put(key("k"), r.until("old", 3*time.Second))
	r.same(behind.read(key("k")), h)
	absent := ahead.read(key("k"))
	r.absent(absent)
	taken := ahead.swap(absent, record("taken"))
	r.same(r.conflict(h, r.until("renewed", time.Minute)), taken)
	r.same(behind.conflict(h, r.until("renewed", time.Minute)), taken)
	for _, client := range []*rig{r, ahead, behind} {
		r.same(client.read(key("k")), taken)
	}
}

func skewBehind(r *rig) {
	behind := r.ahead(-skew)
	h := behind.swap(behind.read(key("k")), r.until("short", -2*time.Second))
	r.holds(h, "short")
	absent := r.read(key("k"))
	r.absent(absent)
	taken := r.swap(absent, record("taken"))
	r.same(behind.conflict(h, record("late")), taken)
}

// skewRace: a third holds the live handle, the others see the record expired.
func skewRace(r *rig) {
	ahead, behind := r.ahead(skew), r.ahead(-skew)
	for round := range 4 {
		k := key(numbered("round", round))
		live := r.put(k, r.until("old", 3*time.Second))
		absent := ahead.read(k)
		r.absent(absent)
		clients := []struct {
			s store.Store
			h store.Handle
		}{{r.Store, live}, {ahead.Store, absent}, {behind.Store, live}}
		settle(r, race(callers, func(i int) end {
			c := clients[i%3]
			got, err := c.s.Swap(r.ctx, c.h, record(numbered("caller", i)))
			return end{got, err}
		}))
	}
}

func skewAdds(r *rig) {
	ahead := r.ahead(skew)
	r.add(key("k"), map[string]int64{"n": 10}, r.clock.Now().Add(3*time.Second))
	h := r.read(key("k"))
	if got := ahead.add(key("k"), map[string]int64{"n": 1}, r.clock.Now().Add(time.Minute)); got["n"] != 1 {
		r.Fatalf("an expired counter went on to %d", got["n"])
	}
	r.conflict(h, record("late"))
	if got := r.add(key("k"), map[string]int64{"n": 1}, time.Time{}); got["n"] != 2 {
		r.Fatalf("the counter is %d, want 2", got["n"])
	}
}
