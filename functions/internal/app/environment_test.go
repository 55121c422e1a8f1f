package app

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadEnvironment: what is not set, or is empty, has its default; of several
// settings of one variable the last counts, as in a process.
func TestReadEnvironment(t *testing.T) {
	plain := Environment{TablePrefix: "holdfast-", CORSOrigins: []string{"*"}}
	with := func(change func(*Environment)) Environment {
		e := plain
		change(&e)
		return e
	}
	rows := map[string]struct {
		environ []string
		want    Environment
	}{
		"nothing": {nil, plain},
		"empty":   {[]string{"HOLDFAST_TABLE_PREFIX=", "HOLDFAST_CORS_ORIGINS=", "HOLDFAST_LOG_LEVEL="}, plain},
		"twice":   {[]string{"HOLDFAST_STORE=memory", "HOLDFAST_STORE=dynamodb"}, with(func(e *Environment) { e.Store = "dynamodb" })},
		"level":   {[]string{"HOLDFAST_LOG_LEVEL=warn"}, with(func(e *Environment) { e.LogLevel = slog.LevelWarn })},
		"origins as people write them": {[]string{"HOLDFAST_CORS_ORIGINS= https://a.example , https://b.example/,"},
			with(func(e *Environment) { e.CORSOrigins = []string{"https://a.example", "https://b.example"} })},
		"a value with an equals sign": {[]string{"HOLDFAST_DEMO_ACCOUNTS=alpha=http://127.0.0.1:1"},
			with(func(e *Environment) { e.Demo = "alpha=http://127.0.0.1:1" })},
		"all else": {[]string{"HOLDFAST_CONFIG=c", "HOLDFAST_ADMIN_KEY=k", "HOLDFAST_SECRET=s", "HOLDFAST_ORIGIN_SECRET=o", "HOLDFAST_GATEWAY_URL=g",
			"HOLDFAST_TABLE_PREFIX=p-", "AWS_REGION=r", "AWS_ENDPOINT_URL_DYNAMODB=d", "OTEL_EXPORTER_OTLP_ENDPOINT=t", "OTEL_EXPORTER_OTLP_HEADERS=h"},
			Environment{Config: "c", AdminKey: "k", Secret: "s", Origin: "o", GatewayURL: "g", TablePrefix: "p-", Region: "r", DynamoDB: "d",
				Collector: "t", CollectorHeaders: "h", CORSOrigins: []string{"*"}}},
	}
	for name, row := range rows {
		got, err := ReadEnvironment(row.environ)
		if diff := cmp.Diff(row.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if _, err := ReadEnvironment([]string{"HOLDFAST_LOG_LEVEL=sk-loud"}); err == nil || !strings.Contains(err.Error(), "HOLDFAST_LOG_LEVEL") || strings.Contains(err.Error(), "sk-loud") {
		t.Errorf("a level that is none: %v", err)
	}
}
