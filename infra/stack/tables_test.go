//go:build cdk

package stack_test

import (
	"testing"

	"holdfast/infra/table"
)

// TestTables holds the synthesized tables against what the store expects.
func TestTables(t *testing.T) {
	m := main(t, plain(t))
	if n := len(m.all("AWS::DynamoDB::Table")); n != len(table.All()) {
		t.Errorf("%d tables, want %d", n, len(table.All()))
	}
	for _, described := range table.All() {
		t.Run(described.Name, func(t *testing.T) {
			r := m.one("AWS::DynamoDB::Table", map[string]string{
				table.Affinity: "Affinity", table.State: "State", table.Config: "Config", table.Ledger: "Ledger",
			}[described.Name])
			r.is(t, table.DefaultPrefix+described.Name, "TableName")
			r.is(t, "PAY_PER_REQUEST", "BillingMode")
			r.is(t, keys(table.PartitionKey, table.SortKey), "KeySchema")
			r.is(t, described.Durable, "DeletionProtectionEnabled")
			r.is(t, described.Durable, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled")
			if want := map[bool]string{true: "Retain", false: "Delete"}[described.Durable]; r.DeletionPolicy != want {
				t.Errorf("removed with the stack: %s, want %s", r.DeletionPolicy, want)
			}
			for i := range r.prop("AttributeDefinitions").([]any) {
				r.is(t, "B", "AttributeDefinitions", i, "AttributeType")
			}
			if described.TTL {
				r.is(t, map[string]any{"AttributeName": table.Expiry, "Enabled": true}, "TimeToLiveSpecification")
			} else {
				r.is(t, nil, "TimeToLiveSpecification")
			}
			if !described.Indexed {
				r.is(t, nil, "GlobalSecondaryIndexes")
				return
			}
			r.is(t, []any{map[string]any{
				"IndexName": table.Index, "KeySchema": keys(table.IndexPartition, table.IndexSort),
				"Projection": map[string]any{"ProjectionType": "ALL"},
			}}, "GlobalSecondaryIndexes")
		})
	}
}

func keys(partition, sort string) []any {
	return []any{
		map[string]any{"AttributeName": partition, "KeyType": "HASH"},
		map[string]any{"AttributeName": sort, "KeyType": "RANGE"},
	}
}

// TestPrefix: two installations live side by side in one account.
func TestPrefix(t *testing.T) {
	s := plain(t)
	s.Prefix = "acme-"
	m := main(t, s)
	m.one("AWS::DynamoDB::Table", "Affinity").is(t, "acme-affinity", "TableName")
	f := m.one("AWS::Lambda::Function", "Gateway")
	f.is(t, "acme-", "Environment", "Variables", "HOLDFAST_TABLE_PREFIX")
	f.is(t, "acme-gateway", "FunctionName")
	m.one("AWS::Logs::LogGroup", "GatewayLogs").is(t, "/acme/gateway", "LogGroupName")
}
