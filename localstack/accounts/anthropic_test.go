package accounts_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"holdfast/localstack/accounts"
)

func anthropicClient(url string) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(url), option.WithAPIKey("sk-ant-test"), option.WithMaxRetries(0))
}

func messageParams(text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model:     "demo-messages",
		MaxTokens: 4096,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
		Tools: []anthropic.ToolUnionParam{
			{OfTool: &anthropic.ToolParam{Name: "weather", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"city": map[string]any{"type": "string"}}}}},
			{OfTool: &anthropic.ToolParam{Name: "time", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{}}}},
		},
	}
}

// A whole tool conversation with thinking, streamed and in JSON: the blocks go
// back as they came, and both ways say the same.
func TestAnthropicTools(t *testing.T) {
	for _, stream := range []bool{false, true} {
		_, url := start(t, accounts.Config{Key: "sk-ant-test"})
		client := anthropicClient(url)
		ask := func(p anthropic.MessageNewParams) anthropic.Message {
			t.Helper()
			if !stream {
				m, err := client.Messages.New(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				return *m
			}
			return accumulate(t, client, p)
		}
		params := messageParams("RUNTOOL RUNTOOL please")
		params.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024)
		first := ask(params)
		if len(first.Content) != 3 || first.StopReason != "tool_use" {
			t.Fatalf("stream %v: %+v", stream, first)
		}
		thinking, call := first.Content[0].AsThinking(), first.Content[1].AsToolUse()
		if thinking.Thinking == "" || thinking.Signature == "" || call.Name != "weather" || string(call.Input) != `{"city":"city"}` || string(first.Content[2].AsToolUse().Input) != "{}" {
			t.Errorf("stream %v: %+v", stream, first.Content)
		}
		params.Messages = append(params.Messages, first.ToParam(), anthropic.NewUserMessage(
			anthropic.NewToolResultBlock(call.ID, "sunny", false), anthropic.NewToolResultBlock(first.Content[2].ID, "no clock", true)))
		second := ask(params)
		if len(second.Content) != 2 || second.Content[1].AsText().Text == "" || second.StopReason != "end_turn" || second.Usage.OutputTokens != 48 || second.Usage.InputTokens == 0 {
			t.Errorf("stream %v: %+v", stream, second)
		}
		count, err := client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: "demo-messages", Messages: params.Messages,
			Tools: []anthropic.MessageCountTokensToolUnionParam{{OfTool: params.Tools[0].OfTool}, {OfTool: params.Tools[1].OfTool}}})
		if err != nil || count.InputTokens != second.Usage.InputTokens {
			t.Errorf("counted %+v, %v; the answer said %d", count, err, second.Usage.InputTokens)
		}
	}
}

func accumulate(t *testing.T, client anthropic.Client, p anthropic.MessageNewParams) anthropic.Message {
	t.Helper()
	stream := client.Messages.NewStreaming(t.Context(), p)
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAnthropicForcedTool(t *testing.T) {
	_, url := start(t, accounts.Config{})
	client := anthropicClient(url)
	params := messageParams("hello")
	params.ToolChoice = anthropic.ToolChoiceUnionParam{OfTool: &anthropic.ToolChoiceToolParam{Name: "time"}}
	m := accumulate(t, client, params)
	if len(m.Content) != 1 || m.Content[0].AsToolUse().Name != "time" || string(m.Content[0].AsToolUse().Input) != "{}" {
		t.Errorf("%+v", m.Content)
	}
}

// A signature is worth something at its own account only, and only for the
// thinking that it was made for.
func TestAnthropicSignatures(t *testing.T) {
	fleet := accounts.StartT(t, "alpha", "bravo")
	client := anthropicClient(fleet.URL("alpha"))
	params := messageParams("hello")
	params.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024)
	first, err := client.Messages.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	params.Messages = append(params.Messages, first.ToParam(), anthropic.NewUserMessage(anthropic.NewTextBlock("more")))
	if _, err := client.Messages.New(t.Context(), params); err != nil {
		t.Errorf("its own signature was refused: %v", err)
	}
	const want = "messages.1.content.0: Invalid `signature` in `thinking` block"
	foreign := anthropicClient(fleet.URL("bravo"))
	if _, err := foreign.Messages.New(t.Context(), params); anthropicStatus(err) != 400 || !strings.Contains(err.Error(), want) {
		t.Errorf("another account's signature: %v", err)
	}
	params.Messages[1].Content[0].OfThinking.Thinking += "!"
	if _, err := client.Messages.New(t.Context(), params); anthropicStatus(err) != 400 || !strings.Contains(err.Error(), want) {
		t.Errorf("changed thinking: %v", err)
	}
}

func TestAnthropicModels(t *testing.T) {
	_, url := start(t, accounts.Config{})
	client := anthropicClient(url)
	models, err := client.Models.List(t.Context(), anthropic.ModelListParams{})
	if err != nil || len(models.Data) != 3 || models.Data[2].ID != "demo-messages" || models.Data[2].CreatedAt.IsZero() {
		t.Errorf("%+v, %v", models, err)
	}
}

func anthropicStatus(err error) int {
	if refused := (*anthropic.Error)(nil); errors.As(err, &refused) {
		return refused.StatusCode
	}
	return 0
}

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
