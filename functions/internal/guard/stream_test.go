package guard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/functions/internal/guard"
	"holdfast/functions/internal/wire/sse"
	"holdfast/routing/catalog"
)

// through sends events through a guard and returns what comes out of it.
func through(t testing.TB, s *guard.Stream, text string) (out []byte) {
	t.Helper()
	for events := sse.NewReader(strings.NewReader(text), 0); ; {
		e, err := events.Next()
		if err != nil {
			return s.End(out)
		}
		out = s.Event(out, *e)
	}
}

// protocol builds and reads streams of one text.
type protocol struct {
	endpoint          string
	begin, piece, end string // %s is the piece, quoted
	read              func(m map[string]any) string
}

func str(v any, path ...any) string {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return ""
			}
			v = l[p]
		}
	}
	s, _ := v.(string)
	return s
}

func protocols() map[string]protocol {
	return map[string]protocol{
		"chat text": {"chat", `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n",
			`data: {"choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}` + "\n\n",
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
			func(m map[string]any) string { return str(m, "choices", 0, "delta", "content") }},
		"chat arguments": {"chat", `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c","function":{"name":"f","arguments":""}}]}}]}` + "\n\n",
			`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":%s}}]}}]}` + "\n\n",
			"data: [DONE]\n\n",
			func(m map[string]any) string {
				return str(m, "choices", 0, "delta", "tool_calls", 0, "function", "arguments")
			}},
		"messages text": {"messages", "event: content_block_start\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n",
			"event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}` + "\n\n",
			"event: content_block_stop\ndata: " + `{"type":"content_block_stop","index":0}` + "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
			func(m map[string]any) string { return str(m, "delta", "text") }},
		"responses text": {"responses", "event: response.created\ndata: " + `{"type":"response.created","sequence_number":0,"response":{"instructions":"AKIA0123456789ABCDEF"}}` + "\n\n",
			"event: response.output_text.delta\ndata: " + `{"type":"response.output_text.delta","sequence_number":1,"output_index":0,"content_index":0,"delta":%s,"logprobs":[]}` + "\n\n",
			"event: response.output_text.done\ndata: " + `{"type":"response.output_text.done","sequence_number":2,"output_index":0,"content_index":0,"text":"-"}` + "\n\n",
			func(m map[string]any) string { s, _ := m["delta"].(string); return s }},
	}
}

// stream is a protocol's stream of pieces, ASCII as it is or all escaped.
func (p protocol) stream(pieces []string, escape bool) string {
	var b strings.Builder
	b.WriteString(p.begin)
	for _, piece := range pieces {
		quoted, _ := json.Marshal(piece)
		if escape {
			quoted = []byte(`"`)
			for _, r := range piece {
				if r > 0xffff {
					quoted = append(quoted, string(r)...)
					continue
				}
				quoted = fmt.Appendf(quoted, `\u%04x`, r)
			}
			quoted = append(quoted, '"')
		}
		b.WriteString(strings.Replace(p.piece, "%s", string(quoted), 1))
	}
	b.WriteString(p.end)
	return b.String()
}

// text is what a client reads of a stream.
func (p protocol) text(t testing.TB, out []byte) string {
	t.Helper()
	var b strings.Builder
	for events := sse.NewReader(bytes.NewReader(out), 0); ; {
		e, err := events.Next()
		if err != nil {
			return b.String()
		}
		if string(e.Data) == "[DONE]" {
			continue
		}
		var m map[string]any
		if err := json.Unmarshal(e.Data, &m); err != nil {
			t.Fatalf("%q: %v", e.Raw, err)
		}
		b.WriteString(p.read(m))
	}
}

// Forbidden text that is split over events and escapes is redacted or blocked, at
// every cut, in every protocol.
func TestSplitOverEvents(t *testing.T) {
	text := "Take " + secret + " and run."
	for name, p := range protocols() {
		for cut := range len(text) - 1 {
			for _, escape := range []bool{false, true} {
				pieces := []string{text[:cut+1], text[cut+1:]}
				s := guard.Compile([]catalog.Guard{aws(catalog.Redact, true)}).Stream(p.endpoint)
				out := through(t, s, p.stream(pieces, escape))
				if got := p.text(t, out); got != "Take [redacted] and run." || bytes.Contains(out, []byte(secret[:8]+secret[8:])) && p.endpoint != "responses" {
					t.Fatalf("%s, cut at %d: %q", name, cut, out)
				}
				s = guard.Compile([]catalog.Guard{aws(catalog.Block, true)}).Stream(p.endpoint)
				out = through(t, s, p.stream(pieces, escape))
				if s.Found().Blocked != "aws" || strings.Contains(p.text(t, out), "AKIA") {
					t.Fatalf("%s, cut at %d: not blocked: %q", name, cut, out)
				}
			}
		}
	}
}

// However a text is cut, what a client reads is what the rules make of it whole.
func TestSlidesAsWhole(t *testing.T) {
	expressions := []string{"ab", "a{2,3}b?", `\bba\b`, "^a", "b$", "(?i)ÄB", "[0-9]{3}", "a.c", "é+", "x|xy|xyz", "(a|b)c(a|b)", `\d{2,}`}
	rapid.Check(t, func(r *rapid.T) {
		p := protocols()[rapid.SampledFrom([]string{"chat text", "chat arguments", "messages text", "responses text"}).Draw(r, "protocol")]
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abcxyzéäÄ12 .\n\"😀")), 0, 60, -1).Draw(r, "text")
		var guards []catalog.Guard
		want := text
		blocked := false
		for i := range rapid.IntRange(1, 3).Draw(r, "rules") {
			e := rapid.SampledFrom(expressions).Draw(r, "expression")
			action := rapid.SampledFrom([]string{catalog.Redact, catalog.Redact, catalog.LogMatch, catalog.Block}).Draw(r, "action")
			guards = append(guards, rule(fmt.Sprint(i), e, action, true))
			re := regexp.MustCompile(e)
			blocked = blocked || action == catalog.Block && re.MatchString(want)
			if action == catalog.Redact {
				want = re.ReplaceAllLiteralString(want, "[redacted]")
			}
		}
		var pieces []string
		for rest := []rune(text); len(rest) > 0; {
			n := rapid.IntRange(0, min(7, len(rest))).Draw(r, "n")
			pieces, rest = append(pieces, string(rest[:n])), rest[n:]
		}
		s := guard.Compile(guards).Stream(p.endpoint)
		got := p.text(t, through(t, s, p.stream(pieces, rapid.Bool().Draw(r, "escape"))))
		if (s.Found().Blocked != "") != blocked {
			r.Fatalf("%q blocked by %q, want %t", text, s.Found().Blocked, blocked)
		}
		if blocked && !strings.HasPrefix(want, got) || !blocked && got != want {
			r.Fatalf("%q in %q gave %q, want %q", text, pieces, got, want)
		}
	})
}

// What no rule concerns comes as it came, at once; what is held back is bounded.
func TestHoldsLittle(t *testing.T) {
	p := protocols()["chat text"]
	s := guard.Compile([]catalog.Guard{aws(catalog.Redact, true)}).Stream("chat")
	var seen []byte
	for i := range 100 {
		piece := strings.Replace(p.piece, "%s", `"word "`, 1)
		e := sse.Event{Raw: []byte(piece), Data: []byte(strings.TrimSuffix(strings.TrimPrefix(piece, "data: "), "\n\n"))}
		seen = s.Event(seen, e)
		if held := 5*(i+1) - len(p.text(t, seen)); held > 19 {
			t.Fatalf("%d bytes are held after %d", held, i+1)
		}
	}
	s = guard.Compile([]catalog.Guard{rule("note", "word", catalog.LogMatch, true)}).Stream("chat")
	text := p.stream([]string{"wo", "rd"}, false)
	if out := through(t, s, text); string(out) != text || len(s.Found().Names) != 1 {
		t.Errorf("a rule that takes notes has changed the stream: %q", out)
	}
	s = guard.Compile([]catalog.Guard{rule("long", "a+", catalog.Redact, true)}).Stream("chat")
	if out := p.text(t, through(t, s, p.stream([]string{strings.Repeat("b", 1000)}, false))); len(out) != 1000 {
		t.Errorf("%d of 1000 bytes came", len(out))
	}
}

// Comments, pings, other parts and unknown events stay where they were, and
// numbers of events stay in order.
func TestOrderOfEvents(t *testing.T) {
	s := guard.Compile([]catalog.Guard{aws(catalog.Redact, true)}).Stream("responses")
	delta := func(n int, text string) string {
		return fmt.Sprintf("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":%d,\"output_index\":0,\"content_index\":0,\"delta\":%q}\n\n", n, text)
	}
	in := ": hello\n\n" + delta(1, "a long enough beginning AK") + ": ping\n\nevent: novelty\ndata: {\"type\":\"novelty\",\"sequence_number\":2}\n\n" + delta(3, "IA0123456789ABCDEF ok") +
		"event: response.output_text.done\ndata: {\"type\":\"response.output_text.done\",\"sequence_number\":4,\"output_index\":0,\"text\":\"" + secret + "\"}\n\n" +
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":5,\"response\":{\"output\":[{\"content\":[{\"text\":\"" + secret + "\"}]}]}}\n\n"
	out := string(through(t, s, in))
	var order []string
	last := -1.0
	for events := sse.NewReader(strings.NewReader(out), 0); ; {
		e, err := events.Next()
		if err != nil {
			break
		}
		order = append(order, string(e.Name))
		var m map[string]any
		if e.Data != nil {
			if err := json.Unmarshal(e.Data, &m); err != nil {
				t.Fatal(err)
			}
			if n := m["sequence_number"].(float64); n <= last {
				t.Errorf("number %g after %g", n, last)
			} else {
				last = n
			}
		}
	}
	want := " response.output_text.delta  novelty response.output_text.delta response.output_text.delta response.output_text.done response.completed"
	if got := strings.Join(order, " "); got != want || strings.Contains(out, secret) || strings.Count(out, "[redacted]") != 3 {
		t.Errorf("%s\n%s", got, out)
	}
}

// Two parts that begin in one event are both guarded, and one whose group goes on
// with another part shows its text before it.
func TestParts(t *testing.T) {
	s := guard.Compile([]catalog.Guard{aws(catalog.Redact, true)}).Stream("chat")
	in := `data: {"choices":[{"index":0,"delta":{"reasoning_content":"AKIA0123456789","content":"AKIA0123456789"}},{"index":1,"delta":{"content":"fine"}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"reasoning_content":"ABCDEF","content":"ABCDEF"}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"` + secret + `"}}]}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"total_tokens":1}}` + "\n\ndata: [DONE]\n\n"
	out := string(through(t, s, in))
	if strings.Contains(out, "AKIA") || strings.Count(out, "[redacted]") != 3 || strings.Count(out, `"fine"`) != 1 || strings.Count(out, `"usage"`) != 1 || strings.Count(out, `"name":"f"`) != 1 {
		t.Errorf("%s", out)
	}
	if strings.Index(out, `"fine"`) > strings.Index(out, "[DONE]") || !strings.HasSuffix(out, "data: [DONE]\n\n") {
		t.Errorf("the end does not come last: %s", out)
	}
}

// The bound on the size counts what comes in pieces.
func TestStreamSize(t *testing.T) {
	p := protocols()["messages text"]
	for limit, blocked := range map[int]string{9: "size", 10: ""} {
		s := guard.Compile([]catalog.Guard{{Name: "size", MaxBytes: limit, Action: catalog.Block, Output: true}}).Stream("messages")
		if through(t, s, p.stream([]string{"12345", "67890"}, false)); s.Found().Blocked != blocked {
			t.Errorf("10 bytes of %d: blocked by %q", limit, s.Found().Blocked)
		}
	}
}

// Whatever an upstream sends, a guard neither fails nor lets forbidden text pass
// in what it understands.
func FuzzStream(f *testing.F) {
	for _, p := range protocols() {
		f.Add(p.endpoint, p.stream([]string{"a AKIA01234", "56789ABCDEF b"}, false))
	}
	f.Add("chat", "data: {\"choices\":[{\"index\":1e99,\"delta\":{\"content\":\"x\"}}]}\n\ndata: {\n\n")
	f.Fuzz(func(t *testing.T, endpoint, text string) {
		if len(text) > 1<<14 {
			return
		}
		s := guard.Compile([]catalog.Guard{aws(catalog.Redact, true), rule("k", "forbidden", catalog.Block, true)}).Stream(endpoint)
		out := through(t, s, text)
		for events := sse.NewReader(bytes.NewReader(out), 0); ; {
			e, err := events.Next()
			if err != nil {
				break
			}
			if s.Found().Names != nil && json.Valid(e.Data) && bytes.Contains(e.Data, []byte(`"content":"`+secret)) && endpoint == "chat" {
				t.Fatalf("%q came through", e.Data)
			}
		}
	})
}
