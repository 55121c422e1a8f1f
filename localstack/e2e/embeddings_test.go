package e2e

import (
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"

	"holdfast/localstack/accounts"
)

// TestEmbeddings shows embeddings from whoever lists the endpoint: the provider's
// own bytes, usage in the log, retries and another deployment after failures.
func TestEmbeddings(t *testing.T) {
	for _, store := range rigs("memory", "dynamodb") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store, withVideos)
			body := map[string]any{"model": "vector", "input": []string{secretWord, "again"}, "session_id": "s", "stream": true}
			first := post(t, r.URL+"/v1/embeddings", body)
			data, _ := first.field("data").([]any)
			if first.StatusCode != 200 || len(data) != 2 || first.affinity() != "claimed" || first.Header.Get("X-Session-Id") != "s" {
				t.Fatalf("%d %s: %s", first.StatusCode, first.affinity(), first.body)
			}
			owner := r.owner(first.deployment())
			sent := owner.Calls()[0]
			if got := string(sent.Body); !strings.Contains(got, `"embed-3"`) || strings.Contains(got, "session_id") || strings.Contains(got, "prompt_cache_key") {
				t.Errorf("the provider was sent %s", got)
			}
			if a := post(t, r.URL+"/embeddings", body); a.affinity() != "hit" || a.deployment() != first.deployment() || a.body != first.body {
				t.Errorf("again: %s by %s", a.affinity(), a.deployment())
			}
			accounts.InjectT(t, owner, accounts.Fault{Kind: accounts.ServerError, Protocol: accounts.Embeddings})
			moved := post(t, r.URL+"/v1/embeddings", body)
			if moved.StatusCode != 200 || moved.affinity() != "moved" || moved.deployment() == first.deployment() {
				t.Errorf("after a failure: %d %s by %s", moved.StatusCode, moved.affinity(), moved.deployment())
			}
			if a := post(t, r.URL+"/v1/embeddings", map[string]any{"model": "chat", "input": "x"}); a.StatusCode != 400 || a.code() != "endpoint_unsupported" {
				t.Errorf("a model without embeddings: %d %s", a.StatusCode, a.body)
			}
			if a := post(t, r.URL+"/v1/embeddings", map[string]any{"model": "vector", "input": []string{}}); a.StatusCode != 400 || a.code() != "" {
				t.Errorf("the provider's own refusal: %d %s %s", a.StatusCode, a.code(), a.body)
			}
			if a := post(t, r.URL+"/v1/chat/completions", ask("vector", false, user("Hello"))); a.code() != "endpoint_unsupported" {
				t.Errorf("chat on an embedding model: %d %s", a.StatusCode, a.body)
			}
		})
	}
}

// TestEmbeddingsSDK shows them through OpenAI's SDK, and what the log says of them.
func TestEmbeddingsSDK(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", withVideos)
	client := openai.NewClient(openaioption.WithBaseURL(r.URL+"/v1"), openaioption.WithAPIKey(keyA))
	made, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: "vector", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String(long(100))},
	})
	if err != nil || len(made.Data) != 1 || len(made.Data[0].Embedding) != 256 || made.Usage.PromptTokens == 0 {
		t.Fatalf("%v", err)
	}
	if code := r.Stop(); code != 0 {
		t.Fatal(code)
	}
	if !strings.Contains(r.Log(), `"endpoint":"embeddings","model":"vector"`) || !strings.Contains(r.Log(), `"usage":{"input":`) {
		t.Errorf("the log says nothing of it: %s", r.Log())
	}
}
