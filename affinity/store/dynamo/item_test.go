package dynamo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/affinity/store"
	"holdfast/infra/table"
)

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

// itemSize is an item's billed size in bytes: names and values; a number takes
// a byte for each two digits and one more.
func itemSize(item map[string]types.AttributeValue) int {
	size := 0
	for name, v := range item {
		size += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			size += len(v.Value)
		case *types.AttributeValueMemberB:
			size += len(v.Value)
		case *types.AttributeValueMemberN:
			size += 1 + (len(v.Value)+1)/2
		}
	}
	return size
}

func units(size, step int) int { return (size + step - 1) / step }

// What a preference costs: one unit to read it strongly consistent (4 KB steps)
// and one to write it (1 KB steps).
func TestPreferenceCostsOneUnit(t *testing.T) {
	f := newFixture(t, false)
	s := f.open(t, nil)
	hash := strings.Repeat("0", 64)
	k := store.Key{Table: store.Affinity, Partition: "0123456789abcdef/" + hash, Sort: "preference/" + hash}
	value := `{"deployment":"openai-eu-1","model":"gpt-5.1","pool":"smart","path":["smart","gpt-5.1"]}`
	next := store.Record{Value: []byte(value), Expires: time.Now().Add(time.Hour)}
	h, err := s.Swap(t.Context(), store.NewHandle(k, "", store.Record{}), next)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Swap(t.Context(), h, next); err != nil { // renewed: it names the revision before
		t.Fatal(err)
	}
	size := itemSize(rawItem(t, f, k))
	const own = (2 + 81) + (2 + 75) + (1 + 22) + (1 + 22) + (3 + 6) + 1 // keys, two revisions, expiry, the value's name
	if want := own + len(value); size != want {
		t.Errorf("the item has %d bytes, want %d", size, want)
	}
	costs := fmt.Sprintf("read %d, write %d", units(size, 4<<10), units(size, 1<<10))
	if costs != "read 1, write 1" {
		t.Errorf("%d bytes cost %s", size, costs)
	}
	t.Logf("a preference of %d bytes (%d of them its value): %s; renewing it for an hour's conversation of 20 turns: %d write units",
		size, len(value), costs, 20*units(size, 1<<10))
}
