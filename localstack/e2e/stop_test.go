package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
)

// TestStop: a stop lets what runs come to its end, in every protocol, by itself and
// through the bootstraps: whole answers, booked, kept to by the next process. Nothing
// new is let in meanwhile, a signal that comes again changes nothing, the exit code is
// 0 and no process is left behind.
func TestStop(t *testing.T) {
	for _, store := range rigs("bolt", onLambda) {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, world{store: store, accounts: []accounts.Config{{Name: "alpha"}}})
			account := s.fleet.Account("alpha")
			slow := accounts.InjectT(t, account, accounts.Fault{Kind: accounts.SlowTokens, Delay: 100 * time.Millisecond})
			running := map[pair]chan answer{{"chat", "chat"}: nil, {"responses", "chat"}: nil, {"messages", "messages"}: nil}
			for p := range running {
				answered := make(chan answer, 1)
				running[p] = answered
				go func() { answered <- s.over(p, p.String(), true) }()
			}
			if err := account.Await(t.Context(), func(calls []accounts.Call) bool { return len(calls) == 3 && open(calls) == 3 }); err != nil {
				t.Fatal(err)
			}
			left := children(t, s.PID())
			if want := map[bool]int{true: 4}[s.store == onLambda]; len(left) != want {
				t.Errorf("%d processes serve, want %d", len(left), want)
			}
			for _, again := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
				if err := syscall.Kill(s.PID(), again); err != nil {
					t.Fatal(err)
				}
			}
			refusesMore(t, s.URL)
			if n := open(account.Calls()); n != 3 {
				t.Errorf("%d answers are still being made, want 3", n)
			}
			if code := s.Stop(); code != 0 {
				t.Errorf("exit code %d: %s", code, s.Log())
			}
			for p, answered := range running {
				if a := <-answered; a.StatusCode != 200 || !whole(p.client, a) {
					t.Errorf("%s: the running answer was cut: %d %v %q", p, a.StatusCode, a.err, a.body)
				}
			}
			if n := strings.Count(s.Log(), `"msg":"exchange"`); n != 3 {
				t.Errorf("%d exchanges are in the log, want 3", n)
			}
			none(t, left)
			account.Remove(slow)
			s.Gateway = s.start()
			for p := range running {
				s.keeps("after the stop", p, p.String(), p.target+"-alpha")
			}
		})
	}
}

// open is how many calls are being answered.
func open(calls []accounts.Call) (n int) {
	for _, c := range calls {
		if c.Open {
			n++
		}
	}
	return n
}

// refusesMore waits until nobody listens.
func refusesMore(t *testing.T, url string) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); ; {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			return
		}
		c.Close()
		if time.Now().After(limit) {
			t.Fatal("connections are still taken")
		}
	}
}

// born is a process that cannot be mistaken for a later one with its number.
type born struct {
	pid   int
	start string // as the kernel counts
}

// children are the processes that one has started. A zombie is none.
func children(t *testing.T, parent int) (all []born) {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("processes cannot be listed: %v", err)
	}
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		if f := stat(pid); len(f) > 19 && f[0] != "Z" && f[1] == strconv.Itoa(parent) {
			all = append(all, born{pid, f[19]})
		}
	}
	return all
}

// stat is what the kernel says of a process, from its state on; nil where there is
// none.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

// none checks that processes have ended.
func none(t *testing.T, all []born) {
	t.Helper()
	for _, p := range all {
		if f := stat(p.pid); len(f) > 19 && f[19] == p.start && f[0] != "Z" {
			t.Errorf("process %d is left behind", p.pid)
		}
	}
}

// stopTakes is how long a stop takes at most, with a moment for a busy machine.
const stopTakes = 30*time.Second + 3*time.Second

// TestStopThatHangs: a provider that falls silent and a log that nobody reads do not
// keep a stop for longer than it may take. The client sees that its answer is not
// whole, and why where the exchange runs in the process that stops: bootstraps do not
// learn of it. The exit code is 0, and no process is left behind.
func TestStopThatHangs(t *testing.T) {
	for _, store := range rigs("memory", onLambda) {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store)
			answered := r.silent(r.Gateway)
			left := children(t, r.PID())
			begun := time.Now()
			if code := r.Stop(); code != 0 || time.Since(begun) > stopTakes {
				t.Errorf("exit code %d after %v", code, time.Since(begun))
			}
			a := <-answered
			if a.StatusCode != 200 || a.err == nil || whole("chat", a) {
				t.Errorf("the client got %d %v %s", a.StatusCode, a.err, a.body)
			}
			if r.store != onLambda && (errorEvents("chat", a.body) != 1 || !strings.Contains(a.body, "deadline_exceeded")) {
				t.Errorf("the client is told %s", a.body)
			}
			none(t, left)
		})
	}
	t.Run("a log that nobody reads", func(t *testing.T) {
		t.Parallel()
		fleet := accounts.StartT(t, "alpha", "bravo", "charlie")
		folder := t.TempDir()
		c := exec.Command(binary, "-store", "memory", "-addr", "127.0.0.1:0", "-config", write(t, folder, "c.yaml", documentOf(fleet)))
		c.Dir, c.Env = folder, []string{"UPSTREAM_KEY=" + upstreamKey}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		unread, log, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer unread.Close()
		defer log.Close()
		c.Stderr, c.SysProcAttr = log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer c.Process.Kill()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		_, url, _ := strings.Cut(strings.TrimSpace(line), "listening on ")
		fill(t, log)
		answered := (&rig{t: t, fleet: fleet}).silent(&process.Gateway{URL: url})
		begun := time.Now()
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(2*stopTakes, func() { _ = c.Process.Kill() })
		defer late.Stop()
		if err := c.Wait(); err != nil || time.Since(begun) > stopTakes {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		if a := <-answered; a.err == nil {
			t.Errorf("the client got a clean end: %s", a.body)
		}
	})
}

// TestStopWhileStarting: a stop that comes while the store lets the start wait ends
// it at once, and is no failure.
func TestStopWhileStarting(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c := exec.Command(binary, "-demo", "-store", "dynamodb", "-addr", "127.0.0.1:0")
	c.Dir, c.Env = t.TempDir(), []string{"AWS_ENDPOINT_URL_DYNAMODB=http://" + silent.Addr().String()}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(stopTakes, func() { _ = c.Process.Kill(); silent.Close() })
	defer late.Stop()
	asked, err := silent.Accept() // it waits for an answer from now on
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("a start that was called off: %v", err)
	}
}

// silent begins an answer that its provider never goes on with.
func (r *rig) silent(g *process.Gateway) chan answer {
	r.t.Helper()
	for _, a := range r.fleet.Accounts() {
		accounts.InjectT(r.t, a, accounts.Fault{Kind: accounts.SlowTokens, Delay: time.Hour})
	}
	answered := make(chan answer, 1)
	go func() { answered <- post(r.t, g.URL+route("chat"), ask("chat", true, user("Hello"))) }()
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		for _, a := range r.fleet.Accounts() {
			if open(a.Calls()) > 0 {
				return answered
			}
		}
		if time.Now().After(limit) {
			r.t.Fatal("no call has come")
		}
	}
}

// fill writes into a pipe as much as it takes.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	fd := int(pipe.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	var err error
	for err == nil {
		_, err = syscall.Write(fd, []byte("x"))
	}
	if !errors.Is(err, syscall.EAGAIN) {
		t.Fatal(err)
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
}
