package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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

	if _, err := s.Add(t.Context(), key, map[string]int64{"n": 5}, clock.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	throttleOnceAndWait("UpdateItem")
	got, err := s.Add(t.Context(), key, map[string]int64{"n": 1}, clock.Now().Add(2*time.Hour))
	if err != nil || got["n"] != 1 {
		t.Errorf("Add to a counter that expired between its attempts: %v, error %v; want it to start from zero", got, err)
	}
}

// A deleted record's expiry is kept near enough for DynamoDB's TTL to remove
// it: items more than five years past are never removed.
func TestTombstonesCanBeRemoved(t *testing.T) {
	f := newFixture(t, false)
	s := f.open(t, nil)
	h := put(t, s, "v")
	if _, err := s.Swap(t.Context(), h, store.Delete()); err != nil {
		t.Fatal(err)
	}
	item := rawItem(t, f, key)
	var expires int64
	if _, err := fmt.Sscan(item[table.Expiry].(*types.AttributeValueMemberN).Value, &expires); err != nil {
		t.Fatal(err)
	}
	if age := time.Since(time.Unix(expires, 0)); age < time.Hour || age > 48*time.Hour {
		t.Errorf("a tombstone expired %v ago, want about a day", age)
	}
	if item[table.Value] != nil {
		t.Error("a tombstone keeps the value")
	}
}

// rawItem returns an item as DynamoDB has it.
func rawItem(t testing.TB, f *fixture, k store.Key) map[string]types.AttributeValue {
	t.Helper()
	out, err := newClient(t, backend.Endpoint()).GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(f.prefix + k.Table.String()),
		Key: map[string]types.AttributeValue{
			table.PartitionKey: &types.AttributeValueMemberB{Value: []byte(k.Partition)},
			table.SortKey:      &types.AttributeValueMemberB{Value: []byte(k.Sort)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

// An item that something else wrote into the table is an error, not a miss.
func TestForeignItemIsNoMiss(t *testing.T) {
	f := newFixture(t, false)
	s := f.open(t, nil)
	_, err := newClient(t, backend.Endpoint()).PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(f.prefix + table.Affinity),
		Item: map[string]types.AttributeValue{
			table.PartitionKey: &types.AttributeValueMemberB{Value: []byte(key.Partition)},
			table.SortKey:      &types.AttributeValueMemberB{Value: []byte(key.Sort)},
			table.Value:        &types.AttributeValueMemberS{Value: "a string"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), key); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Read: %v, want ErrUnavailable", err)
	}
	if _, err := s.Query(t.Context(), store.Query{Table: store.Affinity, Partition: key.Partition}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Query: %v, want ErrUnavailable", err)
	}
}

// P6: a query's answer and its number of requests do not depend on what other
// partitions hold.
func TestQueryCostsItsOwnPartition(t *testing.T) {
	small, large := newFixture(t, false), newFixture(t, false)
	crowd(t, large, 10_000)
	q := store.Query{Table: store.State, Partition: "mine"}
	var sizes [2]int
	for i, f := range []*fixture{small, large} {
		counter := &bodyCounter{inner: http.DefaultTransport}
		s := f.open(t, func(c *dynamo.Config) {
			c.Client = clientOver(t, f.endpoint, counter)
		})
		for j := range 10 {
			k := store.Key{Table: store.State, Partition: "mine", Sort: fmt.Sprint(j)}
			if _, err := s.Swap(t.Context(), store.NewHandle(k, "", store.Record{}), store.Record{Value: []byte("turn")}); err != nil {
				t.Fatal(err)
			}
		}
		f.front.ResetCounts()
		counter.bytes = 0
		page, err := s.Query(t.Context(), q)
		if err != nil || len(page.Handles) != 10 || page.Cursor != "" {
			t.Fatalf("%d records, cursor %q, error %v", len(page.Handles), page.Cursor, err)
		}
		if d := cmp.Diff(map[string]int{"Query": 1}, f.front.Counts()); d != "" {
			t.Errorf("requests (-want +got):\n%s", d)
		}
		sizes[i] = counter.bytes
	}
	if sizes[0] != sizes[1] || sizes[0] == 0 {
		t.Errorf("answers of %d bytes alone and %d bytes among 10,000", sizes[0], sizes[1])
	}
}

// crowd fills the other partitions of the state table.
func crowd(t *testing.T, f *fixture, n int) {
	t.Helper()
	client := newClient(t, backend.Endpoint())
	name := f.prefix + table.State
	for i := 0; i < n; i += 25 {
		var writes []types.WriteRequest
		for j := range 25 {
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: map[string]types.AttributeValue{
				table.PartitionKey: &types.AttributeValueMemberB{Value: fmt.Appendf(nil, "mine%d", i+j)},
				table.SortKey:      &types.AttributeValueMemberB{Value: []byte("0")},
				table.Revision:     &types.AttributeValueMemberS{Value: "r"},
			}}})
		}
		_, err := client.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{name: writes}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// bodyCounter counts the bytes of answers.
type bodyCounter struct {
	inner http.RoundTripper
	bytes int
}

func (c *bodyCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	c.bytes += len(body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

func clientOver(t *testing.T, endpoint string, transport http.RoundTripper) *dynamodb.Client {
	t.Helper()
	client, err := dynamo.NewClient(dynamo.Config{Endpoint: endpoint, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
