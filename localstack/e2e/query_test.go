package e2e

import (
	"fmt"
	"testing"
)

// TestR9Query: a client's own query is the client's own doing. A provider that finds
// nothing at such an address has not lost its model: the client is told what it said,
// and nobody rests for it.
func TestR9Query(t *testing.T) {
	t.Parallel()
	const missing = `{"error":{"code":"404","message":"Resource not found"}}`
	s, o := odd(t)
	nothing, sound := with(404, "application/json", missing), json200(`{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`)
	for i := range 8 {
		o.answer.Store(&nothing)
		before := o.calls.Load()
		a := post(t, s.URL+route("chat")+"?api-version=bad", ask("chat", i%2 == 0, user("Hello")), "X-Session-Id", fmt.Sprint("s", i))
		if a.StatusCode != 404 || a.body != missing || o.calls.Load() != before+1 {
			t.Fatalf("%d after %d calls: %s", a.StatusCode, o.calls.Load()-before, a.body)
		}
	}
	o.answer.Store(&nothing)
	for _, query := range []string{"", "?beta=true", "?x=1"} { // who has no such route cannot count
		if a := post(t, s.URL+"/v1/messages/count_tokens"+query, ask("messages", false, user("Hello")), "X-Session-Id", "count"+query); a.StatusCode != 200 || a.Header.Get("X-Holdfast-Estimated") != "true" {
			t.Errorf("%q: %d %s", query, a.StatusCode, a.body)
		}
	}
	if a := post(t, s.URL+route("messages")+"?beta=true", ask("messages", false, user("Hello")), "X-Session-Id", "beta"); a.StatusCode != 200 || a.deployment() != "messages-bravo" {
		t.Errorf("what one client always sends decides nothing: %d by %s: %s", a.StatusCode, a.deployment(), a.body)
	}
	o.answer.Store(&sound)
	if a := post(t, s.URL+route("chat"), ask("chat", false, user("Hello")), "X-Session-Id", "after"); a.StatusCode != 200 || a.deployment() != "chat-alpha" {
		t.Errorf("%d by %s: %s", a.StatusCode, a.deployment(), a.body)
	}
}
