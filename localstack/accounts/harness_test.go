package accounts_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts"
)

// clock is time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// object is a JSON object that a test looks into.
type object map[string]any

// at follows keys and list indices; nil where there is nothing.
func (o object) at(path ...any) any {
	var v any = map[string]any(o)
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func (o object) text(path ...any) string { s, _ := o.at(path...).(string); return s }

func (o object) number(path ...any) int { n, _ := o.at(path...).(float64); return int(n) }

// encode writes a request.
func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // of reading the body
}

func (a answer) object(t testing.TB) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(a.body, &o); err != nil {
		t.Fatalf("status %d, not JSON: %v: %s", a.status, err, a.body)
	}
	return o
}

// event is one server-sent event.
type event struct{ name, data string }

func (a answer) events() []event {
	var list []event
	for block := range strings.SplitSeq(string(a.body), "\n\n") {
		var e event
		for line := range strings.SplitSeq(block, "\n") {
			if v, ok := strings.CutPrefix(line, "event: "); ok {
				e.name = v
			}
			if v, ok := strings.CutPrefix(line, "data: "); ok {
				e.data = v
			}
		}
		if e.data != "" {
			list = append(list, e)
		}
	}
	return list
}

// call sends one request over a connection of its own.
func call(t testing.TB, method, url, body string, header ...string) (answer, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if strings.Contains(url, "/messages") && req.Header.Get("Anthropic-Version") == "" {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	a.body, a.err = io.ReadAll(resp.Body)
	return a, nil
}

// must is a call that gets a whole answer.
func must(t testing.TB, method, url, body string, header ...string) answer {
	t.Helper()
	a, err := call(t, method, url, body, header...)
	if err := errors.Join(err, a.err); err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return a
}

// ok is a call that succeeds with JSON.
func ok(t testing.TB, method, url, body string, header ...string) object {
	t.Helper()
	a := must(t, method, url, body, header...)
	if a.status != http.StatusOK {
		t.Fatalf("%s %s: %d: %s", method, url, a.status, a.body)
	}
	return a.object(t)
}

// start runs one account with a clock.
func start(t testing.TB, c accounts.Config) (*accounts.Account, string) {
	t.Helper()
	if c.Name == "" {
		c.Name = "alpha"
	}
	fleet := accounts.StartConfigT(t, c)
	return fleet.Account(c.Name), fleet.URL(c.Name)
}

// raw is JSON that goes into a request as it is.
func raw(s string) jsontext.Value { return jsontext.Value(s) }

// words is text of about so many tokens.
func words(label string, tokens int) string {
	return string(bytes.Repeat([]byte(label+" "), tokens*4/(len(label)+1)))
}
