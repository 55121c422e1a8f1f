package main

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// all gathers a trace.
func all(t *testing.T, requests iter.Seq2[Request, error]) []Request {
	t.Helper()
	var found []Request
	for r, err := range requests {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, r)
	}
	return found
}

// TestTrace: what is written is read as it was, and a line that is wrong is
// named.
func TestTrace(t *testing.T) {
	s := defaultShape()
	s.sessions, s.agents = 50, 2
	made := all(t, generate(s))
	if !slices.IsSortedFunc(made, func(a, b Request) int { return int(1e9 * (a.At - b.At)) }) {
		t.Error("the trace is not in order of time")
	}
	var text bytes.Buffer
	for _, r := range made {
		if err := writeRequest(&text, r); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(made, all(t, read(&text))); diff != "" {
		t.Error(diff)
	}
	for line, want := range map[string]string{
		`{"at":1,"session":"s","input":1,"output":1,"tokens":1}`:                                "line 2",
		`{"at":1,"session":"","input":1,"output":1}`:                                            "session is missing",
		`{"at":-1,"session":"s","input":1,"output":1}`:                                          "at is less",
		`{"at":1,"session":"s","input":-1,"output":1}`:                                          "numbers of tokens",
		`{"at":1,"session":"s","input":5,"kept":6,"output":1}`:                                  "parts of input",
		`{"at":1,"session":"s","input":5,"output":1,"seconds":-1}`:                              "a duration",
		`{"at":1,"session":"s","input":5,"output":1,"lane":"` + strings.Repeat("x", 257) + `"}`: "256 bytes",
		`nothing`: "line 2",
	} {
		good := `{"at":0,"session":"s","input":1,"output":1}` + "\n"
		var last error
		for _, err := range read(strings.NewReader(good + line + "\n")) {
			last = err
		}
		if !errors.Is(last, errTrace) || !strings.Contains(last.Error(), want) {
			t.Errorf("%s: %v, want %s", line, last, want)
		}
	}
}

// TestCacheRules holds the simulated cache against the providers' rules.
func TestCacheRules(t *testing.T) {
	w := defaultWorld()
	a := newAccount(w, 0)
	rows := []struct {
		name          string
		r             Request
		thread        string
		read, written int
	}{
		{"too short", Request{At: 0, Input: 1000, Output: 10}, "short", 0, 0},
		{"first", Request{At: 0, Input: 2000, Output: 200}, "a", 0, 1920},
		{"again, with the answer", Request{At: 10, Input: 2500, Kept: 2200, Output: 10}, "a", 2176, 256},
		{"another thread", Request{At: 10, Input: 2500, Kept: 2200, Output: 10}, "b", 0, 2432},
		{"kept since its last use", Request{At: 309, Input: 2600, Kept: 2510, Output: 10}, "a", 2432, 128},
		{"expired", Request{At: 609, Input: 2700, Kept: 2610, Output: 10}, "a", 0, 2688},
		{"what all begin with", Request{At: 700, Model: "m", Input: 3000, Shared: 1500, Output: 10}, "c", 0, 2944},
		{"the same for another", Request{At: 701, Model: "m", Input: 3000, Shared: 1500, Output: 10}, "d", 1408, 1536},
		{"another model", Request{At: 702, Model: "n", Input: 3000, Shared: 1500, Output: 10}, "e", 0, 2944},
	}
	for _, row := range rows {
		if read, written := a.serve(row.r, row.thread); read != row.read || written != row.written {
			t.Errorf("%s: %d read, %d written, want %d and %d", row.name, read, written, row.read, row.written)
		}
	}
}

// TestPolicies: pins keep conversations together and the others do not; outages
// move those that must move; equal seeds give equal results.
func TestPolicies(t *testing.T) {
	w, s := defaultWorld(), defaultShape()
	s.sessions, s.perSecond = 300, 1
	w.between, w.outage = 1800, 30
	play := func() map[string]Result {
		t.Helper()
		results, err := simulate(w, policies(), generate(s))
		if err != nil {
			t.Fatal(err)
		}
		by := map[string]Result{}
		for _, r := range results {
			by[r.Policy] = r
		}
		return by
	}
	by := play()
	if diff := cmp.Diff(by, play()); diff != "" {
		t.Errorf("the same seed, another result: %s", diff)
	}
	h := by["holdfast"]
	for _, name := range []string{"none", "round robin", "least busy", "pin per instance"} {
		if other := by[name]; h.Hit() < other.Hit()+0.05 || h.Cost >= other.Cost || h.Moves*4 > other.Moves {
			t.Errorf("%s: %.3f cached, %g USD, %d moves; holdfast %.3f, %g, %d", name, other.Hit(), other.Cost, other.Moves, h.Hit(), h.Cost, h.Moves)
		}
	}
	if shared := by["shared pin"]; h.Hit() < shared.Hit()-0.01 {
		t.Errorf("holdfast %.3f, a shared pin %.3f", h.Hit(), shared.Hit())
	}
	if h.Moves == 0 || h.Failed > h.Requests/100 {
		t.Errorf("with outages: %d moves, %d of %d failed", h.Moves, h.Failed, h.Requests)
	}
	if first := h.Requests; h.Store.Reads < 3*first || h.Store.Writes < first {
		t.Errorf("%+v for %d requests, want three items read and one written each at least", h.Store, first)
	}
}

// TestBoundedMemory: what is kept depends on the sessions that live at one time,
// not on how many there are.
func TestBoundedMemory(t *testing.T) {
	heap := func(sessions int) uint64 {
		t.Helper()
		s := defaultShape()
		s.sessions, s.perSecond, s.turns, s.agents = sessions, 2, 3, 0
		if _, err := simulate(defaultWorld(), policies(), generate(s)); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	last, kept := 0, 0
	s := defaultShape()
	s.sessions, s.turns, s.agents = 30_000, 3, 0
	p := newPlayer(defaultWorld(), "pins", newPins(defaultWorld(), 1))
	for r := range generate(s) {
		if err := p.play(r, r.Session, 0); err != nil {
			t.Fatal(err)
		}
		if last++; last%1000 == 0 {
			kept = max(kept, len(p.fleet.accounts[0].prefixes))
		}
	}
	if kept > 6000 { // two a second, for minutes, not 30,000
		t.Errorf("one account keeps %d prefixes", kept)
	}
	if few, many := heap(1000), heap(8000); many > few+32<<20 {
		t.Errorf("%d bytes after 1,000 sessions, %d after 8,000", few, many)
	}
}

// TestCommand writes a trace, plays it, and leaves results and plots behind.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "trace.jsonl")
	if err := run([]string{"-sessions", "20", "-write", name}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{"-trace", name, "-json", filepath.Join(dir, "r.json"), "-svg", filepath.Join(dir, "svg")}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"holdfast", "round robin", "input cached"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
	for _, file := range []string{"r.json", "svg/hit.svg", "svg/cost.svg", "svg/moves.svg", "svg/hours.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !bytes.Contains(text, []byte("holdfast")) {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, wrong := range [][]string{{"-sessions", "0"}, {"-accounts", "0"}, {"-refused", "1"}, {"-trace", filepath.Join(dir, "none")}, {"-x"}} {
		if err := run(wrong, io.Discard, io.Discard); err == nil {
			t.Errorf("%v was taken", wrong)
		}
	}
}
