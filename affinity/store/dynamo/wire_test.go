package dynamo_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"holdfast/affinity/store"
	"holdfast/affinity/store/dynamo"
	"holdfast/affinity/store/storetest"
	"holdfast/infra/table"
	"holdfast/localstack/wirefault"
)

// P4: what each call costs on the wire when nothing goes wrong, and that the
// observer sees the same requests as the server.
func TestRequestsPerCall(t *testing.T) {
	for _, row := range []struct {
		name   string
		allOld bool
		call   func(t *testing.T, s *dynamo.Store)
		want   map[string]int
	}{
		{"read of 25 keys in 4 tables", false, readMany, map[string]int{"BatchGetItem": 1}},
		{"read of one key given 25 times", false, readSame, map[string]int{"BatchGetItem": 1}},
		{"read of no keys", false, func(t *testing.T, s *dynamo.Store) { _, _ = s.Read(t.Context()) }, map[string]int{}},
		{"swap", false, func(t *testing.T, s *dynamo.Store) { swapAbsent(t, s, nil) }, map[string]int{"PutItem": 1}},
		{"conflict, item returned", true, conflicting, map[string]int{"PutItem": 2}},
		{"conflict, read back", false, conflicting, map[string]int{"PutItem": 2, "GetItem": 1}},
		{"add to absent and live", false, addTwice, map[string]int{"UpdateItem": 2}},
		{"query", false, queryOnce, map[string]int{"Query": 1}},
		{"bad calls", false, badCalls, map[string]int{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFixture(t, row.allOld)
			var mu sync.Mutex
			observed := map[string]int{}
			s := f.open(t, func(c *dynamo.Config) {
				c.Observe = func(a dynamo.Attempt) {
					mu.Lock()
					defer mu.Unlock()
					observed[a.Operation]++
				}
			})
			row.call(t, s)
			if d := cmp.Diff(row.want, f.front.Counts()); d != "" {
				t.Errorf("requests (-want +got):\n%s", d)
			}
			if d := cmp.Diff(row.want, observed); d != "" {
				t.Errorf("observed (-want +got):\n%s", d)
			}
		})
	}
}

func readMany(t *testing.T, s *dynamo.Store) {
	var keys []store.Key
	for i := range store.MaxReadKeys {
		keys = append(keys, store.Key{Table: store.Tables()[i%4], Partition: "p", Sort: fmt.Sprint(i)})
	}
	if _, err := s.Read(t.Context(), keys...); err != nil {
		t.Error(err)
	}
}

func readSame(t *testing.T, s *dynamo.Store) {
	keys := make([]store.Key, store.MaxReadKeys)
	for i := range keys {
		keys[i] = key
	}
	handles, err := s.Read(t.Context(), keys...)
	if err != nil || len(handles) != len(keys) {
		t.Errorf("%d handles, error %v", len(handles), err)
	}
}

func swapAbsent(t *testing.T, s *dynamo.Store, want error) {
	t.Helper()
	_, err := s.Swap(t.Context(), store.NewHandle(key, "", store.Record{}), store.Record{Value: []byte("v")})
	if !errors.Is(err, want) {
		t.Errorf("Swap: %v, want %v", err, want)
	}
}

func conflicting(t *testing.T, s *dynamo.Store) {
	swapAbsent(t, s, nil)
	swapAbsent(t, s, store.ErrConflict)
}

func addTwice(t *testing.T, s *dynamo.Store) {
	for range 2 {
		if _, err := s.Add(t.Context(), key, map[string]int64{"n": 1}, time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
	}
}

func queryOnce(t *testing.T, s *dynamo.Store) {
	if _, err := s.Query(t.Context(), store.Query{Table: store.Ledger, Indexed: true, Partition: "p"}); err != nil {
		t.Error(err)
	}
}

// badCalls are refused before anything is sent.
func badCalls(t *testing.T, s *dynamo.Store) {
	_, errRead := s.Read(t.Context(), store.Key{})
	_, errIndex := s.Swap(t.Context(), store.NewHandle(key, "", store.Record{}), store.Record{Index: store.Index{Partition: "p", Sort: "s"}})
	_, errName := s.Add(t.Context(), key, map[string]int64{"\xff": 1}, time.Time{})
	_, errQuery := s.Query(t.Context(), store.Query{Table: store.State, Indexed: true, Partition: "p"})
	for _, err := range []error{errRead, errIndex, errName, errQuery} {
		if !errors.Is(err, store.ErrInvalid) {
			t.Errorf("error %v, want ErrInvalid", err)
		}
	}
}

// Every operation is sent twice at most, also by a client that would resend by
// itself.
func TestTwoAttempts(t *testing.T) {
	f := newFixture(t, false)
	eager := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(f.endpoint), Credentials: f.client.Options().Credentials,
	})
	f.front.Inject(wirefault.Rule{Times: -1, Fault: wirefault.Fault{Kind: wirefault.Throttle}})
	var numbers []int
	s := f.open(t, func(c *dynamo.Config) {
		c.Client = eager
		c.Observe = func(a dynamo.Attempt) { numbers = append(numbers, a.Number) }
	})
	for what, call := range calls(s) {
		if err := call(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", what, err)
		}
	}
	want := map[string]int{"BatchGetItem": 2, "PutItem": 2, "UpdateItem": 2, "Query": 2}
	if d := cmp.Diff(want, f.front.Counts()); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]int{1, 2, 1, 2, 1, 2, 1, 2}, numbers); d != "" {
		t.Errorf("numbers of the attempts (-want +got):\n%s", d)
	}
}

// Each attempt has its own share of the call's time, so that a silent first one
// leaves room for another.
func TestDefaultAttemptTimeout(t *testing.T) {
	t.Parallel()
	const slack = 500 * time.Millisecond
	var took []time.Duration
	s, err := dynamo.New(dynamo.Config{
		Endpoint: frontWith(wirefault.Fault{Kind: wirefault.Silence})(t),
		Observe:  func(a dynamo.Attempt) { took = append(took, a.Took) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), key); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Read: %v, want ErrUnavailable", err)
	}
	if len(took) != 2 || took[0] < dynamo.DefaultAttemptTimeout || took[0] > dynamo.DefaultAttemptTimeout+slack {
		t.Errorf("attempts took %v, want two of %v", took, dynamo.DefaultAttemptTimeout)
	}
}

// Every read asks for strong consistency, but on the index, which has none.
func TestReadsAreConsistent(t *testing.T) {
	f := newFixture(t, false)
	bodies := &bodyKeeper{inner: http.DefaultTransport}
	s := f.open(t, func(c *dynamo.Config) { c.Client = clientOver(t, f.endpoint, bodies) })
	readMany(t, s)
	f.front.Inject(wirefault.Rule{Operation: "BatchGetItem", Fault: wirefault.Fault{Kind: wirefault.Partial}})
	readMany(t, s)
	conflicting(t, s)
	if _, err := s.Query(t.Context(), store.Query{Table: store.Ledger, Partition: "p"}); err != nil {
		t.Fatal(err)
	}
	queryOnce(t, s)
	var got []string
	for _, body := range bodies.sent {
		var in struct {
			IndexName      string
			ConsistentRead *bool
			RequestItems   map[string]struct{ ConsistentRead bool }
		}
		if err := json.Unmarshal(body, &in); err != nil {
			t.Fatal(err)
		}
		for _, batch := range in.RequestItems {
			in.ConsistentRead = &batch.ConsistentRead
			got = append(got, fmt.Sprintf("batch %v", batch.ConsistentRead))
		}
		if in.RequestItems == nil && in.ConsistentRead != nil {
			got = append(got, fmt.Sprintf("%s %v", in.IndexName, *in.ConsistentRead))
		}
	}
	want := slices.Concat(slices.Repeat([]string{"batch true"}, 4+4+3), []string{" true", " true", table.Index + " false"})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("reads (-want +got):\n%s", d)
	}
}

// What store and stack say about the tables is the same.
func TestTablesAreDescribed(t *testing.T) {
	described := table.All()
	if len(described) != len(store.Tables()) {
		t.Fatalf("%d tables described, the store has %d", len(described), len(store.Tables()))
	}
	for i, st := range store.Tables() {
		if d := described[i]; d.Name != st.String() || d.Indexed != st.Indexed() {
			t.Errorf("described as %s, indexed %v; the store says %s, %v", d.Name, d.Indexed, st, st.Indexed())
		}
	}
}

// A batch that is served in part is completed; no key is ever taken as absent
// because it was left unprocessed.
func TestPartialBatchIsCompleted(t *testing.T) {
	f := newFixture(t, false)
	s := f.open(t, nil)
	var keys []store.Key
	for i := range store.MaxReadKeys {
		k := store.Key{Table: store.Tables()[i%4], Partition: "p", Sort: fmt.Sprint(i)}
		if _, err := s.Swap(t.Context(), store.NewHandle(k, "", store.Record{}), store.Record{Value: []byte(k.Sort)}); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	f.front.ResetCounts()
	f.front.Inject(wirefault.Rule{Operation: "BatchGetItem", Times: 3, Fault: wirefault.Fault{Kind: wirefault.Partial}})
	handles, err := s.Read(t.Context(), keys...)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range handles {
		if rec, ok := h.Record(); !ok || string(rec.Value) != keys[i].Sort {
			t.Errorf("key %d: live %v, value %q", i, ok, rec.Value)
		}
	}
	if got := f.front.Counts()["BatchGetItem"]; got != 4 {
		t.Errorf("%d requests, want 4: 12, 6, 3 and then the other 4 keys", got)
	}
}

// S11: each attempt judges expiry by its own time, a resent one too.
func TestExpiryIsJudgedByEachAttempt(t *testing.T) {
	clock := storetest.NewClock()
	f := newFixture(t, false)
	s := f.open(t, func(c *dynamo.Config) { c.Now = clock.Now })
	short := store.Record{Value: []byte("short"), Expires: clock.Now().Add(time.Second)}
	live, err := s.Swap(t.Context(), read(t, s), short)
	if err != nil {
		t.Fatal(err)
	}
	throttleOnceAndWait := func(operation string) {
		var first sync.Once
		f.front.Decide(func(r wirefault.Request) (fault wirefault.Fault) {
			if r.Operation == operation {
				first.Do(func() {
					clock.Advance(time.Hour)
					fault.Kind = wirefault.Throttle
				})
			}
			return fault
		})
	}
	throttleOnceAndWait("PutItem")
	if got, err := s.Swap(t.Context(), live, short); !errors.Is(err, store.ErrConflict) || got.Revision() != "" {
		t.Errorf("Swap by a handle that expired between its attempts: %v, handle %q; want a conflict with nothing", err, got.Revision())
	}
	f.front.Clear()

	put(t, s, "other")
	if _, err := s.Swap(t.Context(), read(t, s), store.Record{Expires: clock.Now().Add(time.Second)}); err != nil {
		t.Fatal(err)
	}
	f.front.Decide(func(wirefault.Request) wirefault.Fault { clock.Advance(time.Hour); return wirefault.Fault{} })
	if page, err := s.Query(t.Context(), store.Query{Table: key.Table, Partition: key.Partition}); err != nil || len(page.Handles) != 0 {
		t.Errorf("Query gives %d records that expired on the way, error %v", len(page.Handles), err)
	}
	f.front.Clear()

	if _, err := s.Add(t.Context(), key, map[string]int64{"n": 5}, clock.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	throttleOnceAndWait("UpdateItem")
	got, err := s.Add(t.Context(), key, map[string]int64{"n": 1}, clock.Now().Add(2*time.Hour))
	if err != nil || got["n"] != 1 {
		t.Errorf("Add to a counter that expired between its attempts: %v, error %v; want it to start from zero", got, err)
	}
}
