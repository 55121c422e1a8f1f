package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// mentioning is a request of an endpoint that mentions a file.
func mentioning(endpoint, id string) map[string]any {
	part := map[string]turn{
		"chat":      {"type": "file", "file": turn{"file_id": id}},
		"responses": {"type": "input_file", "file_id": id},
		"messages":  {"type": "document", "source": turn{"type": "file", "file_id": id}},
	}[endpoint]
	return ask(endpoint, false, turn{"role": "user", "content": []turn{part}})
}

// TestFileReferences: a file goes to the account that holds it, on all endpoints, for
// whoever has made it. To other callers of the same account it does not exist; what
// nobody has made from here is the operator's and passes.
func TestFileReferences(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"files":       `{"id":"file-1","object":"file"}`,
		"completions": `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`,
		"responses":   `{"id":"resp_1","object":"response","status":"completed","output":[{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}]}`,
		"messages":    `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
	}
	account := func(calls *atomic.Int64) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answers[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]])
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	var holder, others atomic.Int64
	only := map[string]string{}
	for _, protocol := range protocols() { // nobody would come to alpha by himself
		only[protocol+"-alpha"], only[protocol+"-charlie"] = "weight: 0.000001", "weight: 0"
	}
	s := newScene(t, world{store: "bolt", base: map[string]string{"alpha": account(&holder), "bravo": account(&others)}, only: only})
	if made := post(t, s.URL+"/bypass/alpha/v1/files", `{"purpose":"user_data"}`); made.StatusCode != 200 {
		t.Fatalf("%d %s", made.StatusCode, made.body)
	}
	for _, endpoint := range protocols() {
		own := post(t, s.URL+route(endpoint), mentioning(endpoint, "file-1"), "X-Session-Id", "s")
		if own.StatusCode != 200 || own.deployment() != endpoint+"-alpha" || own.affinity() != "required" {
			t.Errorf("%s, its own: %d by %s, %s\n%s", endpoint, own.StatusCode, own.deployment(), own.affinity(), own.body)
		}
		if a := post(t, s.URL+route(endpoint), mentioning(endpoint, "file-operator"), "X-Session-Id", "o"); a.StatusCode != 200 || a.deployment() != endpoint+"-bravo" {
			t.Errorf("%s, the operator's: %d by %s\n%s", endpoint, a.StatusCode, a.deployment(), a.body)
		}
		before := holder.Load() + others.Load()
		escaped := strings.Replace(encoded(t, mentioning(endpoint, "file-1")), "file_id", `fil\u0065_id`, 1)
		native := s.URL + "/bypass/alpha/v1" + strings.TrimPrefix(route(endpoint), "/v1")
		for name, a := range map[string]answer{
			"foreign": post(t, s.URL+route(endpoint), mentioning(endpoint, "file-1"), "Authorization", "Bearer "+keyB),
			"escaped": post(t, s.URL+route(endpoint), escaped, "Authorization", "Bearer "+keyB),
			"native":  post(t, native, mentioning(endpoint, "file-1"), "Authorization", "Bearer "+keyB),
		} {
			if a.StatusCode != 409 || a.code() != "continuation_unavailable" || holder.Load()+others.Load() != before {
				t.Errorf("%s, %s: %d %s after %d calls", endpoint, name, a.StatusCode, a.body, holder.Load()+others.Load()-before)
			}
		}
		if a := post(t, native, mentioning(endpoint, "file-1")); a.StatusCode != 200 || a.affinity() != "required" {
			t.Errorf("%s, its own, natively: %d %s %s", endpoint, a.StatusCode, a.affinity(), a.body)
		}
	}
}
