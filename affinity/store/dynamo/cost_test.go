package dynamo_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"holdfast/affinity/store"
	"holdfast/affinity/store/dynamo"
	"holdfast/infra/table"
)

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

// bodyKeeper keeps what was sent.
type bodyKeeper struct {
	inner http.RoundTripper
	sent  [][]byte
}

func (k *bodyKeeper) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	k.sent = append(k.sent, body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return k.inner.RoundTrip(r)
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
