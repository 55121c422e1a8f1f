package bridge_test

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"holdfast/functions/internal/wire"
)

// TestRecordedClients: what real clients send is taken to every other protocol
// without a refusal, and nothing of the conversation is lost on the way.
func TestRecordedClients(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/captures.txtar")
	if err != nil || len(archive.Files) < 60 {
		t.Fatalf("%d requests, %v", len(archive.Files), err)
	}
	for _, file := range archive.Files {
		endpoint, _, _ := strings.Cut(file.Name, "/")
		for _, pair := range pairs() {
			if string(pair[0]) != endpoint {
				continue
			}
			t.Run(file.Name+" to "+string(pair[1]), func(t *testing.T) {
				for _, model := range []string{"upstream-model", "claude-sonnet-4-6", "gpt-5", "deepseek-chat"} {
					o := options(pair[0])
					o.Model = model
					tr := translate(t, pair[0], pair[1], string(file.Data), o)
					kept(t, readDialog(t, pair[0], bytes.TrimSpace(file.Data)), readDialog(t, pair[1], tr.Body))
				}
			})
		}
	}
}

// kept checks that a dialog has everything that another says, reasoning apart.
func kept(t *testing.T, before, after *wire.Dialog) {
	t.Helper()
	var all strings.Builder
	names := map[string]bool{}
	for _, m := range after.Messages {
		for _, p := range m.Parts {
			all.WriteString(said(p) + "\n")
		}
	}
	for _, tool := range after.Tools {
		names[tool.Name] = true
	}
	for _, m := range before.Messages {
		for _, p := range m.Parts {
			if p.Kind != wire.Reasoning && strings.TrimSpace(said(p)) != "" && !strings.Contains(all.String(), said(p)) {
				t.Errorf("%.80q of %s is lost", said(p), m.Role)
			}
		}
	}
	for _, tool := range before.Tools {
		if !names[tool.Name] {
			t.Errorf("the tool %s is lost", tool.Name)
		}
	}
}
