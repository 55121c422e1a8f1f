package storetest

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/affinity/store"
)

// mutant is one way in which a driver can be wrong.
type mutant string

const (
	right               mutant = ""
	plainPut            mutant = "writes without a condition"
	absentIgnoresExpiry mutant = "condition takes an expired record for a live one under an absent handle"
	liveIgnoresExpiry   mutant = "condition takes an expired record for a live one under its handle"
	noOwnRevisionCheck  mutant = "takes its own resent write for a conflict"
	lostIsConflict      mutant = "tells a conflict where its lost write may have been overwritten"
	lostIsUnavailable   mutant = "says that nothing was written where the answer was lost"
	renewsOnMismatch    mutant = "renews the standing record on mismatch"
	bareConflict        mutant = "conflicts carry no record"
	revisionOfValue     mutant = "derives the revision from the value"
	readsExpired        mutant = "reads expired records"
	queryShowsExpired   mutant = "queries show expired records"
	roundsDown          mutant = "rounds the expiry down"
	sharesBytes         mutant = "keeps the caller's memory"
	swapKeepsCounters   mutant = "Swap writes counters"
	addTakesTwoSteps    mutant = "Add reads, then writes"
	addRevives          mutant = "Add goes on with an expired record"
	addShortens         mutant = "Add sets the expiry whatever it was"
	addKeepsRevision    mutant = "Add leaves the revision"
	resentAddIsSuccess  mutant = "an Add that was sent twice counts as success"
	partialRead         mutant = "Read leaves the rest out"
	cursorCounts        mutant = "the cursor is a count"
	cursorRepeats       mutant = "the next page begins with the last record"
	cursorStopsAtGap    mutant = "an empty page ends the query"
	boundless           mutant = "tests no bounds"
)

// Each mutant, and a case that must catch it.
func mutants() map[mutant]string {
	return map[mutant]string{
		plainPut:            "race/32 swaps over absent",
		absentIgnoresExpiry: "expiry/an absent handle swaps over an expired record",
		liveIgnoresExpiry:   "expiry/a live handle conflicts once its record has expired",
		noOwnRevisionCheck:  "fault/swap over absent/lost once",
		lostIsConflict:      "fault/a lost write that was overwritten before it was resent",
		lostIsUnavailable:   "fault/swap over live/lost for ever",
		renewsOnMismatch:    "swap/mismatch changes nothing",
		bareConflict:        "swap/stale handle",
		revisionOfValue:     "swap/same value again is another revision",
		readsExpired:        "expiry/an expired record is absent in reads and queries",
		queryShowsExpired:   "query/runs of expired records",
		roundsDown:          "expiry/rounded up to the second",
		sharesBytes:         "read/the caller owns its copies",
		swapKeepsCounters:   "add/swap drops counters",
		addTakesTwoSteps:    "race/32 adders",
		addRevives:          "add/over an expired record",
		addShortens:         "add/keeps the later expiry",
		addKeepsRevision:    "add/changes the revision",
		resentAddIsSuccess:  "fault/add to live/lost once",
		partialRead:         "read/25 keys over all tables",
		cursorCounts:        "query/cursor after writes before it",
		cursorRepeats:       "query/every limit gives the same records",
		cursorStopsAtGap:    "query/runs of expired records",
		boundless:           "bounds/keys",
	}
}

// remotes is the harness of a remote with one fault in it.
func remotes(m mutant) Harness {
	open := func(now func() time.Time, next func() Fault) store.Store {
		return &remote{server: &server{items: map[store.Key]item{}}, now: now, next: next, mutant: m}
	}
	delivered := func() Fault { return Delivered }
	return Harness{
		New: func(_ testing.TB, now func() time.Time) store.Store { return open(now, delivered) },
		Second: func(_ testing.TB, s store.Store, now func() time.Time) store.Store {
			return &remote{server: s.(*remote).server, now: now, next: delivered, mutant: m}
		},
		Faulty: func(_ testing.TB, now func() time.Time, next func() Fault) store.Store { return open(now, next) },
	}
}

// A driver that sends its writes twice, and is right, passes.
func TestRemoteConforms(t *testing.T) { Run(t, remotes(right)) }

// The suite without its cases of one kind would let a mutant through; each must
// be caught by the case that is there for it.
func TestMutantsAreCaught(t *testing.T) {
	for m, want := range mutants() {
		t.Run(strings.ReplaceAll(string(m), " ", "_"), func(t *testing.T) {
			h := remotes(m)
			h.Operations = 2000
			var caught []string
			for _, c := range Cases(h) {
				if why := failure(t, c, h); why != "" {
					caught = append(caught, c.Name)
					t.Logf("%s: %.200s", c.Name, why)
				}
			}
			if !slices.Contains(caught, want) {
				t.Errorf("%q does not catch it; caught by %q", want, caught)
			}
		})
	}
}

// What porcupine finds must not rest on other cases: these mutants break the
// order of calls.
func TestHistoryCatches(t *testing.T) {
	for _, m := range []mutant{plainPut, noOwnRevisionCheck, lostIsConflict, lostIsUnavailable, addTakesTwoSteps, addKeepsRevision, resentAddIsSuccess} {
		h := remotes(m)
		caught := false
		for _, c := range historyCases() {
			caught = failure(t, c, h) != "" || caught
		}
		if !caught {
			t.Errorf("no history catches a driver that %s", m)
		}
	}
}

// failure runs a case and returns why it failed, or "". t does not fail.
func failure(t *testing.T, c Case, h Harness) string {
	w := &witness{TB: t}
	done := make(chan struct{})
	go func() { // a case ends its goroutine when it fails
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				w.note(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
			}
		}()
		c.Run(w, h)
	}()
	<-done
	return w.why
}

// witness is a testing.TB that keeps a failure to itself.
type witness struct {
	testing.TB
	mu  sync.Mutex
	why string
}

func (w *witness) note(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.why == "" {
		w.why = why
	}
}

func (w *witness) Errorf(format string, args ...any) { w.note(fmt.Sprintf(format, args...)) }

func (w *witness) Fatalf(format string, args ...any) {
	w.Errorf(format, args...)
	runtime.Goexit()
}

func (w *witness) Fatal(args ...any) { w.Fatalf("%s", fmt.Sprint(args...)) }
