package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/functions/internal/wire"
)

// full is an exchange that has every member in its line.
func full() Exchange {
	usd, start := 0.5, time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return Exchange{
		Start: start, End: start.Add(time.Second), RequestID: "req_1", KeyID: "k", UserPath: "/o/t/ü\"", Endpoint: "chat", Model: "m", Stream: true,
		Session: "s", SessionSource: "explicit", SessionSignal: "X-Session-Id", Lane: "l", Parent: "pa", Affinity: "moved", Degraded: "store_unavailable",
		Passed: "cooldown", Template: "t", RuleSource: "key", Deployment: "d", Connection: "c", Provider: "p", UpstreamModel: "u",
		Status: 200, ErrorCode: "e", Guardrails: []string{"a", "b"}, Limit: "key/requests", FirstByte: time.Millisecond,
		Attempts: Attempts{{Deployment: "d", Outcome: "server_error", Status: 500}, {Deployment: "d", Outcome: "success"}},
		Usage:    &wire.Usage{Input: 1, Estimated: true}, Cost: &usd, Commit: "committed", Cancelled: true, Cache: "hit", Revision: "r", Embed: true,
		Explanation: []byte(`{"strategy":"weighted"}`), Task: &Task{Kind: "video", ID: "v", Parameters: map[string]string{"size": "1"}},
	}
}

// TestLineBesideOthers shows that exchanges' own lines and all others stand whole
// beside each other, with the same beginning, whoever writes at the same time.
func TestLineBesideOthers(t *testing.T) {
	var out bytes.Buffer
	log, e := NewLog(&out, slog.LevelInfo), full()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { e.Log(t.Context(), log) })
		all.Go(func() { log.Info("other", "name", "value") })
	}
	all.Wait()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 100 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		var head struct {
			Time  time.Time
			Level string
			Msg   string
		}
		if err := json.Unmarshal([]byte(line), &head); err != nil || head.Time.IsZero() || head.Level != "INFO" || head.Msg == "" {
			t.Fatalf("%v in %s", err, line)
		}
	}
}

// TestEveryMember shows that nothing of an exchange is missing in its line, and
// that a logger of somebody else's says the same.
func TestEveryMember(t *testing.T) {
	var own, foreign bytes.Buffer
	e := full()
	e.Log(t.Context(), NewLog(&own, slog.LevelInfo))
	e.Log(t.Context(), slog.New(slog.NewJSONHandler(&foreign, nil)))
	var line map[string]any
	if err := json.Unmarshal(own.Bytes(), &line); err != nil {
		t.Fatal(err, own.String())
	}
	for _, name := range strings.Fields(`time level msg request_id key user_path endpoint model stream session session_source session_signal lane parent affinity
		degraded preference_passed template rule_source deployment connection provider upstream_model commit revision status error_code limit guardrails cache
		cancelled ttfb_ms duration_ms attempts usage explanation task cost_usd _aws`) {
		if line[name] == nil {
			t.Errorf("no %s in %s", name, own.String())
		}
	}
	if line["user_path"] != e.UserPath {
		t.Errorf("user_path %q", line["user_path"])
	}
	var wrapped struct{ Line map[string]any }
	if err := json.Unmarshal(foreign.Bytes(), &wrapped); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"time", "level", "msg"} {
		delete(line, name)
	}
	if !reflect.DeepEqual(line, wrapped.Line) {
		t.Errorf("another logger says\n%v\nnot\n%v", wrapped.Line, line)
	}
}

// BenchmarkLog is the line of a usual exchange.
func BenchmarkLog(b *testing.B) {
	e, log := full(), NewLog(nowhere{}, slog.LevelInfo)
	e.Task, e.Explanation, e.Embed, e.Guardrails, e.Attempts = nil, nil, false, nil, e.Attempts[1:]
	b.ReportAllocs()
	for b.Loop() {
		e.Log(b.Context(), log)
	}
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
