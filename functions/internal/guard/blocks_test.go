package guard_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"holdfast/functions/internal/guard"
	"holdfast/routing/catalog"
)

// A forbidden text that is cut by the borders of blocks of one message is found in
// requests and answers: redacted in each block that it lies in, or blocked.
func TestOverBlocks(t *testing.T) {
	one, two, three := secret[:7], secret[7:11], secret[11:]
	for name, row := range map[string]struct{ body, want string }{
		"chat":          {`{"messages":[{"content":[{"type":"text","text":"a ` + one + `"},{"type":"text","text":"` + two + three + ` b"}]}]}`, `{"messages":[{"content":[{"type":"text","text":"a [redacted]"},{"type":"text","text":" b"}]}]}`},
		"three":         {`{"messages":[{"content":[{"text":"` + one + `"},{"text":"` + two + `"},{"text":"` + three + `"}]}]}`, `{"messages":[{"content":[{"text":"[redacted]"},{"text":""},{"text":""}]}]}`},
		"image between": {`{"messages":[{"content":[{"text":"` + one + `"},{"type":"image","source":{"data":"x"}},{"text":"` + two + three + `"}]}]}`, `{"messages":[{"content":[{"text":"[redacted]"},{"type":"image","source":{"data":"x"}},{"text":""}]}]}`},
		"responses":     {`{"input":[{"type":"message","content":[{"type":"input_text","text":"` + one + `"},{"type":"input_text","text":"` + two + three + `"}]}]}`, `{"input":[{"type":"message","content":[{"type":"input_text","text":"[redacted]"},{"type":"input_text","text":""}]}]}`},
		"system":        {`{"system":[{"text":"` + one + `"},{"text":"` + two + three + `"}]}`, `{"system":[{"text":"[redacted]"},{"text":""}]}`},
		"tool result":   {`{"messages":[{"content":[{"type":"tool_result","content":[{"text":"` + one + `"},{"text":"` + two + three + `"}]},{"text":"x"}]}]}`, `{"messages":[{"content":[{"type":"tool_result","content":[{"text":"[redacted]"},{"text":""}]},{"text":"x"}]}]}`},
		"twice":         {`{"system":[{"text":"` + secret + one + `"},{"text":"` + two + three + secret + `"}]}`, `{"system":[{"text":"[redacted][redacted]"},{"text":"[redacted]"}]}`},
		"two messages":  {`{"messages":[{"content":[{"text":"` + one + `"}]},{"content":[{"text":"` + two + three + `"}]}]}`, ``},
		"inputs":        {`{"input":["` + one + `","` + two + three + `"]}`, ``},
	} {
		want, names := row.want, 1
		if want == "" {
			want, names = row.body, 0
		}
		got, found := guard.Compile([]catalog.Guard{aws(catalog.Redact, false)}).Input([]byte(row.body))
		if string(got) != want || len(found.Names) != names {
			t.Errorf("%s: %s %v, want %s", name, got, found.Names, want)
		}
		if _, found := guard.Compile([]catalog.Guard{aws(catalog.Block, false)}).Input([]byte(row.body)); (found.Blocked == "aws") != (names > 0) {
			t.Errorf("%s: blocked by %q", name, found.Blocked)
		}
		if got, found := guard.Compile([]catalog.Guard{aws(catalog.LogMatch, false)}).Input([]byte(row.body)); string(got) != row.body || len(found.Names) != names {
			t.Errorf("%s: %s is noted, %v", name, got, found.Names)
		}
	}
	answer := `{"content":[{"type":"text","text":"` + one + `"},{"type":"text","text":"` + two + three + `"}]}`
	if got, _ := guard.Compile([]catalog.Guard{aws(catalog.Redact, true)}).Output("messages", []byte(answer)); string(got) != `{"content":[{"type":"text","text":"[redacted]"},{"type":"text","text":""}]}` {
		t.Errorf("an answer: %s", got)
	}
}

// blockwise is a stream of texts, each in a block of its own and in pieces of n
// bytes.
func blockwise(endpoint string, n int, texts ...string) string {
	var b strings.Builder
	event := func(kind, format string, values ...any) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,"+format+"}\n\n", append([]any{kind, kind}, values...)...)
	}
	for i, text := range texts {
		if endpoint == "messages" {
			event("content_block_start", `"index":%d,"content_block":{"type":"text","text":""}`, i)
		}
		for at := 0; at < len(text); at += n {
			piece := text[at:min(at+n, len(text))]
			if endpoint == "messages" {
				event("content_block_delta", `"index":%d,"delta":{"type":"text_delta","text":%q}`, i, piece)
			} else {
				event("response.output_text.delta", `"output_index":0,"content_index":%d,"delta":%q`, i, piece)
			}
		}
		if endpoint == "messages" {
			event("content_block_stop", `"index":%d`, i)
		} else {
			event("response.output_text.done", `"output_index":0,"content_index":%d,"text":"-"`, i)
		}
	}
	return b.String()
}

// In a stream the first block is gone when the second comes: the rest of what lies
// over the border is not shown, at every cut, whatever the pieces.
func TestStreamOverBlocks(t *testing.T) {
	text := "Take " + secret + " and run, " + strings.Repeat("far ", 20)
	for _, endpoint := range []string{"messages", "responses"} {
		p := protocols()[endpoint+" text"]
		for cut := 1; cut < 40; cut++ {
			for _, texts := range [][]string{{text[:cut], text[cut:]}, {text[:cut/2], text[cut/2 : cut], text[cut:]}, {text[:cut], text[cut : cut+1], text[cut+1:]}} {
				for _, n := range []int{1, 7, 100} {
					stream := blockwise(endpoint, n, texts...)
					s := guard.Compile([]catalog.Guard{aws(catalog.Redact, true)}).Stream(endpoint)
					got := p.text(t, through(t, s, stream))
					if strings.Contains(got, secret) || strings.Contains(got, secret[len(secret)-1:]+" and") || !strings.Contains(got, "[redacted] and run, far ") || !strings.HasPrefix(got, "Take ") || len(s.Found().Names) != 1 {
						t.Fatalf("%s, %q by %d: %q", endpoint, texts, n, got)
					}
					s = guard.Compile([]catalog.Guard{aws(catalog.Block, true)}).Stream(endpoint)
					if got := through(t, s, stream); s.Found().Blocked != "aws" || bytes.Contains(got, []byte(secret[len(secret)-1:]+" and")) {
						t.Fatalf("%s, %q by %d: not blocked: %q", endpoint, texts, n, got)
					}
					s = guard.Compile([]catalog.Guard{aws(catalog.LogMatch, true)}).Stream(endpoint)
					if got := p.text(t, through(t, s, stream)); got != text || len(s.Found().Names) != 1 {
						t.Fatalf("%s, %q by %d: noted %v of %q", endpoint, texts, n, s.Found().Names, got)
					}
				}
			}
		}
		harmless := blockwise(endpoint, 5, "Take AKIA012", "3 and ", "run")
		s := guard.Compile([]catalog.Guard{aws(catalog.Redact, true)}).Stream(endpoint)
		if got := p.text(t, through(t, s, harmless)); got != "Take AKIA0123 and run" || len(s.Found().Names) != 0 {
			t.Errorf("%s: harmless text became %q", endpoint, got)
		}
	}
}
