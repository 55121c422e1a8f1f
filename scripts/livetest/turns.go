package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// turn is what came of one turn.
type turn struct {
	deployment, affinity string
	input, cached        int64 // as the provider says; input holds all of the prompt
}

// measure holds the conversation.
func (r *row) measure(ctx context.Context, gateway string, wait time.Duration) {
	prefix := opening()
	questions := [2]string{"Answer with the single word one.", "Answer with the single word two."}
	for i := range r.turns {
		if i > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
		}
		if r.turns[i], r.err = r.ask(ctx, gateway, r.body(prefix, questions[:i+1])); r.err != nil {
			return
		}
	}
}

// opening is a prefix that no cache has seen before.
func opening() string {
	var b strings.Builder
	fmt.Fprintf(&b, "This is document %s. Keep it in mind.\n", rand.Text())
	for i := 0; b.Len() < prefixTokens*4; i++ {
		fmt.Fprintf(&b, "Line %d of the document says that item %d belongs on shelf %d of the store.\n", i, i*7%1000, i%13)
	}
	return b.String()
}

// body is a request of the row's protocol: the prefix, then all questions so far
// with their answers between them.
func (r *row) body(prefix string, questions []string) map[string]any {
	var turns []map[string]any
	for i, q := range questions {
		if i > 0 {
			turns = append(turns, map[string]any{"role": "assistant", "content": "one"})
		}
		turns = append(turns, map[string]any{"role": "user", "content": q})
	}
	switch r.protocol {
	case "messages": // where a cache is written only as far as it is marked
		mark := map[string]any{"type": "text", "text": prefix, "cache_control": map[string]any{"type": "ephemeral"}}
		return map[string]any{"model": r.model, "system": []any{mark}, "messages": turns, "max_tokens": answerTokens}
	case "responses":
		return map[string]any{"model": r.model, "instructions": prefix, "input": turns, "max_output_tokens": answerTokens, "store": false}
	}
	turns = append([]map[string]any{{"role": "system", "content": prefix}}, turns...)
	bound := "max_tokens"
	if r.provider == "openai" || r.provider == "azure" {
		bound = "max_completion_tokens"
	}
	return map[string]any{"model": r.model, "messages": turns, bound: answerTokens}
}

// path is the route of the row's protocol.
func (r *row) path() string {
	if r.protocol == "chat" {
		return "/v1/chat/completions"
	}
	return "/v1/" + r.protocol
}

// ask makes one turn.
func (r *row) ask(ctx context.Context, gateway string, body map[string]any) (turn, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return turn{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, gateway+r.path(), bytes.NewReader(text))
	if err != nil {
		return turn{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+callerKey)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return turn{}, err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, 4<<20))
	if err != nil {
		return turn{}, err
	}
	if answer.StatusCode != http.StatusOK {
		return turn{}, fmt.Errorf("status %d: %.200s", answer.StatusCode, said)
	}
	t := turn{deployment: answer.Header.Get("X-Holdfast-Deployment"), affinity: answer.Header.Get("X-Holdfast-Affinity")}
	t.input, t.cached, err = reported(said)
	return t, err
}

// usage is a provider's own report, in whichever of the forms.
type usage struct {
	Prompt      int64   `json:"prompt_tokens"`
	Input       int64   `json:"input_tokens"`
	CacheRead   int64   `json:"cache_read_input_tokens"`     // Anthropic
	CacheWrite  int64   `json:"cache_creation_input_tokens"` // Anthropic
	Hit         int64   `json:"prompt_cache_hit_tokens"`     // DeepSeek
	Cached      int64   `json:"cached_tokens"`               // some imitators
	PromptParts details `json:"prompt_tokens_details"`
	InputParts  details `json:"input_tokens_details"`
}

type details struct {
	Cached int64 `json:"cached_tokens"`
}

// reported reads how much of the prompt the provider says came from its cache.
func reported(body []byte) (input, cached int64, _ error) {
	var answer struct{ Usage *usage }
	if err := json.Unmarshal(body, &answer); err != nil || answer.Usage == nil {
		return 0, 0, fmt.Errorf("the answer says nothing of its usage")
	}
	u := answer.Usage
	cached = max(u.CacheRead, u.Hit, u.Cached, u.PromptParts.Cached, u.InputParts.Cached)
	return u.Prompt + u.Input + u.CacheRead + u.CacheWrite, cached, nil
}

// verdict says what is wrong with a conversation; "ok" where nothing is.
func (r *row) verdict() string {
	first, second := r.turns[0], r.turns[1]
	switch {
	case r.err != nil:
		return r.err.Error()
	case second.deployment != first.deployment:
		return "left its deployment"
	case second.cached == 0:
		return "no cached tokens"
	}
	return "ok"
}

// report prints the table.
func report(out io.Writer, rows []row) {
	fmt.Fprintf(out, "\n%-16s %-10s %-26s %-26s %-8s %9s %9s  %s\n", "connection", "protocol", "first turn by", "second turn by", "affinity", "input", "cached", "verdict")
	for i := range rows {
		r := &rows[i]
		first, second := r.turns[0], r.turns[1]
		fmt.Fprintf(out, "%-16s %-10s %-26s %-26s %-8s %9d %9d  %s\n", r.connection, r.protocol, first.deployment, second.deployment, second.affinity, second.input, second.cached, r.verdict())
	}
}
