package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"

	"holdfast/localstack/accounts"
)

// counted asks for a count.
func counted(t *testing.T, url, model, session string, turns ...turn) answer {
	t.Helper()
	return post(t, url+"/v1/messages/count_tokens?beta=true", map[string]any{"model": model, "messages": turns}, "X-Session-Id", session, "Anthropic-Beta", "token-counting-2024-11-01")
}

// TestCountTokens shows counts from the session's own deployment, in bursts, which
// claim and move nothing and cool nobody; and estimates, which say so, where that
// deployment cannot count.
func TestCountTokens(t *testing.T) {
	for _, store := range rigs("memory", "dynamodb") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store)
			turns := []turn{user(long(400))}
			sessions, burst := 6, 25
			if r.store != "memory" { // that many at once would keep a busy machine's wire beyond the store's deadlines
				sessions, burst = 2, 4
			}
			if a := counted(t, r.URL, "messages", "early", turns...); a.StatusCode != 200 || a.affinity() != "new" {
				t.Errorf("before the session: %d %s", a.StatusCode, a.affinity())
			}
			for i := range sessions {
				session := fmt.Sprint("s", i)
				first := turnOf(t, r.URL, "messages", session, false)
				if first.affinity() != "claimed" {
					t.Fatalf("a count has claimed: %s", first.affinity())
				}
				var all sync.WaitGroup
				for range burst {
					all.Go(func() {
						a := counted(t, r.URL, "messages", session, turns...)
						if n, _ := a.field("input_tokens").(float64); a.StatusCode != 200 || n < 300 || a.deployment() != first.deployment() || a.affinity() != "hit" || a.Header.Get("X-Holdfast-Estimated") != "" {
							t.Errorf("%d %s by %s: %s", a.StatusCode, a.affinity(), a.deployment(), a.body)
						}
					})
				}
				all.Wait()
				calls := r.owner(first.deployment()).Calls()
				last := calls[len(calls)-1]
				if last.Operation != "count_tokens" || !strings.HasSuffix(last.Path, "/messages/count_tokens?beta=true") || last.Headers.Get("Anthropic-Beta") == "" || last.Headers.Get("Anthropic-Version") == "" {
					t.Errorf("asked as %s %s", last.Operation, last.Path)
				}
			}
			if a := turnOf(t, r.URL, "messages", "early", false); a.affinity() != "claimed" {
				t.Errorf("a count before the first turn has left a preference: %s", a.affinity())
			}
			broken := turnOf(t, r.URL, "messages", "s0", false)
			for _, kind := range []accounts.Kind{accounts.ServerError, accounts.RateLimit, accounts.NotFound, accounts.Unauthorized, accounts.ResetBefore, accounts.Garbage, accounts.Empty} {
				id := accounts.InjectT(t, r.owner(broken.deployment()), accounts.Fault{Kind: kind, Operation: "count_tokens"})
				for range 4 {
					if a := counted(t, r.URL, "messages", "s0", turns...); a.StatusCode != 200 || a.Header.Get("X-Holdfast-Estimated") != "true" || a.deployment() != broken.deployment() {
						t.Errorf("%s: %d by %s: %s", kind, a.StatusCode, a.deployment(), a.body)
					}
				}
				r.owner(broken.deployment()).Remove(id)
			}
			if a := turnOf(t, r.URL, "messages", "s0", false); a.affinity() != "hit" || a.deployment() != broken.deployment() {
				t.Errorf("after counts that failed: %s by %s", a.affinity(), a.deployment())
			}
		})
	}
}

// TestCountTokensRefused shows what is the client's to mend, in Anthropic's form.
func TestCountTokensRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) { d.key = ", models: [messages, chat]" })
	url := r.URL + "/v1/messages/count_tokens"
	for name, row := range map[string]struct {
		body   string
		status int
	}{
		"unknown":     {`{"model":"none","messages":[]}`, 404},
		"forbidden":   {`{"model":"responses","messages":[]}`, 403},
		"no model":    {`{"messages":[]}`, 400},
		"two models":  {`{"model":"messages","model":"messages","messages":[]}`, 400},
		"an address":  {`{"model":"messages","base_url":"http://x","messages":[]}`, 400},
		"no messages": {`{"model":"messages"}`, 400}, // as the provider says it
	} {
		if a := post(t, url, row.body); a.StatusCode != row.status || a.field("type") != "error" {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
	chat := counted(t, r.URL, "chat", "s", user(strings.Repeat("abcd", 1000)))
	if n, _ := chat.field("input_tokens").(float64); chat.StatusCode != 200 || chat.Header.Get("X-Holdfast-Estimated") != "true" || n < 1000 || n > 1100 {
		t.Errorf("on a chat deployment: %d %s", chat.StatusCode, chat.body)
	}
	if again := counted(t, r.URL, "chat", "t", user(strings.Repeat("abcd", 1000))); again.body != chat.body {
		t.Errorf("an estimate is not what it was: %s, %s", again.body, chat.body)
	}
	client := anthropic.NewClient(anthropicoption.WithBaseURL(r.URL), anthropicoption.WithAPIKey(keyA))
	var response *http.Response
	for model, estimated := range map[string]string{"messages": "", "chat": "true"} {
		count, err := client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{
			Model: anthropic.Model(model), Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(long(100)))},
		}, anthropicoption.WithResponseInto(&response))
		if err != nil || count.InputTokens < 50 || response.Header.Get("X-Holdfast-Estimated") != estimated {
			t.Errorf("the SDK, %s: %v, %v", model, err, count)
		}
	}
}
