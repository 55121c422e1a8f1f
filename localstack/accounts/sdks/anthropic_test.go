package sdks_test

import (
	"errors"
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

// Omitted thinking is not shown, and its signature still works.
func TestAnthropicOmittedThinking(t *testing.T) {
	_, url := start(t, accounts.Config{})
	client := anthropicClient(url)
	params := messageParams("hello")
	params.Thinking = anthropic.ThinkingConfigParamUnion{OfAdaptive: &anthropic.ThinkingConfigAdaptiveParam{Display: "omitted"}}
	for i := range 3 {
		m := accumulate(t, client, params)
		if thinking := m.Content[0].AsThinking(); thinking.Thinking != "" || thinking.Signature == "" {
			t.Errorf("turn %d: %+v", i, thinking)
		}
		params.Messages = append(params.Messages, m.ToParam(), anthropic.NewUserMessage(anthropic.NewTextBlock("more")))
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
