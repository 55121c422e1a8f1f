package responses_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/responses"
)

func facts(t *testing.T, body string) *wire.Facts {
	t.Helper()
	f, p := wire.Inspect(wire.EndpointResponses, []byte(body))
	if p != nil {
		t.Fatal(p.Message)
	}
	return f
}

func text(s string) wire.Part { return wire.Part{Kind: wire.Text, Text: s} }

// TestReadDialog reads one request with everything that has a place in the
// neutral form, and some that has none.
func TestReadDialog(t *testing.T) {
	body := `{"model":"m","stream":true,"instructions":"Be brief.","input":[
		{"role":"developer","content":"D"},
		{"type":"message","id":"msg_1","role":"user","content":[{"type":"input_text","text":"Look"},{"type":"input_text","text":""},
			{"type":"input_image","image_url":"data:image/PNG;base64,aWk=","detail":"low"},{"type":"input_image","image_url":"https://x.example/a.png"},
			{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,cGRm"},{"type":"input_file","file_id":"file-1"},
			{"type":"input_audio","input_audio":{"data":"d2F2","format":"wav"}}]},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"One"},{"type":"summary_text","text":"Two"}],"encrypted_content":"x"},
		{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Raw"}]},
		{"type":"reasoning","summary":[],"content":null},
		{"type":"message","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"Calling","annotations":[]},{"type":"refusal","refusal":"No"}]},
		{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"a\":1}","status":"completed"},
		{"type":"function_call","call_id":"c2","name":"g","namespace":"ns","arguments":"{}"},
		{"type":"custom_tool_call","call_id":"c3","name":"patch","input":"*** x"},
		{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search"}},
		{"type":"function_call_output","call_id":"c1","output":"1"},
		{"type":"function_call_output","call_id":"c2","status":"incomplete","output":[{"type":"input_text","text":"bad"},{"type":"input_image","image_url":"https://x.example/b.png"}]},
		{"type":"custom_tool_call_output","call_id":"c3","output":"done"}],
		"tools":[{"type":"function","name":"f","description":"F","parameters":{"type":"object"},"strict":true},{"type":"function","name":"h","parameters":null},
			{"type":"namespace","name":"ns","tools":[{"type":"function","name":"g","parameters":{}}]},
			{"type":"custom","name":"patch","format":{"type":"grammar","syntax":"lark","definition":"d"}},{"type":"web_search"}],
		"tool_choice":{"type":"function","name":"g"},"parallel_tool_calls":false,
		"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true},"verbosity":"low"},
		"reasoning":{"effort":"high","summary":"auto"},"max_output_tokens":100,"temperature":0.5,"top_p":0.9,
		"truncation":"auto","include":["reasoning.encrypted_content"],"store":false,"metadata":{"k":"v"},"prompt_cache_key":"ck",
		"user":"old","safety_identifier":"u","service_tier":"flex","top_logprobs":0,"max_tool_calls":3,"x_unknown":{"a":1}}`
	no, yes, half, most := false, true, 0.5, 0.9
	want := &wire.Dialog{Client: wire.Responses, Model: "m", Stream: true,
		Messages: []wire.Message{
			{Role: wire.System, Parts: []wire.Part{text("Be brief.")}},
			{Role: wire.Developer, Parts: []wire.Part{text("D")}},
			{Role: wire.User, Parts: []wire.Part{text("Look"),
				{Kind: wire.Image, Media: &wire.Media{Type: "image/png", Data: "aWk=", Detail: "low"}},
				{Kind: wire.Image, Media: &wire.Media{URL: "https://x.example/a.png"}},
				{Kind: wire.Document, Media: &wire.Media{Type: "application/pdf", Data: "cGRm", Name: "a.pdf"}},
				{Kind: wire.Document, Media: &wire.Media{FileID: "file-1"}},
				{Kind: wire.Audio, Media: &wire.Media{Type: "audio/wav", Data: "d2F2"}}}},
			{Role: wire.Assistant, Parts: []wire.Part{
				{Kind: wire.Reasoning, Text: "One\n\nTwo", Sealed: "x", Summary: true}, {Kind: wire.Reasoning, Text: "Raw"},
				text("Calling"), {Kind: wire.Refusal, Text: "No"},
				{Kind: wire.ToolCall, CallID: "c1", Name: "f", Arguments: `{"a":1}`},
				{Kind: wire.ToolCall, CallID: "c2", Name: "ns__g", Arguments: "{}"},
				{Kind: wire.ToolCall, CallID: "c3", Name: "patch", Arguments: "*** x", Custom: true}}},
			{Role: wire.ToolRole, Parts: []wire.Part{
				{Kind: wire.ToolResult, CallID: "c1", Result: []wire.Part{text("1")}},
				{Kind: wire.ToolResult, CallID: "c2", IsError: true, Result: []wire.Part{text("bad"), {Kind: wire.Image, Media: &wire.Media{URL: "https://x.example/b.png"}}}},
				{Kind: wire.ToolResult, CallID: "c3", Result: []wire.Part{text("done")}, Custom: true}}},
		},
		Tools: []wire.Tool{{Name: "f", Description: "F", Schema: []byte(`{"type":"object"}`), Strict: &yes}, {Name: "h"},
			{Name: "ns__g", Schema: []byte(`{}`)}, {Name: "patch", Custom: true, Grammar: []byte(`{"type":"grammar","syntax":"lark","definition":"d"}`)}},
		Choice: wire.ToolChoice{Mode: "tool", Name: "ns__g"}, Parallel: &no, MaxTokens: 100, Temperature: &half, TopP: &most,
		Effort: "high", Summary: "auto", Verbosity: "low", Format: &wire.Format{Name: "n", Schema: []byte(`{"type":"object"}`), Strict: &yes},
		User: "u", Metadata: []byte(`{"k":"v"}`), CacheKey: "ck", Tier: "flex",
		Dropped: []string{"input.phase", "input.web_search_call", "tools.web_search", "truncation", "include", "max_tool_calls", "x_unknown"},
	}
	got, p := responses.ReadDialog(facts(t, body))
	if p != nil {
		t.Fatal(p.Message)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReadDialogAfter: what earlier turns left comes before the input, a
// continuation's instructions are its own.
func TestReadDialogAfter(t *testing.T) {
	f := facts(t, `{"model":"m","previous_response_id":"resp_1","instructions":"New.","input":"More"}`)
	d, p := responses.ReadDialogAfter(f, []byte(`[{"role":"user","content":"Hi"},
		{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hello"}]}]`))
	if p != nil {
		t.Fatal(p.Message)
	}
	want := []wire.Message{
		{Role: wire.System, Parts: []wire.Part{text("New.")}}, {Role: wire.User, Parts: []wire.Part{text("Hi")}},
		{Role: wire.Assistant, Parts: []wire.Part{text("Hello")}}, {Role: wire.User, Parts: []wire.Part{text("More")}},
	}
	if diff := cmp.Diff(want, d.Messages); diff != "" || len(d.Dropped) > 0 {
		t.Errorf("%s %v", diff, d.Dropped)
	}
}

func TestAllowedTools(t *testing.T) {
	d, p := responses.ReadDialog(facts(t, `{"model":"m","input":"x","tools":[{"type":"function","name":"a"},{"type":"function","name":"b"}],
		"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"b"}]}}`))
	if p != nil || len(d.Tools) != 1 || d.Tools[0].Name != "b" || d.Choice.Mode != "required" {
		t.Errorf("%+v %v", d, p)
	}
}

// TestNamespaces: a name too long for other providers is shortened, two long ones
// stay apart.
func TestNamespaces(t *testing.T) {
	long := strings.Repeat("n", 60)
	d, p := responses.ReadDialog(facts(t, `{"model":"m","input":"x","tools":[{"type":"namespace","name":"`+long+
		`","tools":[{"type":"function","name":"first"},{"type":"function","name":"firsts"}]}]}`))
	if p != nil {
		t.Fatal(p.Message)
	}
	a, b := d.Tools[0].Name, d.Tools[1].Name
	if a == b || len(a) > 64 || len(b) > 64 {
		t.Errorf("%s %s", a, b)
	}
}

// TestReadDialogRefusals: what only one account could resolve, and what is
// malformed, is refused with 400, naming the member.
func TestReadDialogRefusals(t *testing.T) {
	for _, row := range []struct{ body, code, param string }{
		{`"input":[{"role":"user","content":"x"},{"type":"item_reference","id":"msg_1"}]`, "capability_missing", "input.1"},
		{`"input":[{"type":"compaction","encrypted_content":"x"}]`, "capability_missing", "input.0"},
		{`"input":[{"type":"computer_call","call_id":"c"}]`, "capability_missing", "input.0"},
		{`"input":[{"role":"user","content":[{"type":"input_video"}]}]`, "capability_missing", "input.0"},
		{`"input":"x","background":true`, "capability_missing", "background"},
		{`"input":"x","conversation":"conv_1"`, "capability_missing", "conversation"},
		{`"input":"x","prompt":{"id":"pmpt_1"}`, "capability_missing", "prompt"},
		{`"input":"x","tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}`, "capability_missing", "tool_choice"},
		{`"input":"x","tools":[{"type":"web_search"}],"tool_choice":"required"`, "capability_missing", "tool_choice"},
		{`"input":[{"role":"robot","content":"x"}]`, "invalid_request", "input.0.role"},
		{`"input":[{"role":7}]`, "invalid_request", "input.0.role"},
		{`"input":{"role":"user"}`, "invalid_request", "input"},
		{`"input":[{"role":"user","content":[{"type":"input_text","text":1}]}]`, "invalid_request", "input.0.content.0.text"},
		{`"input":"x","temperature":"hot"`, "invalid_request", "temperature"},
		{`"input":"x","tool_choice":{"type":1}`, "invalid_request", "tool_choice.type"},
	} {
		_, p := responses.ReadDialog(facts(t, `{"model":"m",`+row.body+`}`))
		if p == nil || p.Status != 400 || string(p.Code) != row.code || p.Param != row.param {
			t.Errorf("%s: %+v", row.body, p)
		}
	}
}

// TestWriteDialog writes what came from another protocol.
func TestWriteDialog(t *testing.T) {
	yes, half, k := true, 0.5, int64(5)
	d := &wire.Dialog{Client: wire.Messages, Model: "up", Stream: true,
		Messages: []wire.Message{
			{Role: wire.System, Parts: []wire.Part{{Kind: wire.Text, Text: "S", Cache: []byte(`{"type":"ephemeral"}`)}}},
			{Role: wire.User, Name: "ann", Parts: []wire.Part{text("Look"), {Kind: wire.Image, Media: &wire.Media{Type: "image/png", Data: "aWk="}},
				{Kind: wire.Document, Media: &wire.Media{Type: "application/pdf", Data: "cGRm"}}, {Kind: wire.Document, Media: &wire.Media{Type: "text/plain", Text: "open"}},
				{Kind: wire.Document, Media: &wire.Media{URL: "https://x.example/a.pdf"}}, {Kind: wire.Audio, Media: &wire.Media{Type: "audio/wav", Data: "d2F2"}}}},
			{Role: wire.Assistant, Parts: []wire.Part{{Kind: wire.Reasoning, Text: "Hm"}, text("Calling"),
				{Kind: wire.ToolCall, CallID: "c1", Name: "f"}, {Kind: wire.ToolCall, CallID: "c2", Name: "p", Arguments: "txt", Custom: true}, text("Well"), {Kind: wire.Refusal, Text: "No"}}},
			{Role: wire.ToolRole, Parts: []wire.Part{{Kind: wire.ToolResult, CallID: "c1", Result: []wire.Part{text("1")}},
				{Kind: wire.ToolResult, CallID: "c2", Custom: true, IsError: true, Result: []wire.Part{{Kind: wire.Image, Media: &wire.Media{URL: "https://x.example/b.png"}}}},
				{Kind: wire.ToolResult, CallID: "c3"}, text("And?")}},
		},
		Tools: []wire.Tool{{Name: "f"}, {Name: "p", Custom: true,
			Grammar: []byte(`{"type":"grammar","grammar":{"syntax":"lark","definition":"d"}}`)}},
		Choice: wire.ToolChoice{Mode: "tool", Name: "p"}, Parallel: &yes, MaxTokens: 5, Temperature: &half, TopK: &k, Stop: []string{"X"},
		ThinkingBudget: 5000, Format: &wire.Format{Schema: []byte(`{"type":"object"}`)}, User: strings.Repeat("u", 65), Tier: "default",
	}
	body, dropped, p := responses.WriteDialog(d)
	if p != nil {
		t.Fatal(p.Message)
	}
	want := `{"model":"up","input":[{"type":"message","role":"system","content":[{"type":"input_text","text":"S"}]},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"Look"},{"type":"input_image","image_url":"data:image/png;base64,aWk=","detail":"auto"},
		{"type":"input_file","file_data":"data:application/pdf;base64,cGRm","filename":"document.pdf"},{"type":"input_text","text":"open"},
		{"type":"input_file","file_url":"https://x.example/a.pdf"},{"type":"input_audio","input_audio":{"data":"d2F2","format":"wav"}}]},
		{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Calling"}]},
		{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"custom_tool_call","call_id":"c2","name":"p","input":"txt"},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Well"},{"type":"refusal","refusal":"No"}]},
		{"type":"function_call_output","call_id":"c1","output":"1"},
		{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"Error: "},{"type":"input_image","image_url":"https://x.example/b.png","detail":"auto"}],"status":"incomplete"},
		{"type":"function_call_output","call_id":"c3","output":""},{"type":"message","role":"user","content":[{"type":"input_text","text":"And?"}]}],
		"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{}},"strict":false},
		{"type":"custom","name":"p","format":{"type":"grammar","syntax":"lark","definition":"d"}}],"tool_choice":{"type":"custom","name":"p"},"parallel_tool_calls":true,
		"text":{"format":{"type":"json_schema","name":"answer","schema":{"type":"object"}}},"reasoning":{"effort":"medium"},
		"max_output_tokens":16,"temperature":0.5,"service_tier":"default","store":false,"stream":true}`
	want = strings.NewReplacer("\n\t\t", "").Replace(want)
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("%s\n%s", diff, body)
	}
	if diff := cmp.Diff([]string{"stop_sequences", "top_k", "metadata.user_id", "cache_control", "messages.name"}, dropped); diff != "" {
		t.Error(diff)
	}
	if _, err := jsonedit.Parse(body); err != nil {
		t.Error(err)
	}
}
