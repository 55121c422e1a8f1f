package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// utterance is one step of a conversation, whatever the protocol.
type utterance struct {
	kind string // system, user, assistant, call, result, image
	id   string // of a call and of its result
	text string // what is said; of a call its name and arguments
}

func (u utterance) String() string { return strings.TrimSpace(u.kind + " " + u.id + " " + u.text) }

// longTalk is a conversation of many turns in which tools are called, several at
// once, answer out of order, fail, and show images.
func longTalk(turns, words int) []utterance {
	all := []utterance{{kind: "system", text: "You are careful. Überall 🌍 \"quotes\" \\ and\ttabs\u2028."}}
	for n := range turns {
		all = append(all, utterance{kind: "user", text: fmt.Sprintf("Question %d: %s", n, strings.Repeat("wörd ", words))})
		if n%3 == 1 {
			a, b := fmt.Sprintf("call_%da", n), fmt.Sprintf("call_%db", n)
			all = append(all, utterance{kind: "assistant", text: fmt.Sprint("I look it up ", n)},
				utterance{"call", a, fmt.Sprintf(`tool_%d {"path":"ä/b","deep":[1,{"x":null}],"n":1.50}`, n%70)},
				utterance{"call", b, fmt.Sprintf(`tool_%d {}`, (n+1)%70)},
				utterance{"result", b, "second first 🙂"}, utterance{"result", a, fmt.Sprint("failed ", n)})
			if n%9 == 1 {
				all = append(all, utterance{"image", a, "aWk="})
			}
		}
		all = append(all, utterance{kind: "assistant", text: fmt.Sprintf("Answer %d.\n\n- one\n", n)})
	}
	return append(all, utterance{kind: "user", text: "And now?"})
}

// told writes a conversation as a protocol's turns.
func told(endpoint string, talk []utterance) (turns []any) {
	for i := 0; i < len(talk); i++ {
		switch u := talk[i]; u.kind {
		case "call", "result", "image":
			from := i
			for i+1 < len(talk) && slices.Contains([]string{"call", "result", "image"}, talk[i+1].kind) {
				i++
			}
			turns = append(turns, toolsTold(endpoint, talk[from:i+1])...)
		default:
			turns = append(turns, turn{"role": u.kind, "content": u.text})
		}
	}
	return turns
}

// toolsTold writes calls and their results.
func toolsTold(endpoint string, talk []utterance) (turns []any) {
	var calls, results, blocks []any
	shown := map[string]string{}
	for _, u := range talk {
		if u.kind == "image" {
			shown[u.id] = u.text
		}
	}
	for _, u := range talk {
		name, arguments, _ := strings.Cut(u.text, " ")
		switch {
		case u.kind == "call" && endpoint == "chat":
			calls = append(calls, turn{"id": u.id, "type": "function", "function": turn{"name": name, "arguments": arguments}})
		case u.kind == "call" && endpoint == "responses":
			calls = append(calls, turn{"type": "function_call", "call_id": u.id, "name": name, "arguments": arguments})
		case u.kind == "call":
			calls = append(calls, turn{"type": "tool_use", "id": u.id, "name": name, "input": json.RawMessage(arguments)})
		case u.kind == "result" && endpoint == "chat":
			results = append(results, turn{"role": "tool", "tool_call_id": u.id, "content": u.text})
		case u.kind == "result" && endpoint == "responses":
			output := []any{turn{"type": "input_text", "text": u.text}}
			if data := shown[u.id]; data != "" {
				output = append(output, turn{"type": "input_image", "image_url": "data:image/png;base64," + data})
			}
			results = append(results, turn{"type": "function_call_output", "call_id": u.id, "output": output})
		case u.kind == "result":
			content := []any{turn{"type": "text", "text": u.text}}
			if data := shown[u.id]; data != "" {
				content = append(content, turn{"type": "image", "source": turn{"type": "base64", "media_type": "image/png", "data": data}})
			}
			blocks = append(blocks, turn{"type": "tool_result", "tool_use_id": u.id, "content": content, "is_error": strings.HasPrefix(u.text, "failed")})
		}
	}
	switch endpoint {
	case "chat":
		return append([]any{turn{"role": "assistant", "content": nil, "tool_calls": calls}}, results...)
	case "responses":
		return append(calls, results...)
	}
	return []any{turn{"role": "assistant", "content": calls}, turn{"role": "user", "content": blocks}}
}

// heard reads the conversation out of a body that an account got.
func heard(t *testing.T, protocol string, body []byte) (talk []utterance) {
	t.Helper()
	var v struct {
		System          any
		Messages, Input []map[string]any
	}
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	say := func(kind, id string, content any) { talk = append(talk, contents(kind, id, content)...) }
	say("system", "", v.System)
	for _, m := range append(v.Messages, v.Input...) {
		role, _ := m["role"].(string)
		switch kind, _ := m["type"].(string); {
		case role == "tool":
			say("result", m["tool_call_id"].(string), m["content"])
		case kind == "function_call":
			talk = append(talk, utterance{"call", m["call_id"].(string), fmt.Sprint(m["name"], " ", m["arguments"])})
		case kind == "function_call_output":
			say("result", m["call_id"].(string), m["output"])
		default:
			say(role, "", m["content"])
		}
		calls, _ := m["tool_calls"].([]any)
		for _, c := range calls {
			call, _ := c.(map[string]any)
			function, _ := call["function"].(map[string]any)
			talk = append(talk, utterance{"call", call["id"].(string), fmt.Sprint(function["name"], " ", function["arguments"])})
		}
	}
	return talk
}

// contents are the utterances of a content: a text or blocks.
func contents(kind, id string, content any) (talk []utterance) {
	if text, is := content.(string); is {
		if text = strings.TrimPrefix(text, "Error: "); text != "" {
			talk = append(talk, utterance{kind, id, text})
		}
		return talk
	}
	blocks, _ := content.([]any)
	for _, b := range blocks {
		block, _ := b.(map[string]any)
		text, _ := block["text"].(string)
		switch block["type"] {
		case "tool_use":
			input, _ := json.Marshal(block["input"])
			talk = append(talk, utterance{"call", block["id"].(string), fmt.Sprint(block["name"], " ", string(input))})
		case "tool_result":
			talk = append(talk, contents("result", block["tool_use_id"].(string), block["content"])...)
		case "image", "input_image", "image_url":
			text, _ := json.Marshal(block)
			talk = append(talk, utterance{"image", "", fmt.Sprint(strings.Contains(string(text), "aWk="))})
		default:
			if !strings.HasPrefix(text, "Shown by the tool call") {
				talk = append(talk, contents(kind, id, text)...)
			}
		}
	}
	return talk
}

// spelled are the utterances in words, JSON in one form, images without their place
// behind the results.
func spelled(talk []utterance) (words []string) {
	images := 0
	for _, u := range talk {
		switch u.kind {
		case "image":
			images++
			continue
		case "call":
			name, arguments, _ := strings.Cut(u.text, " ")
			var v any
			if json.Unmarshal([]byte(arguments), &v) == nil {
				form, _ := json.Marshal(v)
				u.text = name + " " + string(form)
			}
		case "developer":
			u.kind = "system"
		}
		words = append(words, u.String())
	}
	return append(words, fmt.Sprint(images, " images"))
}

// TestLongConversationsBridged shows conversations of 300 turns with 70 tools, a
// megabyte in all, reaching the account as they are: every word, call and result,
// in order, over every bridge; and a short one as well.
func TestLongConversationsBridged(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	for _, size := range []struct{ turns, words int }{{2, 1}, {300, 600}} {
		talk := longTalk(size.turns, size.words)
		for _, p := range bridges() {
			body := p.ask(true)
			body[turnsOf(p.client)] = told(p.client, talk)
			if p.client == "messages" {
				body["system"], body["messages"] = talk[0].text, told(p.client, talk[1:])
			}
			var tools []any
			for n := range 70 {
				tools = append(tools, deepTool(p.client, fmt.Sprint("tool_", n)))
			}
			body["tools"] = tools
			a := post(t, s.URL+route(p.client), body)
			if a.StatusCode != 200 || !whole(p.client, a) {
				t.Fatalf("%s, %d turns: %d %.500s", p, size.turns, a.StatusCode, a.body)
			}
			call := last(t, s.owner(a.deployment()))
			if size.turns == 300 && len(call.Body) < 1<<20 {
				t.Errorf("%s: only %d bytes", p, len(call.Body))
			}
			shown := talk
			if p.client == "chat" { // whose tools show no images
				shown = slices.DeleteFunc(slices.Clone(talk), func(u utterance) bool { return u.kind == "image" })
			}
			want, got := spelled(shown), spelled(heard(t, p.target, call.Body))
			for i := range max(len(want), len(got)) {
				if i >= len(want) || i >= len(got) || want[i] != got[i] {
					t.Errorf("%s, %d turns: step %d of %d, heard %d\nwant %.200s\ngot  %.200s", p, size.turns, i, len(want), len(got), at(want, i), at(got, i))
					break
				}
			}
			if n := strings.Count(string(call.Body), `"$ref":"#/$defs/node"`); n != 140 {
				t.Errorf("%s: %d of 140 references in the tools' schemas", p, n)
			}
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "nothing"
}

// deepTool is a tool whose arguments are a tree, in a protocol's words.
func deepTool(endpoint, name string) map[string]any {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"deep":{"$ref":"#/$defs/node"}},"required":["path"],` +
		`"$defs":{"node":{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/node"}}]}}}`)
	switch endpoint {
	case "chat":
		return map[string]any{"type": "function", "function": map[string]any{"name": name, "description": "d", "parameters": schema}}
	case "responses":
		return map[string]any{"type": "function", "name": name, "description": "d", "parameters": schema}
	}
	return map[string]any{"name": name, "description": "d", "input_schema": schema}
}
