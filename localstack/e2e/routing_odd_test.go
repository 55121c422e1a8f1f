package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// oddity is a provider that answers as no provider should.
type oddity struct {
	answer atomic.Pointer[http.HandlerFunc]
	calls  atomic.Int64
}

// ServeHTTP answers in the way of the row.
func (o *oddity) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.calls.Add(1)
	_, _ = io.Copy(io.Discard, r.Body)
	(*o.answer.Load())(w, r)
}

// odd makes a world in which the account alpha is an oddity that every new
// session prefers, and bravo a sound one.
func odd(t *testing.T) (*scene, *oddity) {
	o := &oddity{}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	only := map[string]string{}
	for _, protocol := range protocols() {
		only[protocol+"-bravo"], only[protocol+"-charlie"] = "weight: 0.000001", "weight: 0"
	}
	return newScene(t, world{base: map[string]string{"alpha": server.URL}, only: only, each: "idle_timeout: 500ms"}), o
}

// with answers with a status, a content type and a body.
func with(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// json answers 200 with a JSON body.
func json200(body string) http.HandlerFunc { return with(200, "application/json", body) }

// oddAnswers are what an endpoint's JSON request may be answered with, and what
// becomes of it: the calls at the odd provider, and the status that the client
// sees; 200 is another deployment's answer.
func oddAnswers() []struct {
	name   string
	answer http.HandlerFunc
	calls  int64
	status int
} {
	page := "<html><body>Bad gateway of https://internal.example</body></html>"
	return []struct {
		name   string
		answer http.HandlerFunc
		calls  int64
		status int
	}{
		{"an error inside", json200(`{"error":{"message":"overloaded","type":"server_error"}}`), 2, 200},
		{"an error without words inside", json200(`{"error":{"message":"no"}}`), 2, 200},
		{"an error of text inside", json200(`{"error":"model is loading"}`), 2, 200},
		{"a limit inside", json200(`{"error":{"message":"slow down","code":429}}`), 2, 200},
		{"no credit inside", json200(`{"error":{"message":"empty","code":"insufficient_quota"}}`), 1, 200},
		{"a refused key inside", json200(`{"error":{"message":"bad key","code":401}}`), 1, 200},
		{"a bad parameter inside", json200(`{"error":{"message":"temperature: too high","type":"invalid_request_error"}}`), 1, 400},
		{"a long prompt inside", json200(`{"error":{"message":"too long","code":"context_length_exceeded"}}`), 1, 400},
		{"no answer's members", json200(`{"message":"upstream connect error"}`), 2, 200},
		{"an empty object", json200(`{}`), 2, 200},
		{"null", json200(`null`), 2, 200},
		{"a list", json200(`[{"choices":[]}]`), 2, 200},
		{"a page", with(200, "text/html", page), 2, 200},
		{"nothing", json200(""), 2, 200},
		{"204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 2, 200},
		{"304", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }, 2, 200},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, 2, 200},
		{"two answers", json200(`{"choices":[]}{"choices":[]}`), 2, 200},
		{"a short body", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4000")
			_, _ = io.WriteString(w, `{"choices":[`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 2, 200},
		{"a stream of nothing", with(200, eventStream, ": hello\n\n"), 2, 200},
		{"a page with 500", with(500, "text/html", page), 2, 200},
		{"a page with 429", with(429, "text/html", page), 2, 200},
		{"a page with 401", with(401, "text/html", page), 1, 200},
		{"a page with 413", with(413, "text/html", page), 1, 413},
		{"a status of its own", with(599, "text/plain", "what"), 2, 200},
		{"a list as an error", with(503, "application/json", `[{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]`), 2, 200},
	}
}

// eventStream is the content type of a stream.
const eventStream = "text/event-stream"

// TestOddAnswers shows that whatever is no answer of the protocol is a failure
// of the provider's: the request moves on, and nothing of it reaches the client.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	s, o := odd(t)
	for _, endpoint := range protocols() {
		for _, row := range oddAnswers() {
			name := row.name + ", " + endpoint
			o.answer.Store(&row.answer)
			o.calls.Store(0)
			a := turnOf(t, s.URL, endpoint, row.name, false)
			if n := o.calls.Load(); a.StatusCode != row.status || n != row.calls {
				t.Errorf("%s: %d after %d calls, want %d after %d\n%.300s", name, a.StatusCode, n, row.status, row.calls, a.body)
			}
			if row.status == 200 && a.deployment() != endpoint+"-bravo" {
				t.Errorf("%s: served by %s", name, a.deployment())
			}
			if strings.Contains(a.body, "<html>") || strings.Contains(a.body, "internal.example") {
				t.Errorf("%s: the client sees %s", name, a.body)
			}
			if row.status != 200 {
				relayed(t, name, endpoint, a, row.status)
			}
			s.wake(row.name)
		}
	}
}

// wake ends the rest of an account without credit: a new gateway on an empty
// store has never heard of it.
func (s *scene) wake(row string) {
	if strings.Contains(row, "credit") {
		s.become(func(*world) {})
	}
}

// TestOddStreams does the same for what a streamed request may be answered with.
func TestOddStreams(t *testing.T) {
	t.Parallel()
	stream := func(body string) http.HandlerFunc { return with(200, eventStream, body) }
	rows := []struct {
		name, body string
		calls      int64
	}{
		{"nothing", "", 2},
		{"comments", ": hello\n\n: still here\n\n", 2},
		{"words", "data: hello\n\n", 2},
		{"half a line", `data: {"id":`, 2},
		{"an error with a code", "data: {\"error\":{\"code\":503,\"message\":\"busy\"}}\n\n", 2},
		{"an error event of no protocol", "event: error\ndata: {\"error\":{\"message\":\"busy\"}}\n\n", 2},
		{"an error without credit", "event: error\ndata: {\"type\":\"error\",\"error\":{\"code\":\"insufficient_quota\",\"type\":\"insufficient_quota\",\"message\":\"busy\"}}\n\n", 1},
		{"a line without end", "data: " + strings.Repeat("x", 20<<20), 2},
		{"a JSON error", "", 2},
		{"silence", "", 2},
	}
	s, o := odd(t)
	for _, endpoint := range protocols() {
		for _, row := range rows {
			answer := stream(row.body)
			switch row.name {
			case "a JSON error":
				answer = json200(`{"error":{"message":"overloaded","type":"server_error"}}`)
			case "silence":
				answer = func(w http.ResponseWriter, r *http.Request) {
					stream(": begun\n\n")(w, r)
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				}
			}
			o.answer.Store(&answer)
			o.calls.Store(0)
			name := row.name + ", " + endpoint
			a := turnOf(t, s.URL, endpoint, row.name, true)
			served(t, name, endpoint, true, a, "moved")
			if n := o.calls.Load(); n != row.calls || a.deployment() != endpoint+"-bravo" {
				t.Errorf("%s: %d calls, then served by %s, want %d", name, n, a.deployment(), row.calls)
			}
			s.wake(row.name)
		}
	}
}

// TestOddPauses shows that a stream which falls silent after output is ended as
// a failure, and that one which only sends comments is not silent.
func TestOddPauses(t *testing.T) {
	t.Parallel()
	chunk := func(text string) string {
		return fmt.Sprintf(`data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`+"\n\n", text)
	}
	const end = `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	say := func(w http.ResponseWriter, text string) {
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
	}
	s, o := odd(t)
	silent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", eventStream)
		say(w, chunk("one "))
		<-r.Context().Done()
	})
	o.answer.Store(&silent)
	a := turnOf(t, s.URL, "chat", "silent", true)
	if a.StatusCode != 200 || a.err == nil || errorEvents("chat", a.body) != 1 || o.calls.Load() != 1 {
		t.Errorf("silence after output: %d (%v) after %d calls\n%s", a.StatusCode, a.err, o.calls.Load(), a.body)
	}
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", eventStream)
		say(w, chunk("one "))
		for range 8 {
			time.Sleep(100 * time.Millisecond) // less than the idle timeout, more in all
			say(w, ": working\n\n")
		}
		say(w, chunk("two")+end)
	})
	o.answer.Store(&slow)
	if a := turnOf(t, s.URL, "chat", "silent", true); !whole("chat", a) || !strings.Contains(a.body, "two") {
		t.Errorf("comments: %d (%v)\n%s", a.StatusCode, a.err, a.body)
	}
}
