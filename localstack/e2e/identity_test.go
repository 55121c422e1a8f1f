package e2e

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// rigOf starts a gateway before accounts with a document of the test's own.
func rigOf(t *testing.T, fleet *accounts.Fleet, config, store string) *rig {
	t.Helper()
	r := &rig{t: t, fleet: fleet, config: config, store: store, data: t.TempDir(), env: []string{"UPSTREAM_KEY=" + upstreamKey}}
	r.Gateway = r.start()
	return r
}

// protocols are the endpoints, each with a model of its own name.
func protocols() []string { return []string{"chat", "responses", "messages"} }

// sessionOf is the session that an answer names, with where it came from.
func sessionOf(a answer) string {
	return a.Header.Get("X-Holdfast-Session-Source") + " " + a.Header.Get("X-Session-Id")
}

// text is a block of text in the words of an endpoint.
func text(endpoint, words string) turn {
	if endpoint == "responses" {
		return turn{"type": "input_text", "text": words}
	}
	return turn{"type": "text", "text": words}
}

// says is a user turn of blocks.
func says(blocks ...turn) turn { return turn{"role": "user", "content": blocks} }

// replied is an assistant turn of an endpoint.
func replied(words string) turn { return turn{"role": "assistant", "content": words} }

// member returns a copy of a body with one more or another member.
func member(body map[string]any, name string, value any) map[string]any {
	body = maps.Clone(body)
	body[name] = value
	return body
}

// TestI1 shows that a request which names two sessions is refused before any
// call, wherever it names them, and that naming one twice is no conflict.
func TestI1(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	for _, endpoint := range protocols() {
		plain := ask(endpoint, false, user("Hello"))
		inBody := member(plain, "session_id", "one")
		type refusal struct {
			name    string
			body    any
			headers []string
		}
		refusals := []refusal{
			{"header and body", inBody, []string{"X-Session-Id", "two"}},
			{"two equal headers, another body", inBody, []string{"X-Session-Id", "two", "X-Session-Id", "two"}},
			{"two headers", plain, []string{"X-Session-Id", "one", "X-Session-Id", "two"}},
			{"two headers that differ by case", plain, []string{"X-Session-Id", "one", "X-Session-Id", "One"}},
			{"the third of three headers", plain, []string{"X-Session-Id", "one", "X-Session-Id", "one", "X-Session-Id", "two"}},
		}
		for _, row := range refusals {
			a := post(t, r.URL+route(endpoint), row.body, row.headers...)
			if a.StatusCode != http.StatusBadRequest || a.code() != "session_conflict" {
				t.Errorf("%s, %s: %d %s, want 400 session_conflict", endpoint, row.name, a.StatusCode, a.code())
			}
			refusalOf(t, endpoint, a)
		}
		if n := r.calls(); n != 0 {
			t.Fatalf("%s: %d calls for refused requests", endpoint, n)
		}
	}
	for _, endpoint := range protocols() {
		inBody := member(ask(endpoint, false, user("Hello")), "session_id", "one")
		a := post(t, r.URL+route(endpoint), inBody, "X-Session-Id", "one", "X-Session-Id", "one")
		if a.StatusCode != http.StatusOK || sessionOf(a) != "explicit one" {
			t.Errorf("%s, named three times: %d %s", endpoint, a.StatusCode, sessionOf(a))
		}
		calls := r.owner(a.deployment()).Calls()
		if got := string(calls[len(calls)-1].Body); strings.Contains(got, "session_id") {
			t.Errorf("%s: the account was sent session_id: %s", endpoint, got)
		}
		null := member(ask(endpoint, false, user("Hello")), "session_id", nil)
		if a := post(t, r.URL+route(endpoint), null, "X-Session-Id", "one"); a.StatusCode != http.StatusOK || sessionOf(a) != "explicit one" || a.affinity() != "hit" {
			t.Errorf("%s, null in the body: %d %s %s", endpoint, a.StatusCode, sessionOf(a), a.affinity())
		}
	}
}

// TestI2 shows which session ids are refused and that no refused one falls
// through to a weaker signal.
func TestI2(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	long := strings.Repeat("x", 257)
	bodies := map[string]any{
		"empty": "", "257 bytes": long, "129 letters of 2 bytes": strings.Repeat("é", 129), "tab": "a\tb", "line break": "a\r\nb",
		"trailing space": "a ", "leading space": " a", "trailing no-break space": "a\u00a0", "next line": "a\u0085b", "delete": "a\u007fb", "null character": "a\x00",
		"number": 5, "boolean": true, "list": []string{"a"}, "object": turn{"id": "a"},
	}
	headers := map[string]string{
		"empty": "", "257 bytes": long, "tab": "a\tb", "ideographic space at the end": "a\u3000", "no UTF-8": "a\xffb", "next line": "a\u0085b",
	}
	if aside("TestI2: no UTF-8") {
		delete(headers, "no UTF-8")
	}
	for _, endpoint := range protocols() {
		plain := member(ask(endpoint, false, user("Hello")), "prompt_cache_key", "weaker")
		refused := func(name string, a answer) {
			if a.StatusCode != http.StatusBadRequest || a.code() != "invalid_session_id" {
				t.Errorf("%s, %s: %d %s, want 400 invalid_session_id", endpoint, name, a.StatusCode, a.code())
			}
			refusalOf(t, endpoint, a)
		}
		for name, value := range bodies {
			refused("body: "+name, post(t, r.URL+route(endpoint), member(plain, "session_id", value)))
		}
		for name, value := range headers {
			refused("header: "+name, post(t, r.URL+route(endpoint), plain, "X-Session-Id", value))
		}
		refused("a valid header beside an invalid one", post(t, r.URL+route(endpoint), plain, "X-Session-Id", "a", "X-Session-Id", ""))
		refused("a valid header beside an invalid body", post(t, r.URL+route(endpoint), member(plain, "session_id", 5), "X-Session-Id", "a"))
	}
	if n := r.calls(); n != 0 {
		t.Fatalf("%d calls for refused requests", n)
	}
	for _, endpoint := range protocols() { // in the body a comma is one character of an id anywhere
		plain := ask(endpoint, false, user("Hello"))
		if a := post(t, r.URL+route(endpoint), member(plain, "session_id", "a,b")); sessionOf(a) != "explicit a,b" {
			t.Errorf("%s, a comma in the body: %d %q", endpoint, a.StatusCode, sessionOf(a))
		}
		a := post(t, r.URL+route(endpoint), plain, "X-Session-Id", "a,b")
		if deployed() && a.code() != "session_conflict" || !deployed() && sessionOf(a) != "explicit a,b" {
			t.Errorf("%s, a comma in the header: %d %q", endpoint, a.StatusCode, sessionOf(a))
		}
		if deployed() && !strings.Contains(a.body, "a comma as session_id in the body") {
			t.Errorf("%s: the refusal does not say what to do: %s", endpoint, a.body)
		}
	}
	for _, id := range []string{strings.Repeat("x", 256), strings.Repeat("é", 128), "会話-42", "a b", "chat, the second", "ses:/\\\"'%0d"} {
		for _, endpoint := range protocols() {
			plain := ask(endpoint, false, user("Hello"))
			inHeader := post(t, r.URL+route(endpoint), plain, "X-Session-Id", id)
			inBody := post(t, r.URL+route(endpoint), member(plain, "session_id", id))
			if sessionOf(inHeader) != "explicit "+id || sessionOf(inBody) != "explicit "+id || inBody.affinity() != "hit" {
				t.Errorf("%s, %q: header %d %q, body %d %q %s", endpoint, id, inHeader.StatusCode, sessionOf(inHeader), inBody.StatusCode, sessionOf(inBody), inBody.affinity())
			}
		}
	}
}

// TestI3 shows that a conversation keeps its derived id as it grows, in every
// form of every protocol, and that it is one id in all of them.
func TestI3(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	one := ""
	for _, endpoint := range protocols() {
		forms := map[string]map[string]any{
			"text":   ask(endpoint, false, user("Hello")),
			"blocks": ask(endpoint, false, says(text(endpoint, "Hello"))),
		}
		later := map[string]map[string]any{
			"text":   ask(endpoint, true, user("Hello"), replied("Hi."), user("Explain more")),
			"blocks": ask(endpoint, true, says(text(endpoint, "Hello")), replied("Hi."), says(text(endpoint, "Explain more"))),
		}
		if endpoint == "responses" {
			forms["plain input"] = map[string]any{"model": endpoint, "input": "Hello"}
			later["plain input"] = later["text"]
		}
		for name, body := range forms {
			first := post(t, r.URL+route(endpoint), body)
			second := post(t, r.URL+route(endpoint), later[name])
			if one == "" {
				one = sessionOf(first)
			}
			if first.StatusCode != http.StatusOK || sessionOf(first) != one || !strings.HasPrefix(one, "prompt prompt:v1:") {
				t.Errorf("%s as %s: %d %q, want %q", endpoint, name, first.StatusCode, sessionOf(first), one)
			}
			if sessionOf(second) != one || second.affinity() != "hit" || second.deployment() != first.deployment() {
				t.Errorf("%s as %s, second turn: %q %s by %s, want a hit by %s", endpoint, name, sessionOf(second), second.affinity(), second.deployment(), first.deployment())
			}
		}
	}
}

// TestI4 shows what does not belong to an opening.
func TestI4(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) {
		d.extra = "groups:\n"
		for _, p := range protocols() {
			d.extra += "  - {name: other-" + p + ", members: [" + p + "]}\n"
		}
	})
	marked := func(endpoint string, at int) []turn {
		blocks := []turn{text(endpoint, "One"), text(endpoint, "Two")}
		if at >= 0 {
			blocks[at]["cache_control"] = turn{"type": "ephemeral"}
		}
		return []turn{says(blocks...)}
	}
	for _, endpoint := range protocols() {
		base := ask(endpoint, false, marked(endpoint, -1)...)
		want := sessionOf(post(t, r.URL+route(endpoint), base))
		rows := map[string]map[string]any{
			"marker on the first block":  ask(endpoint, false, marked(endpoint, 0)...),
			"marker on the second block": ask(endpoint, false, marked(endpoint, 1)...),
			"tools":                      member(base, "tools", []turn{toolOf(endpoint, "ls")}),
			"other tools":                member(base, "tools", []turn{toolOf(endpoint, "cat"), toolOf(endpoint, "ls")}),
			"another model":              member(base, "model", "other-"+endpoint),
			"another temperature":        member(base, "temperature", 0.3),
			"streaming":                  member(base, "stream", true),
			"metadata":                   member(base, "metadata", turn{"topic": "x"}),
		}
		if endpoint == "responses" {
			item := marked(endpoint, -1)[0]
			item["type"], item["id"], item["status"] = "message", "msg_1", "completed"
			rows["ids and status"] = ask(endpoint, false, item)
		}
		for name, body := range rows {
			if a := post(t, r.URL+route(endpoint), body); a.StatusCode != http.StatusOK || sessionOf(a) != want {
				t.Errorf("%s with %s: %d %q, want %q\n%s", endpoint, name, a.StatusCode, sessionOf(a), want, a.body)
			}
		}
	}
}

// toolOf is a tool without parameters in the words of an endpoint.
func toolOf(endpoint, name string) turn {
	none := turn{"type": "object", "properties": turn{}}
	switch endpoint {
	case "chat":
		return turn{"type": "function", "function": turn{"name": name, "parameters": none}}
	case "responses":
		return turn{"type": "function", "name": name, "parameters": none}
	}
	return turn{"name": name, "input_schema": none}
}

// TestI5I6 shows openings that look alike and are not.
func TestI5I6(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	for _, endpoint := range protocols() {
		blocks := func(words ...string) map[string]any {
			var list []turn
			for _, w := range words {
				list = append(list, text(endpoint, w))
			}
			return ask(endpoint, false, says(list...))
		}
		rows := []map[string]any{
			blocks("ab", "c"), blocks("a", "bc"), blocks("a", "b", "c"), blocks("abc"), blocks("c", "ab"),
			blocks("ab\nc"), blocks("ab\n", "c"), blocks("ab", "\nc"), blocks("ab\n\nc"), blocks("Abc"), blocks("abc "),
			blocks(`ab","c`), blocks(`ab"},{"type":"text","text":"c`),
		}
		if endpoint == "responses" {
			for _, input := range []string{"one", "two", "one\ntwo"} {
				rows = append(rows, map[string]any{"model": endpoint, "instructions": "Be brief.", "input": input})
			}
			rows = append(rows, map[string]any{"model": endpoint, "instructions": "Be long.", "input": "one"}, map[string]any{"model": endpoint, "input": "one"})
		}
		seen := map[string]int{}
		for i, body := range rows {
			a := post(t, r.URL+route(endpoint), body)
			if a.StatusCode != http.StatusOK || a.affinity() != "claimed" {
				t.Errorf("%s, row %d: %d %s", endpoint, i, a.StatusCode, a.affinity())
			}
			if other, known := seen[sessionOf(a)]; known {
				t.Errorf("%s: rows %d and %d are one session", endpoint, other, i)
			}
			seen[sessionOf(a)] = i
			if again := post(t, r.URL+route(endpoint), body); sessionOf(again) != sessionOf(a) {
				t.Errorf("%s, row %d: %q, then %q", endpoint, i, sessionOf(a), sessionOf(again))
			}
		}
	}
}

// image is a picture in the words of an endpoint.
func image(endpoint, data string) turn {
	switch endpoint {
	case "chat":
		return turn{"type": "image_url", "image_url": turn{"url": "data:image/png;base64," + data}}
	case "responses":
		return turn{"type": "input_image", "image_url": "data:image/png;base64," + data}
	}
	return turn{"type": "image", "source": turn{"type": "base64", "media_type": "image/png", "data": data}}
}

// TestI7 shows that a picture counts by its bytes, and that an opening which
// cannot be read whole is not guessed at.
func TestI7(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	picture := func(last byte) string {
		return base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"+strings.Repeat("pixel", 200)), last))
	}
	var ids []string
	for _, endpoint := range protocols() {
		ask := func(block turn) answer {
			return post(t, r.URL+route(endpoint), ask(endpoint, false, says(text(endpoint, "What is this?"), block)))
		}
		first, same, other := ask(image(endpoint, picture(1))), ask(image(endpoint, picture(1))), ask(image(endpoint, picture(2)))
		if first.StatusCode != http.StatusOK || sessionOf(first) != sessionOf(same) || !strings.HasPrefix(sessionOf(first), "prompt ") {
			t.Errorf("%s, one picture: %d %q, then %q", endpoint, first.StatusCode, sessionOf(first), sessionOf(same))
		}
		if sessionOf(first) == sessionOf(other) {
			t.Errorf("%s: two pictures are one session", endpoint)
		}
		ids = append(ids, sessionOf(first), sessionOf(other))
		for name, block := range map[string]turn{
			"broken base64":    image(endpoint, "!!!"),
			"an unknown block": {"type": "hologram", "data": picture(1)},
		} {
			a, b := ask(block), ask(block)
			if !strings.HasPrefix(sessionOf(a), "generated ") || sessionOf(a) == sessionOf(b) {
				t.Errorf("%s, %s: %q, then %q, want two generated ids", endpoint, name, sessionOf(a), sessionOf(b))
			}
		}
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 2 {
		t.Errorf("two openings with pictures have the ids %q over three protocols, want two", ids)
	}
}

// TestI8 shows that without a word of the user every request is a session.
func TestI8(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	rows := map[string][]map[string]any{
		"chat":      {ask("chat", false, turn{"role": "system", "content": "Be brief."}), ask("chat", false, turn{"role": "developer", "content": "x"}, user(" \n\t"))},
		"responses": {ask("responses", false, turn{"role": "developer", "content": "Be brief."}), {"model": "responses", "instructions": "Be brief.", "input": "  "}},
		"messages":  {member(ask("messages", false, user(" ")), "system", "Be brief."), member(ask("messages", false), "system", "Be brief.")},
	}
	seen := map[string]bool{}
	for endpoint, bodies := range rows {
		for i, body := range bodies {
			for range 2 {
				a := post(t, r.URL+route(endpoint), body)
				if !strings.HasPrefix(sessionOf(a), "generated ") || seen[sessionOf(a)] {
					t.Errorf("%s, row %d: %d %q, want a new generated id", endpoint, i, a.StatusCode, sessionOf(a))
				}
				seen[sessionOf(a)] = true
			}
		}
	}
}

// TestI9 shows that Claude Code's rotating attribution block is no part of the
// opening, and that an account which is not Anthropic's never sees it.
func TestI9(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	first := loadCapture(t, "claude-code/01-turn1-first-request")
	first.Body = withText(t, first.Body, "model", "messages")
	delete(first.Headers, "x-claude-code-session-id")
	first.Body = []byte(strings.Replace(string(first.Body), "session_id", "other_id", 1))
	want := ""
	for i := range 4 {
		turn := first
		turn.Body = []byte(strings.Replace(string(first.Body), "cc_version=2.1.332.296", fmt.Sprintf("cc_version=2.1.332.%03x", i), 1))
		a := turn.send(t, r.URL, keyA)
		if want == "" {
			want = sessionOf(a)
		}
		if a.StatusCode != http.StatusOK || sessionOf(a) != want || !strings.HasPrefix(want, "prompt ") {
			t.Errorf("attribution %d: %d %q, want %q", i, a.StatusCode, sessionOf(a), want)
		}
		calls := r.owner(a.deployment()).Calls()
		kept := string(turn.Body[:strings.Index(string(turn.Body), "x-anthropic-billing-header")])
		got := string(calls[len(calls)-1].Body)
		if strings.Contains(got, "billing-header") {
			t.Errorf("the account was sent the attribution block")
		}
		if at := strings.LastIndex(kept, "["); !strings.HasPrefix(got, kept[:at+1]) || len(turn.Body)-len(got) > 200 {
			t.Errorf("more than the attribution block has changed:\n%.2000s", got)
		}
	}
}
