package e2e

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/affinity/store/dynamo"
	"holdfast/localstack/accounts"
	"holdfast/localstack/dynalite"
	"holdfast/localstack/e2e/process"
	"holdfast/localstack/runtimeapi"
	"holdfast/localstack/wirefault"
)

// onLambda is the rigs' name for the gateway's own bootstrap in four
// environments of a local Lambda, on DynamoDB's wire.
const onLambda = "lambda"

// throughLambda makes a gateway serve through the bootstraps.
func throughLambda(t *testing.T, o *process.Options) {
	t.Helper()
	o.Store = "dynamodb"
	o.Args = append([]string{"-lambda", "4"}, o.Args...)
	o.Env = append([]string{"HOLDFAST_BOOTSTRAP=" + bootstrap(t)}, o.Env...)
}

// built is the bootstrap, compiled once for all tests that need it.
var built = sync.OnceValues(func() (string, error) {
	return process.BuildMain(filepath.Join(filepath.Dir(binary), "bootstrap"), "./functions/gateway", bootstrapFlags()...)
})

// bootstrapFlags are those of a bootstrap that is not to be debugged.
func bootstrapFlags() []string {
	return []string{"-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w"}
}

// bootstrap returns the path of the gateway's bootstrap.
func bootstrap(t *testing.T) string {
	t.Helper()
	file, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// function is the bootstrap in environments of this process, so that tests can
// see and kill them.
type function struct {
	*rig
	*runtimeapi.Runtime
	url string
	out output
}

// newFunction starts accounts, DynamoDB's wire and the function's environments.
// Its document is in a file, as one that is deployed with the function; there
// is none where document is false.
func newFunction(t *testing.T, c runtimeapi.Config, document bool) *function {
	t.Helper()
	f := &function{rig: &rig{t: t, fleet: accounts.StartT(t, "alpha", "bravo", "charlie"), store: onLambda}}
	f.config = documentOf(f.fleet)
	wire := dynalite.StartT(t)
	f.front = wirefault.New(wirefault.Config{Target: wire.Endpoint()})
	behind := httptest.NewServer(f.front)
	t.Cleanup(behind.Close)
	f.env = []string{"PATH=" + os.Getenv("PATH"), "UPSTREAM_KEY=" + upstreamKey,
		"AWS_ENDPOINT_URL_DYNAMODB=" + behind.URL, "HOLDFAST_TABLE_PREFIX=" + wire.Prefix()}
	f.createTables(wire)
	c.Env, c.Bootstrap, c.Output = f.env, bootstrap(t), &f.out
	if document {
		c.Env = append(c.Env, "HOLDFAST_CONFIG="+write(t, t.TempDir(), "config.yaml", f.config))
	}
	var err error
	if f.Runtime, err = runtimeapi.Start(c); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(f.Runtime)
	f.url = front.URL
	t.Cleanup(func() {
		left, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		if err := f.Runtime.Close(left); err != nil {
			t.Errorf("work was left: %v", err)
		}
		front.Close()
		for _, secret := range []string{keyA, keyB, upstreamKey, secretWord} {
			if strings.Contains(f.out.String(), secret) {
				t.Errorf("the function has logged %q", secret)
			}
		}
		if t.Failed() {
			t.Log(f.out.String())
		}
	})
	return f
}

// documentOf is the usual document.
func documentOf(fleet *accounts.Fleet) string { return document{fleet: fleet}.String() }

// createTables does what the stack does for a deployed function.
func (f *function) createTables(wire *dynalite.Server) {
	f.t.Helper()
	client, err := dynamo.NewClient(dynamo.Config{Endpoint: wire.Endpoint()})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := dynamo.CreateTables(f.t.Context(), client, wire.Prefix()); err != nil {
		f.t.Fatal(err)
	}
}

// turn sends one turn of a named session.
func (f *function) turn(endpoint, session string, stream bool) answer {
	f.t.Helper()
	return turnOf(f.t, f.url, endpoint, session, stream)
}

// until waits for a state of the environments.
func (f *function) until(what string, reached func([]runtimeapi.Environment) bool) {
	f.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(30 * time.Second); !reached(f.Environments()); {
		select {
		case <-tick.C:
		case <-limit:
			f.t.Fatalf("not reached: %s: %+v", what, f.Environments())
		}
	}
}

// busy is the one environment that serves.
func (f *function) busy() runtimeapi.Environment {
	f.t.Helper()
	var found []runtimeapi.Environment
	for _, e := range f.Environments() {
		if e.Busy {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		f.t.Fatalf("%d environments serve, want 1", len(found))
	}
	return found[0]
}

// kill ends an environment's process, as kill -9 does.
func (f *function) kill(e runtimeapi.Environment) {
	f.t.Helper()
	if err := syscall.Kill(e.PID, syscall.SIGKILL); err != nil {
		f.t.Fatal(err)
	}
	f.until("the process is gone", func(all []runtimeapi.Environment) bool { return all[e.Number].PID != e.PID })
}

// output gathers what processes write.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
