package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/infra/table"
)

// ErrNotLoopback refuses to create tables anywhere but on this machine: real
// ones belong to the stack that sets their permissions, TTL and recovery.
var ErrNotLoopback = errors.New("dynamo: tables are created on a loopback endpoint only")

// How long creating one table may take.
const tableTimeout = 30 * time.Second

// CreateTables creates the four tables on an emulator, with the given prefix
// ("" for the default one), and returns when they can be used. Tables that are
// there stay as they are; any number of processes may do this at once. TTL is
// not configured: the store ignores expired records by itself.
func CreateTables(ctx context.Context, client *dynamodb.Client, prefix string) error {
	if !isLoopback(aws.ToString(client.Options().BaseEndpoint)) {
		return ErrNotLoopback
	}
	prefix, err := checkPrefix(prefix)
	if err != nil {
		return err
	}
	for _, t := range table.All() {
		if err := createTable(ctx, client, prefix+t.Name, t.Indexed); err != nil {
			return fmt.Errorf("dynamo: table %s: %w", prefix+t.Name, err)
		}
	}
	return nil
}

func createTable(ctx context.Context, client *dynamodb.Client, name string, indexed bool) error {
	_, err := client.CreateTable(ctx, tableInput(name, indexed))
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return err
	}
	ready := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 5*time.Millisecond, 200*time.Millisecond
	})
	return ready.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)}, tableTimeout)
}

func tableInput(name string, indexed bool) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName:            aws.String(name),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: binaryAttributes(table.PartitionKey, table.SortKey),
		KeySchema:            keySchema(table.PartitionKey, table.SortKey),
	}
	if indexed {
		in.AttributeDefinitions = append(in.AttributeDefinitions, binaryAttributes(table.IndexPartition, table.IndexSort)...)
		in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
			IndexName:  aws.String(table.Index),
			KeySchema:  keySchema(table.IndexPartition, table.IndexSort),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}}
	}
	return in
}

func binaryAttributes(names ...string) []types.AttributeDefinition {
	var all []types.AttributeDefinition
	for _, name := range names {
		all = append(all, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeB})
	}
	return all
}

func keySchema(partition, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(partition), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
	}
}
