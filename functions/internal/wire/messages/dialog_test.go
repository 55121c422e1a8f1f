package messages_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/messages"
)

func TestReadDialogRefuses(t *testing.T) {
	many := strings.Repeat(`{"role":"user","content":"x"},`, wire.MaxDialogMessages) + `{"role":"user","content":"x"}`
	blocks := strings.Repeat(`{"type":"text","text":"x"},`, wire.MaxDialogParts) + `{"type":"text","text":"x"}`
	tools := strings.Repeat(`{"name":"f"},`, wire.MaxDialogTools) + `{"name":"f"}`
	user := `"messages":[{"role":"user","content":"x"}]}`
	for _, row := range []struct{ name, body, param, code string }{
		{"no messages", `{"messages":[]}`, "messages", "invalid_request"},
		{"too many messages", `{"messages":[` + many + `]}`, "messages", "invalid_request"},
		{"too many blocks", `{"messages":[{"role":"user","content":[` + blocks + `]}]}`, "messages", "invalid_request"},
		{"too many tools", `{"tools":[` + tools + `],` + user, "tools", "invalid_request"},
		{"too many stops", `{"stop_sequences":["a"` + strings.Repeat(`,"a"`, 64) + `],` + user, "stop_sequences", "invalid_request"},
		{"role", `{"messages":[{"role":"developer","content":"x"}]}`, "messages[0].role", "invalid_request"},
		{"no content", `{"messages":[{"role":"user"}]}`, "messages[0].content", "invalid_request"},
		{"text", `{"messages":[{"role":"user","content":[{"type":"text"}]}]}`, "messages[0].content[0].text", "invalid_request"},
		{"image in system", `{"system":[{"type":"image"}],` + user, "system[0].type", "invalid_request"},
		{"unknown block", `{"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"f"}]}]}`, "messages[0].content[0]", "capability_missing"},
		{"unknown block of an answer", `{"messages":[{"role":"assistant","content":[{"type":"video"}]}]}`, "messages[0].content[0]", "capability_missing"},
		{"no type", `{"messages":[{"role":"user","content":[{}]}]}`, "messages[0].content[0]", "invalid_request"},
		{"image's data", `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}]}]}`, "messages[0].content[0].source", "invalid_request"},
		{"image's address", `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"data:image/png;base64,aGk="}}]}]}`, "messages[0].content[0].source", "invalid_request"},
		{"call", `{"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"f"}]}]}`, "messages[0].content[0]", "invalid_request"},
		{"result", `{"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}`, "messages[0].content[0].tool_use_id", "invalid_request"},
		{"in a result", `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"x"}]}]}]}`, "messages[0].content[0].content[0]", "capability_missing"},
		{"thinking", `{"thinking":{"type":"much"},` + user, "thinking.type", "invalid_request"},
		{"budget", `{"thinking":{"type":"enabled"},` + user, "thinking.budget_tokens", "invalid_request"},
		{"tool", `{"tools":[{"name":"f","input_schema":[]}],` + user, "tools[0]", "invalid_request"},
		{"choice", `{"tool_choice":{"type":"all"},` + user, "tool_choice.type", "invalid_request"},
		{"choice of the provider's tool", `{"tools":[{"type":"bash_20250124","name":"bash"}],"tool_choice":{"type":"tool","name":"bash"},` + user, "tool_choice", "capability_missing"},
		{"only the provider's tools", `{"tools":[{"type":"bash_20250124","name":"bash"}],"tool_choice":{"type":"any"},` + user, "tool_choice", "capability_missing"},
		{"format", `{"output_config":{"format":{"type":"xml"}},` + user, "output_config.format", "invalid_request"},
		{"temperature", `{"temperature":"hot",` + user, "temperature", "invalid_request"},
	} {
		f, p := wire.Inspect(wire.EndpointMessages, []byte(`{"model":"m",`+row.body[1:]))
		if p != nil {
			t.Fatal(row.name, p)
		}
		d, p := messages.ReadDialog(f)
		if p == nil {
			t.Errorf("%s: taken: %+v", row.name, d)
			continue
		}
		if p.Status != 400 || p.Param != row.param || string(p.Code) != row.code {
			t.Errorf("%s: %d %s %s", row.name, p.Status, p.Code, p.Param)
		}
	}
}

// say is a message of one text.
func say(role wire.Role, text string) wire.Message {
	return wire.Message{Role: role, Parts: []wire.Part{{Kind: wire.Text, Text: text}}}
}

func ptr[T any](v T) *T { return &v }

// TestWriteDialog looks at what other protocols' clients say.
func TestWriteDialog(t *testing.T) {
	hello := []wire.Message{say(wire.User, "x")}
	tools := []wire.Tool{{Name: "f"}}
	must := wire.ToolChoice{Mode: "required"}
	call := wire.Message{Role: wire.Assistant, Parts: []wire.Part{{Kind: wire.ToolCall, CallID: "functions.f:0", Name: "f", Arguments: "{}"}}}
	result := wire.Message{Role: wire.ToolRole, Parts: []wire.Part{{Kind: wire.ToolResult, CallID: "functions.f:0", Result: []wire.Part{{Kind: wire.Text, Text: "r"}}}}}
	open := []wire.Message{hello[0], call, result}
	for _, row := range []struct {
		name    string
		d       wire.Dialog
		at      string // a member of the body
		want    string
		dropped string
	}{
		{"bound, thinking model", wire.Dialog{Model: "claude-sonnet-4-5-20250929"}, "max_tokens", "32000", ""},
		{"bound, imitator", wire.Dialog{Model: "deepseek-v4"}, "max_tokens", "8192", ""},
		{"bound, 3.5", wire.Dialog{Model: "claude-3-5-haiku-20241022"}, "max_tokens", "8192", ""},
		{"bound, older", wire.Dialog{Model: "claude-3-haiku-20240307"}, "max_tokens", "4096", ""},
		{"effort as a budget", wire.Dialog{Model: "anthropic.claude-opus-4-1-20250805-v1:0", Effort: "high"}, "thinking", `{"type":"enabled","budget_tokens":16000}`, ""},
		{"effort of an imitator", wire.Dialog{Model: "kimi", Effort: "low", MaxTokens: 20000}, "thinking", `{"type":"enabled","budget_tokens":2048}`, ""},
		{"effort within half of the answer", wire.Dialog{Model: "claude-opus-4", Effort: "max", MaxTokens: 3000}, "thinking", `{"type":"enabled","budget_tokens":1500}`, ""},
		{"effort with too short an answer", wire.Dialog{Model: "claude-opus-4", Effort: "low", MaxTokens: 2000}, "thinking", "", "reasoning_effort"},
		{"effort of a model that does not think", wire.Dialog{Model: "claude-3-5-sonnet", Effort: "low"}, "thinking", "", "reasoning_effort"},
		{"unknown effort", wire.Dialog{Model: "claude-opus-5", Effort: "huge"}, "output_config", "", "reasoning_effort"},
		{"adaptive", wire.Dialog{Model: "claude-opus-5-5", Effort: "xhigh"}, "thinking", `{"type":"adaptive"}`, ""},
		{"effort of 4.7", wire.Dialog{Model: "us.anthropic.claude-opus-4-7", Effort: "xhigh"}, "output_config", `{"effort":"xhigh"}`, ""},
		{"effort of 4.6", wire.Dialog{Model: "claude-sonnet-4-6@20260101", Effort: "xhigh"}, "output_config", `{"effort":"high"}`, ""},
		{"minimal", wire.Dialog{Model: "claude-sonnet-5", Effort: "minimal", Summary: "auto"}, "output_config", `{"effort":"low"}`, ""},
		{"no thought", wire.Dialog{Model: "claude-sonnet-5", Effort: "none"}, "thinking", `{"type":"disabled"}`, ""},
		{"summary", wire.Dialog{Model: "claude-sonnet-5", Effort: "low", Summary: "auto"}, "thinking", `{"type":"adaptive","display":"summarized"}`, ""},
		{"forced call, adaptive", wire.Dialog{Model: "claude-sonnet-5", Effort: "low", Tools: tools, Choice: must}, "thinking", "", ""},
		{"forced call, budget", wire.Dialog{Model: "claude-sonnet-4", Effort: "low", Tools: tools, Choice: must}, "thinking", "", "reasoning_effort"},
		{"open turn, budget", wire.Dialog{Model: "claude-sonnet-4", Effort: "low", Tools: tools, Messages: open}, "thinking", "", "reasoning_effort"},
		{"open turn, adaptive", wire.Dialog{Model: "claude-sonnet-5", Effort: "low", Tools: tools, Messages: open}, "thinking", `{"type":"adaptive"}`, ""},
		{"to be continued, budget", wire.Dialog{Model: "claude-sonnet-4", Effort: "low", Messages: []wire.Message{hello[0], say(wire.Assistant, "{ ")}}, "messages",
			`[{"role":"user","content":"x"},{"role":"assistant","content":"{"}]`, "reasoning_effort"},
		{"hot", wire.Dialog{Model: "claude-sonnet-4", Temperature: ptr(1.7)}, "temperature", "1", "temperature"},
		{"thinking beside a temperature", wire.Dialog{Model: "claude-sonnet-4", Temperature: ptr(0.2), TopP: ptr(0.5), TopK: ptr(int64(5)), Effort: "low"}, "temperature", "", "temperature top_p top_k"},
		{"temperature and top_p", wire.Dialog{Model: "claude-sonnet-4", Temperature: ptr(0.2), TopP: ptr(0.5)}, "top_p", "", "top_p"},
		{"temperature and top_p of an imitator", wire.Dialog{Model: "m", Temperature: ptr(0.2), TopP: ptr(0.5)}, "top_p", "0.5", ""},
		{"sampling of 4.7", wire.Dialog{Model: "claude-opus-4-7", Temperature: ptr(0.2), TopP: ptr(0.5), TopK: ptr(int64(5))}, "temperature", "", "temperature top_p top_k"},
		{"tier", wire.Dialog{Tier: "flex"}, "service_tier", "", "service_tier"},
		{"no place", wire.Dialog{Seed: ptr(int64(1)), Verbosity: "low", CacheKey: "k", Metadata: []byte(`{}`), Stop: []string{" ", "a"}}, "stop_sequences", `["a"]`,
			"stop seed verbosity prompt_cache_key metadata"},
		{"any JSON object", wire.Dialog{Format: &wire.Format{}}, "output_config", "", "response_format"},
		{"several calls at once", wire.Dialog{Tools: tools, Parallel: ptr(false)}, "tool_choice", `{"type":"auto","disable_parallel_tool_use":true}`, ""},
		{"no call", wire.Dialog{Tools: tools, Choice: wire.ToolChoice{Mode: "none"}, Parallel: ptr(false)}, "tool_choice", `{"type":"none"}`, ""},
		{"free text", wire.Dialog{Tools: []wire.Tool{{Name: "p", Custom: true, Description: "D", Grammar: []byte(`{"type":"grammar","syntax":"lark","definition":"start: x"}`)}}}, "tools",
			`[{"name":"p","description":"D\n\nThe input must match this lark grammar:\nstart: x","input_schema":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}}]`, ""},
		{"later system, before 4.6", wire.Dialog{Model: "claude-opus-4-1", Messages: []wire.Message{say(wire.System, "a"), hello[0], say(wire.Developer, "b")}}, "system",
			`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, ""},
		{"later system between a call and its result", wire.Dialog{Model: "claude-opus-5", Messages: []wire.Message{say(wire.Developer, "a"), hello[0], call, say(wire.Developer, "b"), result, say(wire.User, " "), say(wire.User, "y")}}, "messages",
			`[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"functions_f_0","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_f_0","content":"r"}]},{"role":"system","content":"b"},{"role":"user","content":"y"}]`, ""},
		{"results first", wire.Dialog{Messages: []wire.Message{hello[0], call, say(wire.User, "wait"), result, result}}, "messages",
			`[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"functions_f_0","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_f_0","content":"r"},{"type":"tool_result","tool_use_id":"functions_f_0","content":"r"},{"type":"text","text":"wait"}]}]`, ""},
		{"reasoning, refusal, names, broken and free arguments", wire.Dialog{Messages: []wire.Message{{Role: wire.User, Name: "ann", Parts: hello[0].Parts}, {Role: wire.Assistant, Parts: []wire.Part{
			{Kind: wire.Reasoning, Text: "Hm", Signature: "s"}, {Kind: wire.Refusal, Text: "No"}, {Kind: wire.ToolCall, CallID: "a", Name: "f", Arguments: `{"a`}, {Kind: wire.ToolCall, CallID: "b", Name: "p", Arguments: "***", Custom: true}}},
			result}}, "messages",
			`[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":"No"},{"type":"tool_use","id":"a","name":"f","input":{"input":"{\"a"}},{"type":"tool_use","id":"b","name":"p","input":{"input":"***"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_f_0","content":"r"}]}]`, "messages.name reasoning_content"},
		{"media", wire.Dialog{Messages: []wire.Message{{Role: wire.User, Parts: []wire.Part{
			{Kind: wire.Image, Media: &wire.Media{Type: "image/jpg", Data: "aGk=", Detail: "low"}}, {Kind: wire.Document, Media: &wire.Media{Type: "text/csv", Data: "YSxi", Name: "a.csv"}}}}}}, "messages",
			`[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"aGk="}},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b"},"title":"a.csv"}]}]`, "image_url.detail"},
	} {
		row.d.Client = wire.Chat
		if row.d.Messages == nil {
			row.d.Messages = hello
		}
		body, dropped, p := messages.WriteDialog(&row.d)
		if p != nil {
			t.Errorf("%s: %v", row.name, p)
			continue
		}
		if diff := cmp.Diff(row.want, string(jsonedit.Read(body).Get(row.at).Bytes())); diff != "" {
			t.Errorf("%s: %s", row.name, diff)
		}
		if diff := cmp.Diff(row.dropped, strings.Join(dropped, " ")); diff != "" {
			t.Errorf("%s: %s", row.name, diff)
		}
	}
}

func TestWriteDialogRefuses(t *testing.T) {
	for name, part := range map[string]wire.Part{
		"sound":            {Kind: wire.Audio, Media: &wire.Media{Type: "audio/wav", Data: "aGk="}},
		"image by id":      {Kind: wire.Image, Media: &wire.Media{FileID: "file-1"}},
		"document by id":   {Kind: wire.Document, Media: &wire.Media{FileID: "file-1"}},
		"another document": {Kind: wire.Document, Media: &wire.Media{Type: "application/msword", Data: "aGk="}},
	} {
		d := &wire.Dialog{Client: wire.Responses, Messages: []wire.Message{{Role: wire.User, Parts: []wire.Part{part}}}}
		if _, _, p := messages.WriteDialog(d); p == nil || p.Code != wire.CapabilityMissing || p.Param != "input" {
			t.Errorf("%s: %v", name, p)
		}
	}
	d := &wire.Dialog{Client: wire.Chat, Messages: []wire.Message{say(wire.System, "a"), say(wire.User, " ")}}
	if _, _, p := messages.WriteDialog(d); p == nil || p.Code != wire.InvalidRequest {
		t.Errorf("nothing said: %v", p)
	}
}

// TestCacheMarkers: the provider takes four.
func TestCacheMarkers(t *testing.T) {
	d := &wire.Dialog{Client: wire.Chat}
	for range 6 {
		m := say(wire.User, "x")
		m.Parts[0].Cache = []byte(`{"type":"ephemeral"}`)
		d.Messages = append(d.Messages, m)
	}
	body, dropped, _ := messages.WriteDialog(d)
	if n := strings.Count(string(body), "cache_control"); n != 4 || len(dropped) != 1 {
		t.Errorf("%d markers, dropped %v", n, dropped)
	}
}

// TestNeutralAllocations: a piece of text costs no more than itself.
func TestNeutralAllocations(t *testing.T) {
	d, e := messages.NewDeltas(wire.ByProtocol), messages.NewEvents(wire.Stamp{ID: "x", Model: "m"}, false)
	out, dst := make([]wire.Delta, 0, 8), make([]byte, 0, 4096)
	step := func(event string) func() {
		data := []byte(event)
		return func() {
			out, dst = d.Event(nil, data, out[:0]), dst[:0]
			for _, one := range out {
				dst = e.Append(dst, one)
			}
		}
	}
	step(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)()
	more := step(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`)
	more()
	if allocs := testing.AllocsPerRun(100, more); allocs > 1 || !strings.Contains(string(dst), `"text":" word"`) {
		t.Errorf("%v allocations for %s", allocs, dst)
	}
}

func FuzzNeutralDialog(f *testing.F) {
	neutral().FuzzDialog(f, `{"model":"claude-opus-4","system":[{"type":"text","text":"x-anthropic-billing-header: x"}],"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","data":"x"}}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","is_error":true}]}],"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}}`)
}

func FuzzNeutralReply(f *testing.F) {
	neutral().FuzzReply(f, `{"content":[{"type":"thinking","thinking":"x","signature":"y"},{"type":"tool_use","id":"a","name":"f","input":{"a":1}}],"stop_reason":"refusal","stop_details":{"explanation":"x"},"usage":{"input_tokens":1}}`)
}

func FuzzNeutralDeltas(f *testing.F) {
	neutral().FuzzDeltas(f, `data: {"type":"message_start","message":{"usage":{"input_tokens":1}}}`+"\n\n"+
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f"}}`+"\n\n"+
		`data: {"type":"content_block_delta","index":0,"delta":{"partial_json":"{"}}`+"\n\n"+
		`data: {"type":"message_delta","delta":{"stop_reason":"refusal"}}`+"\n\n")
}
