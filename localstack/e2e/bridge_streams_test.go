package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// tokensIn are the tokens that a client reads of an answer, in its protocol's
// words: input without and from the cache, and output.
func tokensIn(endpoint string, usage map[string]any) (input, cached, output float64) {
	number := func(path ...string) float64 {
		v := any(usage)
		for _, name := range path {
			m, _ := v.(map[string]any)
			v = m[name]
		}
		n, _ := v.(float64)
		return n
	}
	switch endpoint {
	case "chat":
		cached = number("prompt_tokens_details", "cached_tokens")
		return number("prompt_tokens") - cached, cached, number("completion_tokens")
	case "responses":
		cached = number("input_tokens_details", "cached_tokens")
		return number("input_tokens") - cached, cached, number("output_tokens")
	}
	return number("input_tokens") + number("cache_creation_input_tokens"), number("cache_read_input_tokens"), number("output_tokens")
}

// usageOf is the usage that an answer shows its client; nil where it shows none.
func usageOf(t *testing.T, endpoint string, stream bool, a answer) map[string]any {
	t.Helper()
	if !stream {
		usage, _ := a.field("usage").(map[string]any)
		return usage
	}
	var usage map[string]any
	for _, e := range eventsOf(t, endpoint, a.body) {
		at := e.data
		if response, is := at["response"].(map[string]any); is {
			at = response
		}
		if own, is := at["usage"].(map[string]any); is {
			usage = own
		}
	}
	return usage
}

// TestBridgedUsage shows the tokens of an answer over a bridge, part of them read
// from the account's cache: in the client's own words and in the log as the
// account has counted them, JSON and SSE alike; a Chat client is shown a stream's
// only where it asks.
func TestBridgedUsage(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	eachWay(func(p pair, stream bool, row string) {
		body := p.ask(stream, user(long(1500)+" Hello to "+row))
		if p.client == "chat" && stream {
			if usage := usageOf(t, p.client, stream, post(t, s.URL+route(p.client), body, "X-Session-Id", row)); usage != nil {
				t.Errorf("%s: usage that nobody asked for: %v", row, usage)
			}
			body["stream_options"] = map[string]any{"include_usage": true}
		}
		for turn := range 2 {
			a := post(t, s.URL+route(p.client), body, "X-Session-Id", row)
			s.quiet()
			call := last(t, s.owner(a.deployment()))
			input, cached, output := tokensIn(p.client, usageOf(t, p.client, stream, a))
			used := call.Usage
			if a.StatusCode != 200 || int(input) != used.Input+used.CacheWrite5m || int(cached) != used.CacheRead || int(output) != used.Output || output == 0 {
				t.Errorf("%s, turn %d: the client reads %v, %v, %v; the account says %+v", row, turn, input, cached, output, used)
			}
			if turn == 1 && cached < 1024 {
				t.Errorf("%s: only %v tokens from the cache", row, cached)
			}
			line := fmt.Sprintf(`"usage":{"input":%d,"cache_read":%d,"cache_write_5m":%d,"cache_write_1h":%d,"output":%d,"reasoning":%d,"estimated":false}`,
				used.Input, used.CacheRead, used.CacheWrite5m, used.CacheWrite1h, used.Output, used.Reasoning)
			if entry := s.entry(a); !strings.Contains(entry, line) {
				t.Errorf("%s, turn %d: the log says %s, want %s", row, turn, entry, line)
			}
		}
	})
}

// entry is the log's line of an exchange.
func (s *scene) entry(a answer) string {
	id := a.Header.Get("X-Holdfast-Request-Id")
	for _, line := range s.Lines() {
		if strings.Contains(line, `"msg":"exchange"`) && strings.Contains(line, id) {
			return line
		}
	}
	return ""
}

// TestBridgedStreams shows streams over every bridge in the form that clients of
// the protocol know, saying what the JSON answer says: text, reasoning, several
// calls at once, an answer cut by its limit, by a stop sequence.
func TestBridgedStreams(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	for _, p := range bridges() {
		for name, change := range map[string]func(map[string]any){
			"text":     func(map[string]any) {},
			"long":     func(b map[string]any) { b[turnsOf(p.client)] = []any{user("Tell me in 300 tokens")} },
			"thinking": func(b map[string]any) { thinking(p.client, b) },
			"calls": func(b map[string]any) {
				b[turnsOf(p.client)] = []any{user("RUNTOOL and RUNTOOL")}
				b["tools"] = []any{toolOf(p.client, "first"), toolOf(p.client, "second")}
			},
			"a limit": func(b map[string]any) {
				b[map[string]string{"chat": "max_tokens", "responses": "max_output_tokens", "messages": "max_tokens"}[p.client]] = 9
			},
			"stop": func(b map[string]any) {
				if p.client != "responses" { // has no such member
					b[map[string]string{"chat": "stop", "messages": "stop_sequences"}[p.client]] = []string{"jetty"}
				}
			},
		} {
			row := name + ", " + p.String()
			body := p.ask(false, user("Hello"))
			change(body)
			plain := post(t, s.URL+route(p.client), body, "X-Session-Id", row)
			body["stream"] = true
			a := post(t, s.URL+route(p.client), body, "X-Session-Id", row)
			if plain.StatusCode != 200 || a.StatusCode != 200 || a.err != nil || a.Header.Get("Content-Length") != "" {
				t.Fatalf("%s: %d, %d %v\n%s\n%s", row, plain.StatusCode, a.StatusCode, a.err, plain.body, a.body)
			}
			events := follow(t, row, p.client, a.body)
			got, want := gathered(p.client, events), pieces(plain)
			if got != want || len(want) < 10 {
				t.Errorf("%s: streamed\n%s\nwhole\n%s", row, got, want)
			}
			if n := strings.Count(a.body, "[DONE]"); p.client == "chat" && n != 1 {
				t.Errorf("%s: %d ends", row, n)
			}
			if name == "calls" && (strings.Count(want, "first") != 1 || strings.Count(want, "second") != 1) {
				t.Errorf("%s: %s", row, want)
			}
		}
	}
}

// turnsOf names the member that holds a conversation.
func turnsOf(endpoint string) string {
	if endpoint == "responses" {
		return "input"
	}
	return "messages"
}

// thinking asks for reasoning in the words of a protocol.
func thinking(endpoint string, body map[string]any) {
	switch endpoint {
	case "chat":
		body["reasoning_effort"] = "low"
	case "responses":
		body["reasoning"] = map[string]any{"effort": "low", "summary": "auto"}
	default:
		body["max_tokens"], body["thinking"] = 4000, map[string]any{"type": "enabled", "budget_tokens": 2048}
	}
}

// pieces are what a JSON answer says: reasoning, text, calls, and how it ends.
func pieces(a answer) string {
	var v struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct {
				ReasoningContent string `json:"reasoning_content"`
				Content          string
				ToolCalls        []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
		Status     string
		StopReason string `json:"stop_reason"`
		Output     []struct {
			Type, Name, Arguments string
			Summary, Content      []struct{ Text string }
		}
		Content []struct {
			Type, Text, Thinking, Name string
			Input                      json.RawMessage
		}
	}
	if json.Unmarshal([]byte(a.body), &v) != nil {
		return "not JSON: " + a.body
	}
	var b strings.Builder
	for _, c := range v.Choices {
		m := c.Message
		fmt.Fprintf(&b, "<%s>%s", m.ReasoningContent, m.Content)
		for _, call := range m.ToolCalls {
			fmt.Fprintf(&b, "[%s %s]", call.Function.Name, call.Function.Arguments)
		}
		b.WriteString(" " + c.FinishReason)
	}
	thought, rest := "", ""
	for _, o := range v.Output {
		for _, part := range o.Summary {
			thought += part.Text
		}
		for _, part := range o.Content {
			rest += part.Text
		}
		if o.Type == "function_call" {
			rest += fmt.Sprintf("[%s %s]", o.Name, o.Arguments)
		}
	}
	for _, c := range v.Content {
		thought, rest = thought+c.Thinking, rest+c.Text
		if c.Type == "tool_use" {
			rest += fmt.Sprintf("[%s %s]", c.Name, c.Input)
		}
	}
	if v.Choices == nil {
		fmt.Fprintf(&b, "<%s>%s %s%s", thought, rest, v.Status, v.StopReason)
	}
	return b.String()
}

// gathered are the pieces of a streamed answer.
func gathered(endpoint string, events []event) string {
	text := func(m any, path ...string) string {
		for _, name := range path {
			if list, is := m.([]any); is && len(list) > 0 {
				m = list[0]
			}
			at, _ := m.(map[string]any)
			m = at[name]
		}
		s, _ := m.(string)
		return s
	}
	thought, rest, end := "", "", ""
	open := false
	begin := func(name string) {
		if open {
			rest += "]"
		}
		rest, open = rest+"["+name+" ", true
	}
	for _, e := range events {
		switch kind := text(e.data, "type"); {
		case endpoint == "chat":
			thought += text(e.data, "choices", "delta", "reasoning_content")
			rest += text(e.data, "choices", "delta", "content")
			if name := text(e.data, "choices", "delta", "tool_calls", "function", "name"); name != "" {
				begin(name)
			}
			rest += text(e.data, "choices", "delta", "tool_calls", "function", "arguments")
			end += text(e.data, "choices", "finish_reason")
		case kind == "response.reasoning_summary_text.delta":
			thought += text(e.data, "delta")
		case kind == "response.output_text.delta", kind == "response.function_call_arguments.delta":
			rest += text(e.data, "delta")
		case kind == "response.output_item.added" && text(e.data, "item", "type") == "function_call":
			begin(text(e.data, "item", "name"))
		case strings.HasPrefix(kind, "response.") && text(e.data, "response", "status") != "in_progress":
			end = text(e.data, "response", "status")
		case kind == "content_block_start" && text(e.data, "content_block", "type") == "tool_use":
			begin(text(e.data, "content_block", "name"))
		case kind == "content_block_delta":
			thought += text(e.data, "delta", "thinking")
			rest += text(e.data, "delta", "text") + text(e.data, "delta", "partial_json")
		case kind == "message_delta":
			end = text(e.data, "delta", "stop_reason")
		}
	}
	if open {
		rest += "]"
	}
	return fmt.Sprintf("<%s>%s %s", thought, rest, end)
}
