package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/affinity/store"
)

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
