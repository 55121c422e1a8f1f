package refusal_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"holdfast/localstack/accounts/internal/refusal"
)

func TestShapes(t *testing.T) {
	r := refusal.Invalid("messages[1].role", "invalid_value", "no %q", "such")
	for _, tc := range []struct{ got, want string }{
		{string(r.OpenAI()), `{"error":{"message":"no \"such\"","type":"invalid_request_error","param":"messages[1].role","code":"invalid_value"}}`},
		{string((&refusal.Refusal{Message: "m", Type: "t"}).OpenAI()), `{"error":{"message":"m","type":"t","param":null,"code":null}}`},
		{string(r.Anthropic("req_1")), `{"type":"error","error":{"type":"invalid_request_error","message":"no \"such\""},"request_id":"req_1"}`},
	} {
		if tc.got != tc.want {
			t.Errorf("%s\nwant %s", tc.got, tc.want)
		}
	}
	for status, want := range map[int]string{401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 503: "api_error", 504: "timeout_error", 529: "overloaded_error", 400: "invalid_request_error"} {
		var body struct {
			Error struct{ Type string } `json:"error"`
		}
		if err := json.Unmarshal((&refusal.Refusal{Status: status}).Anthropic(""), &body, json.MatchCaseInsensitiveNames(true)); err != nil || body.Error.Type != want {
			t.Errorf("%d: %q, %v; want %s", status, body.Error.Type, err, want)
		}
	}
}

func TestBodyNamesTheParameter(t *testing.T) {
	var into struct {
		Messages []struct {
			Role string `json:"role"`
		} `json:"messages"`
	}
	err := json.Unmarshal([]byte(`{"messages":[{"role":"user"},{"role":7}]}`), &into)
	if r := refusal.Body(err); r.Status != 400 || r.Param != "messages[1].role" {
		t.Errorf("%+v", r)
	}
	if r := refusal.Body(json.Unmarshal([]byte(`{"a":1,"a":2}`), &into)); r.Status != 400 || r.Param != "" {
		t.Errorf("a duplicate name: %+v", r)
	}
}
