package messages_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/messages"
)

// TestStripThinking (M2): pairs of a body and what the repair makes of it.
func TestStripThinking(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/repair/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		in, want := archive.Files[i], archive.Files[i+1]
		t.Run(in.Name, func(t *testing.T) {
			got, err := messages.StripThinking(in.Data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want.Data), string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStripThinkingRefuses(t *testing.T) {
	fault := (*jsonedit.Error)(nil)
	if _, err := messages.StripThinking([]byte(`{"messages":[`)); !errors.As(err, &fault) {
		t.Errorf("got %v", err)
	}
}

// FuzzStripThinking: the result is valid and without thinking blocks, and
// everything but messages, thinking and what depends on it stays as it is.
func FuzzStripThinking(f *testing.F) {
	f.Add([]byte(`{"model":"m","thinking":{"type":"enabled"},"messages":[{"role":"assistant","content":[{"type":"thinking"},{"type":"tool_use"}]}]}`))
	f.Add([]byte(`{"messages":[{"content":[{"type":"redacted_thinking"}]},{"content":[ {"type":"thinking"} , {"type":"text"} ]}],"a":1}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		before, err := jsonedit.Parse(in)
		if err != nil {
			return
		}
		out, err := messages.StripThinking(in)
		if err != nil {
			t.Fatal(err)
		}
		after, err := jsonedit.Parse(out)
		if err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		before.Names(func(name []byte) bool {
			switch string(name) {
			case "messages", "thinking", "context_management":
				return true
			}
			if a, b := before.Value(string(name)).Bytes(), after.Value(string(name)).Bytes(); string(a) != string(b) {
				t.Fatalf("%q became %q", a, b)
			}
			return true
		})
		for each := after.Value("messages").Each(); each.Next(); {
			v := each.Value()
			for block := v.Get("content").Each(); v.Get("content").Kind() == '[' && block.Next(); {
				if kind := block.Value(); kind.Get("type").Is("thinking") || kind.Get("type").Is("redacted_thinking") {
					t.Fatalf("a thinking block is left in %q", out)
				}
			}
		}
	})
}

// TestThinkingPassesThrough (M1): no edit of the gateway touches thinking blocks.
func TestThinkingPassesThrough(t *testing.T) {
	history := `"messages": [ {"role":"assistant","content":[{"signature":"EqQB\/+=","thinking":"H\u006d …","type":"thinking"}, {"type":"redacted_thinking","data":"Em\u0077K"}]} ]`
	f, p := wire.Inspect(wire.EndpointMessages, []byte(`{"model":"m","session_id":"s",`+history+`}`))
	if p != nil {
		t.Fatal(p)
	}
	got := messages.Rewrite(f, wire.Edits{Model: "up", Foreign: true, HintField: "x", HintValue: "y"}).Body
	if !strings.Contains(string(got), history) {
		t.Errorf("the history became %s", got)
	}
}

// TestAttribution: the rotating block is left out where the target is not
// Anthropic's, and only there.
func TestAttribution(t *testing.T) {
	const block = `{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.332.296; cc_entrypoint=cli;"}`
	for _, row := range []struct{ name, in, want string }{
		{"first of several", `{"model":"m","system":[` + block + `, {"type":"text","text":"You are"}]}`, `{"model":"m","system":[{"type":"text","text":"You are"}]}`},
		{"alone", `{"model":"m","system":[` + block + `],"max_tokens":1}`, `{"model":"m","max_tokens":1}`},
		{"later", `{"model":"m","system":[{"type":"text","text":"a"},` + block + `]}`, `{"model":"m","system":[{"type":"text","text":"a"}]}`},
		{"a string", `{"model":"m","system":"x-anthropic-billing-header: no block"}`, `{"model":"m","system":"x-anthropic-billing-header: no block"}`},
		{"none", `{"model":"m","system":[]}`, `{"model":"m","system":[]}`},
	} {
		f, p := wire.Inspect(wire.EndpointMessages, []byte(row.in))
		if p != nil {
			t.Fatal(p)
		}
		if got := string(messages.Rewrite(f, wire.Edits{Foreign: true}).Body); got != row.want {
			t.Errorf("%s: %s", row.name, got)
		}
		if got := string(messages.Rewrite(f, wire.Edits{}).Body); got != row.in {
			t.Errorf("%s for Anthropic: %s", row.name, got)
		}
	}
}
