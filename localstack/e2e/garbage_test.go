package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// statusOf is the status of every code that a client can be refused with.
func statusOf(code string) int {
	statuses := map[int]string{
		400: "invalid_json invalid_request invalid_session_id session_conflict previous_response_not_found guardrail_blocked endpoint_unsupported capability_missing",
		401: "invalid_api_key",
		403: "model_forbidden key_disabled key_expired",
		404: "model_not_found task_not_found route_not_found",
		405: "method_not_allowed",
		409: "continuation_unavailable start_new_conversation revision_conflict",
		413: "request_too_large",
		415: "unsupported_media_type",
		426: "upgrade_required",
		429: "budget_exceeded rate_limited deployments_cooling",
		502: "upstream_credentials upstream_unknown_outcome upstream_failed",
		503: "no_eligible_deployment ownership_unavailable configuration_unavailable",
		504: "deadline_exceeded",
	}
	for status, codes := range statuses {
		for one := range strings.FieldsSeq(codes) {
			if one == code {
				return status
			}
		}
	}
	return 0
}

// openAIType and anthropicType are the error types of a status.
func openAIType(status int) string {
	switch status {
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 429:
		return "rate_limit_error"
	}
	if status >= 500 {
		return "server_error"
	}
	return "invalid_request_error"
}

func anthropicType(status int) string {
	switch status {
	case 401, 403, 404, 429:
		return openAIType(status)
	case 409:
		return "conflict_error"
	case 413:
		return "request_too_large"
	case 503:
		return "overloaded_error"
	case 504:
		return "timeout_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

// refusalOf checks that an answer is a refusal of the gateway's own, whole and
// in the form of the endpoint's protocol, and that it repeats no prompt.
func refusalOf(t *testing.T, endpoint string, a answer) {
	t.Helper()
	id, code := a.Header.Get("X-Request-Id"), a.code()
	if id == "" || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: X-Request-Id %q, Content-Type %q", endpoint, id, a.Header.Get("Content-Type"))
	}
	if a.StatusCode < 400 || a.StatusCode != statusOf(code) {
		t.Errorf("%s: status %d with the code %q, want %d\n%.300s", endpoint, a.StatusCode, code, statusOf(code), a.body)
	}
	if waits := a.StatusCode == 429 || a.StatusCode == 503; waits != (a.Header.Get("Retry-After") != "") {
		t.Errorf("%s: status %d with Retry-After %q", endpoint, a.StatusCode, a.Header.Get("Retry-After"))
	}
	if a.Request.Method == "HEAD" {
		return
	}
	if strings.Contains(a.body, secretWord) || strings.Contains(a.body, keyA) {
		t.Errorf("%s: the refusal repeats what was sent: %s", endpoint, a.body)
	}
	var form struct {
		Type      *string
		RequestID *string `json:"request_id"`
		Error     struct {
			Type, Message, Code string
			Param               *json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(a.body), &form); err != nil {
		t.Fatalf("%s: no JSON: %v\n%.300s", endpoint, err, a.body)
	}
	if form.Error.Message == "" || form.Error.Code != code {
		t.Errorf("%s: message %q and code %q beside the header's %q", endpoint, form.Error.Message, form.Error.Code, code)
	}
	switch endpoint {
	case "messages":
		if form.Type == nil || *form.Type != "error" || form.RequestID == nil || *form.RequestID != id || form.Error.Type != anthropicType(a.StatusCode) {
			t.Errorf("no error of Anthropic's form: %s", a.body)
		}
	default:
		if form.Type != nil || form.RequestID != nil || form.Error.Type != openAIType(a.StatusCode) || !strings.Contains(a.body, `"param":`) {
			t.Errorf("%s: no error of OpenAI's form: %s", endpoint, a.body)
		}
	}
}
