package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
	"holdfast/localstack/runtimeapi"
)

// maxBootstrap is how large a stripped bootstrap may be, in bytes.
const maxBootstrap = 25 << 20

// TestP5StartUp holds the bootstrap's size and reports how long it takes from
// the process's start to its first question, beside a bare handler.
func TestP5StartUp(t *testing.T) {
	file := bootstrap(t)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxBootstrap {
		t.Errorf("the bootstrap has %d bytes, at most %d are allowed", info.Size(), maxBootstrap)
	}
	bare, err := process.BuildMain(filepath.Join(t.TempDir(), "bootstrap"), "./localstack/e2e/testdata/bare", bootstrapFlags()...)
	if err != nil {
		t.Fatal(err)
	}
	var ours, theirs []time.Duration
	for range 15 { // in turns: the machine is as busy for both
		ours = append(ours, startUp(t, file))
		theirs = append(theirs, startUp(t, bare))
	}
	us, them := median(ours), median(theirs)
	t.Logf("start-up to the first question: %v, bare handler %v, ratio %.2f (budget 1.50); bootstrap %.1f MiB stripped",
		us.Round(10*time.Microsecond), them.Round(10*time.Microsecond), float64(us)/float64(them), float64(info.Size())/(1<<20))
}

// startUp starts one environment and returns how long its process took.
func startUp(t *testing.T, file string) time.Duration {
	t.Helper()
	f := &function{rig: &rig{t: t}}
	var err error
	f.Runtime, err = runtimeapi.Start(runtimeapi.Config{Bootstrap: file})
	if err != nil {
		t.Fatal(err)
	}
	f.until("ready", func(all []runtimeapi.Environment) bool { return all[0].Ready })
	took := f.Environments()[0].StartUp
	if err := f.Runtime.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return took
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// TestP5Memory holds the resident memory of a bootstrap that serves one stream
// under 64 MB, and of one that serves 64 at once under 100 MB.
func TestP5Memory(t *testing.T) {
	for _, row := range []struct{ streams, megabytes int }{{1, 64}, {64, 100}} {
		f := newFunction(t, runtimeapi.Config{Concurrency: row.streams}, true)
		f.turn("chat", "s", true)
		for _, a := range f.fleet.Accounts() {
			accounts.InjectT(t, a, accounts.Fault{Kind: accounts.SlowTokens, Delay: 100 * time.Millisecond})
		}
		open := make([]*http.Response, row.streams)
		var all sync.WaitGroup
		for i := range open {
			all.Go(func() {
				body := member(ask("chat", true, user(long(3000))), "session_id", fmt.Sprint("s", i))
				response, err := http.DefaultClient.Do(newRequest(t, t.Context(), f.url+route("chat"), body))
				if err != nil {
					t.Error(err)
				}
				open[i] = response
			})
		}
		all.Wait()
		if t.Failed() {
			t.FailNow()
		}
		used := resident(t, f.Environments()[0].PID)
		if running := f.running(); running != row.streams {
			t.Errorf("%d streams were in flight, want %d", running, row.streams)
		}
		t.Logf("%d streams in flight: %.1f MB resident", row.streams, used)
		if used > float64(row.megabytes) {
			t.Errorf("%d streams need %.1f MB, at most %d are allowed", row.streams, used, row.megabytes)
		}
		for _, response := range open {
			response.Body.Close()
		}
	}
}

// running is how many calls the accounts are answering.
func (f *function) running() int {
	n := 0
	for _, a := range f.fleet.Accounts() {
		for _, call := range a.Calls() {
			if call.Open {
				n++
			}
		}
	}
	return n
}

// resident is a process's memory in use, in MB.
func resident(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	number, _, found := strings.Cut(strings.TrimSpace(rest), " kB")
	kilobytes, err := strconv.ParseFloat(number, 64)
	if err != nil || !found {
		t.Fatalf("no VmRSS in %s", text)
	}
	return kilobytes * 1024 / 1e6
}
