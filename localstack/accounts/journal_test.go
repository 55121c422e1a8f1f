package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

const hello = `{"model":"m","messages":[{"role":"user","content":"hello"}]}`

// Credentials are told apart, and cannot be read.
func TestCredentialsAreHashed(t *testing.T) {
	a, url := start(t, accounts.Config{})
	must(t, http.MethodPost, url+"/v1/chat/completions", hello, "Authorization", "Bearer sk-one", "Cookie", "session=sk-one")
	must(t, http.MethodPost, url+"/v1/chat/completions", hello, "X-Api-Key", "sk-one")
	must(t, http.MethodPost, url+"/v1/chat/completions", hello, "Api-Key", "sk-two", "Authorization", "Basic sk-one")
	must(t, http.MethodPost, url+"/v1/chat/completions", hello)
	calls := a.Calls()
	one, two := accounts.KeyHash("sk-one"), accounts.KeyHash("sk-two")
	if one == two || calls[0].Key != one || calls[1].Key != one || calls[2].Key != two || calls[3].Key != "" {
		t.Errorf("keys %q %q %q %q", calls[0].Key, calls[1].Key, calls[2].Key, calls[3].Key)
	}
	if got := calls[0].Headers.Get("Authorization"); got != "Bearer "+one {
		t.Errorf("Authorization: %s", got)
	}
	if all := fmt.Sprintf("%+v", calls); strings.Contains(all, "sk-one") || strings.Contains(all, "sk-two") {
		t.Errorf("a credential is readable: %s", all)
	}
}

func TestKeyIsRequired(t *testing.T) {
	a, url := start(t, accounts.Config{Key: "sk-one", Keys: []string{"sk-two"}})
	for _, tc := range []struct {
		header []string
		want   int
	}{
		{nil, 401},
		{[]string{"Authorization", "Bearer sk-three"}, 401},
		{[]string{"Authorization", "sk-one"}, 401},
		{[]string{"Authorization", "Bearer sk-one"}, 200},
		{[]string{"Authorization", "bearer sk-two"}, 200},
		{[]string{"X-Api-Key", "sk-two"}, 200},
		{[]string{"Api-Key", "sk-one"}, 200},
	} {
		for _, target := range targets(false) {
			got := must(t, http.MethodPost, url+target.path, target.body, tc.header...)
			if got.status != tc.want {
				t.Errorf("%s with %v: %d, want %d", target.protocol, tc.header, got.status, tc.want)
			}
			if o := got.object(t); tc.want == 401 && (target.protocol == accounts.Messages) != (o.text("error", "type") == "authentication_error") {
				t.Errorf("%s: %s", target.protocol, got.body)
			}
		}
	}
	if a.Count() != 21 {
		t.Errorf("%d calls are counted, want the refused ones too: 21", a.Count())
	}
}

func TestJournalIsBounded(t *testing.T) {
	a, url := start(t, accounts.Config{Journal: 3})
	for range 5 {
		must(t, http.MethodPost, url+"/v1/chat/completions", hello)
	}
	calls := a.Calls()
	if len(calls) != 3 || calls[0].Seq != 3 || calls[2].Seq != 5 || a.Count() != 5 {
		t.Errorf("%d calls from %d on, counted %d", len(calls), calls[0].Seq, a.Count())
	}
}

func TestNoJournal(t *testing.T) {
	a, url := start(t, accounts.Config{Journal: -1})
	ok(t, http.MethodPost, url+"/v1/chat/completions", hello)
	if a.Count() != 0 || a.Calls() != nil {
		t.Errorf("%d, %v", a.Count(), a.Calls())
	}
	if err := a.Await(t.Context(), func([]accounts.Call) bool { return true }); err == nil {
		t.Error("waiting for a journal that is not kept succeeded")
	}
	a.Forget()
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	a, _ := start(t, accounts.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Await(ctx, func([]accounts.Call) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCall(t *testing.T) {
	clock := newClock()
	a, url := start(t, accounts.Config{Now: clock.Now})
	must(t, http.MethodPost, url+"/v1/messages?beta=true", `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, "X-Custom", "kept")
	c := a.Calls()[0]
	if c.Seq != 1 || !c.Time.Equal(clock.Now()) || c.Method != "POST" || c.Path != "/v1/messages?beta=true" || c.Headers.Get("X-Custom") != "kept" ||
		c.Protocol != accounts.Messages || c.Operation != "create" || c.Model != "m" || !c.Stream || c.Status != 200 || c.Open || !c.Finished || c.Cancelled ||
		c.Usage != (accounts.Usage{Input: 2, Output: 9}) || c.Events != 9+6 || !strings.Contains(string(c.Body), `"hi"`) {
		t.Errorf("%+v", c)
	}
}

func TestBodyIsBounded(t *testing.T) {
	_, url := start(t, accounts.Config{})
	got, err := call(t, http.MethodPost, url+"/v1/chat/completions", strings.Repeat(" ", 32<<20+1))
	if err != nil || got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d, %v", got.status, err)
	}
}

// Whoever has read the end of an answer finds its call complete.
func TestJournalIsCompleteBeforeTheEnd(t *testing.T) {
	ends := map[string]string{accounts.Chat: "[DONE]", accounts.Responses: "response.completed", accounts.Messages: "message_stop"}
	for _, stream := range []bool{false, true} {
		for _, target := range targets(stream) {
			a := accounts.New(accounts.Config{})
			end := ends[target.protocol]
			if !stream {
				end = `"usage"`
			}
			seen := false
			w := &watcher{ResponseRecorder: httptest.NewRecorder(), wrote: func(b []byte) {
				if !strings.Contains(string(b), end) {
					return
				}
				seen = true
				if c := a.Calls()[0]; c.Open || !c.Finished || c.Cancelled || c.Status != 200 || c.Usage.Output != 32 {
					t.Errorf("%s, stream %v: %+v", target.protocol, stream, c)
				}
			}}
			r := httptest.NewRequest(http.MethodPost, target.path, strings.NewReader(target.body))
			r.Header.Set("Anthropic-Version", "2023-06-01")
			a.ServeHTTP(w, r)
			if !seen {
				t.Errorf("%s, stream %v: no end: %s", target.protocol, stream, w.Body)
			}
		}
	}
}

// watcher looks at what is written before anybody else does.
type watcher struct {
	*httptest.ResponseRecorder
	wrote func([]byte)
}

func (w *watcher) Write(b []byte) (int, error) {
	w.wrote(b)
	return w.ResponseRecorder.Write(b)
}
