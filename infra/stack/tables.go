//go:build cdk

package stack

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"holdfast/infra/table"
)

// tables are the four by their plain names.
type tables map[string]awsdynamodb.Table

// addTables makes the tables as package table describes them.
func addTables(stack awscdk.Stack, prefix string) tables {
	all := tables{}
	for _, described := range table.All() {
		all[described.Name] = addTable(stack, prefix, described)
	}
	return all
}

func addTable(stack awscdk.Stack, prefix string, described table.Table) awsdynamodb.Table {
	title := strings.ToUpper(described.Name[:1]) + described.Name[1:]
	props := &awsdynamodb.TableProps{
		TableName:    jsii.String(prefix + described.Name),
		PartitionKey: binary(table.PartitionKey),
		SortKey:      binary(table.SortKey),
		BillingMode:  awsdynamodb.BillingMode_PAY_PER_REQUEST,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(described.Durable),
		},
		DeletionProtection: jsii.Bool(described.Durable),
		RemovalPolicy:      awscdk.RemovalPolicy_DESTROY,
	}
	if described.Durable {
		props.RemovalPolicy = awscdk.RemovalPolicy_RETAIN
	}
	if described.TTL {
		props.TimeToLiveAttribute = jsii.String(table.Expiry)
	}
	made := awsdynamodb.NewTable(stack, jsii.String(title+"Table"), props)
	if described.Indexed {
		made.AddGlobalSecondaryIndex(&awsdynamodb.GlobalSecondaryIndexProps{
			IndexName:      jsii.String(table.Index),
			PartitionKey:   binary(table.IndexPartition),
			SortKey:        binary(table.IndexSort),
			ProjectionType: awsdynamodb.ProjectionType_ALL,
		})
	}
	if !described.Durable {
		suppress(made, "AwsSolutions-DDB3", described.Trust)
	}
	output(stack, title+"TableName", *made.TableName(), described.Trust)
	return made
}

func binary(name string) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: jsii.String(name), Type: awsdynamodb.AttributeType_BINARY}
}
