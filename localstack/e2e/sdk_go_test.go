package e2e

import (
	"errors"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"holdfast/localstack/accounts"
)

// thread checks that the answers that an SDK got are one conversation: one
// session, a claim on the first turn, hits by the same deployment from then on.
type thread struct {
	t       *testing.T
	session string
	served  string
}

// turn checks one answer.
func (c *thread) turn(name string, response *http.Response, err error, ok bool) {
	c.t.Helper()
	if err != nil || response == nil || !ok {
		c.t.Fatalf("%s: %v, as it should be: %v", name, err, ok)
	}
	h, want := response.Header, "hit"
	if c.served == "" {
		c.session, c.served, want = h.Get("X-Session-Id"), h.Get("X-Holdfast-Deployment"), "claimed"
	}
	if h.Get("X-Session-Id") != c.session || c.session == "" || h.Get("X-Holdfast-Deployment") != c.served || h.Get("X-Holdfast-Affinity") != want {
		c.t.Errorf("%s: session %q, %s by %s; want %q, %s by %s", name, h.Get("X-Session-Id"),
			h.Get("X-Holdfast-Affinity"), h.Get("X-Holdfast-Deployment"), c.session, want, c.served)
	}
}

// shell is the schema of a tool that runs a command.
func shell() map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{"command": map[string]any{"type": "string"}}, "required": []string{"command"}}
}

// TestSDKGoChat holds a conversation with a tool through openai-go.
func TestSDKGoChat(t *testing.T) { onEachProtocol(t, goChat) }

func goChat(t *testing.T, protocol string) {
	r := newRig(t, "memory")
	client := openai.NewClient(openaioption.WithBaseURL(r.URL+"/v1"), openaioption.WithAPIKey(keyA))
	var response *http.Response
	into := openaioption.WithResponseInto(&response)
	c := &thread{t: t}
	body := openai.ChatCompletionNewParams{
		Model: protocol, Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Be brief."), openai.UserMessage("Hello")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "bash", Parameters: shell()})},
	}
	first, err := client.Chat.Completions.New(t.Context(), body, into)
	c.turn("JSON", response, err, err == nil && first.Choices[0].Message.Content != "" && first.Usage.TotalTokens > 0)

	body.Messages = append(body.Messages, first.Choices[0].Message.ToParam(), openai.UserMessage("RUNTOOL list the files"))
	called := streamChat(t, client, body, &response)
	calls := called.Choices[0].Message.ToolCalls
	c.turn("a streamed tool call", response, nil, len(calls) == 1 && calls[0].Function.Name == "bash" && called.Choices[0].FinishReason == "tool_calls")

	body.Messages = append(body.Messages, called.Choices[0].Message.ToParam(), openai.ToolMessage("a.txt", calls[0].ID))
	last := streamChat(t, client, body, &response)
	c.turn("the tool's result", response, nil, last.Choices[0].Message.Content != "" && last.Choices[0].FinishReason == "stop")
	for _, base := range []string{r.URL + "/v1/", r.URL, r.URL + "/"} {
		models, err := client.Models.List(t.Context(), openaioption.WithBaseURL(base))
		if err != nil || len(models.Data) != 3 {
			t.Errorf("models from %s: %v", base, err)
		}
	}
}

// streamChat reads one streamed completion to its end.
func streamChat(t *testing.T, client openai.Client, body openai.ChatCompletionNewParams, into **http.Response) openai.ChatCompletion {
	t.Helper()
	stream := client.Chat.Completions.NewStreaming(t.Context(), body, openaioption.WithResponseInto(into))
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		all.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil || len(all.Choices) != 1 {
		t.Fatalf("stream: %v, %d choices", err, len(all.Choices))
	}
	return all.ChatCompletion
}

// TestSDKGoResponses holds the same conversation over Responses, first with the
// whole history in each request, then by the previous response's id.
func TestSDKGoResponses(t *testing.T) { onEachProtocol(t, goResponses) }

func goResponses(t *testing.T, protocol string) {
	r := newRig(t, "memory")
	client := openai.NewClient(openaioption.WithBaseURL(r.URL+"/v1"), openaioption.WithAPIKey(keyA))
	var response *http.Response
	into := openaioption.WithResponseInto(&response)
	c := &thread{t: t}
	message := responses.ResponseInputItemParamOfMessage[string]
	items := responses.ResponseInputParam{message("Hello", "user")}
	body := func() responses.ResponseNewParams {
		return responses.ResponseNewParams{
			Model: protocol, Instructions: openai.String("Be brief."), Store: openai.Bool(false),
			Input: responses.ResponseNewParamsInputUnion{OfInputItemList: items},
			Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("bash", shell(), false)},
		}
	}
	first, err := client.Responses.New(t.Context(), body(), into)
	c.turn("JSON", response, err, err == nil && first.OutputText() != "" && first.Usage.TotalTokens > 0)

	items = append(items, message(first.OutputText(), "assistant"), message("RUNTOOL list the files", "user"))
	called := streamResponse(t, client, body(), &response)
	var call responses.ResponseOutputItemUnion
	for _, item := range called.Output {
		if item.Type == "function_call" {
			call = item
		}
	}
	c.turn("a streamed tool call", response, nil, call.Name == "bash" && call.CallID != "")

	items = append(items, responses.ResponseInputItemParamOfFunctionCall(call.Arguments.OfString, call.CallID, call.Name))
	result := responses.ResponseInputItemParamOfFunctionCallOutput("a.txt")
	result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
	items = append(items, result)
	last := streamResponse(t, client, body(), &response)
	c.turn("the tool's result", response, nil, last.OutputText() != "" && last.Status == "completed")

	stored := responses.ResponseNewParams{Model: protocol, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Remember this")}}
	kept, err := client.Responses.New(t.Context(), stored, into)
	if err != nil {
		t.Fatal(err)
	}
	session, deployment := response.Header.Get("X-Session-Id"), response.Header.Get("X-Holdfast-Deployment")
	stored.PreviousResponseID = openai.String(kept.ID)
	stored.Input.OfString = openai.String("And now?")
	followed := streamResponse(t, client, stored, &response)
	if h := response.Header; followed.OutputText() == "" || h.Get("X-Session-Id") != session || h.Get("X-Holdfast-Deployment") != deployment || h.Get("X-Holdfast-Affinity") != "required" {
		t.Errorf("a continuation: session %q, %s by %s", h.Get("X-Session-Id"), h.Get("X-Holdfast-Affinity"), h.Get("X-Holdfast-Deployment"))
	}
	stored.PreviousResponseID = openai.String("resp_unknown")
	_, err = client.Responses.New(t.Context(), stored)
	var refused *openai.Error
	if !errors.As(err, &refused) || refused.StatusCode != http.StatusBadRequest || refused.Code != "previous_response_not_found" || refused.Param != "previous_response_id" {
		t.Errorf("an unknown response: %v", err)
	}
}

// streamResponse reads one streamed response to its end.
func streamResponse(t *testing.T, client openai.Client, body responses.ResponseNewParams, into **http.Response) responses.Response {
	t.Helper()
	stream := client.Responses.NewStreaming(t.Context(), body, openaioption.WithResponseInto(into))
	defer stream.Close()
	var whole responses.Response
	for stream.Next() {
		if event := stream.Current(); event.Type == "response.completed" {
			whole = event.Response
		}
	}
	if err := stream.Err(); err != nil || whole.ID == "" {
		t.Fatalf("stream: %v, response %q", err, whole.ID)
	}
	return whole
}

// TestSDKGoMessages holds the same conversation through anthropic-sdk-go.
func TestSDKGoMessages(t *testing.T) { onEachProtocol(t, goMessages) }

func goMessages(t *testing.T, protocol string) {
	r := newRig(t, "memory")
	client := anthropic.NewClient(anthropicoption.WithBaseURL(r.URL), anthropicoption.WithAPIKey(keyA))
	var response *http.Response
	into := anthropicoption.WithResponseInto(&response)
	c := &thread{t: t}
	tool := anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: shell()["properties"], Required: []string{"command"}}, "bash")
	body := anthropic.MessageNewParams{
		Model: anthropic.Model(protocol), MaxTokens: 200, System: []anthropic.TextBlockParam{{Text: "Be brief."}}, Tools: []anthropic.ToolUnionParam{tool},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hello"))},
	}
	first, err := client.Messages.New(t.Context(), body, into)
	c.turn("JSON", response, err, err == nil && first.Content[0].Text != "" && first.Usage.OutputTokens > 0)

	body.Messages = append(body.Messages, first.ToParam(), anthropic.NewUserMessage(anthropic.NewTextBlock("RUNTOOL list the files")))
	called := streamMessage(t, client, body, &response)
	call := called.Content[len(called.Content)-1]
	c.turn("a streamed tool call", response, nil, call.Type == "tool_use" && call.Name == "bash" && called.StopReason == "tool_use")

	body.Messages = append(body.Messages, called.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(call.ID, "a.txt", false)))
	last := streamMessage(t, client, body, &response)
	c.turn("the tool's result", response, nil, last.Content[0].Text != "" && last.StopReason == "end_turn")

	bearer := anthropic.NewClient(anthropicoption.WithBaseURL(r.URL), anthropicoption.WithAuthToken(keyA))
	page, err := bearer.Models.List(t.Context(), anthropic.ModelListParams{})
	if err != nil || len(page.Data) != 3 || page.Data[0].DisplayName == "" {
		t.Errorf("models by a bearer token: %v", err)
	}
}

// streamMessage reads one streamed message to its end.
func streamMessage(t *testing.T, client anthropic.Client, body anthropic.MessageNewParams, into **http.Response) anthropic.Message {
	t.Helper()
	stream := client.Messages.NewStreaming(t.Context(), body, anthropicoption.WithResponseInto(into))
	defer stream.Close()
	var whole anthropic.Message
	for stream.Next() {
		if err := whole.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil || len(whole.Content) == 0 {
		t.Fatalf("stream: %v, %d blocks", err, len(whole.Content))
	}
	return whole
}

// TestSDKGoErrors shows refusals as the SDKs tell them to their callers: their
// own error types, with what is needed to act on them.
func TestSDKGoErrors(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	chat := openai.ChatCompletionNewParams{Model: "chat", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello")}}
	message := anthropic.MessageNewParams{Model: "messages", MaxTokens: 9, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hello"))}}
	asOpenAI := func(key string) error {
		client := openai.NewClient(openaioption.WithBaseURL(r.URL+"/v1"), openaioption.WithAPIKey(key), openaioption.WithMaxRetries(0))
		_, err := client.Chat.Completions.New(t.Context(), chat)
		return err
	}
	asAnthropic := func(key string) error {
		client := anthropic.NewClient(anthropicoption.WithBaseURL(r.URL), anthropicoption.WithAPIKey(key), anthropicoption.WithMaxRetries(0))
		_, err := client.Messages.New(t.Context(), message)
		return err
	}
	var fromOpenAI *openai.Error
	if err := asOpenAI("sk-unknown"); !errors.As(err, &fromOpenAI) || fromOpenAI.StatusCode != 401 || fromOpenAI.Code != "invalid_api_key" || fromOpenAI.Type != "authentication_error" {
		t.Errorf("an unknown key: %v", err)
	}
	var fromAnthropic *anthropic.Error
	if err := asAnthropic("sk-unknown"); !errors.As(err, &fromAnthropic) || fromAnthropic.StatusCode != 401 || fromAnthropic.Type() != "authentication_error" {
		t.Errorf("an unknown key: %v", err)
	}
	if n := r.calls(); n != 0 {
		t.Errorf("%d calls for an unknown key", n)
	}
	for _, a := range r.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "60"})
	}
	for range 2 { // as the providers say it, then as the gateway does while all are resting
		err := asOpenAI(keyA)
		if !errors.As(err, &fromOpenAI) || fromOpenAI.StatusCode != 429 || fromOpenAI.Response.Header.Get("Retry-After") == "" {
			t.Errorf("a limit: %v", err)
		} else if fromOpenAI.Type != "rate_limit_error" && fromOpenAI.Code != "rate_limit_exceeded" {
			t.Errorf("a limit is told as %s %s", fromOpenAI.Type, fromOpenAI.Code)
		}
		err = asAnthropic(keyA)
		if !errors.As(err, &fromAnthropic) || fromAnthropic.StatusCode != 429 || fromAnthropic.Response.Header.Get("Retry-After") == "" {
			t.Errorf("a limit: %v", err)
		} else if fromAnthropic.Type() != "rate_limit_error" {
			t.Errorf("a limit is told as %s", fromAnthropic.Type())
		}
	}
}

// TestSDKGoRetries shows that an SDK waits as long as Retry-After says and has
// its answer then.
func TestSDKGoRetries(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) {
		d.extra = "templates: [{id: once, retry_policy: {max_attempts: 1}, allowed_fails: 100}]\nplatform: {template: once}\n"
	})
	for _, a := range r.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "1", Times: 1})
	}
	client := openai.NewClient(openaioption.WithBaseURL(r.URL+"/v1"), openaioption.WithAPIKey(keyA))
	answered, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model: "chat", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello")},
	})
	if err != nil || answered.Choices[0].Message.Content == "" || r.calls() < 4 {
		t.Errorf("after a limit of a second: %v, %d calls", err, r.calls())
	}
}
