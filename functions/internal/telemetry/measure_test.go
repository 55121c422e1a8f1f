package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"holdfast/functions/internal/wire"
	"holdfast/infra/measure"
)

// TestWhatIsMeasured holds the line against the metric filters that read it: a
// renamed attribute would silence an alarm.
func TestWhatIsMeasured(t *testing.T) {
	var out bytes.Buffer
	start, usd := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), 0.25
	e := Exchange{
		Start: start, End: start.Add(time.Second), Status: 200, Affinity: "hit", FirstByte: 900 * time.Millisecond,
		Usage: &wire.Usage{Input: 1, CacheRead: 2, CacheWrite5m: 3, CacheWrite1h: 4, Output: 5}, Cost: &usd,
	}
	e.Log(t.Context(), NewLog(&out, slog.LevelInfo))
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["msg"] != measure.Message || line["affinity"] != "hit" || line["status"] != 200.0 {
		t.Errorf("conditions read msg, affinity and status: %v", line)
	}
	for _, f := range measure.Filters() {
		if f.Field == "" {
			continue
		}
		var at any = line
		for part := range strings.SplitSeq(f.Field, ".") {
			object, _ := at.(map[string]any)
			at = object[part]
		}
		if _, number := at.(float64); !number {
			t.Errorf("%s reads %s, which is %v in the line", f.Metric, f.Field, at)
		}
	}
	out.Reset()
	e.Cost = nil
	e.Log(t.Context(), NewLog(&out, slog.LevelInfo))
	if strings.Contains(out.String(), "cost_usd") {
		t.Error("an unknown cost is in the line")
	}
}
