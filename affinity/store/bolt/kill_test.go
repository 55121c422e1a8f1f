package bolt_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/affinity/store"
	"holdfast/affinity/store/bolt"
)

var kills = flag.Int("kills", 50, "how often the writing process is killed")

// The environment that turns this test binary into the process that is killed.
const (
	childPath  = "HOLDFAST_BOLT_CHILD"
	childLimit = "HOLDFAST_BOLT_LIMIT" // file size at which the disk is full
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := writer(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			fmt.Println("ended, outcome unknown:", errors.Is(err, store.ErrUnknown))
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const workers = 4

func swapped(w int) store.Key {
	return store.Key{Table: store.Ledger, Partition: "worker", Sort: fmt.Sprint(w)}
}

func counted(w int) store.Key {
	return store.Key{Table: store.Affinity, Partition: "worker", Sort: fmt.Sprint(w)}
}

// written is the record of one worker's nth write; its size jumps.
func written(w int, n uint64) store.Record {
	random := rand.New(rand.NewPCG(uint64(w), n))
	value := binary.BigEndian.AppendUint64(nil, n)
	for range random.IntN(1 << random.IntN(13)) {
		value = append(value, byte(random.Uint32()))
	}
	return store.Record{Value: value, Index: store.Index{Partition: "index", Sort: fmt.Sprintf("%d-%d", w, n)}}
}

// writer is the child: its workers write as fast as they can and print a line
// for each answer, which a kill cannot take back.
func writer(path string) error {
	if limit := os.Getenv(childLimit); limit != "" {
		signal.Ignore(syscall.SIGXFSZ)
		var most uint64
		if _, err := fmt.Sscan(limit, &most); err != nil {
			return err
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	s, err := bolt.Open(bolt.Config{Path: path, LockTimeout: 10 * time.Second})
	if err != nil {
		return err
	}
	failed := make(chan error)
	for w := range workers {
		go func() { failed <- work(s, w) }()
	}
	return <-failed // the first that does ends the process
}

func work(s store.Store, w int) error {
	ctx := context.Background()
	handles, err := s.Read(ctx, swapped(w))
	if err != nil {
		return err
	}
	h := handles[0]
	for n := sequence(h) + 1; ; n++ {
		if h, err = s.Swap(ctx, h, written(w, n)); err != nil {
			return err
		}
		fmt.Println("swap", w, n)
		sums, err := s.Add(ctx, counted(w), map[string]int64{"n": 1}, time.Time{})
		if err != nil {
			return err
		}
		fmt.Println("add", w, sums["n"])
	}
}

// sequence is which write of its worker a record holds.
func sequence(h store.Handle) uint64 {
	r, _ := h.Record()
	if len(r.Value) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(r.Value)
}

// acked is what the child's lines have said, by kind and worker.
type acked map[string]uint64

// follow reads lines until there are n of them, or the child has ended.
func (a acked) follow(lines *bufio.Scanner, n int) (last string) {
	for i := 0; i < n && lines.Scan(); i++ {
		last = lines.Text()
		var kind string
		var w int
		var seq uint64
		if _, err := fmt.Sscan(last, &kind, &w, &seq); err == nil {
			a[fmt.Sprint(kind, w)] = seq
		}
	}
	return last
}

// child starts the writing process.
func child(t *testing.T, path string, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), childPath+"="+path), env...)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// Killed at any moment, the file holds every write that was acknowledged and at
// most the one that each worker had under way; no record is torn, and the index
// agrees with the records.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	sum := acked{}
	for round := range *kills {
		cmd, lines := child(t, path)
		sum.follow(lines, rand.IntN(60)) // 0: killed while it starts
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		sum.follow(lines, 1<<30)
		var killed *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &killed) || killed.ExitCode() != -1 {
			t.Fatalf("round %d: the child was not killed: %v", round, err)
		}
		audit(t, path, sum)
		if t.Failed() {
			t.Fatalf("after kill %d", round+1)
		}
	}
	t.Logf("%d kills, %d writes acknowledged", *kills, total(sum))
	if total(sum) < uint64(*kills) {
		t.Errorf("the child hardly wrote")
	}
}

func total(a acked) (n uint64) {
	for _, seq := range a {
		n += seq
	}
	return n
}

// A full disk: the write that met it is told as unknown, and the file is whole.
func TestDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	sum := acked{}
	cmd, lines := child(t, path, childLimit+"=1000000")
	last := sum.follow(lines, 1<<30)
	if err := cmd.Wait(); err == nil || last != "ended, outcome unknown: true" {
		t.Fatalf("the child ended with %v, its last line is %q", err, last)
	}
	audit(t, path, sum)
}

// audit holds the file against what was acknowledged.
func audit(t *testing.T, path string, sum acked) {
	t.Helper()
	s, err := bolt.Open(bolt.Config{Path: path, LockTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Check(); err != nil {
		t.Errorf("bbolt: %v", err)
	}
	for w := range workers {
		handles, err := s.Read(t.Context(), swapped(w), counted(w))
		if err != nil {
			t.Fatal(err)
		}
		n := sequence(handles[0])
		within(t, fmt.Sprint("swap", w), sum, n)
		if got, live := handles[0].Record(); live && !cmp.Equal(got, written(w, n)) {
			t.Errorf("worker %d: write %d is torn", w, n)
		}
		counter, _ := handles[1].Record()
		within(t, fmt.Sprint("add", w), sum, uint64(counter.Counters["n"]))
	}
	indexAgrees(t, s)
}

// within takes up what is there as acknowledged for the next round.
func within(t *testing.T, what string, sum acked, n uint64) {
	t.Helper()
	if n < sum[what] || n > sum[what]+1 {
		t.Errorf("%s: %d is there, %d was acknowledged", what, n, sum[what])
	}
	sum[what] = n
}

func indexAgrees(t *testing.T, s *bolt.Store) {
	t.Helper()
	page, err := s.Query(t.Context(), store.Query{Table: store.Ledger, Indexed: true, Partition: "index"})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := s.Stored()
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Handles) != stored["ledger"] || len(page.Handles) != stored["ledger-index"] {
		t.Errorf("the index shows %d records of %d, by %d keys", len(page.Handles), stored["ledger"], stored["ledger-index"])
	}
}
