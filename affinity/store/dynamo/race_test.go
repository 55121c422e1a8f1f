package dynamo_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"holdfast/affinity/store"
	"holdfast/affinity/store/dynamo"
)

// racerVariable makes the test binary one of the racing processes. It holds
// the endpoint and the prefix of the tables.
const racerVariable = "HOLDFAST_DYNAMO_RACER"

const (
	racers = 4
	rounds = 40
)

func raceKey(round string) store.Key {
	return store.Key{Table: store.Affinity, Partition: "race", Sort: round}
}

// racer claims the key of each round that it is told of, and says how it ended.
func racer() int {
	endpoint, prefix, _ := strings.Cut(os.Getenv(racerVariable), " ")
	s, err := dynamo.New(dynamo.Config{Endpoint: endpoint, Prefix: prefix, AttemptTimeout: patientAttempt, Timeout: patientTotal})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := createAt(endpoint, prefix); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(claim(s, lines.Text()))
	}
	return 0
}

// createAt makes every process create the tables, all at the same time.
func createAt(endpoint, prefix string) error {
	client, err := dynamo.NewClient(dynamo.Config{Endpoint: endpoint})
	if err != nil {
		return err
	}
	return dynamo.CreateTables(context.Background(), client, prefix)
}

// claim swaps by the handle that a read of the absent key gives, the same one
// in all processes. It returns the end and who stands.
func claim(s *dynamo.Store, command string) string {
	round, absent := strings.CutPrefix(command, "claim ")
	if !absent {
		return "unknown command"
	}
	h := store.NewHandle(raceKey(round), "", store.Record{})
	got, err := s.Swap(context.Background(), h, store.Record{Value: fmt.Appendf(nil, "%d", os.Getpid())})
	stands, _ := got.Record()
	switch {
	case err == nil:
		return "won " + string(stands.Value)
	case errors.Is(err, store.ErrConflict):
		return "lost " + string(stands.Value)
	}
	return "failed " + err.Error()
}

// TestOneWinnerAmongProcesses: in each round four processes claim one absent
// key at once; one of them wins and the others learn who.
func TestOneWinnerAmongProcesses(t *testing.T) {
	f := newEmptyFixture(t, false)
	processes := make([]*racing, racers)
	for i := range processes {
		processes[i] = startRacer(t, f)
	}
	winners := map[string]int{}
	for round := range rounds {
		ends := everyone(processes, fmt.Sprintf("claim %d", round))
		winner := ""
		for _, end := range ends {
			if who, won := strings.CutPrefix(end, "won "); won {
				if winner != "" {
					t.Fatalf("round %d has two winners: %q", round, ends)
				}
				winner = who
			}
		}
		for _, end := range ends {
			if end != "won "+winner && end != "lost "+winner {
				t.Fatalf("round %d, winner %q: %q", round, winner, ends)
			}
		}
		winners[winner]++
		handles, err := f.open(t, nil).Read(t.Context(), raceKey(fmt.Sprint(round)))
		if err != nil {
			t.Fatal(err)
		}
		if rec, _ := handles[0].Record(); string(rec.Value) != winner {
			t.Fatalf("round %d: %q won and %q stands", round, winner, rec.Value)
		}
	}
	if len(winners) < 2 {
		t.Errorf("one process won all %d rounds, so they did not race: %v", rounds, winners)
	}
}

// racing is one of the processes.
type racing struct {
	in  io.Writer
	out *bufio.Scanner
}

func startRacer(t *testing.T, f *fixture) *racing {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), racerVariable+"="+f.endpoint+" "+f.prefix)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close() // ends it
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &racing{in: in, out: bufio.NewScanner(out)}
}

// everyone gives all processes the command before it hears the first answer.
func everyone(processes []*racing, command string) []string {
	var ends []string
	for _, p := range processes {
		fmt.Fprintln(p.in, command)
	}
	for _, p := range processes {
		p.out.Scan()
		ends = append(ends, p.out.Text())
	}
	return ends
}
