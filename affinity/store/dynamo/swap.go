package dynamo

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/affinity/store"
	"holdfast/infra/table"
)

const putItem = "PutItem"

// The conditions of a Swap: the record is live with the revision that was
// read, or there is none that is live.
const (
	stillLive   = "#r = :seen AND (attribute_not_exists(#e) OR #e > :now)"
	stillAbsent = "attribute_not_exists(#r) OR #e <= :now"
)

// swap is one Swap under way.
type swap struct {
	*Store
	next      item   // as it is written, with the revision of all attempts
	seen      string // the revision that the handle saw
	doubt     end    // the worst end so far that may have written
	conflict  error  // the answer that the condition failed
	lastError error
}

// Swap implements store.Store with one conditional PutItem.
func (s *Store) Swap(ctx context.Context, h store.Handle, next store.Record) (store.Handle, error) {
	if err := store.CheckSwap(ctx, h, next); err != nil {
		return store.Handle{}, err
	}
	own, err := s.newRevision()
	if err != nil {
		return store.Handle{}, err
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	w := &swap{Store: s, seen: h.Revision(), next: item{
		key: h.Key(), revision: own, previous: h.Revision(),
		record: store.Record{Value: ownedValue(next.Value), Expires: store.RoundExpiry(next.Expires), Index: next.Index},
	}}
	return w.run(ctx)
}

// run sends and settles. A conflict with a record that has gone again by the
// time it is read back is none: then what the handle saw holds, and the write
// goes out once more.
func (w *swap) run(ctx context.Context) (store.Handle, error) {
	var stands store.Handle
	for range maxRounds {
		if w.send(ctx) {
			return w.written(), nil
		}
		i, err := w.settle(ctx)
		switch {
		case err == nil:
			return w.written(), nil
		case !errors.Is(err, store.ErrConflict):
			return store.Handle{}, err
		}
		stands = i.handle(w.next.key, w.now())
		if stands.Revision() != w.seen {
			return stands, err
		}
	}
	return stands, store.ErrConflict
}

// ownedValue copies a value, so that the caller may go on using its bytes.
func ownedValue(v []byte) []byte {
	if len(v) == 0 {
		return nil
	}
	return slices.Clone(v)
}

func (w *swap) written() store.Handle {
	return w.next.handle(w.next.key, w.now())
}

// send makes the attempts and reports whether one was answered with success.
func (w *swap) send(ctx context.Context) bool {
	w.conflict = nil
	for number := 1; ; number++ {
		e, err := w.attempt(ctx, putItem, number, w.put)
		if e == done {
			return true
		}
		w.lastError = err
		if e == conflict {
			w.conflict = err
		}
		if e.doubtful() {
			w.doubt = max(w.doubt, e)
		}
		if e.final() || number == maxAttempts || !wait(ctx, pause) {
			return false
		}
	}
}

// put is one attempt, with the time of its own.
func (w *swap) put(ctx context.Context) error {
	in := w.putOverAbsent(w.next, w.now())
	if w.seen != "" {
		in.ConditionExpression = aws.String(stillLive)
		in.ExpressionAttributeValues[":seen"] = text(w.seen)
	}
	_, err := w.client.PutItem(ctx, in, once)
	return err
}

// putOverAbsent writes the item where none is live at now.
func (s *Store) putOverAbsent(i item, now time.Time) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{
		TableName:                           aws.String(s.names[i.key.Table]),
		Item:                                i.encode(now),
		ConditionExpression:                 aws.String(stillAbsent),
		ExpressionAttributeNames:            map[string]string{"#r": table.Revision, "#e": table.Expiry},
		ExpressionAttributeValues:           attributes{":now": seconds(now)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// settle tells how the attempts ended where none was answered with success.
// No error: one was applied. A conflict comes with the item that stands.
func (w *swap) settle(ctx context.Context) (item, error) {
	if w.conflict == nil && w.doubt == done {
		return item{}, unavailable(putItem, w.lastError)
	}
	stands, err := w.standing(ctx, w.next.key, w.conflict)
	switch {
	case err != nil && w.doubt == done:
		return item{}, err // nothing was written
	case err != nil:
		return item{}, unknown(putItem, w.lastError)
	case stands.revision == w.next.revision:
		return item{}, nil
	case w.doubt != done && !w.notApplied(stands):
		return item{}, unknown(putItem, w.lastError)
	case w.conflict != nil:
		return stands, store.ErrConflict
	default:
		return item{}, unavailable(putItem, w.lastError)
	}
}

// notApplied says that the item that stands proves that no attempt was, nor
// will be, applied: it replaced the very revision that ours would have, which
// only one write can; or every doubtful attempt was answered, so none is still
// under way, and nothing has changed since the handle was read.
func (w *swap) notApplied(stands item) bool {
	if w.seen != "" && stands.previous == w.seen {
		return true
	}
	return w.doubt == faulty && stands.revision == w.seen
}

// standing returns the item that made a condition fail: out of the error where
// DynamoDB put it there, otherwise by reading it back.
func (s *Store) standing(ctx context.Context, key store.Key, conflict error) (item, error) {
	var failed *types.ConditionalCheckFailedException
	if !errors.As(conflict, &failed) || len(failed.Item) == 0 {
		return s.get(ctx, key)
	}
	i, err := decode(key.Table, failed.Item)
	if err != nil {
		return item{}, unavailable(putItem, err)
	}
	return i, nil
}
