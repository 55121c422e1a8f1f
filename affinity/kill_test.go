package affinity_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/affinity/store/bolt"
)

// historyChild turns this test binary into the process that is killed: it
// publishes chains of responses into the bolt file that the variable names.
const historyChild = "HOLDFAST_HISTORY_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(historyChild); path != "" {
		if err := publishChains(path, os.Getenv(historyChild+"_ROUND")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// chainLength is how many responses continue each other.
const chainLength = 4

// contentOf is what the turn of a response holds, unlike any other's.
func contentOf(id string) *affinity.Turn {
	random := rand.New(rand.NewPCG(uint64(len(id)), uint64(id[len(id)-1])))
	return &affinity.Turn{Input: []byte("in " + id), Output: []byte(strings.Repeat(id+" ", 1+random.IntN(400)))}
}

// publishChains publishes one chain after the other and prints each id once it
// may be used, which a kill cannot take back.
func publishChains(path, round string) error {
	s, err := bolt.Open(bolt.Config{Path: path, LockTimeout: 10 * time.Second})
	if err != nil {
		return err
	}
	state, ctx, scope := affinity.New(affinity.Config{Store: s}), context.Background(), identity.KeyScope("k")
	for n := 0; ; n++ {
		var parent *affinity.Owner
		for depth := range chainLength {
			id := fmt.Sprintf("r%s-%d-%d", round, n, depth)
			err := state.Publish(ctx, affinity.Publication{
				Scope: scope, ID: id, Parent: parent, Turn: contentOf(id),
				Owner: affinity.Owner{Model: "m", Endpoint: "responses", Deployment: "d", Session: "s"},
			})
			if err != nil {
				return err
			}
			owner, err := state.Owner(ctx, scope, id)
			if err != nil {
				return err
			}
			parent = &owner
			fmt.Println(id)
		}
	}
}

// TestKillKeepsHistory shows that ownership and the whole history of every
// response whose publication was acknowledged survive kill -9 at random moments,
// 200 times.
func TestKillKeepsHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	random := rand.New(rand.NewPCG(3, 4))
	checked := 0
	for round := range 200 {
		ids := killedWhilePublishing(t, path, round, time.Duration(1+random.IntN(15))*time.Millisecond)
		s, err := bolt.Open(bolt.Config{Path: path, LockTimeout: 10 * time.Second})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		state := affinity.New(affinity.Config{Store: s})
		for _, id := range ids {
			checkHistory(t, state, id)
		}
		checked += len(ids)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if checked < 200 {
		t.Errorf("%d publications in 200 rounds say little", checked)
	}
	t.Logf("%d acknowledged publications, none lost", checked)
}

// killedWhilePublishing returns the ids that a child has announced before it
// was killed, some time after its first word.
func killedWhilePublishing(t *testing.T, path string, round int, after time.Duration) []string {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), historyChild+"="+path, fmt.Sprintf("%s_ROUND=%d", historyChild, round))
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if len(ids) == 0 {
			time.AfterFunc(after, func() { _ = child.Process.Kill() }) // a random moment of the victim's life
		}
		ids = append(ids, lines.Text())
	}
	_ = child.Wait() // it was killed
	return ids
}

// checkHistory holds a response's owner and chain to what was published.
func checkHistory(t *testing.T, state *affinity.State, id string) {
	t.Helper()
	owner, err := state.Owner(t.Context(), identity.KeyScope("k"), id)
	if err != nil || owner.Deployment != "d" || owner.Session != "s" {
		t.Errorf("%s: owner %+v, %v", id, owner, err)
		return
	}
	turns, err := state.History(t.Context(), owner)
	depth := int(id[len(id)-1] - '0')
	if err != nil || len(turns) != depth+1 {
		t.Errorf("%s: %d turns, want %d: %v", id, len(turns), depth+1, err)
		return
	}
	for i, turn := range turns {
		want := contentOf(id[:len(id)-1] + fmt.Sprint(i))
		if string(turn.Input) != string(want.Input) || string(turn.Output) != string(want.Output) {
			t.Errorf("%s: turn %d is not what was published", id, i)
		}
	}
}
