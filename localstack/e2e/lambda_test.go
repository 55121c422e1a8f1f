package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/runtimeapi"
	"holdfast/localstack/wirefault"
)

// TestL1 shows that the first event of a stream reaches the client before the
// upstream has finished, through the real bootstrap.
func TestL1(t *testing.T) {
	t.Parallel()
	f := newFunction(t, runtimeapi.Config{}, true)
	for _, endpoint := range []string{"chat", "responses", "messages"} {
		home := f.owner(f.turn(endpoint, "s", true).deployment())
		id := accounts.InjectT(t, home, accounts.Fault{Kind: accounts.SlowTokens, Delay: 30 * time.Millisecond})
		response, err := http.DefaultClient.Do(newRequest(t, t.Context(), f.url+route(endpoint), member(ask(endpoint, true, user("Hello")), "session_id", "s")))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(response.Body)
		if line, err := lines.ReadString('\n'); err != nil || line == "\n" {
			t.Errorf("%s: %q %v", endpoint, line, err)
		}
		if calls := home.Calls(); !calls[len(calls)-1].Open {
			t.Errorf("%s: the upstream had finished before the first event was there", endpoint)
		}
		if rest, err := io.ReadAll(lines); !whole(endpoint, answer{response, string(rest), err}) {
			t.Errorf("%s: ended with %v: %s", endpoint, err, rest)
		}
		response.Body.Close()
		home.Remove(id)
	}
}

// TestL3Durable shows that what the client may rely on is there before the
// terminal event: each of these writes is held back, and the event waits.
func TestL3Durable(t *testing.T) {
	t.Parallel()
	const held = 100 * time.Millisecond
	f := newFunction(t, runtimeapi.Config{}, true)
	first := f.turn("responses", "s", true)
	accounts.InjectT(t, f.owner(first.deployment()), accounts.Fault{Kind: accounts.ServerError}) // so that the preference moves
	var written atomic.Int64                                                                     // when the last write came, in Unix nanoseconds
	f.front.Decide(func(r wirefault.Request) wirefault.Fault {
		if r.Operation == "BatchGetItem" || r.Operation == "GetItem" {
			return wirefault.Fault{}
		}
		written.CompareAndSwap(0, time.Now().UnixNano())
		return wirefault.Fault{Kind: wirefault.Slow, Delay: held}
	})
	response, err := http.DefaultClient.Do(newRequest(t, t.Context(), f.url+route("responses"), member(ask("responses", true, user("Hello")), "session_id", "s")))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var seen time.Time
	for scan := bufio.NewScanner(response.Body); scan.Scan(); {
		if strings.HasPrefix(scan.Text(), "event: response.completed") {
			seen = time.Now()
		}
	}
	began := time.Unix(0, written.Load())
	switch {
	case response.Header.Get("X-Holdfast-Affinity") != "moved" || seen.IsZero():
		t.Fatalf("the session did not move to its end: %v", response.Header)
	case written.Load() == 0:
		t.Error("the terminal event was there before any write")
	case seen.Sub(began) < held:
		t.Errorf("the terminal event was there %v after the first write began, which took %v", seen.Sub(began), held)
	}
}

// TestL3After shows that the client's stream ends before the renewal is
// written, and that it is written before the next invocation, in a process that
// is frozen between them.
func TestL3After(t *testing.T) {
	t.Parallel()
	f := newFunction(t, runtimeapi.Config{Freeze: true}, true)
	f.turn("chat", "s", true)
	f.until("idle", func(all []runtimeapi.Environment) bool { return !all[0].Busy })
	ended := make(chan struct{})
	var early, renewals atomic.Int64
	f.front.Decide(func(r wirefault.Request) wirefault.Fault {
		if r.Operation == "PutItem" {
			select {
			case <-ended:
			default:
				early.Add(1)
			}
			<-ended // longer than the store's patience, if the stream's end waits for it
			renewals.Add(1)
		}
		return wirefault.Fault{}
	})
	a := f.turn("chat", "s", true)
	close(ended)
	if a.affinity() != "hit" || !whole("chat", a) {
		t.Fatalf("%s %v", a.affinity(), a.err)
	}
	if early.Load() > 1 { // one may have come between the last byte and the end
		t.Error("the stream's end waited for the renewal")
	}
	f.until("idle", func(all []runtimeapi.Environment) bool { return !all[0].Busy })
	if renewals.Load() == 0 {
		t.Error("the environment asked for the next invocation before the renewal was written")
	}
	if next := f.turn("chat", "s", false); next.affinity() != "hit" {
		t.Errorf("the next turn: %s", next.affinity())
	}
}

// TestL4 shows that a body which is too large for an event is refused, and that
// an upstream's empty answer still comes to an end.
func TestL4(t *testing.T) {
	t.Parallel()
	f := newFunction(t, runtimeapi.Config{}, true)
	if a := post(t, f.url+route("chat"), ask("chat", false, user(strings.Repeat("x", 7<<20)))); a.StatusCode != 413 {
		t.Errorf("7 MB: %d %s", a.StatusCode, a.body)
	}
	if f.calls() != 0 {
		t.Error("it was sent upstream")
	}
	for _, a := range f.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.Empty})
	}
	for _, endpoint := range []string{"chat", "responses", "messages"} {
		for _, stream := range []bool{false, true} {
			a := f.turn(endpoint, "s", stream)
			if a.StatusCode != 502 || a.err != nil || a.code() == "" {
				t.Errorf("%s, stream %v: %d %q %v", endpoint, stream, a.StatusCode, a.body, a.err)
			}
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, f.url+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := do(t, request); a.StatusCode != 200 || a.err != nil {
		t.Errorf("HEAD: %d %v", a.StatusCode, a.err)
	}
}

// TestS9Lambda shows that an environment that takes over from a killed one keeps
// every session where it was.
func TestS9Lambda(t *testing.T) {
	t.Parallel()
	f := newFunction(t, runtimeapi.Config{Environments: 4}, true)
	served := map[string]string{}
	for i := range 8 {
		session := fmt.Sprint("s", i)
		served[session] = f.turn("chat", session, i%2 == 0).deployment()
	}
	f.until("idle", func(all []runtimeapi.Environment) bool {
		return !slices.ContainsFunc(all, func(e runtimeapi.Environment) bool { return e.Busy || e.Invocations == 0 })
	})
	for _, e := range f.Environments() {
		f.kill(e)
		for session, deployment := range served {
			if a := f.turn("chat", session, false); a.affinity() != "hit" || a.deployment() != deployment {
				t.Errorf("%s: %s by %s, want a hit by %s", session, a.affinity(), a.deployment(), deployment)
			}
		}
	}
}

// TestS12Lambda shows that four environments choose the same deployment without
// the store, and that the shared record rules when it is back.
func TestS12Lambda(t *testing.T) {
	t.Parallel()
	f := newFunction(t, runtimeapi.Config{Environments: 4}, true)
	before := f.turn("chat", "old", false).deployment()
	f.everywhere(func(int) { f.turn("chat", "old", false) })
	f.front.Decide(func(wirefault.Request) wirefault.Fault { return wirefault.Fault{Kind: wirefault.Error} })
	for i := range 3 {
		session, chosen := fmt.Sprint("new", i), make([]string, 8)
		f.everywhere(func(n int) {
			a := f.turn("chat", session, n%2 == 0)
			if a.StatusCode != 200 || a.affinity() != "degraded" {
				t.Errorf("without the store: %d %s %s", a.StatusCode, a.affinity(), a.body)
			}
			chosen[n] = a.deployment()
		})
		if all := slices.Compact(chosen); len(all) != 1 {
			t.Errorf("%s: %v", session, all)
		}
	}
	f.front.Decide(nil)
	f.everywhere(func(int) { f.recovered(f.url) })
	hits := 0
	f.everywhere(func(int) {
		a := f.turn("chat", "old", false)
		if a.StatusCode != 200 || a.affinity() != "degraded" && a.deployment() != before {
			t.Errorf("after recovery: %d %s by %s, want %s", a.StatusCode, a.affinity(), a.deployment(), before)
		}
		if a.affinity() == "hit" {
			hits++
		}
	})
	if hits < 4 { // a busy machine's store may miss a deadline now and then
		t.Errorf("%d of 8 turns after recovery were hits", hits)
	}
}

// everywhere does something eight times, so that every one of four environments
// takes part: they are used in turn.
func (f *function) everywhere(do func(n int)) {
	for n := range 8 {
		do(n)
	}
}

// TestKilledMidStream shows that a process which dies in the middle of an answer
// breaks the client's stream, that the next request is served, and that nothing
// was committed.
func TestKilledMidStream(t *testing.T) {
	t.Parallel()
	f := newFunction(t, runtimeapi.Config{Environments: 2}, true)
	first := f.turn("chat", "s", true)
	home := f.owner(first.deployment())
	broken := accounts.InjectT(t, home, accounts.Fault{Kind: accounts.ServerError})
	for _, a := range f.fleet.Accounts() { // whoever serves instead is slow
		if a != home {
			accounts.InjectT(t, a, accounts.Fault{Kind: accounts.SlowTokens, Delay: 200 * time.Millisecond})
		}
	}
	response, err := http.DefaultClient.Do(newRequest(t, t.Context(), f.url+route("chat"), member(ask("chat", true, user("Hello")), "session_id", "s")))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	f.kill(f.busy())
	rest, err := io.ReadAll(lines)
	if err == nil || strings.Contains(string(rest), "[DONE]") {
		t.Errorf("the stream ended with %v: %q", err, rest)
	}
	home.Remove(broken)
	for range 3 {
		if a := f.turn("chat", "s", false); a.StatusCode != 200 || a.affinity() != "hit" || a.deployment() != first.deployment() {
			t.Errorf("the next turn: %d %s by %s, want a hit by %s", a.StatusCode, a.affinity(), a.deployment(), first.deployment())
		}
	}
}

// TestNoNetworkAtStart shows that environments become ready without a word to
// the store, and that a request finds it.
func TestNoNetworkAtStart(t *testing.T) {
	t.Parallel()
	f := newFunction(t, runtimeapi.Config{Environments: 2}, true)
	f.until("ready", func(all []runtimeapi.Environment) bool { return all[0].Ready && all[1].Ready })
	if n := f.front.Counts(); len(n) > 0 {
		t.Errorf("requests at the start: %v", n)
	}
	if a := f.turn("chat", "s", false); a.StatusCode != 200 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// TestNoConfiguration shows that requests are refused in the client's protocol
// until a document is stored, and served from then on.
func TestNoConfiguration(t *testing.T) {
	t.Parallel()
	f := newFunction(t, runtimeapi.Config{Environments: 2}, false)
	for range 3 {
		for _, endpoint := range []string{"chat", "responses", "messages"} {
			a := f.turn(endpoint, "s", true)
			if a.StatusCode != 503 || a.code() != "configuration_unavailable" || a.Header.Get("Retry-After") == "" || a.Header.Get("X-Request-Id") == "" {
				t.Errorf("%s: %d %s %v", endpoint, a.StatusCode, a.body, a.Header)
			}
			if anthropic := a.field("type") == "error"; anthropic != (endpoint == "messages") {
				t.Errorf("%s: %s", endpoint, a.body)
			}
		}
	}
	f.rig.store = "dynamodb"
	f.start() // seeds the store from its file
	f.everywhere(func(int) {
		if a := f.turn("chat", "s", false); a.StatusCode != 200 {
			t.Errorf("with a stored document: %d %s", a.StatusCode, a.body)
		}
	})
}

// TestLambdaFollowsRevisions shows that every environment acts on a new stored
// revision at its next request.
func TestLambdaFollowsRevisions(t *testing.T) {
	t.Parallel()
	r := newRig(t, onLambda)
	ask8 := func(want int) {
		t.Helper()
		for range 8 {
			if a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello"))); a.StatusCode != want {
				t.Errorf("%d, want %d: %s", a.StatusCode, want, a.body)
			}
		}
	}
	ask8(200)
	operator := *r
	operator.store, operator.config = "dynamodb", strings.ReplaceAll(r.config, "model: chat", "model: renamed")
	operator.start("-config-force").Stop()
	ask8(404)
}

// TestLambdaStops shows that SIGTERM lets a running answer end, through the
// bootstraps.
func TestLambdaStops(t *testing.T) {
	t.Parallel()
	r := newRig(t, onLambda)
	home := r.owner(turnOf(t, r.URL, "chat", "s", false).deployment())
	accounts.InjectT(t, home, accounts.Fault{Kind: accounts.SlowTokens, Delay: 50 * time.Millisecond})
	running := make(chan answer, 1)
	go func() { running <- turnOf(t, r.URL, "chat", "s", true) }()
	if err := home.Await(t.Context(), func(calls []accounts.Call) bool { return len(calls) == 2 && calls[1].Open }); err != nil {
		t.Fatal(err)
	}
	if code := r.Stop(); code != 0 {
		t.Errorf("exit code %d, want 0: %s", code, r.Log())
	}
	if a := <-running; !whole("chat", a) {
		t.Errorf("the running answer was cut: %v %q", a.err, a.body)
	}
}

// TestLambdaNeedsASharedStore shows how starts end that cannot work.
func TestLambdaNeedsASharedStore(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-lambda", "2", "-store", "memory"}, {"-lambda", "2"}, {"-lambda", "-1", "-store", "dynamodb"}} {
		out, code := command(t, t.TempDir(), nil, append(args, "-demo")...)
		if code != 1 || !strings.Contains(out, "-store dynamodb") {
			t.Errorf("%v: exit code %d: %s", args, code, out)
		}
	}
}

// TestLambdaDemo shows that the bootstraps reach the demo's accounts, which run
// in the process that started them.
func TestLambdaDemo(t *testing.T) {
	t.Parallel()
	f := newFunction(t, runtimeapi.Config{}, false)
	operator := &rig{t: t, env: f.env, store: onLambda}
	g := operator.start("-demo")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			a := post(t, g.URL+route("chat"), ask("demo-chat", false, user("Hello")), "Authorization", "Bearer sk-holdfast-demo")
			if a.StatusCode != 200 {
				t.Errorf("%d %s", a.StatusCode, a.body)
			}
		})
	}
	all.Wait()
}
