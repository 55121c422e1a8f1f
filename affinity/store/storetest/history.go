package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/affinity/store"
)

// historyCases record what concurrent callers see of Read, Swap and Add, and
// have porcupine look for one order of all calls that explains it.
func historyCases() []Case {
	return []Case{
		{"history/linearizable without faults", func(t testing.TB, h Harness) { history(t, h, operations(h)/4, nil) }},
		{"history/linearizable with faults", func(t testing.TB, h Harness) { history(t, h, operations(h), dice()) }},
	}
}

const (
	clients      = 8
	opsPerGroup  = 25 // of one client
	keysPerGroup = 4

	notApplied = "not applied" // how a call ended that leaves the history
)

func operations(h Harness) int { return cmp.Or(h.Operations, 10_000) }

// dice returns faults at random, the same ones in each run for the same order
// of calls: 5 % refused, 8 % lost.
func dice() func() Fault {
	var n atomic.Uint64
	return func() Fault {
		roll := rand.New(rand.NewPCG(n.Add(1), 7)).IntN(100)
		switch {
		case roll < 5:
			return Refused
		case roll < 13:
			return Lost
		}
		return Delivered
	}
}

// history runs the clients on one group of keys after the other and checks
// each key's history.
func history(t testing.TB, h Harness, n int, faults func() Fault) {
	clock := NewClock()
	open := func() store.Store {
		if faults == nil {
			return h.New(t, clock.Now)
		}
		return openFaulty(t, h, clock.Now, faults)
	}
	r := &rig{TB: t, Store: open(), harness: h, clock: clock, ctx: t.Context()}
	var tick atomic.Int64
	ends := map[string]int{}
	for group := range (n + clients*opsPerGroup - 1) / (clients * opsPerGroup) {
		for k, calls := range r.group(group, &tick, faults != nil) {
			for _, op := range calls {
				ends[op.Input.(call).end]++
			}
			called := tick.Add(1)
			last := call{kind: "read", end: "ok", saw: contentOf(r.read(historyKey(group, k)))}
			check(t, append(calls, porcupine.Operation{Input: last, Call: called, Return: tick.Add(1)}))
		}
	}
	if ends["conflict"] == 0 || faults != nil && ends["unknown"] == 0 {
		t.Fatalf("the history shows too little: %v", ends)
	}
}

func historyKey(group, k int) store.Key {
	return store.Key{Table: store.Affinity, Partition: numbered("history", group), Sort: numbered("s", k)}
}

// client is one caller in a group, and what it noted on each key.
type client struct {
	*rig
	group, id int
	tick      *atomic.Int64
	random    *rand.Rand
	held      map[int]store.Handle // newest handle seen, which may be stale
	calls     [keysPerGroup][]porcupine.Operation
	faults    bool
}

// group lets all clients loose on fresh keys and returns the calls on each.
func (r *rig) group(group int, tick *atomic.Int64, faults bool) [keysPerGroup][]porcupine.Operation {
	r.Helper()
	all := make([]*client, clients)
	errs := race(clients, func(i int) error {
		all[i] = &client{rig: r, group: group, id: i, tick: tick, faults: faults, held: map[int]store.Handle{},
			random: rand.New(rand.NewPCG(uint64(i), uint64(group)))}
		return all[i].run()
	})
	if err := errors.Join(errs...); err != nil {
		r.Fatal(err)
	}
	var calls [keysPerGroup][]porcupine.Operation
	for _, c := range all {
		for k := range calls {
			calls[k] = append(calls[k], c.calls[k]...)
		}
	}
	return calls
}

// run makes the client's calls and lets others in between.
func (c *client) run() error {
	for i := range opsPerGroup {
		k := c.random.IntN(keysPerGroup)
		called := c.tick.Add(1)
		made, err := c.call(k, fmt.Sprintf("c%do%d", c.id, i))
		if err != nil {
			return err
		}
		if made.end != notApplied {
			c.calls[k] = append(c.calls[k], porcupine.Operation{ClientId: c.id, Input: made, Call: called, Return: c.tick.Add(1)})
		}
		runtime.Gosched()
	}
	return nil
}

// call makes one call at random.
func (c *client) call(k int, id string) (made call, err error) {
	h, read := c.held[k]
	roll := c.random.IntN(10)
	switch {
	case !read || roll < 2:
		made, c.held[k], err = c.noteRead(historyKey(c.group, k))
		return made, err
	case roll >= 7:
		return c.noteAdd(historyKey(c.group, k), id)
	}
	next := store.Record{Value: []byte(id), Expires: c.clock.Now().Add(time.Hour)}
	if roll == 6 && !c.faults { // what became of a lost delete cannot be seen later
		next = store.Delete()
	}
	made, c.held[k], err = c.noteSwap(h, next)
	return made, err
}

func (r *rig) noteRead(k store.Key) (call, store.Handle, error) {
	handles, err := r.Read(r.ctx, k)
	if err != nil {
		return call{}, store.Handle{}, err
	}
	return call{kind: "read", end: "ok", saw: contentOf(handles[0])}, handles[0], nil
}

// noteSwap keeps the old handle where the outcome is unknown: it is the stale
// one that a real caller would have.
func (r *rig) noteSwap(h store.Handle, next store.Record) (call, store.Handle, error) {
	got, err := r.Swap(r.ctx, h, next)
	c := call{kind: "swap", expected: contentOf(h), next: content{live: next.Live(r.clock.Now()), value: string(next.Value)}}
	switch {
	case err == nil:
		c.end = "ok"
		return c, got, nil
	case errors.Is(err, store.ErrConflict):
		c.end, c.saw = "conflict", contentOf(got)
		return c, got, nil
	}
	c.end, err = unhappy(err)
	return c, h, err
}

func (r *rig) noteAdd(k store.Key, id string) (call, error) {
	got, err := r.Add(r.ctx, k, map[string]int64{"n": 1, id: 1}, r.clock.Now().Add(time.Hour))
	c := call{kind: "add", id: id, end: "ok", n: got["n"]}
	if err != nil {
		c.end, err = unhappy(err)
	}
	return c, err
}

func unhappy(err error) (string, error) {
	if errors.Is(err, store.ErrUnknown) {
		return "unknown", nil
	}
	if errors.Is(err, store.ErrUnavailable) {
		return notApplied, nil
	}
	return "", err
}
