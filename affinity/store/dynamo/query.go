package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/affinity/store"
	"holdfast/infra/table"
)

// notExpired is checked by DynamoDB, so that expired records are not sent.
const notExpired = "attribute_not_exists(#e) OR #e > :now"

// Query implements store.Store with one Query, strongly consistent on the
// table; the index is eventually consistent, DynamoDB offers no other. The
// limit counts expired records too, so pages may be short.
func (s *Store) Query(ctx context.Context, q store.Query) (store.Page, error) {
	if err := store.CheckQuery(ctx, q); err != nil {
		return store.Page{}, err
	}
	after, resumed, err := q.Position()
	if err != nil {
		return store.Page{}, err
	}
	if q.To != "" && q.From > q.To {
		return store.Page{}, nil // crossed bounds, which DynamoDB refuses
	}
	var start attributes
	if resumed {
		if after.Sort < q.From || q.To != "" && after.Sort > q.To {
			return store.Page{}, fmt.Errorf("%w: cursor outside the query's bounds", store.ErrInvalid)
		}
		start = startKey(q, after)
	}
	return s.query(ctx, q, start)
}

func (s *Store) query(ctx context.Context, q store.Query, start attributes) (store.Page, error) {
	const operation = "Query"
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	var out *dynamodb.QueryOutput
	err := s.ask(ctx, operation, func(ctx context.Context) (err error) {
		out, err = s.client.Query(ctx, s.queryInput(q, start), once)
		return err
	})
	if err != nil {
		return store.Page{}, err
	}
	page, err := s.page(q, out)
	if err != nil {
		return store.Page{}, unavailable(operation, err)
	}
	return page, nil
}

func (s *Store) queryInput(q store.Query, start attributes) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		TableName:                 aws.String(s.names[q.Table]),
		KeyConditionExpression:    aws.String("#p = :p"),
		FilterExpression:          aws.String(notExpired),
		ExpressionAttributeNames:  map[string]string{"#p": table.PartitionKey, "#e": table.Expiry},
		ExpressionAttributeValues: attributes{":p": binary(q.Partition), ":now": seconds(s.now())},
		ScanIndexForward:          aws.Bool(!q.Reverse),
		ConsistentRead:            aws.Bool(!q.Indexed),
		Limit:                     aws.Int32(int32(q.PageSize())),
		ExclusiveStartKey:         start,
	}
	if q.Indexed {
		in.IndexName = aws.String(table.Index)
		in.ExpressionAttributeNames["#p"] = table.IndexPartition
	}
	bound(in, q)
	return in
}

// bound adds the bounds on the sort key.
func bound(in *dynamodb.QueryInput, q store.Query) {
	condition := ""
	switch {
	case q.From != "" && q.To != "":
		condition = "#s BETWEEN :from AND :to"
	case q.From != "":
		condition = "#s >= :from"
	case q.To != "":
		condition = "#s <= :to"
	default:
		return
	}
	in.KeyConditionExpression = aws.String("#p = :p AND " + condition)
	in.ExpressionAttributeNames["#s"] = table.SortKey
	if q.Indexed {
		in.ExpressionAttributeNames["#s"] = table.IndexSort
	}
	if q.From != "" {
		in.ExpressionAttributeValues[":from"] = binary(q.From)
	}
	if q.To != "" {
		in.ExpressionAttributeValues[":to"] = binary(q.To)
	}
}

func (s *Store) page(q store.Query, out *dynamodb.QueryOutput) (store.Page, error) {
	var page store.Page
	now := s.now()
	for _, a := range out.Items {
		i, err := decode(q.Table, a)
		if err != nil {
			return store.Page{}, err
		}
		if i.record.Live(now) { // it may have expired on the way
			page.Handles = append(page.Handles, i.handle(i.key, now))
		}
	}
	if len(out.LastEvaluatedKey) > 0 {
		after, err := lastPosition(q, out.LastEvaluatedKey)
		if err != nil {
			return store.Page{}, err
		}
		page.Cursor = q.CursorAfter(after)
	}
	return page, nil
}

// startKey turns a position into what DynamoDB goes on after.
func startKey(q store.Query, after store.Position) attributes {
	start := keyAttributes(after.Key)
	if q.Indexed {
		start[table.IndexPartition] = binary(q.Partition)
		start[table.IndexSort] = binary(after.Sort)
	}
	return start
}

func lastPosition(q store.Query, last attributes) (store.Position, error) {
	var r reader
	p := store.Position{Key: store.Key{
		Table:     q.Table,
		Partition: string(r.binary(last[table.PartitionKey])),
		Sort:      string(r.binary(last[table.SortKey])),
	}}
	p.Sort = p.Key.Sort
	if q.Indexed {
		p.Sort = string(r.binary(last[table.IndexSort]))
	}
	if r.foreign {
		return store.Position{}, errForeign
	}
	return p, nil
}
