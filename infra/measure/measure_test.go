package measure_test

import (
	"regexp"
	"testing"

	"holdfast/infra/measure"
)

func TestPatterns(t *testing.T) {
	rows := map[measure.Filter][2]string{
		{Metric: "m"}: {`{ ($.msg = "exchange") }`, "1"},
		{Metric: "m", Only: `$.affinity = "degraded"`}: {`{ ($.msg = "exchange") && ($.affinity = "degraded") }`, "1"},
		{Metric: "m", Field: "usage.input"}:            {`{ ($.msg = "exchange") && ($.usage.input >= 0) }`, "$.usage.input"},
	}
	for f, want := range rows {
		if f.Pattern() != want[0] || f.Value() != want[1] {
			t.Errorf("%s %s, want %s", f.Pattern(), f.Value(), want)
		}
	}
}

// TestNames: metrics are named alike, and each is fed.
func TestNames(t *testing.T) {
	form, fed := regexp.MustCompile(`^holdfast_[a-z_]+$`), map[string]bool{}
	for _, f := range measure.Filters() {
		if !form.MatchString(f.Metric) {
			t.Errorf("metric %q", f.Metric)
		}
		fed[f.Metric] = true
	}
	for _, name := range []string{measure.Exchanges, measure.Degraded, measure.Moved, measure.Refused, measure.FirstByte,
		measure.Input, measure.CacheRead, measure.CacheWrite, measure.Output, measure.Cost} {
		if !fed[name] {
			t.Errorf("nothing feeds %s", name)
		}
	}
}
