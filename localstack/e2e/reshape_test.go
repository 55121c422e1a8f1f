package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/localstack/accounts"
)

// contrary stands before an account and asks it for the other form than it was asked
// for: events in the place of one piece, and the reverse.
func contrary(t *testing.T, to string) (string, *atomic.Int64) {
	t.Helper()
	where, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	calls := new(atomic.Int64)
	front := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			calls.Add(1)
			r.SetURL(where)
			body, _ := io.ReadAll(r.In.Body)
			streamed := []byte(`"stream":true`)
			switch {
			case bytes.Contains(body, streamed):
				body = bytes.Replace(body, streamed, []byte(`"stream":false`), 1)
				if at := bytes.Index(body, []byte(`,"stream_options":{`)); at >= 0 { // is for streams only
					end := at + bytes.IndexByte(body[at:], '}') + 1
					body = append(body[:at], body[end:]...)
				}
			case bytes.Contains(body, []byte(`"stream":false`)):
				body = bytes.Replace(body, []byte(`"stream":false`), streamed, 1)
			default:
				body = bytes.Replace(body, []byte(`{`), []byte(`{"stream":true,`), 1)
			}
			if strings.HasSuffix(r.In.URL.Path, "/chat/completions") && bytes.Contains(body, streamed) { // its usage comes only where it is asked for
				body = bytes.Replace(body, streamed, []byte(`"stream":true,"stream_options":{"include_usage":true}`), 1)
			}
			r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		},
	})
	t.Cleanup(front.Close)
	return front.URL, calls
}

// TestAskedForm: whatever form an account answers in, the client gets the one that it
// has asked for, of all endpoints on all protocols, with its usage; and what is
// bound to the answer is.
func TestAskedForm(t *testing.T) {
	t.Parallel()
	fleet := accounts.StartT(t, "behind")
	front, _ := contrary(t, fleet.URL("behind"))
	s := newScene(t, world{store: "bolt", accounts: []accounts.Config{{Name: "alpha"}}, base: map[string]string{"alpha": front}})
	for _, client := range protocols() {
		for _, target := range protocols() {
			p := pair{client, target}
			for _, stream := range []bool{false, true} {
				a := s.over(p, p.String(), stream)
				want := map[bool]string{true: "text/event-stream", false: "application/json"}[stream]
				if a.StatusCode != 200 || a.Header.Get("Content-Type") != want || a.err != nil || stream != strings.Contains(a.body, "data: ") || stream && !whole(client, a) {
					t.Fatalf("%s, stream %v: %d %q %v %s", p, stream, a.StatusCode, a.Header.Get("Content-Type"), a.err, a.body)
				}
				if a.Header.Get("X-Holdfast-Attempts") != "1" {
					t.Errorf("%s, stream %v: %s attempts", p, stream, a.Header.Get("X-Holdfast-Attempts"))
				}
				if client != "responses" {
					continue
				}
				next := post(t, s.URL+route(client), plus(after(client, responseID(t, a), stream, "And?"), "model", target))
				if next.StatusCode != 200 || next.affinity() != "required" {
					t.Errorf("%s, stream %v, continued: %d %s %s", p, stream, next.StatusCode, next.affinity(), next.body)
				}
			}
		}
	}
	if code := s.Stop(); code != 0 {
		t.Fatal(code)
	}
	told := 0
	for _, line := range s.Lines() {
		if strings.Contains(line, `"usage":{`) && !strings.Contains(line, `"estimated":true`) {
			told++
		}
	}
	if told != 18+6 {
		t.Errorf("%d answers have their usage in the log, want 24", told)
	}
}

// TestAskedFormElsewhere: what cannot be told in the other form without losing a part
// of it is asked of another deployment.
func TestAskedFormElsewhere(t *testing.T) {
	t.Parallel()
	fleet := accounts.StartT(t, "behind")
	front, calls := contrary(t, fleet.URL("behind"))
	only := map[string]string{}
	for _, protocol := range protocols() {
		only[protocol+"-bravo"], only[protocol+"-charlie"] = "weight: 0.000001", "weight: 0"
	}
	s := newScene(t, world{base: map[string]string{"alpha": front}, only: only})
	for _, stream := range []bool{false, true} {
		before := calls.Load()
		a := post(t, s.URL+route("chat"), member(ask("chat", stream, user("Hello")), "logprobs", true), "X-Session-Id", map[bool]string{true: "s", false: "j"}[stream])
		if a.StatusCode != http.StatusOK || a.deployment() != "chat-bravo" || calls.Load() == before || stream && !whole("chat", a) {
			t.Errorf("stream %v: %d by %s after %d calls elsewhere\n%s", stream, a.StatusCode, a.deployment(), calls.Load()-before, a.body)
		}
	}
}

// TestAskedFormBypass: past the unified routes an answer stays as it is.
func TestAskedFormBypass(t *testing.T) {
	t.Parallel()
	fleet := accounts.StartT(t, "behind")
	front, _ := contrary(t, fleet.URL("behind"))
	s := newScene(t, world{accounts: []accounts.Config{{Name: "alpha"}}, base: map[string]string{"alpha": front}})
	a := post(t, s.URL+"/bypass/alpha/v1/chat/completions", ask("chat", true, user("Hello")))
	if a.StatusCode != 200 || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") || a.field("object") != "chat.completion" {
		t.Errorf("%d %q %s", a.StatusCode, a.Header.Get("Content-Type"), a.body)
	}
}
