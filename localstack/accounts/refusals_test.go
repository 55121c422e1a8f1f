package accounts_test

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// What the real endpoint refuses, refused in its words.
func TestMessagesRefusals(t *testing.T) {
	_, url := start(t, accounts.Config{})
	const user = `{"role":"user","content":"hi"}`
	const use = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"n","input":{}}]}`
	mark := strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5)
	for _, tc := range []struct{ name, body, want string }{
		{"no model", `{"max_tokens":1,"messages":[` + user + `]}`, "model: Field required"},
		{"no maximum", `{"model":"m","messages":[` + user + `]}`, "max_tokens: Field required"},
		{"no messages", `{"model":"m","max_tokens":1,"messages":[]}`, "at least one message is required"},
		{"an unknown role", `{"model":"m","max_tokens":1,"messages":[{"role":"tool","content":"x"}]}`, "messages.0.role: Input should be"},
		{"empty content", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":""},` + user + `]}`, "must have non-empty content"},
		{"empty text", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, "text content blocks must be non-empty"},
		{"a use without a result", `{"model":"m","max_tokens":1,"messages":[` + user + `,` + use + `,` + user + `]}`, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1"},
		{"a use at the end", `{"model":"m","max_tokens":1,"messages":[` + user + `,` + use + `]}`, "`tool_use` ids were found without"},
		{"a result without a use", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"}]}]}`, "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1"},
		{"five markers", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[` + mark[:len(mark)-1] + `]}]}`, "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{"an hour after five minutes", `{"model":"m","max_tokens":1,"system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}`, "must not come after"},
		{"a small budget", `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":10},"messages":[` + user + `]}`, "greater than or equal to 1024"},
		{"a budget above the maximum", `{"model":"m","max_tokens":1024,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + user + `]}`, "`max_tokens` must be greater than `thinking.budget_tokens`"},
		{"thinking and a forced tool", `{"model":"m","max_tokens":2000,"thinking":{"type":"adaptive"},"tool_choice":{"type":"any"},"messages":[` + user + `]}`, "Thinking may not be enabled when tool_choice forces tool use."},
		{"an open use without its thinking", `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + user + `,` + use + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"}]}]}`, "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`"},
		{"a tool without a schema", `{"model":"m","max_tokens":1,"tools":[{"name":"t"}],"messages":[` + user + `]}`, "tools.0.custom.input_schema: Field required"},
		{"a forced tool that is not there", `{"model":"m","max_tokens":1,"tools":[{"name":"t","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool","name":"u"},"messages":[` + user + `]}`, "Tool 'u' not found in provided tools"},
		{"the same name twice", `{"model":"m","model":"n"}`, "could not parse"},
	} {
		a := must(t, http.MethodPost, url+"/v1/messages", tc.body)
		o := a.object(t)
		if a.status != 400 || o.text("type") != "error" || o.text("error", "type") != "invalid_request_error" || !strings.Contains(o.text("error", "message"), tc.want) {
			t.Errorf("%s: %d %s, want %q", tc.name, a.status, a.body, tc.want)
		}
	}
	for _, tc := range []struct{ name, body string }{
		{"system in between", `{"model":"m","max_tokens":1,"messages":[` + user + `,{"role":"system","content":"be kind","output_config":{"effort":"low"}},{"role":"system","content":[]}]}`},
		{"system between use and result", `{"model":"m","max_tokens":1,"messages":[` + user + `,` + use + `,{"role":"system","content":"x"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"ok"}]}]}]}`},
		{"an earlier use without thinking", `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + user + `,` + use + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"}]},{"role":"assistant","content":"ok"},` + user + `]}`},
		{"an image", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]}`},
	} {
		if a := must(t, http.MethodPost, url+"/v1/messages", tc.body); a.status != 200 {
			t.Errorf("%s: %d %s", tc.name, a.status, a.body)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/messages", strings.NewReader(`{"model":"m","max_tokens":1,"messages":[`+user+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 400 {
		t.Errorf("without anthropic-version: %d", resp.StatusCode)
	}
}

func TestResponsesRefusals(t *testing.T) {
	_, base := start(t, accounts.Config{Models: []string{"m"}})
	for _, tc := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"no model", `{"input":"x"}`, 400, "Missing required parameter: 'model'."},
		{"no input", `{"model":"m"}`, 400, "Missing required parameter: 'input'."},
		{"a number as input", `{"model":"m","input":7}`, 400, "Invalid type for 'input'"},
		{"an item without a type", `{"model":"m","input":[{}]}`, 400, "input[0].type"},
		{"an unknown role", `{"model":"m","input":[{"role":"tool","content":"x"}]}`, 400, "Invalid value: 'tool'"},
		{"content of a wrong type", `{"model":"m","input":[{"role":"user","content":{}}]}`, 400, "input[0].content"},
		{"a result without a call", `{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`, 400, "No tool call found for function call output with call_id c."},
		{"a call without a result", `{"model":"m","input":[{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}]}`, 400, "No tool output found for function call c."},
		{"no tokens", `{"model":"m","input":"x","max_output_tokens":0}`, 400, "max_output_tokens"},
		{"background that is not stored", `{"model":"m","input":"x","background":true,"store":false}`, 400, "Background mode requires"},
		{"both histories", `{"model":"m","input":"x","previous_response_id":"a","conversation":"b"}`, 400, "Mutually exclusive"},
		{"store that is no boolean", `{"model":"m","input":"x","store":"yes"}`, 400, "'store'"},
		{"instructions as a list", `{"model":"m","input":"x","instructions":[]}`, 400, "'instructions'"},
		{"an unknown model", `{"model":"n","input":"x"}`, 404, "`n` does not exist"},
		{"a tool that is not there", `{"model":"m","input":"x","tool_choice":{"type":"function","name":"f"}}`, 400, "'tool_choice': 'f'"},
		{"a call without tools", `{"model":"m","input":"x","tool_choice":"required"}`, 400, "'tool_choice': 'required'"},
	} {
		got := must(t, http.MethodPost, base+"/v1/responses", tc.body)
		if o := got.object(t); got.status != tc.status || o.text("error", "type") != "invalid_request_error" || !strings.Contains(o.text("error", "message"), tc.want) {
			t.Errorf("%s: %d %s, want %q", tc.name, got.status, got.body, tc.want)
		}
	}
	for _, path := range []string{"GET /v1/responses/resp_1", "DELETE /v1/responses/resp_1", "POST /v1/responses/resp_1/cancel", "GET /v1/responses/resp_1/input_items"} {
		method, path, _ := strings.Cut(path, " ")
		if got := must(t, method, base+path, ""); got.status != 404 || !strings.Contains(string(got.body), "Response with id 'resp_1' not found.") {
			t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
		}
	}
}

func TestChatRefusals(t *testing.T) {
	_, base := start(t, accounts.Config{})
	const user, use = `{"role":"user","content":"hi"}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]}`
	for _, tc := range []struct{ name, body, want string }{
		{"no model", `{"messages":[` + user + `]}`, "you must provide a model parameter"},
		{"no messages", `{"model":"m"}`, "Missing required parameter: 'messages'."},
		{"empty messages", `{"model":"m","messages":[]}`, "empty array"},
		{"an unknown role", `{"model":"m","messages":[{"role":"robot","content":"x"}]}`, "Invalid value: 'robot'"},
		{"no content", `{"model":"m","messages":[{"role":"user"}]}`, "expected a string, got null"},
		{"content of a wrong type", `{"model":"m","messages":[{"role":"user","content":7}]}`, "Invalid type for 'messages[0].content'"},
		{"a result without a call", `{"model":"m","messages":[` + user + `,{"role":"tool","tool_call_id":"c","content":"x"}]}`, "must be a response to a preceeding message with 'tool_calls'"},
		{"a result of an earlier call", `{"model":"m","messages":[` + use + `,{"role":"tool","tool_call_id":"c","content":"x"},` + user + `,{"role":"tool","tool_call_id":"c","content":"x"}]}`, "must be a response to a preceeding message"},
		{"a call without a result", `{"model":"m","messages":[` + use + `,` + user + `]}`, "did not have response messages: c"},
		{"a call at the end", `{"model":"m","messages":[` + use + `]}`, "did not have response messages: c"},
		{"several choices", `{"model":"m","n":2,"messages":[` + user + `]}`, "'n'"},
		{"negative tokens", `{"model":"m","max_tokens":-1,"messages":[` + user + `]}`, "'max_tokens'"},
		{"a wrong type inside", `{"model":"m","messages":[{"role":7}]}`, "Invalid type for 'messages[0].role'."},
		{"a name twice", `{"model":"m","model":"n"}`, "could not parse"},
		{"nothing", ``, "could not parse"},
	} {
		got := must(t, http.MethodPost, base+"/v1/chat/completions", tc.body)
		if o := got.object(t); got.status != 400 || !strings.Contains(o.text("error", "message"), tc.want) {
			t.Errorf("%s: %d %s, want %q", tc.name, got.status, got.body, tc.want)
		}
	}
	if got := must(t, http.MethodPost, base+"/v1/nowhere", `{}`); got.status != 404 || got.object(t).text("error", "code") != "unknown_url" {
		t.Errorf("%d %s", got.status, got.body)
	}
}
