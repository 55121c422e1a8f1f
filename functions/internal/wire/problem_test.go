package wire_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"holdfast/functions/internal/wire"
)

// TestCodes: every code with the status that clients are promised, words that
// end a sentence, and a time to wait on every 429 and 503.
func TestCodes(t *testing.T) {
	want := map[int]string{
		400: "invalid_json invalid_request invalid_session_id session_conflict previous_response_not_found guardrail_blocked endpoint_unsupported capability_missing",
		401: "invalid_api_key", 403: "model_forbidden key_disabled key_expired", 404: "model_not_found task_not_found route_not_found",
		405: "method_not_allowed", 415: "unsupported_media_type", 426: "upgrade_required",
		409: "continuation_unavailable start_new_conversation revision_conflict", 413: "request_too_large",
		429: "budget_exceeded rate_limited deployments_cooling", 502: "upstream_credentials upstream_unknown_outcome upstream_failed",
		503: "no_eligible_deployment ownership_unavailable configuration_unavailable", 504: "deadline_exceeded",
	}
	status := map[wire.Code]int{}
	for s, codes := range want {
		for _, code := range strings.Fields(codes) {
			status[wire.Code(code)] = s
		}
	}
	if len(wire.Codes()) != len(status) {
		t.Errorf("%d codes, want %d", len(wire.Codes()), len(status))
	}
	for _, code := range wire.Codes() {
		p := wire.Refuse(code)
		if p.Status != status[code] || p.Code != code {
			t.Errorf("%s has the status %d", code, p.Status)
		}
		if !strings.HasSuffix(p.Message, ".") || strings.Count(p.Message, ".") < 1 {
			t.Errorf("%s says %q", code, p.Message)
		}
		if waits := p.Status == 429 || p.Status == 503; waits != (p.RetrySeconds() != "") {
			t.Errorf("%s: Retry-After is %q", code, p.RetrySeconds())
		}
	}
	if p := wire.Refuse("made_up"); p.Status != 500 {
		t.Errorf("an unknown code has the status %d", p.Status)
	}
}

func TestProblem(t *testing.T) {
	p := wire.Refuse(wire.RateLimited).Saying("Wait.").About("model\r\nX: y").After(1500 * time.Millisecond)
	if p.RetrySeconds() != "2" || p.Param != "model  X: y" || p.Error() != "rate_limited: Wait." {
		t.Errorf("got %+v", p)
	}
	if p.After(0); p.RetrySeconds() != "2" {
		t.Error("no time to wait replaces one")
	}
	got := string(wire.OpenAIError(p))
	if got != `{"error":{"message":"Wait.","type":"rate_limit_error","param":"model  X: y","code":"rate_limited"}}` {
		t.Errorf("got %s", got)
	}
	if got := string(wire.ErrorObject(wire.Refuse(wire.UpstreamFailed).Saying("x"))); got != `{"message":"x","type":"server_error","param":null,"code":"upstream_failed"}` {
		t.Errorf("got %s", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\r\nb\x00\u0085ü", 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(0, limit%1000)
		got := wire.Clean(text, limit)
		if len(got) > 3*limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\n\t\x00\x7f\u0085") {
			t.Fatalf("%q up to %d is %q", text, limit, got)
		}
	})
}
