package exchange

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
)

// TestWorkThatPanics shows that a fault in what follows an answer ends neither
// the process nor the rest of that work, and is logged without its own words.
func TestWorkThatPanics(t *testing.T) {
	var out bytes.Buffer
	e := &exchange{Exchange: &Exchange{Config: Config{Log: slog.New(slog.NewJSONHandler(&out, nil))}}, in: Request{ID: "req_1"}}
	var done atomic.Int32
	good := func(context.Context) { done.Add(1) }
	bad := func(context.Context) { panic("a prompt") }
	e.sideBySide(t.Context(), []func(context.Context){bad, good, bad, good})
	e.sideBySide(t.Context(), []func(context.Context){bad})
	if done.Load() != 2 {
		t.Errorf("%d pieces of work were done, want 2", done.Load())
	}
	if log := out.String(); strings.Count(log, `"request_id":"req_1"`) != 3 || strings.Count(log, "TestWorkThatPanics") != 3 || strings.Contains(log, "prompt") {
		t.Errorf("logged %s", log)
	}
}
