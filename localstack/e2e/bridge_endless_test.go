package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestEndlessAnswer shows that a provider which never ends does not fill the
// gateway's memory where an answer is translated: the client's stream is broken
// off with its protocol's error event.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	piece := fmt.Sprintf("data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", strings.Repeat("a", 1<<20))
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			if _, err := w.Write([]byte(piece)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(endless.Close)
	s := newScene(t, world{base: map[string]string{"alpha": endless.URL, "bravo": endless.URL, "charlie": endless.URL}})
	body := ask("messages", true, user("Hello"))
	body["model"] = "chat"
	a := post(t, s.URL+route("messages"), body)
	if size := len(a.body); a.err == nil || size < 32<<20 || size > 80<<20 {
		t.Errorf("the client got %d bytes and then %v", size, a.err)
	}
	if end := a.body[max(0, len(a.body)-400):]; !strings.Contains(end, "event: error") || strings.Contains(a.body, "message_stop") {
		t.Errorf("the stream ends with %q", end)
	}
}
