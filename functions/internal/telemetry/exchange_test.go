package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"holdfast/functions/internal/wire"
)

func TestOneLine(t *testing.T) {
	var out bytes.Buffer
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	e := Exchange{
		Start: start, End: start.Add(1500 * time.Millisecond), RequestID: "req_1", Endpoint: "chat", Model: "m", Stream: true,
		Session: "ab12", SessionSource: "prompt", Affinity: "moved", Deployment: "two", Status: 200, FirstByte: 900 * time.Millisecond,
		Attempts: Attempts{{Deployment: "one", Outcome: "server_error", Status: 500, Millis: 3}, {Deployment: "two", Outcome: "success", Status: 200, Millis: 7}, {Deployment: `q"uote`, Outcome: "broken"}},
		Usage:    &wire.Usage{Input: 1, CacheRead: 2, Output: 3},
	}
	e.Log(t.Context(), NewLog(&out, slog.LevelInfo))
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != 1 {
		t.Fatalf("%d lines", n)
	}
	var line struct {
		Msg      string
		Duration int `json:"duration_ms"`
		TTFB     int `json:"ttfb_ms"`
		Affinity string
		Attempts []struct {
			Deployment, Outcome string
			Status, MS          int
		}
		Usage map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err, out.String())
	}
	if line.Msg != "exchange" || line.Duration != 1500 || line.TTFB != 900 || line.Affinity != "moved" || line.Usage["cache_read"] != 2.0 {
		t.Errorf("%+v", line)
	}
	if a := line.Attempts; len(a) != 3 || a[0].Status != 500 || a[1].Outcome != "success" || a[1].MS != 7 || a[2].Deployment != `q"uote` {
		t.Errorf("attempts %+v", line.Attempts)
	}
}

func TestNothingBelowItsLevel(t *testing.T) {
	var out bytes.Buffer
	(&Exchange{}).Log(t.Context(), NewLog(&out, slog.LevelWarn))
	if out.Len() != 0 {
		t.Errorf("logged %q", out.String())
	}
}
