//go:build cdk

package stack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/infra/measure"
)

// TestAlarms shows what is watched, and at which value somebody is told.
func TestAlarms(t *testing.T) {
	s := plain(t)
	s.FirstByte, s.HourlySpend, s.Email = 12_000, 7.5, "ops@example.com"
	m := main(t, s)
	type alarm struct {
		Metric, Statistic  string
		Threshold, Periods float64
	}
	want := map[string]alarm{
		"Holdfast-Errors":         {"Errors", "Sum", 5, 1},
		"Holdfast-ServerErrors":   {measure.Refused, "Sum", 5, 1},
		"Holdfast-Throttles":      {"Throttles", "Sum", 1, 1},
		"Holdfast-StoreThrottles": {"", "", 1, 2},
		"Holdfast-FirstByte":      {measure.FirstByte, "p99", 12_000, 3},
		"Holdfast-Degraded":       {measure.Degraded, "Sum", 5, 1},
		"Holdfast-Spend":          {measure.Cost, "Sum", 7.5, 1},
	}
	got, topic := map[string]alarm{}, m.one("AWS::SNS::Topic", "").id
	for _, r := range m.all("AWS::CloudWatch::Alarm") {
		a := alarm{Threshold: r.prop("Threshold").(float64), Periods: r.prop("EvaluationPeriods").(float64)}
		if only := list(r.prop("Metrics")); len(only) == 1 {
			a.Metric, _ = at(only, 0, "MetricStat", "Metric", "MetricName").(string)
			a.Statistic, _ = at(only, 0, "MetricStat", "Stat").(string)
		}
		got[r.prop("AlarmName").(string)] = a
		r.is(t, "GreaterThanOrEqualToThreshold", "ComparisonOperator")
		r.is(t, "notBreaching", "TreatMissingData")
		r.is(t, []any{map[string]any{"Ref": topic}}, "AlarmActions")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	m.one("AWS::SNS::Subscription", "").is(t, "ops@example.com", "Endpoint")
}

// TestStoreThrottles: the alarm adds up both kinds over every table.
func TestStoreThrottles(t *testing.T) {
	m := main(t, plain(t))
	text := flat(m.one("AWS::CloudWatch::Alarm", "StoreThrottles").prop("Metrics"))
	for _, r := range m.all("AWS::DynamoDB::Table") {
		if n := strings.Count(text, r.id); n != 2 {
			t.Errorf("%s counts %d times, want reads and writes", r.id, n)
		}
	}
}

// TestMetrics: each number that is read out of the log is shown or watched, and
// each that is shown or watched is read.
func TestMetrics(t *testing.T) {
	m := main(t, plain(t))
	fed, logs := map[string]bool{}, m.one("AWS::Logs::LogGroup", "GatewayLogs").id
	var patterns []string
	for _, r := range m.all("AWS::Logs::MetricFilter") {
		r.is(t, logs, "LogGroupName", "Ref")
		r.is(t, "Holdfast", "MetricTransformations", 0, "MetricNamespace")
		name := r.prop("MetricTransformations", 0, "MetricName").(string)
		fed[name] = true
		patterns = append(patterns, name+" "+r.prop("FilterPattern").(string)+" "+r.prop("MetricTransformations", 0, "MetricValue").(string))
	}
	var want []string
	for _, f := range measure.Filters() {
		want = append(want, f.Metric+" "+f.Pattern()+" "+f.Value())
	}
	slices.Sort(patterns)
	slices.Sort(want)
	if diff := cmp.Diff(want, patterns); diff != "" {
		t.Error(diff)
	}
	board := flat(m.one("AWS::CloudWatch::Dashboard", "").prop("DashboardBody"))
	for name := range fed {
		if !strings.Contains(board, name) {
			t.Errorf("%s is read and not shown", name)
		}
	}
	for _, part := range strings.Split(board, "holdfast_")[1:] {
		name := "holdfast_" + part[:strings.IndexAny(part, `\"`)]
		if !fed[name] {
			t.Errorf("%s is shown and nothing feeds it", name)
		}
	}
	if !strings.Contains(board, "100*FILL(read,0)/(FILL(fresh,0)+FILL(read,0)+FILL(written,0))") {
		t.Error("the cached share is not shown")
	}
}
