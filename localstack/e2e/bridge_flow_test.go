package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// TestBridgedFlow shows that events pass over a bridge as they come, while the
// upstream still speaks, and that a client which leaves ends the upstream's call
// and changes nothing.
func TestBridgedFlow(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	for _, p := range bridges() {
		home, account := s.bridged(p, "s")
		fault := accounts.InjectT(t, account, accounts.Fault{Kind: accounts.SlowTokens, Delay: 150 * time.Millisecond, Model: p.target})
		ctx, leave := context.WithCancel(t.Context())
		request := newRequest(t, ctx, s.URL+route(p.client), p.ask(true, user("Hello")))
		request.Header.Set("X-Session-Id", "s")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		seen, events := "", bufio.NewReader(response.Body)
		for !strings.Contains(seen, "On ") { // the answer's first word
			line, err := events.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v after %s", p, err, seen)
			}
			seen += line
		}
		if !last(t, account).Open {
			t.Errorf("%s: the first word came when the upstream had finished", p)
		}
		leave()
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		waits, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err = account.Await(waits, func(calls []accounts.Call) bool { return calls[len(calls)-1].Cancelled })
		cancel()
		if err != nil {
			t.Fatalf("%s: the upstream was not told that the client has left: %v", p, err)
		}
		account.Remove(fault)
		s.keeps("after leaving", p, "s", home)
	}
}

// TestBridgedLeavesAtTheEnd shows that a client which leaves right behind the
// terminal event of its protocol has succeeded.
func TestBridgedLeavesAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	end := map[string]string{"chat": "[DONE]", "responses": `"type":"response.completed"`, "messages": `"type":"message_stop"`}
	for _, p := range bridges() {
		ctx, leave := context.WithCancel(t.Context())
		request := newRequest(t, ctx, s.URL+route(p.client), p.ask(true, user("Hello")))
		request.Header.Set("X-Session-Id", "s")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(response.Body)
		for line := ""; !strings.Contains(line, end[p.client]); {
			if line, err = lines.ReadString('\n'); err != nil {
				t.Fatalf("%s: %v", p, err)
			}
		}
		leave()
		response.Body.Close()
		s.quiet()
		s.keeps("after the end", p, "s", response.Header.Get("X-Holdfast-Deployment"))
	}
}

// TestI3Bridged shows one conversation without an id over three turns on every
// bridge: one session, recognised by its opening, and one deployment; another
// opening is another session.
func TestI3Bridged(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "bolt"})
	eachWay(func(p pair, stream bool, row string) {
		turns := []turn{user("About " + row)}
		var first answer
		for n := range 3 {
			a := post(t, s.URL+route(p.client), p.ask(stream, turns...))
			word := "hit"
			if n == 0 {
				first, word = a, "claimed"
			}
			served(t, row, p.client, stream, a, word)
			if sessionOf(a) != sessionOf(first) || !strings.HasPrefix(sessionOf(a), "prompt ") || a.deployment() != first.deployment() {
				t.Errorf("%s, turn %d: %s by %s, first %s by %s", row, n, sessionOf(a), a.deployment(), sessionOf(first), first.deployment())
			}
			turns = append(turns, assistant(said(p.client, stream, a.body)), user(fmt.Sprint("More ", n)))
			s.quiet()
		}
		if other := post(t, s.URL+route(p.client), p.ask(stream, user("Not about "+row))); sessionOf(other) == sessionOf(first) {
			t.Errorf("%s: two openings are one session", row)
		}
	})
}

// TestHintsBridged shows each provider being told the session in its own way by
// requests that come over a bridge, by the same hash as by native ones of the
// session, and never by the raw id; what was never the client's is not called
// dropped.
func TestHintsBridged(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", withProviders)
	for _, h := range hints() {
		if h.header == "X-Session-Id" && h.endpoint == "chat" {
			continue // shown by its messages side
		}
		for _, client := range others(h.endpoint) {
			told := func(off, session string) (string, accounts.Call) {
				body := ask(client, false, user("Hello"))
				body["model"] = h.model() + off
				a := post(t, r.URL+route(client), body, "X-Session-Id", session)
				if a.StatusCode != 200 || a.Header.Get("X-Holdfast-Dropped") != "" {
					t.Fatalf("%s for %s: %d, dropped %q %s", h.model(), client, a.StatusCode, a.Header.Get("X-Holdfast-Dropped"), a.body)
				}
				return r.told(t, h)
			}
			if h.header == "" && h.field == "" {
				if _, call := told("", "raw-session-4711"); strings.Contains(string(call.Body), "prompt_cache_key") || strings.Contains(fmt.Sprint(call.Headers), "raw-session") {
					t.Errorf("%s for %s was told: %v %s", h.model(), client, call.Headers, call.Body)
				}
				continue
			}
			first, call := told("", "raw-session-4711")
			again, _ := told("", "raw-session-4711")
			other, _ := told("", "raw-session-4712")
			off, _ := told("-off", "raw-session-4711")
			if first == "" || first != again || first == other || len(first) > 64 || off != "" {
				t.Errorf("%s for %s: %q, then %q, another session %q, off %q", h.model(), client, first, again, other, off)
			}
			if strings.Contains(string(call.Body)+fmt.Sprint(call.Headers), "raw-session") {
				t.Errorf("%s for %s: the raw id in %v %s", h.model(), client, call.Headers, call.Body)
			}
		}
	}
}

// TestOwnHeadersBridged shows that the headers of a client's protocol stay on its
// side: an upstream of another protocol gets its own, and no query.
func TestOwnHeadersBridged(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	for _, p := range bridges() {
		a := post(t, s.URL+route(p.client)+"?beta=true", p.ask(false, user("Hello")), "Anthropic-Version", "2024-01-01",
			"Anthropic-Beta", "thinking-2025", "Openai-Beta", "x=1", "X-Stainless-Lang", "go", "Cookie", "a=b")
		call := last(t, s.owner(a.deployment()))
		version := map[string]string{"messages": "2024-01-01"}[p.target]
		beta, open := call.Headers.Get("Anthropic-Beta"), call.Headers.Get("Openai-Beta")
		if a.StatusCode != 200 || call.Headers.Get("Anthropic-Version") != version || (beta != "") != (p.target == "messages") || (open != "") != (p.target != "messages") {
			t.Errorf("%s: %d, the account got %v", p, a.StatusCode, call.Headers)
		}
		if strings.Contains(call.Path, "?") || call.Headers.Get("Cookie")+call.Headers.Get("X-Stainless-Lang") != "" {
			t.Errorf("%s: the account got %s %v", p, call.Path, call.Headers)
		}
	}
}

// TestResponseCacheBridged shows an exact repetition of a bridged request
// answered without a call: the same bytes, and the same word on what was dropped.
func TestResponseCacheBridged(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: patient + ", response_cache: {enabled: true, ttl: 10m}"})
	eachWay(func(p pair, stream bool, row string) {
		body := member(p.ask(stream, user("Again, "+row)), "x_new", 1)
		first := post(t, s.URL+route(p.client), body, "X-Session-Id", "one")
		s.quiet()
		before := s.calls()
		again := post(t, s.URL+route(p.client), body, "X-Session-Id", "two")
		if again.Header.Get("X-Holdfast-Cache") != "hit" || s.calls() != before || again.body != first.body || again.Header.Get("Content-Type") != first.Header.Get("Content-Type") {
			t.Errorf("%s: %q\n%s\nthen\n%s", row, again.Header.Get("X-Holdfast-Cache"), first.body, again.body)
		}
		if told := again.Header.Get("X-Holdfast-Dropped"); told != "x_new" || first.Header.Get("X-Holdfast-Dropped") != told {
			t.Errorf("%s: dropped %q, then %q", row, first.Header.Get("X-Holdfast-Dropped"), told)
		}
	})
}

// TestContentTypesBridged shows a bridged answer under the content type of what it
// is, whatever the upstream has called its own.
func TestContentTypesBridged(t *testing.T) {
	t.Parallel()
	fleet := accounts.StartT(t, "behind")
	to, err := url.Parse(fleet.URL("behind"))
	if err != nil {
		t.Fatal(err)
	}
	front := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("Content-Type", map[bool]string{true: "text/plain", false: "application/octet-stream"}[r.ContentLength < 0])
			return nil
		},
		FlushInterval: -1,
	}
	odd := httptest.NewServer(front)
	t.Cleanup(odd.Close)
	s := newScene(t, world{accounts: []accounts.Config{{Name: "alpha"}}, base: map[string]string{"alpha": odd.URL}})
	eachWay(func(p pair, stream bool, row string) {
		a := s.over(p, "types", stream)
		want := map[bool]string{true: "text/event-stream", false: "application/json"}[stream]
		if kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";"); a.StatusCode != 200 || kind != want || stream && !whole(p.client, a) {
			t.Errorf("%s: %d %q %s", row, a.StatusCode, a.Header.Get("Content-Type"), a.body)
		}
	})
}
