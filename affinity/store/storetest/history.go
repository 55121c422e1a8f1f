package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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
	opsPerGroup  = 25 // of one client, on the keys of one group
	keysPerGroup = 4
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

// content is a record as the model sees it. Every Swap writes a value of its
// own and every Add a counter of its own, so no content comes twice but absent.
type content struct {
	live  bool
	value string
	n     int64
	adds  string // "id:times " for each Add that was applied, sorted
}

func contentOf(h store.Handle) content {
	rec, live := h.Record()
	c := content{live: live, value: string(rec.Value), n: rec.Counters["n"]}
	for _, id := range slices.Sorted(maps.Keys(rec.Counters)) {
		if id != "n" {
			c.adds += fmt.Sprintf("%s:%d ", id, rec.Counters[id])
		}
	}
	return c
}

// times returns how often the Add id shows.
func (c content) times(id string) int64 {
	_, rest, found := strings.Cut(" "+c.adds, " "+id+":")
	var n int64
	if found {
		fmt.Sscanf(rest, "%d", &n)
	}
	return n
}

// plus returns the content after the Add id.
func (c content) plus(id string) content {
	list := slices.DeleteFunc(strings.Fields(c.adds), func(s string) bool { return strings.HasPrefix(s, id+":") })
	list = append(list, fmt.Sprintf("%s:%d", id, c.times(id)+1))
	slices.Sort(list)
	return content{live: true, value: c.value, n: c.n + 1, adds: strings.Join(list, " ") + " "}
}

// call is one operation of the history; porcupine gets it as its input.
type call struct {
	kind     string // "read", "swap", "add"
	id       string // of an add; also its counter's name
	expected content
	next     content // of a swap
	end      string  // "ok", "conflict", "unknown"
	saw      content // what a read or a conflict showed
	n        int64   // new value after an add
}

// step says whether a call can happen in a state, and what it leaves.
func step(state, input, _ any) (bool, any) {
	s, c := state.(content), input.(call)
	switch {
	case c.kind == "read":
		return s == c.saw, s
	case c.kind == "swap" && c.end == "conflict":
		return s == c.saw && s != c.expected, s
	case c.kind == "swap":
		return s == c.expected, c.next
	case c.end == "ok":
		return c.n == s.n+1, s.plus(c.id)
	}
	return true, s.plus(c.id)
}

// recorder keeps one client's calls on each key.
type recorder struct {
	client  int
	tick    *atomic.Int64
	history map[int][]porcupine.Operation
}

func (rec *recorder) note(k int, called int64, c call) {
	rec.history[k] = append(rec.history[k], porcupine.Operation{ClientId: rec.client, Input: c, Call: called, Return: rec.tick.Add(1)})
}

// history runs the clients and checks each key's history.
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
	each := (n + clients - 1) / clients
	recorders := make([]*recorder, clients)
	errs := race(clients, func(i int) error {
		recorders[i] = &recorder{i, &tick, map[int][]porcupine.Operation{}}
		return r.client(recorders[i], each, faults != nil)
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for k := range (each + opsPerGroup - 1) / opsPerGroup * keysPerGroup {
		var all []porcupine.Operation
		for _, rec := range recorders {
			all = append(all, rec.history[k]...)
		}
		called := tick.Add(1)
		last := call{kind: "read", end: "ok", saw: contentOf(r.read(historyKey(k)))}
		all = append(all, porcupine.Operation{Input: last, Call: called, Return: tick.Add(1)})
		check(t, k, all)
	}
}

func historyKey(k int) store.Key {
	return store.Key{Table: store.Affinity, Partition: numbered("history", k), Sort: "s"}
}

// client makes n calls, a third of them by handles that may be stale. All
// clients go through the groups of keys at about the same pace.
func (r *rig) client(rec *recorder, n int, faults bool) error {
	random := rand.New(rand.NewPCG(uint64(rec.client), 3))
	held := map[int]store.Handle{}
	for i := range n {
		k := i/opsPerGroup*keysPerGroup + random.IntN(keysPerGroup)
		id := fmt.Sprintf("c%do%d", rec.client, i)
		called := rec.tick.Add(1)
		h, read := held[k]
		var c call
		var err error
		switch roll := random.IntN(10); {
		case !read || roll < 2:
			c, held[k], err = r.noteRead(k)
		case roll < 7:
			next := store.Record{Value: []byte(id), Expires: r.clock.Now().Add(time.Hour)}
			if roll == 6 && !faults { // what became of a lost delete cannot be seen later
				next = store.Delete()
			}
			c, held[k], err = r.noteSwap(h, next)
		default:
			c, err = r.noteAdd(historyKey(k), id)
		}
		if err != nil {
			return err
		}
		if c.end != "not applied" {
			rec.note(k, called, c)
		}
	}
	return nil
}

func (r *rig) noteRead(k int) (call, store.Handle, error) {
	handles, err := r.Read(r.ctx, historyKey(k))
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
		return "not applied", nil
	}
	return "", err
}

// check resolves the unknown calls of one key and asks porcupine.
func check(t testing.TB, k int, all []porcupine.Operation) {
	t.Helper()
	resolved := resolve(all)
	model := porcupine.Model{Init: func() any { return content{} }, Step: step}
	switch result := porcupine.CheckOperationsTimeout(model, resolved, time.Minute); result {
	case porcupine.Ok:
		return
	case porcupine.Unknown:
		t.Fatalf("key %d: no verdict on %d calls within a minute", k, len(resolved))
	default:
		slices.SortFunc(resolved, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		var lines strings.Builder
		for _, op := range resolved {
			fmt.Fprintf(&lines, "%d..%d client %d %+v\n", op.Call, op.Return, op.ClientId, op.Input)
		}
		t.Fatalf("key %d: no order of these %d calls explains what they saw:\n%s", k, len(resolved), lines.String())
	}
}

// resolve tells what became of the unknown calls. Nothing is overwritten
// unread, and the last call of a history reads, so each write that was applied
// shows in what somebody expected or saw. A write that shows nowhere did not
// happen and leaves the history; one that shows may have happened at any time
// after its call, an Add as often as it shows.
func resolve(all []porcupine.Operation) []porcupine.Operation {
	values, adds := shown(all)
	var out []porcupine.Operation
	for _, op := range all {
		c := op.Input.(call)
		times := int64(1)
		if c.end == "unknown" {
			op.Return = math.MaxInt64
			times = adds[c.id]
			if c.kind == "swap" {
				times = 0
				if values[c.next.value] {
					times = 1
				}
			}
		}
		for range times {
			out = append(out, op)
		}
	}
	return out
}

// shown collects every value, and for each Add the most times, that any call
// expected or saw.
func shown(all []porcupine.Operation) (values map[string]bool, adds map[string]int64) {
	values, adds = map[string]bool{}, map[string]int64{}
	for _, op := range all {
		c := op.Input.(call)
		for _, seen := range []content{c.saw, c.expected} {
			values[seen.value] = true
			for _, entry := range strings.Fields(seen.adds) {
				id, _, _ := strings.Cut(entry, ":")
				adds[id] = max(adds[id], seen.times(id))
			}
		}
	}
	return values, adds
}
