package runtimeapi

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// TestEvent shows what a function gets to see of a request.
func TestEvent(t *testing.T) {
	r := newRig(t, Config{})
	rows := []struct {
		name, contentType, body string
		wantBody                string
		base64                  bool
	}{
		{"json", "application/json; charset=utf-8", `{"a":1}`, `{"a":1}`, false},
		{"bytes", "application/octet-stream", "\x00\xff", "AP8=", true},
		{"text that is none", "text/plain", "\xff", "/w==", true},
		{"no type", "", "abc", "YWJj", true},
		{"nothing", "application/json", "", "", false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/a%2Fb/c%20d?q=1&q=2&z=%26", strings.NewReader(row.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header = http.Header{"X-Many": {"1", "2"}, "Cookie": {"a=1; b=2"}, "User-Agent": {"me"}}
			if row.contentType != "" {
				request.Header.Set("Content-Type", row.contentType)
			}
			var e events.LambdaFunctionURLRequest
			if err := json.Unmarshal([]byte(r.do(request).body), &e, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			if e.Version != "2.0" || e.RawPath != "/a%2Fb/c%20d" || e.RawQueryString != "q=1&q=2&z=%26" || e.QueryStringParameters["q"] != "1,2" {
				t.Errorf("version, path or query: %+v", e)
			}
			if e.Headers["x-many"] != "1,2" || e.Headers["cookie"] != "" || e.Headers["host"] == "" || e.Headers["x-forwarded-proto"] != "https" {
				t.Errorf("headers: %v", e.Headers)
			}
			if diff := cmp.Diff([]string{"a=1", "b=2"}, e.Cookies); diff != "" {
				t.Error(diff)
			}
			h := e.RequestContext.HTTP
			if h.Method != "POST" || h.SourceIP != "127.0.0.1" || h.UserAgent != "me" || h.Protocol != "HTTP/1.1" || e.RequestContext.TimeEpoch == 0 {
				t.Errorf("context: %+v", e.RequestContext)
			}
			if e.Body != row.wantBody || e.IsBase64Encoded != row.base64 {
				t.Errorf("body %q, base64 %v", e.Body, e.IsBase64Encoded)
			}
		})
	}
}

// TestPrelude shows that status, headers and cookies are the function's own.
func TestPrelude(t *testing.T) {
	r := newRig(t, Config{})
	a := r.get("/pid")
	if a.StatusCode != 418 || a.Header.Get("X-One") != "1, 2" || a.Header.Get("Content-Type") != "text/x" || len(a.body) < 2 {
		t.Errorf("%d %v %q", a.StatusCode, a.Header, a.body)
	}
	if diff := cmp.Diff([]string{"a=1", "b=2"}, a.Header["Set-Cookie"]); diff != "" {
		t.Error(diff)
	}
}

// TestStreaming shows that a chunk reaches the client while the function waits
// before the next one.
func TestStreaming(t *testing.T) {
	r, g := newRig(t, Config{}), newGate(t)
	answer, err := http.Get(r.url + "/stream?gate=" + g.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	first, err := bufio.NewReader(answer.Body).ReadString(' ')
	if first != "one " || err != nil {
		t.Fatalf("%q %v", first, err)
	}
	<-g.arrived // the function waits, with two chunks to come
}

// TestBrokenAnswers shows how answers end that the function does not end: the
// client's connection breaks, and the next request is served.
func TestBrokenAnswers(t *testing.T) {
	r, g := newRig(t, Config{}), newGate(t)
	g.open()
	for _, path := range []string{"/broken", "/dies"} {
		if a := r.get(path + "?gate=" + g.URL); a.StatusCode != 200 || a.body != "one " || a.err == nil {
			t.Errorf("%s: %d %q, error %v; want a broken stream", path, a.StatusCode, a.body, a.err)
		}
		if a := r.get("/pid"); a.StatusCode != 418 {
			t.Errorf("after %s: %d %s", path, a.StatusCode, a.body)
		}
	}
	for _, path := range []string{"/error", "/panic", "/nothing"} {
		if a := r.get(path); a.StatusCode != 502 || a.err != nil {
			t.Errorf("%s: %d %q, want 502", path, a.StatusCode, a.body)
		}
		if a := r.get("/pid"); a.StatusCode != 418 {
			t.Errorf("after %s: %d %s", path, a.StatusCode, a.body)
		}
	}
	if n := r.Environments()[0].Processes; n != 3 { // one died in an answer, one after its panic
		t.Errorf("%d processes, want 3", n)
	}
}

// TestLimits shows the bounds of events and answers.
func TestLimits(t *testing.T) {
	r := newRig(t, Config{maxAnswer: 1 << 20})
	post := func(size int) got {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/pid", strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		return r.do(request)
	}
	if a := post(MaxEvent - 4096); a.StatusCode != 418 {
		t.Errorf("just below: %d %s", a.StatusCode, a.body)
	}
	for _, size := range []int{MaxEvent, 7 << 20, 20 << 20} {
		if a := post(size); a.StatusCode != 413 || !strings.Contains(a.body, "6291456") {
			t.Errorf("%d bytes: %d %s", size, a.StatusCode, a.body)
		}
	}
	if a := r.get("/huge"); a.err == nil || len(a.body) > 1<<20 {
		t.Errorf("an answer of %d bytes ended cleanly", len(a.body))
	}
	if a := r.get("/pid"); a.StatusCode != 418 {
		t.Errorf("after it: %d", a.StatusCode)
	}
}

// TestTornRequest shows that a body which breaks off is the client's fault, and
// wakes no environment.
func TestTornRequest(t *testing.T) {
	r := newRig(t, Config{})
	connection, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, _ = io.WriteString(connection, "POST /pid HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if e := r.Environments()[0]; answer.StatusCode != 400 || e.Invocations != 0 {
		t.Errorf("%d after %d invocations", answer.StatusCode, e.Invocations)
	}
}

// TestDeadline shows that a function is killed at its deadline, and replaced.
func TestDeadline(t *testing.T) {
	r, g := newRig(t, Config{Timeout: 700 * time.Millisecond}), newGate(t)
	before := r.get("/pid").body
	if a := r.get("/hang?gate=" + g.URL); a.StatusCode != 502 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := r.get("/after?gate=" + g.URL); a.StatusCode != 200 || a.body != "all" || a.err != nil {
		t.Errorf("the answer before work that never ends: %d %q %v", a.StatusCode, a.body, a.err)
	}
	if a := r.get("/pid"); a.StatusCode != 418 || a.body == before {
		t.Errorf("after it: %d by %s, before by %s", a.StatusCode, a.body, before)
	}
	if n := r.Environments()[0].Processes; n != 3 {
		t.Errorf("%d processes, want 3", n)
	}
}

// TestOneAtATime shows that each environment serves one invocation, that others
// wait, within bounds, and that all environments are used.
func TestOneAtATime(t *testing.T) {
	r, g := newRig(t, Config{Environments: 2, Queue: 3}), newGate(t)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { r.get("/hang?gate=" + g.URL) })
	}
	<-g.arrived
	<-g.arrived
	for range 3 {
		all.Go(func() {
			if a := r.get("/pid"); a.StatusCode != 418 {
				t.Errorf("one that waited: %d", a.StatusCode)
			}
		})
	}
	r.until("three wait", func([]Environment) bool { return r.Waiting() == 3 })
	if a := r.get("/pid"); a.StatusCode != 429 || !strings.Contains(a.body, "ConcurrentInvocationLimitExceeded") {
		t.Errorf("one too many: %d %s", a.StatusCode, a.body)
	}
	for _, e := range r.Environments() {
		if !e.Busy || e.Invocations != 1 {
			t.Errorf("%+v", e)
		}
	}
	g.open()
	all.Wait()
}

// TestSeveralAtATime shows an environment that serves several invocations.
func TestSeveralAtATime(t *testing.T) {
	r, g := newRig(t, Config{Concurrency: 3}), newGate(t)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if a := r.get("/stream?gate=" + g.URL); a.body != "one two three" || a.err != nil {
				t.Errorf("%q %v", a.body, a.err)
			}
		})
	}
	for range 3 {
		<-g.arrived // all three are on their way
	}
	g.open()
	all.Wait()
	if e := r.Environments()[0]; e.Processes != 1 || e.Invocations != 3 {
		t.Errorf("%+v", e)
	}
}

// TestClientLeaves shows that a function does not notice a client that leaves.
func TestClientLeaves(t *testing.T) {
	r, g := newRig(t, Config{}), newGate(t)
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/stream?gate="+g.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	<-g.arrived
	leave()
	answer.Body.Close()
	g.open()
	if a := r.get("/pid"); a.StatusCode != 418 {
		t.Errorf("the next request: %d", a.StatusCode)
	}
	if e := r.Environments()[0]; e.Processes != 1 {
		t.Errorf("%+v", e)
	}
}

// TestFreeze shows that a process is stopped between invocations, and serves
// again afterwards.
func TestFreeze(t *testing.T) {
	r := newRig(t, Config{Freeze: true})
	for range 3 {
		pid := r.get("/pid").body
		r.until("stopped", func([]Environment) bool {
			status, err := os.ReadFile("/proc/" + pid + "/stat")
			return err == nil && strings.Contains(string(status), ") T ")
		})
	}
	if e := r.Environments()[0]; e.Processes != 1 || e.Invocations != 3 {
		t.Errorf("%+v", e)
	}
}

// TestCrashingBootstrap shows that requests get an answer where no process ever
// asks for them.
func TestCrashingBootstrap(t *testing.T) {
	r := newRig(t, Config{Environments: 2, Env: []string{"FUNCTION=crash"}})
	for range 2 {
		if a := r.get("/pid"); a.StatusCode != 502 {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
	}
}

// TestClose shows that running invocations end, with what they leave, before
// the processes do.
func TestClose(t *testing.T) {
	r, g := newRig(t, Config{Environments: 2}), newGate(t)
	if a := r.get("/after?gate=" + g.URL); a.body != "all" {
		t.Fatalf("%q", a.body)
	}
	<-g.arrived
	closed := make(chan error, 1)
	go func() { closed <- r.Close(context.Background()) }()
	<-r.closing
	if a := r.get("/pid"); a.StatusCode != 503 {
		t.Errorf("a request meanwhile: %d", a.StatusCode)
	}
	select {
	case err := <-closed:
		t.Errorf("closed with work left: %v", err)
	default:
	}
	g.open()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for _, e := range r.Environments() {
		if e.PID != 0 {
			t.Errorf("still there: %+v", e)
		}
	}
}
