package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/affinity/store"
)

// Read implements store.Store with one BatchGetItem, strongly consistent. A key
// given twice is asked for once.
func (s *Store) Read(ctx context.Context, keys ...store.Key) ([]store.Handle, error) {
	if err := store.CheckRead(ctx, keys); err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, nil
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	found, err := s.fetch(ctx, s.requestItems(keys))
	if err != nil {
		return nil, err
	}
	now := s.now()
	handles := make([]store.Handle, len(keys))
	for i, k := range keys {
		handles[i] = found[k].handle(k, now)
	}
	return handles, nil
}

func (s *Store) requestItems(keys []store.Key) map[string]types.KeysAndAttributes {
	items := map[string]types.KeysAndAttributes{}
	seen := make(map[store.Key]bool, len(keys))
	for _, k := range keys {
		if seen[k] {
			continue // DynamoDB refuses duplicates
		}
		seen[k] = true
		batch := items[s.names[k.Table]]
		batch.ConsistentRead = aws.Bool(true)
		batch.Keys = append(batch.Keys, keyAttributes(k))
		items[s.names[k.Table]] = batch
	}
	return items
}

var errPartial = errors.New("keys left unprocessed until the deadline")

// fetch asks until no key is left unprocessed: DynamoDB leaves some when it
// throttles or when an answer grows too large. Rounds are bounded by the
// deadline alone; while nothing moves, the waits between them grow.
func (s *Store) fetch(ctx context.Context, left map[string]types.KeysAndAttributes) (map[store.Key]item, error) {
	const operation = "BatchGetItem"
	found := map[store.Key]item{}
	for delay := pause; ; delay *= 2 {
		var out *dynamodb.BatchGetItemOutput
		err := s.ask(ctx, operation, func(ctx context.Context) (err error) {
			out, err = s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: left}, once)
			return err
		})
		if err != nil {
			return nil, err
		}
		if err := s.collect(found, out.Responses); err != nil {
			return nil, unavailable(operation, err)
		}
		if len(out.UnprocessedKeys) == 0 {
			return found, nil
		}
		if countKeys(out.UnprocessedKeys) < countKeys(left) {
			delay = pause
		}
		left = stillConsistent(out.UnprocessedKeys)
		if !wait(ctx, delay) {
			return nil, unavailable(operation, errors.Join(errPartial, ctx.Err()))
		}
	}
}

func countKeys(batches map[string]types.KeysAndAttributes) int {
	n := 0
	for _, b := range batches {
		n += len(b.Keys)
	}
	return n
}

// stillConsistent asks for strong consistency again, whether or not the answer
// repeats that it was asked for.
func stillConsistent(batches map[string]types.KeysAndAttributes) map[string]types.KeysAndAttributes {
	for name, b := range batches {
		b.ConsistentRead = aws.Bool(true)
		batches[name] = b
	}
	return batches
}

func (s *Store) collect(found map[store.Key]item, responses map[string][]attributes) error {
	for name, list := range responses {
		for _, a := range list {
			i, err := decode(s.tables[name], a)
			if err != nil {
				return err
			}
			found[i.key] = i
		}
	}
	return nil
}

// get reads one item strongly consistent, expired ones too.
func (s *Store) get(ctx context.Context, key store.Key) (item, error) {
	const operation = "GetItem"
	var out *dynamodb.GetItemOutput
	err := s.ask(ctx, operation, func(ctx context.Context) (err error) {
		out, err = s.client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: aws.String(s.names[key.Table]), Key: keyAttributes(key), ConsistentRead: aws.Bool(true),
		}, once)
		return err
	})
	if err != nil {
		return item{}, err
	}
	i, err := decode(key.Table, out.Item)
	if err != nil {
		return item{}, unavailable(operation, err)
	}
	return i, nil
}
