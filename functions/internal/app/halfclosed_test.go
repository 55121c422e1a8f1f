package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/routing/catalog"
)

// TestX5HalfClosed shows that a client which closes its sending side behind a
// wrong request is told what was wrong: net/http calls that client gone.
func TestX5HalfClosed(t *testing.T) {
	r := newRig(t, nil)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	for path, body := range map[string]string{
		"/v1/chat/completions":         `{"model":"cha`,
		"/v1/messages":                 `{"model":"nobody","max_tokens":5,"messages":[{"role":"user","content":"Hello"}]}`,
		"/v1/messages/count_tokens":    `{"model":"cha`,
		"/v1/responses":                `{"model":"responses","input":"Hello","previous_response_id":"resp_unknown"}`,
		"/bypass/nowhere/v1/responses": `{"model":"responses","input":"Hello"}`,
	} {
		request := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+catalog.DemoKey)
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		r.Handler.ServeHTTP(answer, request)
		if answer.Code/100 != 4 || answer.Header().Get("X-Holdfast-Error") == "" {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
}
