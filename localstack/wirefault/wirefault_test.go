package wirefault_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"holdfast/localstack/wirefault"
)

// behind stands for DynamoDB: it answers by operation and keeps what arrived.
type behind struct {
	mu      sync.Mutex
	answers map[string]string
	status  map[string]int
	arrived []string // operation and body
}

func (b *behind) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arrived = append(b.arrived, operation+" "+string(body))
	w.Header().Set("X-Amz-Crc32", "1")
	if status := b.status[operation]; status != 0 {
		w.WriteHeader(status)
	}
	io.WriteString(w, b.answers[operation])
}

func (b *behind) operations() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.arrived
}

const plainAnswer = `{"Attributes":{"n":{"N":"12345"}}}`

// start returns a front before a server that answers PutItem and GetItem.
func start(t *testing.T, items wirefault.Items) (*wirefault.Front, *behind, string) {
	t.Helper()
	b := &behind{answers: map[string]string{"PutItem": plainAnswer, "GetItem": `{"Item":{"pk":{"B":"cA=="},"v":{"S":"stands"}}}`}, status: map[string]int{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	front := wirefault.New(wirefault.Config{Target: server.URL, Items: items})
	outer := httptest.NewServer(front)
	t.Cleanup(outer.Close)
	return front, b, outer.URL
}

type result struct {
	status   int
	body     string
	checksum string
	err      error
}

func call(url, operation, body string, timeout time.Duration) result {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return result{err: err}
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return result{err: err}
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	return result{status: resp.StatusCode, body: string(read), checksum: resp.Header.Get("X-Amz-Crc32"), err: err}
}

const put = `{"TableName":"x-state","Item":{"pk":{"B":"cA=="},"sk":{"B":"cw=="}}}`

func TestFaults(t *testing.T) {
	isTimeout := func(err error) bool {
		var timeout interface{ Timeout() bool }
		return errors.As(err, &timeout) && timeout.Timeout()
	}
	whole := func(r result) bool { return r.err == nil && r.status == 200 && r.body == plainAnswer }
	for _, row := range []struct {
		name    string
		fault   wirefault.Fault
		arrives bool
		shows   func(result) bool
	}{
		{"none", wirefault.Fault{}, true, whole},
		{"throttle", wirefault.Fault{Kind: wirefault.Throttle}, false, func(r result) bool {
			return r.status == 400 && strings.Contains(r.body, "#ProvisionedThroughputExceededException")
		}},
		{"500, not applied", wirefault.Fault{Kind: wirefault.Error}, false, func(r result) bool { return r.status == 500 }},
		{"500, applied", wirefault.Fault{Kind: wirefault.Error, Applied: true}, true, func(r result) bool { return r.status == 500 }},
		{"drop, not applied", wirefault.Fault{Kind: wirefault.Drop}, false, func(r result) bool { return errors.Is(r.err, io.EOF) }},
		{"drop, applied", wirefault.Fault{Kind: wirefault.Drop, Applied: true}, true, func(r result) bool { return errors.Is(r.err, io.EOF) }},
		{"reset, not applied", wirefault.Fault{Kind: wirefault.Reset}, false, func(r result) bool { return errors.Is(r.err, syscall.ECONNRESET) }},
		{"reset, applied", wirefault.Fault{Kind: wirefault.Reset, Applied: true}, true, func(r result) bool { return errors.Is(r.err, syscall.ECONNRESET) }},
		{"silence, not applied", wirefault.Fault{Kind: wirefault.Silence}, false, func(r result) bool { return isTimeout(r.err) }},
		{"silence, applied", wirefault.Fault{Kind: wirefault.Silence, Applied: true}, true, func(r result) bool { return isTimeout(r.err) }},
		{"slow there", wirefault.Fault{Kind: wirefault.Slow, Delay: time.Millisecond}, true, whole},
		{"slow back", wirefault.Fault{Kind: wirefault.Slow, Delay: time.Millisecond, Applied: true}, true, whole},
		{"torn", wirefault.Fault{Kind: wirefault.Torn}, true, func(r result) bool {
			return r.status == 200 && errors.Is(r.err, io.ErrUnexpectedEOF) && r.body == plainAnswer[:len(plainAnswer)/2]
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			front, b, url := start(t, wirefault.AsBehind)
			front.Inject(wirefault.Rule{Fault: row.fault})
			timeout := 10 * time.Second
			if row.fault.Kind == wirefault.Silence {
				timeout = 300 * time.Millisecond
			}
			if got := call(url, "PutItem", put, timeout); !row.shows(got) {
				t.Errorf("got %+v", got)
			}
			if arrived := len(b.operations()) == 1; arrived != row.arrives {
				t.Errorf("the server saw %q", b.operations())
			}
			if got := call(url, "PutItem", put, 10*time.Second); !whole(got) {
				t.Errorf("after the fault: %+v", got)
			}
			if got := front.Counts()["PutItem"]; got != 2 {
				t.Errorf("counted %d, want 2", got)
			}
		})
	}
}

// A slow request arrives although its client has long gone.
func TestSlowArrivesAfterItsClientLeft(t *testing.T) {
	b := &behind{answers: map[string]string{}}
	server := httptest.NewServer(b)
	defer server.Close()
	front := wirefault.New(wirefault.Config{Target: server.URL})
	front.Inject(wirefault.Rule{Fault: wirefault.Fault{Kind: wirefault.Slow, Delay: 500 * time.Millisecond}})
	outer := httptest.NewServer(front)
	if got := call(outer.URL, "PutItem", put, 50*time.Millisecond); got.err == nil {
		t.Errorf("answered %+v", got)
	}
	if got := b.operations(); len(got) != 0 {
		t.Errorf("arrived at once: %q", got)
	}
	outer.Close() // waits for the handler
	if got := b.operations(); len(got) != 1 {
		t.Errorf("the server saw %q, want the one late request", got)
	}
}

func TestRules(t *testing.T) {
	front, _, url := start(t, wirefault.AsBehind)
	fail := wirefault.Fault{Kind: wirefault.Error}
	front.Inject(
		wirefault.Rule{Operation: "PutItem", Table: "-state", Skip: 1, Times: 2, Fault: fail},
		wirefault.Rule{Operation: "GetItem", Times: -1, Fault: fail},
		wirefault.Rule{Table: "-config", Times: -1, Fault: fail},
	)
	status := func(operation, table string) int {
		return call(url, operation, fmt.Sprintf(`{"TableName":%q}`, table), 10*time.Second).status
	}
	for i, row := range []struct {
		operation, table string
		want             int
	}{
		{"PutItem", "x-state", 200}, {"PutItem", "x-ledger", 200}, {"PutItem", "x-state", 500}, {"PutItem", "x-state", 500}, {"PutItem", "x-state", 200},
		{"GetItem", "x-state", 500}, {"GetItem", "x-state", 500}, {"Query", "x-config", 500}, {"Query", "x-state", 200},
	} {
		if got := status(row.operation, row.table); got != row.want {
			t.Errorf("request %d, %s on %s: %d, want %d", i, row.operation, row.table, got, row.want)
		}
	}
	if d := cmp.Diff(map[string]int{"PutItem": 5, "GetItem": 2, "Query": 2}, front.Counts()); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
	batch := `{"RequestItems":{"x-affinity":{"Keys":[]},"x-config":{"Keys":[]}}}`
	if got := call(url, "BatchGetItem", batch, 10*time.Second); got.status != 500 {
		t.Errorf("a batch with the table: %d, want 500", got.status)
	}
	front.Decide(func(r wirefault.Request) wirefault.Fault {
		if d := cmp.Diff(wirefault.Request{Operation: "Query", Tables: []string{"x-state"}}, r); d != "" {
			t.Errorf("asked about (-want +got):\n%s", d)
		}
		return fail
	})
	if got := status("Query", "x-state"); got != 500 {
		t.Errorf("decided by function: %d, want 500", got)
	}
	front.Clear()
	front.ResetCounts()
	if got := status("GetItem", "x-config"); got != 200 || front.Counts()["GetItem"] != 1 {
		t.Errorf("after Clear: %d, counts %v", got, front.Counts())
	}
}

const conditionFailed = `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"}`

// The item is added to a failed condition that asks for it, or taken away.
func TestItems(t *testing.T) {
	const asks = `,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`
	const withItem = `{"__type":"x#ConditionalCheckFailedException","Item":{"v":{"S":"stands"}}}`
	const otherFailure = `{"__type":"x#ValidationException"}`
	update := `{"TableName":"x-state","Key":{"pk":{"B":"cA=="},"sk":{"B":"cw=="}}%s}`
	putting := `{"TableName":"x-state","Item":{"pk":{"B":"cA=="},"sk":{"B":"cw=="},"v":{"S":"new"}}%s}`
	for _, row := range []struct {
		name            string
		items           wirefault.Items
		operation, body string
		behind          string
		has, changed    bool
	}{
		{"put", wirefault.Returned, "PutItem", fmt.Sprintf(putting, asks), conditionFailed, true, true},
		{"update", wirefault.Returned, "UpdateItem", fmt.Sprintf(update, asks), conditionFailed, true, true},
		{"not asked for", wirefault.Returned, "PutItem", fmt.Sprintf(putting, ""), conditionFailed, false, false},
		{"there already", wirefault.Returned, "PutItem", fmt.Sprintf(putting, asks), withItem, true, false},
		{"other failure", wirefault.Returned, "PutItem", fmt.Sprintf(putting, asks), otherFailure, false, false},
		{"as behind, without", wirefault.AsBehind, "PutItem", fmt.Sprintf(putting, asks), conditionFailed, false, false},
		{"as behind, with", wirefault.AsBehind, "PutItem", fmt.Sprintf(putting, asks), withItem, true, false},
		{"withheld", wirefault.Withheld, "PutItem", fmt.Sprintf(putting, asks), withItem, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, b, url := start(t, row.items)
			b.answers[row.operation], b.status[row.operation] = row.behind, 400
			got := call(url, row.operation, row.body, 10*time.Second)
			if got.status != 400 || strings.Contains(got.body, `"stands"`) != row.has {
				t.Errorf("got %+v, want the item: %v", got, row.has)
			}
			if (got.checksum == "") != row.changed {
				t.Errorf("checksum %q of an answer that was changed: %v", got.checksum, row.changed)
			}
			if len(b.operations()) < 2 {
				return
			}
			_, get, _ := strings.Cut(b.operations()[1], "GetItem ")
			want := `{"ConsistentRead":true,"Key":{"pk":{"B":"cA=="},"sk":{"B":"cw=="}},"TableName":"x-state"}`
			if d := cmp.Diff(want, canonical(t, get)); d != "" {
				t.Errorf("read-back (-want +got):\n%s", d)
			}
		})
	}
}

func TestPartial(t *testing.T) {
	front, b, url := start(t, wirefault.AsBehind)
	b.answers["BatchGetItem"] = `{"Responses":{"a":[{"k":{"S":"1"}}]},"UnprocessedKeys":{"b":{"Keys":[{"k":{"S":"3"}}],"ConsistentRead":true}}}`
	front.Inject(wirefault.Rule{Times: 2, Fault: wirefault.Fault{Kind: wirefault.Partial}})
	request := `{"RequestItems":{"a":{"Keys":[{"k":{"S":"1"}},{"k":{"S":"2"}}],"ConsistentRead":true},"b":{"Keys":[{"k":{"S":"3"}},{"k":{"S":"4"}},{"k":{"S":"5"}},{"k":{"S":"6"}}],"ConsistentRead":true}}}`
	got := call(url, "BatchGetItem", request, 10*time.Second)
	want := `{"Responses":{"a":[{"k":{"S":"1"}}]},"UnprocessedKeys":{"b":{"Keys":[{"k":{"S":"3"}},{"k":{"S":"4"}},{"k":{"S":"5"}},{"k":{"S":"6"}}],"ConsistentRead":true}}}`
	if d := cmp.Diff(canonical(t, want), canonical(t, got.body)); d != "" {
		t.Errorf("answer (-want +got):\n%s", d)
	}
	sent := `{"RequestItems":{"a":{"Keys":[{"k":{"S":"1"}},{"k":{"S":"2"}}],"ConsistentRead":true},"b":{"Keys":[{"k":{"S":"3"}}],"ConsistentRead":true}}}`
	if d := cmp.Diff("BatchGetItem "+canonical(t, sent), "BatchGetItem "+canonical(t, strings.TrimPrefix(b.operations()[0], "BatchGetItem "))); d != "" {
		t.Errorf("forwarded (-want +got):\n%s", d)
	}
	single := `{"RequestItems":{"a":{"Keys":[{"k":{"S":"1"}}]}}}`
	got = call(url, "BatchGetItem", single, 10*time.Second)
	if d := cmp.Diff(canonical(t, `{"Responses":{},"UnprocessedKeys":{"a":{"Keys":[{"k":{"S":"1"}}]}}}`), canonical(t, got.body)); d != "" {
		t.Errorf("of one key none is served (-want +got):\n%s", d)
	}
	if len(b.operations()) != 1 {
		t.Errorf("the server saw %q", b.operations())
	}
}

func TestServerBehindIsGone(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	outer := httptest.NewServer(wirefault.New(wirefault.Config{Target: gone.URL}))
	defer outer.Close()
	if got := call(outer.URL, "PutItem", put, 10*time.Second); got.status != http.StatusBadGateway {
		t.Errorf("got %+v, want 502", got)
	}
}

// canonical orders members, since the front's answers are made of maps.
func canonical(t *testing.T, s string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.EscapeForHTML(false))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
