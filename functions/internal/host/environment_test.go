package host

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"holdfast/localstack/runtimeapi"
)

// TestMain lets the test's own binary be the bootstrap that the tests run in
// real environments.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") == "" {
		os.Exit(m.Run())
	}
	(&Lambda{Handler: bootstrap(), Log: slog.New(slog.DiscardHandler)}).Start()
}

// bootstrap is the handler of those environments. It waits at addresses that
// its requests name.
func bootstrap() http.Handler {
	var after After
	mux := http.NewServeMux()
	mux.HandleFunc("/pid", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, os.Getpid()) })
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic("early") })
	mux.HandleFunc("/late", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "half"); panic("late") })
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			fmt.Fprintln(w, r.FormValue("name"), i)
			arrive(r.FormValue("gate"))
		}
	})
	mux.HandleFunc("/leaves", func(w http.ResponseWriter, r *http.Request) {
		gate := r.FormValue("gate")
		after.Go(r.Context(), func(context.Context) { arrive(gate) })
		_, _ = io.WriteString(w, "all")
	})
	return mux
}

func arrive(gate string) {
	if answer, err := http.Get(gate); err == nil {
		answer.Body.Close()
	}
}

// environments starts environments behind a function URL and returns its
// address.
func environments(t *testing.T, c runtimeapi.Config) string {
	t.Helper()
	_, url := start(t, c)
	return url
}

func start(t *testing.T, c runtimeapi.Config) (*runtimeapi.Runtime, string) {
	t.Helper()
	c.Bootstrap = os.Args[0]
	r, err := runtimeapi.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(r)
	t.Cleanup(func() {
		if err := r.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		front.Close()
	})
	return r, front.URL
}

// gate is where handlers wait until the test lets them pass.
func gate(t *testing.T) (url string, arrived <-chan struct{}, open func()) {
	came, pass := make(chan struct{}, 256), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		came <- struct{}{}
		<-pass
	}))
	open = sync.OnceFunc(func() { close(pass) })
	t.Cleanup(func() { open(); server.Close() })
	return server.URL, came, open
}

// get returns the status and the body, and how reading that ended.
func get(t *testing.T, method, url string) (status int, body string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// TestL2 shows in a real environment that a panic becomes a 500, a late one a
// broken stream, and that the same process serves what comes next.
func TestL2(t *testing.T) {
	url := environments(t, runtimeapi.Config{})
	_, process, _ := get(t, "GET", url+"/pid")
	for range 2 {
		if status, body, err := get(t, "GET", url+"/panic"); status != 500 || !strings.Contains(body, `"error"`) || err != nil {
			t.Errorf("a panic: %d %q %v", status, body, err)
		}
		if status, body, err := get(t, "GET", url+"/late"); status != 200 || body != "half" || err == nil {
			t.Errorf("a late panic: %d %q %v, want a broken stream", status, body, err)
		}
		if _, now, _ := get(t, "GET", url+"/pid"); now != process || now == "" {
			t.Errorf("served by process %s, before by %s", now, process)
		}
	}
}

// TestEmptyAnswersEnd shows that answers without a body end.
func TestEmptyAnswersEnd(t *testing.T) {
	url := environments(t, runtimeapi.Config{})
	for _, row := range []struct {
		method, path string
		status       int
	}{{"GET", "/empty", 204}, {"HEAD", "/pid", 200}, {"HEAD", "/empty", 204}, {"GET", "/nowhere", 404}} {
		if status, _, err := get(t, row.method, url+row.path); status != row.status || err != nil {
			t.Errorf("%s %s: %d %v", row.method, row.path, status, err)
		}
	}
}

// TestStreamsInTime shows that what a handler has written reaches the client
// while the handler waits.
func TestStreamsInTime(t *testing.T) {
	url := environments(t, runtimeapi.Config{})
	at, arrived, open := gate(t)
	answer, err := http.Get(url + "/stream?name=a&gate=" + at)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	if line, err := lines.ReadString('\n'); line != "a 0\n" || err != nil {
		t.Errorf("%q %v", line, err)
	}
	<-arrived // nothing more has been written yet
	open()
	if rest, err := io.ReadAll(lines); string(rest) != "a 1\na 2\n" || err != nil {
		t.Errorf("%q %v", rest, err)
	}
}

// TestAfterHoldsTheNextInvocation shows that the client's stream ends before
// after-response work does, and that the environment takes nothing new before
// that.
func TestAfterHoldsTheNextInvocation(t *testing.T) {
	environment, url := start(t, runtimeapi.Config{Freeze: true})
	at, arrived, open := gate(t)
	if status, body, err := get(t, "GET", url+"/leaves?gate="+at); status != 200 || body != "all" || err != nil {
		t.Fatalf("%d %q %v", status, body, err)
	}
	<-arrived // the work has begun, and waits
	next := make(chan string, 1)
	go func() {
		_, body, _ := get(t, "GET", url+"/pid")
		next <- body
	}()
	for environment.Waiting() == 0 {
		select {
		case <-next:
			t.Fatal("the next invocation was served before the work was done")
		default:
			runtime.Gosched()
		}
	}
	open()
	if <-next == "" {
		t.Error("the next invocation was not served")
	}
	if len(arrived) > 0 {
		t.Error("the work ran twice")
	}
}

// TestSeveralInvocationsAtOnce shows that invocations in one process do not
// meet: neither their answers nor what they leave.
func TestSeveralInvocationsAtOnce(t *testing.T) {
	const several = 8
	url := environments(t, runtimeapi.Config{Concurrency: several})
	at, arrived, open := gate(t)
	var all sync.WaitGroup
	for i := range several {
		all.Go(func() {
			name := fmt.Sprint("n", i)
			_, body, err := get(t, "GET", url+"/stream?name="+name+"&gate="+at)
			if body != name+" 0\n"+name+" 1\n"+name+" 2\n" || err != nil {
				t.Errorf("%q %v", body, err)
			}
		})
	}
	for range several {
		<-arrived
	}
	open()
	all.Wait()
	held, begun, free := gate(t)
	if _, body, err := get(t, "GET", url+"/leaves?gate="+held); body != "all" || err != nil {
		t.Errorf("%q %v", body, err)
	}
	<-begun // one invocation has work left: the others' answers do not wait for it
	for range several {
		if _, body, err := get(t, "GET", url+"/leaves?gate="+at); body != "all" || err != nil {
			t.Errorf("%q %v", body, err)
		}
	}
	free()
}
