package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// TestS3 shows that a late success of the old target, after the session has
// moved, changes nothing.
func TestS3(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	url := r.URL + route("chat")
	first := post(t, url, ask("chat", true, user("Hello")))
	old := r.owner(first.deployment())

	// A slow turn is still being answered by the old target ...
	accounts.InjectT(t, old, accounts.Fault{Kind: accounts.SlowTokens, Delay: 20 * time.Millisecond, Times: 1, Match: "take your time"})
	late := make(chan answer, 1)
	go func() {
		late <- post(t, url, ask("chat", true, user("Hello"), assistant("yes"), user("take your time")))
	}()
	if err := old.Await(t.Context(), func(calls []accounts.Call) bool { return calls[len(calls)-1].Open }); err != nil {
		t.Fatal(err)
	}
	// ... while the next one finds it broken and moves.
	broken := accounts.InjectT(t, old, accounts.Fault{Kind: accounts.ServerError})
	moved := post(t, url, ask("chat", false, user("Hello")))
	if moved.affinity() != "moved" {
		t.Fatalf("the session did not move: %s", moved.affinity())
	}
	old.Remove(broken)
	if a := <-late; a.StatusCode != 200 || a.deployment() != first.deployment() || !strings.Contains(a.body, "[DONE]") {
		t.Fatalf("the late turn: %d by %s", a.StatusCode, a.deployment())
	}
	if after := post(t, url, ask("chat", false, user("Hello"))); after.deployment() != moved.deployment() || after.affinity() != "hit" {
		t.Errorf("after the late success: %s by %s, want a hit by %s", after.affinity(), after.deployment(), moved.deployment())
	}
}

// TestS10 shows that models and endpoints have preferences of their own inside
// of one session, and that coming back finds the old one.
func TestS10(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt", func(d *document) {
		d.extra = "groups: [{name: any, members: [chat, messages]}]\n"
	})
	session := []string{"X-Session-Id", "one"}
	served := map[string]string{}
	turn := func(endpoint, model string) {
		body := ask(endpoint, false, user("Hello"))
		body["model"] = model
		a := post(t, r.URL+route(endpoint), body, session...)
		if a.StatusCode != 200 || a.Header.Get("X-Session-Id") != "one" {
			t.Fatalf("%s of %s: %d %s", endpoint, model, a.StatusCode, a.body)
		}
		key := endpoint + " " + model
		before, known := served[key]
		switch {
		case !known && a.affinity() != "claimed":
			t.Errorf("%s: %s, want a claim of its own", key, a.affinity())
		case known && (a.affinity() != "hit" || a.deployment() != before):
			t.Errorf("%s again: %s by %s, want a hit by %s", key, a.affinity(), a.deployment(), before)
		}
		served[key] = a.deployment()
	}
	for range 2 {
		turn("chat", "chat")
		turn("messages", "messages")
		turn("chat", "any")
		turn("responses", "responses")
	}
}

// TestS8 shows that a failed exchange, a cancelled one and a cut stream leave
// the preference as it was: its next commit still compares equal.
func TestS8(t *testing.T) {
	faults := map[string]accounts.Fault{
		"refused":        {Kind: accounts.ContextOverflow, Times: 1},
		"cut":            {Kind: accounts.Cut, After: 3, Times: 1},
		"reset":          {Kind: accounts.ResetAfter, After: 3, Times: 1},
		"error event":    {Kind: accounts.ErrorEvent, After: 3, Times: 1},
		"garbage events": {Kind: accounts.Garbage, After: 3, Times: 1},
	}
	for name, fault := range faults {
		for _, endpoint := range []string{"chat", "responses", "messages"} {
			t.Run(name+"/"+endpoint, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, "memory")
				url := r.URL + route(endpoint)
				first := post(t, url, ask(endpoint, true, user("Hello")))
				home := r.owner(first.deployment())
				accounts.InjectT(t, home, fault)
				calls := r.calls()
				broken := post(t, url, ask(endpoint, true, user("Hello")))
				if whole(endpoint, broken) {
					t.Fatalf("the answer looks whole: %s", broken.body)
				}
				if fault.After > 0 && broken.err == nil {
					t.Error("the connection ended cleanly: several clients take that for success")
				}
				if fault.After > 0 && !strings.Contains(broken.body, "error") {
					t.Errorf("no error event: %q", broken.body)
				}
				if n := r.calls() - calls; n != 1 {
					t.Errorf("%d calls, want 1: nothing is spliced", n)
				}
				if a := post(t, url, ask(endpoint, true, user("Hello"))); a.affinity() != "hit" || a.deployment() != first.deployment() {
					t.Errorf("next turn: %s by %s, want a hit by %s", a.affinity(), a.deployment(), first.deployment())
				}
			})
		}
	}
}

// whole reports whether an answer has its protocol's successful end.
func whole(endpoint string, a answer) bool {
	end := map[string]string{"chat": "[DONE]", "responses": "response.completed", "messages": "message_stop"}[endpoint]
	return a.err == nil && strings.Contains(a.body, end)
}

// TestClientLeaves shows that the upstream call ends when the client goes away,
// and that the preference stays.
func TestClientLeaves(t *testing.T) {
	for _, endpoint := range []string{"chat", "responses", "messages"} {
		t.Run(endpoint, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "memory")
			url := r.URL + route(endpoint)
			first := post(t, url, ask(endpoint, true, user("Hello")))
			home := r.owner(first.deployment())
			accounts.InjectT(t, home, accounts.Fault{Kind: accounts.SlowTokens, Delay: 200 * time.Millisecond, Times: 1})
			ctx, leave := context.WithCancel(t.Context())
			request := newRequest(t, ctx, url, ask(endpoint, true, user("Hello")))
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			leave()
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			waits, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err = home.Await(waits, func(calls []accounts.Call) bool { return calls[len(calls)-1].Cancelled })
			if err != nil {
				t.Fatalf("the upstream was not told that the client has left: %v", err)
			}
			if a := post(t, url, ask(endpoint, true, user("Hello"))); a.affinity() != "hit" || a.deployment() != first.deployment() {
				t.Errorf("next turn: %s by %s", a.affinity(), a.deployment())
			}
		})
	}
}

// TestM1 shows that thinking blocks and signatures pass byte for byte, both
// ways, JSON and SSE.
func TestM1(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	url := r.URL + route("messages")
	// Odd spacing and escapes would not survive a decoder.
	const first = `{ "max_tokens":2000, "model" : "messages","thinking":{"type":"enabled","budget_tokens":1024},"x_unknown":[1.0,1e2],"messages":[{"role":"user","content":"Th\u0069nk"}]}`
	a := post(t, url, first)
	if a.StatusCode != 200 {
		t.Fatal(a.StatusCode, a.body)
	}
	content := between(t, a.body, `"content":`, `,"stop_reason"`)
	if !strings.Contains(content, `"signature":"`) {
		t.Fatalf("the account sent no signature: %s", content)
	}
	second := strings.Replace(first, `]}`+"", `]}`, 1)
	second = strings.TrimSuffix(second, `]}`) + `,{"role":"assistant","content":` + content + `},{"role":"user","content":"And now?"}]}`
	for _, stream := range []bool{false, true} {
		body := second
		if stream {
			body = strings.Replace(second, `{ "max`, `{ "stream":true,"max`, 1)
		}
		b := post(t, url, body)
		if b.StatusCode != 200 || b.affinity() != "hit" {
			t.Fatalf("stream=%v: %d %s %s", stream, b.StatusCode, b.affinity(), b.body)
		}
		calls := r.owner(b.deployment()).Calls()
		if sent := string(calls[len(calls)-1].Body); sent != body {
			t.Errorf("stream=%v: the account got\n%s\nwant the client's own bytes\n%s", stream, sent, body)
		}
	}
}

// between returns the text between two marks.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, from)
	part, _, end := strings.Cut(rest, to)
	if !found || !end {
		t.Fatalf("no text between %q and %q in %s", from, to, text)
	}
	return part
}

// TestM3 shows that Anthropic's error bodies reach the client unmodified.
func TestM3(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	const words = "messages.3: `tool_use` ids were found without `tool_result` blocks"
	for _, a := range r.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ContextOverflow, Message: words})
	}
	a := post(t, r.URL+route("messages"), ask("messages", true, user("Hello")))
	if a.StatusCode != 400 || a.field("error", "message") != words || a.field("type") != "error" {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if fmt.Sprint(a.Header["Content-Type"]) != "[application/json]" {
		t.Errorf("content type %v", a.Header["Content-Type"])
	}
}
