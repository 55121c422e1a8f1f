package dynamo

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/affinity/store"
	"holdfast/infra/table"
)

// attributes is an item as the wire has it.
type attributes = map[string]types.AttributeValue

// item is an item of a table, live or not. The zero item is a missing one.
type item struct {
	key      store.Key
	revision string // "" where there is no item
	previous string // the live revision that the write replaced, "" where none
	record   store.Record
}

// oldest is how far back an expiry is kept. DynamoDB deletes nothing whose
// time is more than five years past, and a deleted record's time is 1970.
const oldest = 24 * time.Hour

// errForeign is an item that this package did not write. It is not a miss.
var errForeign = errors.New("dynamo: item is not one of the store's")

// handle returns the item as a caller may see it at now.
func (i item) handle(key store.Key, now time.Time) store.Handle {
	if !i.record.Live(now) {
		return store.NewHandle(key, "", store.Record{})
	}
	return store.NewHandle(key, i.revision, i.record)
}

func binary(s string) types.AttributeValue {
	return &types.AttributeValueMemberB{Value: []byte(s)}
}

func text(s string) types.AttributeValue {
	return &types.AttributeValueMemberS{Value: s}
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func seconds(t time.Time) types.AttributeValue { return number(t.Unix()) }

// expiry is a rounded expiry that is not zero, as it is kept.
func expiry(t, now time.Time) types.AttributeValue {
	return number(max(t.Unix(), now.Add(-oldest).Unix()))
}

func keyAttributes(k store.Key) attributes {
	return attributes{table.PartitionKey: binary(k.Partition), table.SortKey: binary(k.Sort)}
}

// encode returns the whole item. Empty parts are left out, so that they cost
// nothing and keep the item out of the index.
func (i item) encode(now time.Time) attributes {
	a := keyAttributes(i.key)
	a[table.Revision] = text(i.revision)
	if i.previous != "" {
		a[table.Previous] = text(i.previous)
	}
	if len(i.record.Value) > 0 {
		a[table.Value] = &types.AttributeValueMemberB{Value: i.record.Value}
	}
	if !i.record.Expires.IsZero() {
		a[table.Expiry] = expiry(i.record.Expires, now)
	}
	if i.record.Index != (store.Index{}) {
		a[table.IndexPartition] = binary(i.record.Index.Partition)
		a[table.IndexSort] = binary(i.record.Index.Sort)
	}
	for name, n := range i.record.Counters {
		a[table.CounterPrefix+name] = number(n)
	}
	return a
}

// decode reads an item of table t; none at all gives the zero item.
func decode(t store.Table, a attributes) (item, error) {
	if len(a) == 0 {
		return item{}, nil
	}
	var r reader
	i := item{
		key: store.Key{
			Table:     t,
			Partition: string(r.binary(a[table.PartitionKey])),
			Sort:      string(r.binary(a[table.SortKey])),
		},
		revision: r.text(a[table.Revision]),
	}
	if v, ok := a[table.Previous]; ok {
		i.previous = r.text(v)
	}
	if v, ok := a[table.Value]; ok {
		i.record.Value = slices.Clone(r.binary(v))
	}
	if v, ok := a[table.Expiry]; ok {
		i.record.Expires = time.Unix(r.number(v), 0).UTC()
	}
	if v, ok := a[table.IndexPartition]; ok {
		i.record.Index = store.Index{Partition: string(r.binary(v)), Sort: string(r.binary(a[table.IndexSort]))}
	}
	i.record.Counters = r.counters(a)
	if r.foreign || i.revision == "" {
		return item{}, errForeign
	}
	return i, nil
}

// reader takes attributes apart and remembers whether one had a wrong type.
type reader struct{ foreign bool }

func (r *reader) binary(v types.AttributeValue) []byte {
	b, ok := v.(*types.AttributeValueMemberB)
	if !ok {
		r.foreign = true
		return nil
	}
	return b.Value
}

func (r *reader) text(v types.AttributeValue) string {
	s, ok := v.(*types.AttributeValueMemberS)
	if !ok {
		r.foreign = true
		return ""
	}
	return s.Value
}

// number reads an integer. DynamoDB counts further than int64; beyond its ends
// the nearest one is returned.
func (r *reader) number(v types.AttributeValue) int64 {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		r.foreign = true
		return 0
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return i // ParseInt gives the nearest end
	}
	if err != nil {
		r.foreign = true
	}
	return i
}

func (r *reader) counters(a attributes) map[string]int64 {
	var counters map[string]int64
	for name, v := range a {
		if counter, ok := strings.CutPrefix(name, table.CounterPrefix); ok {
			if counters == nil {
				counters = map[string]int64{}
			}
			counters[counter] = r.number(v)
		}
	}
	return counters
}
