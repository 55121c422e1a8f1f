package runtimeapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/go-json-experiment/json"
)

// TestMain lets the test's own binary be the bootstrap that the tests run.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("FUNCTION") == "crash" {
		os.Exit(3)
	}
	lambda.StartHandlerFunc(function)
}

// function does what the path asks for. What it is to wait for is behind the
// address of its query.
func function(_ context.Context, e events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
	name := strings.TrimPrefix(e.RawPath, "/")
	a := &events.LambdaFunctionURLStreamingResponse{StatusCode: 200, Headers: map[string]string{"Content-Type": "text/plain"}}
	gate := e.QueryStringParameters["gate"]
	switch name {
	case "error":
		return nil, errors.New("no answer")
	case "panic":
		panic("at once")
	case "hang":
		wait(gate)
		a.Body = strings.NewReader("late")
	case "pid":
		a.StatusCode = 418
		a.Headers = map[string]string{"X-One": "1, 2", "Content-Length": "1", "Content-Type": "text/x"}
		a.Cookies = []string{"a=1", "b=2"}
		a.Body = strings.NewReader(fmt.Sprint(os.Getpid()))
	case "nothing":
		a.Body = strings.NewReader("")
	case "huge":
		a.Body = io.LimitReader(zeros{}, 2<<20)
	case "stream":
		a.Body = &stream{gate: gate, chunks: []string{"one ", "two ", "three"}}
	case "broken":
		a.Body = &stream{gate: gate, chunks: []string{"one "}, end: errors.New("it broke")}
	case "dies":
		a.Body = &stream{gate: gate, chunks: []string{"one "}, dies: true}
	case "after":
		a.Body = &stream{gate: gate, chunks: []string{"all"}, after: gate}
	default:
		text, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		a.Body = bytes.NewReader(text)
	}
	return a, nil
}

// wait returns when the test lets it.
func wait(gate string) {
	if answer, err := http.Get(gate); err == nil {
		answer.Body.Close()
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// stream is a body that waits at the gate before every chunk but the first.
type stream struct {
	gate   string
	chunks []string
	sent   int
	end    error
	dies   bool
	after  string
}

func (s *stream) Read(p []byte) (int, error) {
	switch {
	case s.sent > 0 && s.after == "":
		wait(s.gate)
	}
	if s.sent == len(s.chunks) {
		if s.dies {
			os.Exit(4)
		}
		if s.end != nil {
			return 0, s.end
		}
		return 0, io.EOF
	}
	s.sent++
	return copy(p, s.chunks[s.sent-1]), nil
}

// Close is what the function leaves to do after its answer.
func (s *stream) Close() error {
	if s.after != "" {
		wait(s.after)
	}
	return nil
}

// gate is where functions wait until the test lets them pass.
type gate struct {
	*httptest.Server
	arrived chan struct{}
	pass    chan struct{}
	once    sync.Once
}

func newGate(t *testing.T) *gate {
	g := &gate{arrived: make(chan struct{}, 64), pass: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		g.arrived <- struct{}{}
		select {
		case <-g.pass:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { g.open(); g.Close() })
	return g
}

func (g *gate) open() { g.once.Do(func() { close(g.pass) }) }

// rig is a Runtime behind a server.
type rig struct {
	*Runtime
	t   *testing.T
	url string
}

func newRig(t *testing.T, c Config) *rig {
	t.Helper()
	c.Bootstrap = os.Args[0]
	r, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(r)
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.Close(ended) // what still runs is killed
		server.Close()
	})
	return &rig{Runtime: r, t: t, url: server.URL}
}

// got is an answer with its whole body.
type got struct {
	*http.Response
	body string
	err  error
}

func (r *rig) get(path string) got {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.do(request)
}

func (r *rig) do(request *http.Request) got {
	r.t.Helper()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return got{answer, string(body), err}
}

// until waits for a state of the environments.
func (r *rig) until(what string, reached func([]Environment) bool) {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(20 * time.Second)
	for !reached(r.Environments()) {
		select {
		case <-tick.C:
		case <-limit:
			r.t.Fatalf("not reached: %s: %+v", what, r.Environments())
		}
	}
}
