package sdks_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"holdfast/localstack/accounts"
)

func openAIClient(url string) openai.Client {
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("sk-test"), option.WithMaxRetries(0))
}

var weather = shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}}

// The official SDK reads a whole tool conversation, JSON and streamed alike.
func TestOpenAIChat(t *testing.T) {
	_, url := start(t, accounts.Config{Key: "sk-test"})
	client := openAIClient(url)
	params := openai.ChatCompletionNewParams{
		Model: "demo-chat",
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage("Be brief."), openai.UserMessage("RUNTOOL RUNTOOL now"),
		},
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "weather", Parameters: weather}),
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "time"}),
		},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{},
	}
	first, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	calls := first.Choices[0].Message.ToolCalls
	if len(calls) != 2 || calls[0].Function.Name != "weather" || calls[0].Function.Arguments != `{"city":"city"}` ||
		calls[1].Function.Arguments != "{}" || calls[0].ID == calls[1].ID || first.Choices[0].FinishReason != "tool_calls" {
		t.Fatalf("calls %+v, finish reason %s", calls, first.Choices[0].FinishReason)
	}
	params.Messages = append(params.Messages, first.Choices[0].Message.ToParam(),
		openai.ToolMessage("sunny", calls[0].ID), openai.ToolMessage("noon", calls[1].ID))
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var all openai.ChatCompletionAccumulator
	chunks := 0
	for stream.Next() {
		chunks++
		if !all.AddChunk(stream.Current()) {
			t.Fatalf("the accumulator refused chunk %d", chunks)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	answer := all.Choices[0]
	if answer.FinishReason != "stop" || answer.Message.Content == "" || all.Usage.CompletionTokens != 32 || all.Usage.PromptTokens == 0 {
		t.Errorf("finish reason %q, content %q, usage %+v", answer.FinishReason, answer.Message.Content, all.Usage)
	}
	if chunks != 32+3 { // role, 32 tokens, finish reason, usage
		t.Errorf("%d chunks", chunks)
	}
}

// Streamed tool calls add up to the same calls as in JSON.
func TestOpenAIChatStreamedTools(t *testing.T) {
	_, url := start(t, accounts.Config{})
	client := openAIClient(url)
	stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
		Model:    "demo-chat",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "weather", Parameters: weather}),
		},
		ToolChoice: openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")},
	})
	var all openai.ChatCompletionAccumulator
	finished := 0
	for stream.Next() {
		all.AddChunk(stream.Current())
		if call, ok := all.JustFinishedToolCall(); ok {
			finished++
			if call.Name != "weather" || call.Arguments != `{"city":"city"}` {
				t.Errorf("%+v", call)
			}
		}
	}
	if err := stream.Err(); err != nil || finished != 1 {
		t.Errorf("%d calls, %v", finished, err)
	}
}

func TestOpenAIChatSchema(t *testing.T) {
	_, url := start(t, accounts.Config{})
	client := openAIClient(url)
	got, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model:    "demo-chat",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
		ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "w", Schema: weather}}},
	})
	if err != nil || got.Choices[0].Message.Content != `{"city":"city"}` {
		t.Errorf("%+v, %v", got, err)
	}
}

func responsesParams(text string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "demo-responses",
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)},
		Tools: []responses.ToolUnionParam{
			responses.ToolParamOfFunction("weather", weather, true),
			responses.ToolParamOfFunction("time", map[string]any{"type": "object"}, true),
		},
		Include:   []responses.ResponseIncludable{"reasoning.encrypted_content"},
		Reasoning: shared.ReasoningParam{Effort: "low", Summary: "auto"},
	}
}

// A response, its continuation by id with a tool's result, and its objects.
func TestOpenAIResponses(t *testing.T) {
	_, url := start(t, accounts.Config{})
	client := openAIClient(url)
	params := responsesParams("call weather")
	first, err := client.Responses.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Output) != 2 || first.Output[0].Type != "reasoning" || first.Output[0].EncryptedContent == "" ||
		first.Output[0].Summary[0].Text == "" || first.Output[1].AsFunctionCall().Arguments != `{"city":"city"}` {
		t.Fatalf("output %+v", first.Output)
	}
	params.PreviousResponseID = openai.String(first.ID)
	result := responses.ResponseInputItemParamOfFunctionCallOutput("sunny")
	result.OfFunctionCallOutput.CallID = openai.String(first.Output[1].CallID)
	params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{result}}
	second, err := client.Responses.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if second.OutputText() == "" || second.Status != "completed" || second.PreviousResponseID != first.ID || second.Usage.InputTokens <= first.Usage.InputTokens {
		t.Errorf("%q, %s, usage %+v", second.OutputText(), second.Status, second.Usage)
	}
	stored, err := client.Responses.Get(t.Context(), second.ID, responses.ResponseGetParams{})
	if err != nil || stored.OutputText() != second.OutputText() {
		t.Errorf("stored: %v", err)
	}
	items, err := client.Responses.InputItems.List(t.Context(), second.ID, responses.InputItemListParams{})
	if err != nil || len(items.Data) != 1 || items.Data[0].Type != "function_call_output" || items.Data[0].ID == "" {
		t.Errorf("input items %+v, %v", items, err)
	}
	compacted, err := client.Responses.Compact(t.Context(), responses.ResponseCompactParams{Model: "demo-responses", PreviousResponseID: openai.String(second.ID)})
	if err != nil || len(compacted.Output) != 2 || compacted.Output[1].Type != "compaction" || compacted.Output[1].EncryptedContent == "" {
		t.Errorf("compacted %+v, %v", compacted, err)
	}
	if err := client.Responses.Delete(t.Context(), second.ID); err != nil {
		t.Error(err)
	}
	if _, err := client.Responses.Get(t.Context(), second.ID, responses.ResponseGetParams{}); statusOf(err) != http.StatusNotFound {
		t.Errorf("after deletion: %v", err)
	}
}

// The events come in their order, numbered, and tell what the end repeats.
func TestOpenAIResponsesStream(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []string // kinds of events, repetitions left out
	}{
		{"hello", []string{"response.created", "response.in_progress",
			"response.output_item.added", "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done", "response.reasoning_summary_part.done", "response.output_item.done",
			"response.output_item.added", "response.content_part.added", "response.output_text.delta", "response.output_text.done", "response.content_part.done", "response.output_item.done",
			"response.completed"}},
		{"RUNTOOL RUNTOOL", []string{"response.created", "response.in_progress",
			"response.output_item.added", "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done", "response.reasoning_summary_part.done", "response.output_item.done",
			"response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.output_item.done",
			"response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.output_item.done",
			"response.completed"}},
	} {
		_, url := start(t, accounts.Config{})
		client := openAIClient(url)
		stream := client.Responses.NewStreaming(t.Context(), responsesParams(tc.text))
		var kinds []string
		var text, arguments strings.Builder
		sequence := int64(0)
		var last responses.Response
		for stream.Next() {
			e := stream.Current()
			if e.SequenceNumber != sequence {
				t.Errorf("%s: event %d is numbered %d", e.Type, sequence, e.SequenceNumber)
			}
			sequence++
			if kinds = append(kinds, e.Type); e.Type == "response.output_text.delta" {
				text.WriteString(e.Delta)
			} else if e.Type == "response.function_call_arguments.delta" {
				arguments.WriteString(e.Delta)
			}
			last = e.Response
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if kinds = slices.Compact(kinds); !slices.Equal(kinds, tc.want) {
			t.Errorf("%s:\n got %v\nwant %v", tc.text, kinds, tc.want)
		}
		said := ""
		for _, item := range last.Output {
			said += item.Arguments.OfString
		}
		if last.OutputText() != text.String() || said != arguments.String() || last.Usage.OutputTokensDetails.ReasoningTokens != 16 {
			t.Errorf("the end says %q and %q, the deltas %q and %q, usage %+v", last.OutputText(), said, text.String(), arguments.String(), last.Usage)
		}
	}
}

// Reasoning goes back encrypted, with store off, and only to its own account.
func TestOpenAIEncryptedReasoning(t *testing.T) {
	fleet := accounts.StartT(t, "alpha", "bravo")
	client := openAIClient(fleet.URL("alpha"))
	params := responsesParams("hello")
	params.Store = openai.Bool(false)
	first, err := client.Responses.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
		responses.ResponseInputItemParamOfMessage("hello", responses.EasyInputMessageRoleUser)}}
	for _, item := range first.Output {
		params.Input.OfInputItemList = append(params.Input.OfInputItemList, param.Override[responses.ResponseInputItemUnionParam](jsontext.Value(item.RawJSON())))
	}
	params.Input.OfInputItemList = append(params.Input.OfInputItemList, responses.ResponseInputItemParamOfMessage("more", responses.EasyInputMessageRoleUser))
	if _, err := client.Responses.New(t.Context(), params); err != nil {
		t.Errorf("its own reasoning was refused: %v", err)
	}
	foreign := openAIClient(fleet.URL("bravo"))
	_, err = foreign.Responses.New(t.Context(), params)
	if refused := (*openai.Error)(nil); !errors.As(err, &refused) || refused.StatusCode != 400 || refused.Code != "invalid_encrypted_content" {
		t.Errorf("another account's reasoning: %v", err)
	}
	params = responsesParams("more")
	params.PreviousResponseID = openai.String(first.ID)
	_, err = client.Responses.New(t.Context(), params)
	if refused := (*openai.Error)(nil); !errors.As(err, &refused) || refused.StatusCode != 400 || refused.Code != "previous_response_not_found" || refused.Param != "previous_response_id" {
		t.Errorf("a response that was not stored: %v", err)
	}
}

func TestOpenAIOthers(t *testing.T) {
	_, url := start(t, accounts.Config{Models: []string{"one", "two"}})
	client := openAIClient(url)
	models, err := client.Models.List(t.Context())
	if err != nil || len(models.Data) != 2 || models.Data[1].ID != "two" {
		t.Errorf("models %+v, %v", models, err)
	}
	if m, err := client.Models.Get(t.Context(), "one"); err != nil || m.ID != "one" {
		t.Errorf("model %+v, %v", m, err)
	}
	if _, err := client.Models.Get(t.Context(), "three"); statusOf(err) != http.StatusNotFound {
		t.Errorf("unknown model: %v", err)
	}
	input := openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a", "b", "a"}}
	e, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{Model: "one", Input: input, Dimensions: openai.Int(8)})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Data) != 3 || len(e.Data[0].Embedding) != 8 || !slices.Equal(e.Data[0].Embedding, e.Data[2].Embedding) || slices.Equal(e.Data[0].Embedding, e.Data[1].Embedding) {
		t.Errorf("embeddings %+v", e.Data)
	}
}

// statusOf is the status of an SDK's error, 0 for any other.
func statusOf(err error) int {
	if refused := (*openai.Error)(nil); errors.As(err, &refused) {
		return refused.StatusCode
	}
	return 0
}
