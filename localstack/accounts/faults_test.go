package accounts_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"holdfast/localstack/accounts"
)

// target is one protocol, as faults see it.
type target struct {
	protocol, path, body string
	code                 []any // where an error's code or type stands
}

func targets(stream bool) []target {
	s := fmt.Sprint(stream)
	return []target{
		{accounts.Chat, "/v1/chat/completions", `{"model":"m","stream":` + s + `,"messages":[{"role":"user","content":"hello"}]}`, []any{"error", "code"}},
		{accounts.Responses, "/v1/responses", `{"model":"m","stream":` + s + `,"input":"hello"}`, []any{"error", "code"}},
		{accounts.Messages, "/v1/messages", `{"model":"m","max_tokens":100,"stream":` + s + `,"messages":[{"role":"user","content":"hello"}]}`, []any{"error", "type"}},
	}
}

// The kinds that answer with an error: status, code, wording, headers, and the
// call after it succeeds.
func TestErrorFaults(t *testing.T) {
	for _, tc := range []struct {
		fault     accounts.Fault
		openAI    string // status and code
		anthropic string // status and type
		says      [2]string
	}{
		{accounts.Fault{Kind: accounts.RateLimit}, "429 rate_limit_exceeded", "429 rate_limit_error", [2]string{"Rate limit reached for m", "rate limit"}},
		{accounts.Fault{Kind: accounts.Quota}, "429 insufficient_quota", "400 invalid_request_error", [2]string{"exceeded your current quota", "reached your specified API usage limits"}},
		{accounts.Fault{Kind: accounts.ServerError}, "500 ", "500 api_error", [2]string{"had an error", "Internal server error"}},
		{accounts.Fault{Kind: accounts.ServerError, Status: 502}, "502 ", "502 api_error", [2]string{"", ""}},
		{accounts.Fault{Kind: accounts.ServerError, Status: 504}, "504 ", "504 timeout_error", [2]string{"", ""}},
		{accounts.Fault{Kind: accounts.Overloaded}, "503 server_is_overloaded", "529 overloaded_error", [2]string{"overloaded", "Overloaded"}},
		{accounts.Fault{Kind: accounts.Unauthorized}, "401 invalid_api_key", "401 authentication_error", [2]string{"Incorrect API key", "invalid x-api-key"}},
		{accounts.Fault{Kind: accounts.Unauthorized, Status: 403}, "403 invalid_api_key", "403 permission_error", [2]string{"", ""}},
		{accounts.Fault{Kind: accounts.Billing}, "429 billing_not_active", "400 invalid_request_error", [2]string{"billing details", "credit balance is too low"}},
		{accounts.Fault{Kind: accounts.Billing, Status: 402}, "402 billing_not_active", "402 billing_error", [2]string{"", ""}},
		{accounts.Fault{Kind: accounts.NotFound}, "404 model_not_found", "404 not_found_error", [2]string{"`m` does not exist", "model: m"}},
		{accounts.Fault{Kind: accounts.ContextOverflow}, "400 context_length_exceeded", "400 invalid_request_error", [2]string{"maximum context length", "prompt is too long"}},
		{accounts.Fault{Kind: accounts.ContentPolicy}, "400 content_policy_violation", "400 invalid_request_error", [2]string{"safety system", "content filtering policy"}},
		{accounts.Fault{Kind: accounts.ContentPolicy, Code: "content_filter", Message: "filtered"}, "400 content_filter", "400 invalid_request_error", [2]string{"filtered", "filtered"}},
		{accounts.Fault{Kind: accounts.BadSignature}, "400 invalid_encrypted_content", "400 invalid_request_error", [2]string{"could not be verified", "Invalid `signature` in `thinking` block"}},
	} {
		for _, stream := range []bool{false, true} {
			for _, target := range targets(stream) {
				t.Run(fmt.Sprint(tc.fault.Kind, tc.fault.Status, " ", target.protocol, " ", stream), func(t *testing.T) {
					a, url := start(t, accounts.Config{})
					fault := tc.fault
					fault.Times = 1
					accounts.InjectT(t, a, fault)
					got := must(t, http.MethodPost, url+target.path, target.body)
					o := got.object(t)
					want, says := tc.openAI, tc.says[0]
					if target.protocol == accounts.Messages {
						want, says = tc.anthropic, tc.says[1]
					}
					if have := fmt.Sprint(got.status, " ", o.text(target.code...)); have != want {
						t.Errorf("%s, want %s: %s", have, want, got.body)
					}
					if !strings.Contains(o.text("error", "message"), says) {
						t.Errorf("it says %q", o.text("error", "message"))
					}
					if again := must(t, http.MethodPost, url+target.path, target.body); again.status != 200 {
						t.Errorf("the call after the fault: %d", again.status)
					}
					calls := a.Calls()
					if calls[0].Fault != tc.fault.Kind || calls[0].Status != got.status || !calls[0].Finished || calls[1].Fault != "" {
						t.Errorf("the journal: %+v", calls)
					}
				})
			}
		}
	}
}

func TestRetryHeaders(t *testing.T) {
	for _, target := range targets(false) {
		a, url := start(t, accounts.Config{})
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "7", RetryAfterMS: 7300})
		got := must(t, http.MethodPost, url+target.path, target.body)
		if got.header.Get("Retry-After") != "7" || got.header.Get("Retry-After-Ms") != "7300" {
			t.Errorf("%s: %v", target.protocol, got.header)
		}
		remaining, id := "X-Ratelimit-Remaining-Requests", "X-Request-Id"
		if target.protocol == accounts.Messages {
			remaining, id = "Anthropic-Ratelimit-Requests-Remaining", "Request-Id"
		}
		if got.header.Get(remaining) != "0" || got.header.Get(id) == "" {
			t.Errorf("%s: %v", target.protocol, got.header)
		}
		a.ClearFaults()
		got = must(t, http.MethodPost, url+target.path, target.body)
		if got.header.Get("Retry-After") != "" || got.header.Get(remaining) == "0" || got.header.Get(id) == "" {
			t.Errorf("%s without a fault: %v", target.protocol, got.header)
		}
	}
}

func TestResetBefore(t *testing.T) {
	for _, target := range targets(true) {
		a, url := start(t, accounts.Config{})
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ResetBefore})
		if _, err := call(t, http.MethodPost, url+target.path, target.body); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v, want a reset", target.protocol, err)
		}
		if c := a.Calls()[0]; c.Status != 0 || c.Finished {
			t.Errorf("%s: %+v", target.protocol, c)
		}
	}
}

// Where a stream breaks: so many outputs after its preamble, or before anything.
func TestBrokenStreams(t *testing.T) {
	preamble := map[string]int{accounts.Chat: 1, accounts.Responses: 4, accounts.Messages: 3}
	for _, target := range targets(true) {
		for _, after := range []int{-1, 0, 1, 5, 1000} {
			events := 0
			switch {
			case after >= 0:
				events = preamble[target.protocol] + min(after, 32)
			}
			for _, kind := range []accounts.Kind{accounts.ResetAfter, accounts.Cut, accounts.ErrorEvent, accounts.Garbage} {
				t.Run(fmt.Sprint(target.protocol, " ", kind, " after ", after), func(t *testing.T) {
					a, url := start(t, accounts.Config{})
					accounts.InjectT(t, a, accounts.Fault{Kind: kind, After: after, Times: 1})
					got, err := call(t, http.MethodPost, url+target.path, target.body)
					if err != nil {
						t.Fatal(err)
					}
					list := got.events()
					if (kind == accounts.ResetAfter) != errors.Is(got.err, syscall.ECONNRESET) || kind != accounts.ResetAfter && got.err != nil {
						t.Errorf("the body ended with %v", got.err)
					}
					if kind == accounts.ErrorEvent || kind == accounts.Garbage {
						if len(list) == 0 {
							t.Fatalf("no event: %s", got.body)
						}
						checkLast(t, target.protocol, kind, list[len(list)-1])
						list = list[:len(list)-1]
					}
					if len(list) != events || strings.Contains(string(got.body), `stop"`) || strings.Contains(string(got.body), "[DONE]") {
						t.Errorf("%d events, want %d: %s", len(list), events, got.body)
					}
					if c := a.Calls()[0]; c.Finished || c.Cancelled || c.Status != 200 || c.Fault != kind {
						t.Errorf("the journal: %+v", c)
					}
					if again := must(t, http.MethodPost, url+target.path, target.body); again.err != nil || again.status != 200 {
						t.Errorf("the call after it: %d %v", again.status, again.err)
					}
				})
			}
		}
	}
}

// checkLast looks at the event that a fault put in.
func checkLast(t *testing.T, protocol string, kind accounts.Kind, e event) {
	t.Helper()
	if kind == accounts.Garbage {
		if raw(e.data).IsValid() {
			t.Errorf("the broken event is fine: %s", e.data)
		}
		return
	}
	o := answer{body: []byte(e.data)}.object(t)
	switch protocol {
	case accounts.Chat:
		if e.name != "" || o.text("error", "type") != "server_error" {
			t.Errorf("%+v", e)
		}
	case accounts.Responses:
		if e.name != "response.failed" || o.text("type") != e.name || o.text("response", "status") != "failed" || o.text("response", "error", "code") != "server_error" {
			t.Errorf("%+v", e)
		}
	case accounts.Messages:
		if e.name != "error" || o.text("type") != "error" || o.text("error", "type") != "overloaded_error" {
			t.Errorf("%+v", e)
		}
	}
}

// The error of an error event can be chosen.
func TestErrorEventCodes(t *testing.T) {
	a, url := start(t, accounts.Config{})
	list := targets(true)
	last := func(target target, f accounts.Fault) object {
		t.Helper()
		f.Kind, f.Times = accounts.ErrorEvent, 1
		accounts.InjectT(t, a, f)
		events := must(t, http.MethodPost, url+target.path, target.body).events()
		return answer{body: []byte(events[len(events)-1].data)}.object(t)
	}
	if o := last(list[0], accounts.Fault{Status: 429}); o.text("error", "code") != "rate_limit_exceeded" {
		t.Errorf("%v", o)
	}
	if o := last(list[1], accounts.Fault{After: -1, Code: "previous_response_not_found", Message: "gone"}); o.number("sequence_number") != 0 || o.text("response", "error", "code") != "previous_response_not_found" || o.text("response", "error", "message") != "gone" {
		t.Errorf("%v", o)
	}
	if o := last(list[1], accounts.Fault{After: 2, PlainError: true, Code: "server_is_overloaded"}); o.text("type") != "error" || o.text("code") != "server_is_overloaded" || o.number("sequence_number") != 6 {
		t.Errorf("%v", o)
	}
	if o := last(list[2], accounts.Fault{Status: 429}); o.text("error", "type") != "rate_limit_error" {
		t.Errorf("%v", o)
	}
	if o := last(list[2], accounts.Fault{Status: 500}); o.text("error", "type") != "api_error" {
		t.Errorf("%v", o)
	}
}

// The same kinds on a JSON answer, and bytes instead of events.
func TestBrokenBodies(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, target := range targets(stream) {
			a, url := start(t, accounts.Config{})
			strike := func(f accounts.Fault) answer {
				t.Helper()
				f.Times = 1
				accounts.InjectT(t, a, f)
				got, err := call(t, http.MethodPost, url+target.path, target.body)
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			name := fmt.Sprint(target.protocol, " ", stream)
			if got := strike(accounts.Fault{Kind: accounts.ResetAfter, AfterBytes: 57}); len(got.body) != 57 || !errors.Is(got.err, syscall.ECONNRESET) {
				t.Errorf("%s reset: %d bytes, %v", name, len(got.body), got.err)
			}
			if got := strike(accounts.Fault{Kind: accounts.Cut, AfterBytes: 57}); len(got.body) != 57 || got.err != nil {
				t.Errorf("%s cut: %d bytes, %v", name, len(got.body), got.err)
			}
			if got := strike(accounts.Fault{Kind: accounts.Empty}); len(got.body) != 0 || got.err != nil || got.status != 200 {
				t.Errorf("%s empty: %d %q, %v", name, got.status, got.body, got.err)
			}
			if stream {
				continue
			}
			if got := strike(accounts.Fault{Kind: accounts.Garbage}); raw(string(got.body)).IsValid() || got.err != nil {
				t.Errorf("%s garbage: %s, %v", name, got.body, got.err)
			}
			if got := strike(accounts.Fault{Kind: accounts.Cut}); raw(string(got.body)).IsValid() || len(got.body) == 0 || got.err != nil {
				t.Errorf("%s cut in half: %s, %v", name, got.body, got.err)
			}
			if got := strike(accounts.Fault{Kind: accounts.ErrorEvent}); got.status != 500 || got.object(t).at("error") == nil {
				t.Errorf("%s error: %d %s", name, got.status, got.body)
			}
		}
	}
}

func TestBadUsage(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, target := range targets(stream) {
			a, url := start(t, accounts.Config{})
			accounts.InjectT(t, a, accounts.Fault{Kind: accounts.BadUsage})
			body := strings.Replace(target.body, `"stream":true,"messages":[{"role":"user"`, `"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user"`, 1)
			got := must(t, http.MethodPost, url+target.path, body)
			if got.status != 200 || !strings.Contains(string(got.body), `_tokens":"many"`) {
				t.Errorf("%s: %d %s", target.protocol, got.status, got.body)
			}
		}
	}
}

func TestRedirect(t *testing.T) {
	a, url := start(t, accounts.Config{})
	accounts.InjectT(t, a, accounts.Fault{Kind: accounts.Redirect, Times: 1})
	target := targets(false)[0]
	got := must(t, http.MethodPost, url+target.path, target.body)
	if got.status != http.StatusTemporaryRedirect || got.header.Get("Location") != "/redirected/v1/chat/completions" {
		t.Fatalf("%d %v", got.status, got.header)
	}
	must(t, http.MethodPost, url+got.header.Get("Location"), target.body)
	if c := a.Calls()[1]; c.Protocol != accounts.Other || c.Path != "/redirected/v1/chat/completions" {
		t.Errorf("a client that followed is not seen: %+v", c)
	}
}

// Whatever an answer is called, it is the usual one.
func TestMislabelled(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, target := range targets(stream) {
			for _, label := range []string{"text/plain", ""} {
				a, url := start(t, accounts.Config{})
				accounts.InjectT(t, a, accounts.Fault{Kind: accounts.Mislabelled, ContentType: label, Times: 1})
				got, then := must(t, http.MethodPost, url+target.path, target.body), must(t, http.MethodPost, url+target.path, target.body)
				if values := got.header.Values("Content-Type"); got.status != 200 || strings.Join(values, "") != label || len(got.body) != len(then.body) || then.header.Get("Content-Type") == label {
					t.Errorf("%s, stream %v: %d %q, then %q\n%s", target.protocol, stream, got.status, values, then.header.Get("Content-Type"), got.body)
				}
			}
		}
	}
}
