package main

import "testing"

func TestForbiddenArrows(t *testing.T) {
	rows := []struct {
		name, from, to string
		test           bool
		want           bool
	}{
		{"affinity may not see routing", "affinity", "holdfast/routing/catalog", false, true},
		{"routing may not see affinity", "routing", "holdfast/affinity", false, true},
		{"routing may use its own folder", "routing", "holdfast/routing/catalog", false, false},
		{"affinity may use its store", "affinity", "holdfast/affinity/store", false, false},
		{"codecs do not meet", "functions/internal/wire/chat", "holdfast/functions/internal/wire/messages", false, true},
		{"a codec may use wire", "functions/internal/wire/chat", "holdfast/functions/internal/wire", false, false},
		{"the AWS SDK outside its places", "functions/internal/exchange", "github.com/aws/aws-sdk-go-v2/service/dynamodb", false, true},
		{"the AWS SDK in the driver", "affinity/store/dynamo", "github.com/aws/aws-sdk-go-v2/service/dynamodb", false, false},
		{"a name that only starts alike", "routingtable", "holdfast/affinity", false, false},
		{"stand-ins in product code", "functions/internal/httpapi", "holdfast/localstack/accounts", false, true},
		{"stand-ins in its tests", "functions/internal/httpapi", "holdfast/localstack/accounts", true, false},
		{"table names import nothing", "infra/table", "holdfast/affinity", false, true},
		{"gjson outside jsonedit", "affinity", "github.com/tidwall/gjson", false, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p := pkg{ImportPath: "holdfast/" + row.from, Imports: []string{row.to}}
			if row.test {
				p.Imports, p.XTestImports = nil, p.Imports
			}
			if got := len(check(p, rules())) > 0; got != row.want {
				t.Errorf("forbidden = %v, want %v", got, row.want)
			}
		})
	}
}
