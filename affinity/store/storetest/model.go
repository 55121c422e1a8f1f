package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/affinity/store"
)

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
	slices.SortFunc(list, func(a, b string) int { // by the id alone, as contentOf does
		a, _, _ = strings.Cut(a, ":")
		b, _, _ = strings.Cut(b, ":")
		return strings.Compare(a, b)
	})
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

// check resolves the unknown calls of one key and asks porcupine.
func check(t testing.TB, all []porcupine.Operation) {
	t.Helper()
	resolved := resolve(all)
	model := porcupine.Model{Init: func() any { return content{} }, Step: step}
	switch result := porcupine.CheckOperationsTimeout(model, resolved, time.Minute); result {
	case porcupine.Ok:
		return
	case porcupine.Unknown:
		t.Fatalf("no verdict on %d calls within a minute", len(resolved))
	default:
		slices.SortFunc(resolved, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		var lines strings.Builder
		for _, op := range resolved {
			fmt.Fprintf(&lines, "%d..%d client %d %+v\n", op.Call, op.Return, op.ClientId, op.Input)
		}
		t.Fatalf("no order of these %d calls explains what they saw:\n%s", len(resolved), lines.String())
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
				times = values[c.next.value]
			}
		}
		for range times {
			out = append(out, op)
		}
	}
	return out
}

// shown returns 1 for every value that any call expected or saw, and for each
// Add how often it shows: the most times beside one value, summed over all
// values, since a resent Add may meet two of them.
func shown(all []porcupine.Operation) (values, adds map[string]int64) {
	values, adds = map[string]int64{}, map[string]int64{}
	most := map[[2]string]int64{}
	for _, op := range all {
		c := op.Input.(call)
		for _, seen := range []content{c.saw, c.expected} {
			values[seen.value] = 1
			for _, entry := range strings.Fields(seen.adds) {
				id, _, _ := strings.Cut(entry, ":")
				at := [2]string{seen.value, id}
				adds[id] += max(seen.times(id)-most[at], 0)
				most[at] = max(most[at], seen.times(id))
			}
		}
	}
	return values, adds
}
