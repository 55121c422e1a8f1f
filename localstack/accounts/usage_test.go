package accounts_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/localstack/accounts"
)

// conversation drives one protocol turn by turn.
type conversation struct {
	protocol string
	path     string
	turns    []any // messages or input items
}

func (c *conversation) say(t *testing.T, url, text string, stream bool) (prompt, read, wrote int) {
	t.Helper()
	c.turns = append(c.turns, map[string]any{"role": "user", "content": text})
	body := map[string]any{"model": "m", "stream": stream}
	switch c.protocol {
	case accounts.Chat:
		body["messages"] = append([]any{map[string]any{"role": "system", "content": words("system", 2000)}}, c.turns...)
		body["stream_options"] = map[string]any{"include_usage": true}
		if !stream {
			delete(body, "stream_options")
		}
	case accounts.Responses:
		body["instructions"], body["input"], body["store"] = words("system", 2000), c.turns, false
	case accounts.Messages:
		body["system"], body["messages"], body["max_tokens"] = words("system", 2000), c.turns, 2000
	}
	a := must(t, http.MethodPost, url+c.path, encode(t, body))
	if a.status != http.StatusOK {
		t.Fatalf("%d: %s", a.status, a.body)
	}
	answer, usage := c.read(t, a, stream)
	c.turns = append(c.turns, map[string]any{"role": "assistant", "content": answer})
	switch c.protocol {
	case accounts.Chat:
		return usage.number("prompt_tokens"), usage.number("prompt_tokens_details", "cached_tokens"), 0
	case accounts.Responses:
		return usage.number("input_tokens"), usage.number("input_tokens_details", "cached_tokens"), 0
	}
	read, wrote = usage.number("cache_read_input_tokens"), usage.number("cache_creation_input_tokens")
	return usage.number("input_tokens") + read + wrote, read, wrote
}

// read takes text and usage out of an answer, whole or streamed.
func (c *conversation) read(t *testing.T, a answer, stream bool) (text string, usage object) {
	t.Helper()
	if !stream {
		o := a.object(t)
		usage, _ := o.at("usage").(map[string]any)
		switch c.protocol {
		case accounts.Chat:
			return o.text("choices", 0, "message", "content"), usage
		case accounts.Responses:
			return o.text("output", 0, "content", 0, "text"), usage
		}
		return o.text("content", 0, "text"), usage
	}
	usage = object{}
	for _, e := range a.events() {
		if e.data == "[DONE]" {
			continue
		}
		o := answer{body: []byte(e.data)}.object(t)
		switch c.protocol {
		case accounts.Chat:
			text += o.text("choices", 0, "delta", "content")
		case accounts.Responses:
			if e.name == "response.output_text.delta" {
				text += o.text("delta")
			}
			o, _ = o.at("response").(map[string]any)
		case accounts.Messages:
			text += o.text("delta", "text")
		}
		if u, ok := o.at("usage").(map[string]any); ok {
			usage = u
		}
	}
	return text, usage
}

func conversations() []conversation {
	return []conversation{
		{protocol: accounts.Chat, path: "/v1/chat/completions"},
		{protocol: accounts.Responses, path: "/v1/responses"},
		{protocol: accounts.Messages, path: "/v1/messages"},
	}
}

// Each turn of a growing conversation reads all that came before, answers
// included, to the step of 128 tokens; on another account it reads nothing.
func TestGrowingConversationReadsItsPrefix(t *testing.T) {
	for _, c := range conversations() {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(c.protocol, " stream ", stream), func(t *testing.T) {
				c := c // turns of its own
				fleet := accounts.StartT(t, "alpha", "bravo")
				previous := 0
				for i := range 8 {
					total, read, wrote := c.say(t, fleet.URL("alpha"), words(fmt.Sprint("turn", i), 200), stream)
					if i == 0 && read != 0 {
						t.Errorf("the first turn read %d", read)
					}
					if i > 0 && (read <= previous-128 || read > total) {
						t.Errorf("turn %d: read %d of %d earlier tokens", i, read, previous)
					}
					if read%128 != 0 || wrote%128 != 0 {
						t.Errorf("turn %d: read %d, wrote %d: not in steps", i, read, wrote)
					}
					if c.protocol == accounts.Messages && total-read-wrote >= 128 {
						t.Errorf("turn %d: %d tokens neither read nor written", i, total-read-wrote)
					}
					previous = total
				}
				if _, read, _ := c.say(t, fleet.URL("bravo"), "hello", stream); read != 0 {
					t.Errorf("another account read %d tokens of alpha's", read)
				}
				if got := fleet.Account("bravo").CacheStats(); got.Hits != 0 || got.Cold != 1 {
					t.Errorf("bravo's cache: %+v", got)
				}
			})
		}
	}
}

// The prompt of the next turn is the earlier one, its answer and the new words.
func TestAnswerIsPartOfTheNextPrefix(t *testing.T) {
	for _, c := range conversations() {
		t.Run(c.protocol, func(t *testing.T) {
			c := c
			a, url := start(t, accounts.Config{AnswerTokens: 1000})
			first, _, _ := c.say(t, url, "hello", false)
			_, read, _ := c.say(t, url, "more", false)
			if want := (first + 1000) / 128 * 128; read != want {
				t.Errorf("read %d, want the prompt of %d and the answer of 1000 to the step: %d", read, first, want)
			}
			calls := a.Calls()
			if calls[1].Usage.CacheRead != read {
				t.Errorf("the journal says %+v", calls[1].Usage)
			}
		})
	}
}

func TestCacheExpires(t *testing.T) {
	for _, c := range conversations() {
		t.Run(c.protocol, func(t *testing.T) {
			c := c
			clock := newClock()
			_, url := start(t, accounts.Config{Now: clock.Now})
			c.say(t, url, "one", false)
			clock.advance(4 * time.Minute)
			if _, read, _ := c.say(t, url, "two", false); read == 0 {
				t.Error("nothing was read after four minutes")
			}
			clock.advance(4 * time.Minute)
			if _, read, _ := c.say(t, url, "three", false); read == 0 {
				t.Error("reading did not renew the entry")
			}
			clock.advance(5 * time.Minute)
			if _, read, _ := c.say(t, url, "four", false); read != 0 {
				t.Errorf("%d tokens were read five minutes after the last use", read)
			}
		})
	}
}

func TestExtendedRetention(t *testing.T) {
	clock := newClock()
	_, url := start(t, accounts.Config{Now: clock.Now})
	body := encode(t, map[string]any{"model": "m", "input": words("long", 1500), "prompt_cache_retention": "24h"})
	ok(t, http.MethodPost, url+"/v1/responses", body)
	clock.advance(20 * time.Hour)
	if got := ok(t, http.MethodPost, url+"/v1/responses", body).number("usage", "input_tokens_details", "cached_tokens"); got != 1408 {
		t.Errorf("read %d after 20 hours, want 1408", got)
	}
}

// Markers decide what is written, and for how long.
func TestMessagesMarkers(t *testing.T) {
	clock := newClock()
	a, url := start(t, accounts.Config{Now: clock.Now})
	block := func(text, marker string) map[string]any {
		b := map[string]any{"type": "text", "text": text}
		if marker != "" {
			b["cache_control"] = raw(marker)
		}
		return b
	}
	const short, long = `{"type":"ephemeral"}`, `{"type":"ephemeral","ttl":"1h"}`
	ask := func(system, first, last string) accounts.Usage {
		t.Helper()
		ok(t, http.MethodPost, url+"/v1/messages", encode(t, map[string]any{"model": "m", "max_tokens": 100,
			"system": []any{block(words("system", 2000), system)},
			"messages": []any{
				map[string]any{"role": "user", "content": []any{block(words("first", 1000), first)}},
				map[string]any{"role": "assistant", "content": "yes"},
				map[string]any{"role": "user", "content": []any{block(words("last", 500), last)}},
			}}))
		calls := a.Calls()
		u := calls[len(calls)-1].Usage
		u.Output = 0
		return u
	}
	for _, tc := range []struct {
		name                string
		system, first, last string
		wait                time.Duration
		want                accounts.Usage
	}{
		{"an hour of system, five minutes of the first turn", long, short, "", 0, accounts.Usage{Input: 562, CacheWrite1h: 1920, CacheWrite5m: 1024}},
		{"both are read, the tail is fresh", long, short, "", time.Minute, accounts.Usage{Input: 562, CacheRead: 2944}},
		{"the marker moves on", long, "", short, time.Minute, accounts.Usage{Input: 50, CacheRead: 2944, CacheWrite5m: 512}},
		{"only the system is looked up", short, "", "", time.Minute, accounts.Usage{Input: 1586, CacheRead: 1920}},
		{"half an hour later the hour is left", long, short, "", 30 * time.Minute, accounts.Usage{Input: 562, CacheRead: 1920, CacheWrite5m: 1024}},
		{"without markers everything is cached", "", "", "", 2 * time.Hour, accounts.Usage{Input: 50, CacheWrite5m: 3456}},
	} {
		clock.advance(tc.wait)
		if diff := cmp.Diff(tc.want, ask(tc.system, tc.first, tc.last)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tc.name, diff)
		}
	}
}

// What is not part of a prompt does not change its cache entry.
func TestCanonicalPrompt(t *testing.T) {
	long := words("long", 1500)
	for _, tc := range []struct {
		name, path, first, second string
		hit                       bool
	}{
		{"sampling", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"` + long + `"}]}`, `{"temperature":0.1,"seed":4,"user":"u","model":"m","messages":[{"role":"user","content":"` + long + `"}]}`, true},
		{"string and block", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"` + long + `"}]}`, `{"model":"m","messages":[{"content":[{"text":"` + long + `","type":"text"}],"role":"user"}]}`, true},
		{"without /v1", "/chat/completions", `{"model":"m","messages":[{"role":"user","content":"` + long + `"}]}`, `{"model":"m","messages":[{"role":"user","content":"` + long + `"}]}`, true},
		{"another model", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"` + long + `"}]}`, `{"model":"n","messages":[{"role":"user","content":"` + long + `"}]}`, false},
		{"another role", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"` + long + `"}]}`, `{"model":"m","messages":[{"role":"system","content":"` + long + `"}]}`, false},
		{"item ids", "/v1/responses", `{"model":"m","input":"` + long + `"}`, `{"model":"m","input":[{"type":"message","id":"msg_1","role":"user","content":[{"type":"input_text","text":"` + long + `"}]}]}`, true},
		{"another schema", "/v1/responses", `{"model":"m","input":"` + long + `"}`, `{"model":"m","input":"` + long + `","text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}}`, false},
		{"the client's own line", "/v1/messages", `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"x-anthropic-billing-header: a"},{"type":"text","text":"` + long + `"}],"messages":[{"role":"user","content":"hi"}]}`, `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"x-anthropic-billing-header: b"},{"type":"text","text":"` + long + `"}],"messages":[{"role":"user","content":"hi"}]}`, true},
		{"a marker on a tool", "/v1/messages", `{"model":"m","max_tokens":9,"tools":[{"name":"t","description":"` + long + `","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"hi"}]}`, `{"model":"m","max_tokens":9,"tools":[{"name":"t","description":"` + long + `","input_schema":{ "type":"object"}}],"messages":[{"role":"user","content":"hi"}]}`, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, url := start(t, accounts.Config{})
			ok(t, http.MethodPost, url+tc.path, tc.first)
			ok(t, http.MethodPost, url+tc.path, tc.second)
			if got := a.CacheStats().Hits == 1; got != tc.hit {
				t.Errorf("hit %v, want %v: %+v", got, tc.hit, a.CacheStats())
			}
		})
	}
}

// A system message behind the user's last words does not take their place.
func TestLastWordsAreTheUsers(t *testing.T) {
	_, url := start(t, accounts.Config{})
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"m","messages":[{"role":"user","content":"RUNTOOL"},{"role":"developer","content":"be kind"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
		"/v1/responses":        `{"model":"m","input":[{"role":"user","content":"RUNTOOL"},{"role":"developer","content":"be kind"}],"tools":[{"type":"function","name":"f"}]}`,
		"/v1/messages":         `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"RUNTOOL"},{"role":"system","content":"be kind"}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
	} {
		o := ok(t, http.MethodPost, url+path, body)
		if called := o.text("choices", 0, "message", "tool_calls", 0, "function", "name") + o.text("output", 0, "name") + o.text("content", 0, "name"); called != "f" {
			t.Errorf("%s called %q: %v", path, called, o)
		}
	}
}
