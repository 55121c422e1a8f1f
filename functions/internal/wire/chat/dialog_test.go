package chat_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/chat"
	"holdfast/functions/internal/wire/jsonedit"
)

func TestReadDialogRefuses(t *testing.T) {
	many := strings.Repeat(`{"role":"user","content":"x"},`, wire.MaxDialogMessages) + `{"role":"user","content":"x"}`
	parts := strings.Repeat(`{"type":"text","text":"x"},`, wire.MaxDialogParts) + `{"type":"text","text":"x"}`
	tools := strings.Repeat(`{"type":"function","function":{"name":"f"}},`, wire.MaxDialogTools) + `{"type":"function","function":{"name":"f"}}`
	for _, row := range []struct{ name, body, param, code string }{
		{"no messages", `{"messages":[]}`, "messages", "invalid_request"},
		{"too many messages", `{"messages":[` + many + `]}`, "messages", "invalid_request"},
		{"too many parts", `{"messages":[{"role":"user","content":[` + parts + `]}]}`, "messages", "invalid_request"},
		{"too many tools", `{"messages":[{"role":"user"}],"tools":[` + tools + `]}`, "tools", "invalid_request"},
		{"too many stops", `{"messages":[{"role":"user"}],"stop":["a"` + strings.Repeat(`,"a"`, 64) + `]}`, "stop", "invalid_request"},
		{"role", `{"messages":[{"role":"user"},{"role":"robot"}]}`, "messages[1].role", "invalid_request"},
		{"old role", `{"messages":[{"role":"function","name":"f","content":"x"}]}`, "messages[0].role", "capability_missing"},
		{"content", `{"messages":[{"role":"user","content":5}]}`, "messages[0].content", "invalid_request"},
		{"kind of part", `{"messages":[{"role":"user","content":[{"type":"video_url"}]}]}`, "messages[0].content[0].type", "invalid_request"},
		{"image in the system's place", `{"messages":[{"role":"system","content":[{"type":"image_url"}]}]}`, "messages[0].content[0].type", "invalid_request"},
		{"image's address", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}]}`, "messages[0].content[0].image_url.url", "invalid_request"},
		{"image's data", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,?"}}]}]}`, "messages[0].content[0].image_url.url", "invalid_request"},
		{"sound", `{"messages":[{"role":"user","content":[{"type":"input_audio"}]}]}`, "messages[0].content[0].input_audio", "invalid_request"},
		{"file", `{"messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:x"}}]}]}`, "messages[0].content[0].file.file_data", "invalid_request"},
		{"call without id", `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}]}`, "messages[0].tool_calls", "invalid_request"},
		{"result without id", `{"messages":[{"role":"tool","content":"x"}]}`, "messages[0].tool_call_id", "invalid_request"},
		{"earlier sound", `{"messages":[{"role":"assistant","audio":{"id":"a"}}]}`, "messages[0].audio", "capability_missing"},
		{"n", `{"n":2,"messages":[{"role":"user"}]}`, "n", "capability_missing"},
		{"sound wanted", `{"modalities":["text","audio"],"messages":[{"role":"user"}]}`, "modalities", "capability_missing"},
		{"search", `{"web_search_options":{},"messages":[{"role":"user"}]}`, "web_search_options", "capability_missing"},
		{"functions", `{"functions":[{"name":"f"}],"messages":[{"role":"user"}]}`, "functions", "capability_missing"},
		{"kind of tool", `{"tools":[{"type":"web"}],"messages":[{"role":"user"}]}`, "tools[0].type", "invalid_request"},
		{"choice of no tool", `{"tool_choice":{"type":"function","function":{"name":"f"}},"messages":[{"role":"user"}]}`, "tool_choice", "invalid_request"},
		{"temperature", `{"temperature":"hot","messages":[{"role":"user"}]}`, "temperature", "invalid_request"},
		{"seed", `{"seed":true,"messages":[{"role":"user"}]}`, "seed", "invalid_request"},
		{"format", `{"response_format":{"type":"json_schema"},"messages":[{"role":"user"}]}`, "response_format.json_schema.schema", "invalid_request"},
	} {
		f, p := wire.Inspect(wire.EndpointChat, []byte(`{"model":"m",`+row.body[1:]))
		if p != nil {
			t.Fatal(row.name, p)
		}
		d, p := chat.ReadDialog(f)
		if p == nil {
			t.Errorf("%s: taken: %+v", row.name, d)
			continue
		}
		if p.Status != 400 || p.Param != row.param || string(p.Code) != row.code {
			t.Errorf("%s: %d %s %s", row.name, p.Status, p.Code, p.Param)
		}
	}
}

// TestWriteDialog looks at what other protocols' clients say.
func TestWriteDialog(t *testing.T) {
	hello := []wire.Message{{Role: wire.User, Parts: []wire.Part{{Kind: wire.Text, Text: "x"}}}}
	with := func(part wire.Part) []wire.Message {
		return []wire.Message{{Role: wire.User, Parts: []wire.Part{{Kind: wire.Text, Text: "x"}, part}}}
	}
	loop := []wire.Message{hello[0], {Role: wire.Assistant, Parts: []wire.Part{{Kind: wire.Reasoning, Text: "Hm", Signature: "s"}, {Kind: wire.ToolCall, CallID: "c", Name: "f", Arguments: "{}"}}},
		{Role: wire.ToolRole, Parts: []wire.Part{{Kind: wire.ToolResult, CallID: "c", IsError: true}}}}
	for _, row := range []struct {
		name    string
		d       wire.Dialog
		at      string // a member of the body
		want    string
		dropped string
	}{
		{"budget low", wire.Dialog{Messages: hello, ThinkingBudget: 4096}, "reasoning_effort", `"low"`, ""},
		{"budget medium", wire.Dialog{Messages: hello, ThinkingBudget: 12288}, "reasoning_effort", `"medium"`, ""},
		{"budget high", wire.Dialog{Messages: hello, ThinkingBudget: 31999}, "reasoning_effort", `"high"`, ""},
		{"effort outranks the budget", wire.Dialog{Messages: hello, ThinkingBudget: 31999, Effort: "max"}, "reasoning_effort", `"max"`, ""},
		{"thinking off", wire.Dialog{Messages: hello, ThinkingOff: true}, "reasoning_effort", "", "thinking"},
		{"bound for OpenAI", wire.Dialog{Messages: hello, MaxTokens: 5, Model: "openai/o3-mini"}, "max_completion_tokens", "5", ""},
		{"bound for Azure", wire.Dialog{Messages: hello, MaxTokens: 5, Model: "mine", Provider: "azure"}, "max_completion_tokens", "5", ""},
		{"bound for imitators", wire.Dialog{Messages: hello, MaxTokens: 5, Model: "openai/gpt-oss-120b"}, "max_tokens", "5", ""},
		{"schema without a name", wire.Dialog{Messages: hello, Format: &wire.Format{Schema: []byte(`{}`)}}, "response_format", `{"type":"json_schema","json_schema":{"name":"output","schema":{}}}`, ""},
		{"long user", wire.Dialog{Messages: hello, User: strings.Repeat("u", 65)}, "user", "", "metadata.user_id"},
		{"choice without tools", wire.Dialog{Messages: hello, Choice: wire.ToolChoice{Mode: "auto"}}, "tool_choice", "", ""},
		{"plain-text document", wire.Dialog{Messages: with(wire.Part{Kind: wire.Document, Media: &wire.Media{Type: "text/plain", Text: "T", Name: "N"}})}, "messages",
			`[{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"N\n\nT"}]}]`, ""},
		{"prefill", wire.Dialog{Messages: append(hello[:1:1], wire.Message{Role: wire.Assistant, Parts: hello[0].Parts})}, "messages",
			`[{"role":"user","content":"x"},{"role":"assistant","content":"x"}]`, "messages.prefill"},
		{"open turn", wire.Dialog{Messages: loop, Model: "m"}, "messages",
			`[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"Error: "}]`, "thinking"},
		{"open turn of a family that wants its reasoning", wire.Dialog{Messages: loop, Model: "moonshotai/Kimi-K3"}, "messages",
			`[{"role":"user","content":"x"},{"role":"assistant","content":null,"reasoning_content":"Hm","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"Error: "}]`, ""},
	} {
		row.d.Client = wire.Messages
		body, dropped, p := chat.WriteDialog(&row.d)
		if p != nil {
			t.Errorf("%s: %v", row.name, p)
			continue
		}
		if got := string(jsonedit.Read(body).Get(row.at).Bytes()); got != row.want {
			t.Errorf("%s: %s", row.name, got)
		}
		if diff := cmp.Diff(row.dropped, strings.Join(dropped, " ")); diff != "" {
			t.Errorf("%s: %s", row.name, diff)
		}
	}
	for name, media := range map[string]*wire.Media{"a file id": {FileID: "f"}, "a URL": {URL: "https://x.example/a.pdf"}} {
		d := &wire.Dialog{Client: wire.Messages, Messages: with(wire.Part{Kind: wire.Document, Media: media})}
		if _, _, p := chat.WriteDialog(d); p == nil || p.Code != wire.CapabilityMissing || p.Param != "messages" {
			t.Errorf("a document by %s: %v", name, p)
		}
	}
}

// TestStrict: a schema of a client whose provider holds to it is strict where
// this protocol can be.
func TestStrict(t *testing.T) {
	for _, row := range []struct {
		schema string
		strict bool
	}{
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, true},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, false},
		{`{"type":"object","properties":{"a":{},"b":{}},"required":["a","a"],"additionalProperties":false}`, false},
		{`{"type":"array","items":{"anyOf":[{"type":"object","properties":{"a":{}},"additionalProperties":false}]}}`, false},
		{`{"type":"string"}`, false},
	} {
		d := &wire.Dialog{Client: wire.Messages, Format: &wire.Format{Schema: []byte(row.schema)}}
		body, _, p := chat.WriteDialog(d)
		if p != nil {
			t.Fatal(p)
		}
		if got, _ := jsonedit.Read(body).Get("response_format", "json_schema", "strict").Bool(); got != row.strict {
			t.Errorf("%s: strict %v", row.schema, got)
		}
	}
}

// TestReplyOddities looks at answers that no stream could be.
func TestReplyOddities(t *testing.T) {
	r, err := chat.ReadReply([]byte(`{"choices":[{"index":1,"message":{"content":"no"}},{"index":0,"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"stop"}]}`), wire.ByProtocol)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Parts) != 2 || r.Parts[0].Text != "ab" || !strings.HasPrefix(r.Parts[1].CallID, "call_") || r.Parts[1].Arguments != `{"a":1}` || r.Stop != wire.StopTool {
		t.Errorf("%+v", r)
	}
	for _, body := range []string{`{}`, `{"error":{"message":"x"}}`, `{"choices":[{"finish_reason":"error"}]}`, `[`} {
		if _, err := chat.ReadReply([]byte(body), wire.ByProtocol); err != wire.ErrAnswer {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestNeutralAllocations: a piece of text costs no more than itself.
func TestNeutralAllocations(t *testing.T) {
	d, e := chat.NewDeltas(wire.ByProtocol), chat.NewEvents(wire.Stamp{ID: "x", Model: "m"}, false)
	out, dst := make([]wire.Delta, 0, 8), make([]byte, 0, 4096)
	event := []byte(delta)
	step := func() {
		out, dst = d.Event(nil, event, out[:0]), dst[:0]
		for _, one := range out {
			dst = e.Append(dst, one)
		}
	}
	step()
	if allocs := testing.AllocsPerRun(100, step); allocs > 1 || !strings.Contains(string(dst), `"content":" word"`) {
		t.Errorf("%v allocations for %s", allocs, dst)
	}
}

func FuzzNeutralDialog(f *testing.F) {
	neutral().FuzzDialog(f, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"file","file":{"file_data":"JVBERg=="}}]},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{"}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":"https://x"}]}],"tools":[{"type":"custom","custom":{"name":"f"}}],"tool_choice":"required","stop":"x"}`)
}

func FuzzNeutralReply(f *testing.F) {
	neutral().FuzzReply(f, `{"choices":[{"message":{"content":"x","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`)
}

func FuzzNeutralDeltas(f *testing.F) {
	neutral().FuzzDeltas(f, "data: "+first+"\n\ndata: "+delta+"\n\ndata: [DONE]\n\n",
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"index":1,"function":{"name":"g"}}]},"finish_reason":"stop"}]}`+"\n\n")
}
