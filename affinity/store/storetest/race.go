package storetest

import (
	"context"
	"errors"
	"strings"

	"holdfast/affinity/store"
)

// raceCases let 32 callers meet.
func raceCases() []Case {
	return []Case{
		on("race/32 swaps over absent", func(r *rig) { oneWinner(r, r.read(key("k"))) }),
		on("race/32 swaps over one live handle", func(r *rig) { oneWinner(r, r.put(key("k"), record("before"))) }),
		on("race/32 swaps over a deleted record", func(r *rig) {
			oneWinner(r, r.swap(r.put(key("k"), record("before")), store.Delete()))
		}),
		on("race/32 adders", exactAdds),
		on("race/adders and swappers", addersAndSwappers),
		on("race/32 increments by swap", increments),
	}
}

const callers = 32

// end is what one caller of Swap got.
type end struct {
	h   store.Handle
	err error
}

// oneWinner has every caller swap by the same handle. The losers carry the
// winner.
func oneWinner(r *rig, h store.Handle) {
	r.Helper()
	ends := race(callers, func(i int) end {
		got, err := r.Swap(r.ctx, h, record(numbered("caller", i)))
		return end{got, err}
	})
	settle(r, ends)
}

// settle fails the case unless one caller won and all others carry it.
func settle(r *rig, ends []end) store.Handle {
	r.Helper()
	var winner store.Handle
	won := 0
	for i, e := range ends {
		if e.err == nil {
			won++
			winner = e.h
			r.holds(winner, numbered("caller", i))
		} else if !errors.Is(e.err, store.ErrConflict) {
			r.Fatalf("caller %d: %v", i, e.err)
		}
	}
	if won != 1 {
		r.Fatalf("%d of %d callers won", won, len(ends))
	}
	for _, e := range ends {
		r.same(e.h, winner)
	}
	r.same(r.read(winner.Key()), winner)
	return winner
}

func exactAdds(r *rig) {
	const each = 8
	errs := race(callers, func(i int) error {
		for range each {
			if _, err := r.Add(r.ctx, key("k"), map[string]int64{"n": 1, "m": int64(i)}, r.clock.Now().Add(60e9)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		r.Fatal(err)
	}
	rec, _ := r.read(key("k")).Record()
	if n, m := rec.Counters["n"], rec.Counters["m"]; n != callers*each || m != each*callers*(callers-1)/2 {
		r.Fatalf("counters are n=%d m=%d", n, m)
	}
}

// addersAndSwappers: a swap takes with it only what its handle saw, so what was
// swapped away and what stands make up everything that was added.
func addersAndSwappers(r *rig) {
	r.add(key("k"), map[string]int64{"n": 1}, store.Record{}.Expires)
	taken := race(callers, func(i int) int64 {
		if i%4 != 0 {
			if _, err := r.Add(r.ctx, key("k"), map[string]int64{"n": 1}, store.Record{}.Expires); err != nil {
				return -1 << 40
			}
			return 0
		}
		h, err := retrySwap(r.ctx, r.Store, key("k"), func(store.Record) store.Record { return record("v") })
		if err != nil {
			return -1 << 40
		}
		rec, _ := h.Record()
		return rec.Counters["n"]
	})
	rec, _ := r.read(key("k")).Record()
	total := rec.Counters["n"]
	for _, n := range taken {
		total += n
	}
	if want := int64(1 + callers*3/4); total != want {
		r.Fatalf("%d of %d additions are accounted for", total, want)
	}
}

// increments is the oldest test of compare-and-swap.
func increments(r *rig) {
	errs := race(callers, func(int) error {
		_, err := retrySwap(r.ctx, r.Store, key("k"), func(old store.Record) store.Record {
			return record(string(old.Value) + "x")
		})
		return err
	})
	if err := errors.Join(errs...); err != nil {
		r.Fatal(err)
	}
	r.holds(r.read(key("k")), strings.Repeat("x", callers))
}

// retrySwap swaps until it wins, going on from what each conflict carries, and
// returns the handle that it replaced.
func retrySwap(ctx context.Context, s store.Store, k store.Key, next func(store.Record) store.Record) (store.Handle, error) {
	handles, err := s.Read(ctx, k)
	if err != nil {
		return store.Handle{}, err
	}
	h := handles[0]
	for range 10_000 { // far more than any race here can take
		old, _ := h.Record()
		stands, err := s.Swap(ctx, h, next(old))
		if !errors.Is(err, store.ErrConflict) {
			return h, err
		}
		h = stands
	}
	return h, errors.New("the swap never wins")
}
