package dynamo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/affinity/store"
	"holdfast/infra/table"
)

// form is a way to add. Which one fits depends on the record, and each is
// conditional on its own assumption, so that a race costs another round and
// never a count.
type form uint8

const (
	// extend fits an absent record, and a live one whose expiry is not later
	// than the new one: it sets the expiry. Counters that share an expiry, such
	// as those of a rate window, never need another form.
	extend  form = iota
	keep         // fits a live record whose expiry is later: it leaves that
	restart      // fits an expired record: it writes a new item over everything
)

// Every add marks the record with its own revision and keeps the one before.
const mark = "SET #r = :own, #p = if_not_exists(#r, :none)"

// noPrevious stands in an added record for "there was none"; an update has no
// way to leave the attribute out. It is no revision.
const noPrevious = "-"

// The conditions of the forms; an absent expiry is the latest one.
const (
	fitsExtend  = "attribute_not_exists(#r) OR (#e > :now AND #e <= :exp)"
	fitsForever = "attribute_not_exists(#r) OR attribute_not_exists(#e) OR #e > :now"
	fitsKeep    = "(#e > :now AND #e > :exp) OR (attribute_exists(#r) AND attribute_not_exists(#e))"
)

func (a *add) formFor(stands item) form {
	switch {
	case stands.revision == "":
		return extend
	case !stands.record.Live(a.now()):
		return restart
	case a.expires.IsZero(), !stands.record.Expires.IsZero() && !stands.record.Expires.After(a.expires):
		return extend
	default:
		return keep
	}
}

func (f form) operation() string {
	if f == restart {
		return putItem
	}
	return "UpdateItem"
}

func (a *add) write(ctx context.Context, f form) error {
	if f == restart {
		return a.restart(ctx)
	}
	out, err := a.client.UpdateItem(ctx, a.update(f, a.now()), once)
	if err != nil {
		return err
	}
	var r reader
	a.values = a.named(r.counters(out.Attributes))
	return nil
}

// restart writes a new item over an expired one, so that nothing of it stays.
func (a *add) restart(ctx context.Context) error {
	next := item{key: a.key, revision: a.own, record: store.Record{Counters: a.deltas, Expires: a.expires}}
	_, err := a.client.PutItem(ctx, a.putOverAbsent(next, a.now()), once)
	if err == nil {
		a.values = a.named(a.deltas)
	}
	return err
}

// update builds extend or keep at now.
func (a *add) update(f form, now time.Time) *dynamodb.UpdateItemInput {
	in := &dynamodb.UpdateItemInput{
		TableName:                           aws.String(a.names[a.key.Table]),
		Key:                                 keyAttributes(a.key),
		ExpressionAttributeNames:            map[string]string{"#r": table.Revision, "#p": table.Previous, "#e": table.Expiry},
		ExpressionAttributeValues:           attributes{":own": text(a.own), ":none": text(noPrevious), ":now": seconds(now)},
		ReturnValues:                        types.ReturnValueUpdatedNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if !a.expires.IsZero() {
		in.ExpressionAttributeValues[":exp"] = expiry(a.expires, now)
	}
	change, condition := mark+", #e = :exp", fitsExtend
	switch {
	case f == keep:
		change, condition = mark, fitsKeep
	case a.expires.IsZero():
		change, condition = mark+" REMOVE #e", fitsForever
	}
	in.UpdateExpression = aws.String(change + " ADD " + strings.Join(a.counters(in), ", "))
	in.ConditionExpression = aws.String(condition)
	return in
}

// counters names the deltas in the input and returns the parts of ADD.
func (a *add) counters(in *dynamodb.UpdateItemInput) []string {
	var parts []string
	for i, name := range slices.Sorted(maps.Keys(a.deltas)) {
		in.ExpressionAttributeNames[fmt.Sprintf("#c%d", i)] = table.CounterPrefix + name
		in.ExpressionAttributeValues[fmt.Sprintf(":c%d", i)] = number(a.deltas[name])
		parts = append(parts, fmt.Sprintf("#c%d :c%d", i, i))
	}
	return parts
}

// checkNames refuses names that the wire, which is JSON, would change.
func checkNames(deltas map[string]int64) error {
	for name := range deltas {
		if !utf8.ValidString(name) {
			return fmt.Errorf("%w: counter name is not UTF-8", store.ErrInvalid)
		}
	}
	return nil
}
