package wire_test

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// TestClasses: error bodies of providers, and what each means. A fixture's name
// is class/status/provider; status 0 is inside of a stream.
func TestClasses(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/errors.txtar")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[wire.Class]bool{}
	for _, file := range archive.Files {
		class, rest, _ := strings.Cut(file.Name, "/")
		digits, _, _ := strings.Cut(rest, "/")
		status, err := strconv.Atoi(digits)
		if err != nil {
			t.Fatal(file.Name)
		}
		e := wire.ParseError(status, file.Data)
		seen[e.Class()] = true
		if got := e.Class().String(); got != class {
			t.Errorf("%s is %s: %+v", file.Name, got, e)
		}
		if status > 0 && e.Status != status {
			t.Errorf("%s: the status became %d", file.Name, e.Status)
		}
	}
	for c := wire.ClassOther; c <= wire.ClassTimeout; c++ {
		if !seen[c] {
			t.Errorf("no body of the class %s", c)
		}
	}
}

func TestParseError(t *testing.T) {
	for _, row := range []struct {
		name, body string
		want       wire.UpstreamError
	}{
		{"OpenAI", `{"error":{"message":"m","type":"t","param":"p","code":"c"}}`, wire.UpstreamError{Status: 418, Type: "t", Code: "c", Param: "p", Message: "m"}},
		{"Anthropic", `{"type":"error","error":{"type":"t","message":"m"},"request_id":"r"}`, wire.UpstreamError{Status: 418, Type: "t", Message: "m"}},
		{"Google", `[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`, wire.UpstreamError{Status: 418, Type: "INVALID_ARGUMENT", Code: "400", Message: "m"}},
		{"AWS", `{"__type":"ThrottlingException","message":"m"}`, wire.UpstreamError{Status: 418, Type: "ThrottlingException", Message: "m"}},
		{"old AWS", `{"Message":"m"}`, wire.UpstreamError{Status: 418, Message: "m"}},
		{"FastAPI", `{"detail":"m"}`, wire.UpstreamError{Status: 418, Message: "m"}},
		{"FastAPI's list", `{"detail":[{"loc":["body"],"msg":"m"}]}`, wire.UpstreamError{Status: 418}},
		{"a plain string", `{"error":"m"}`, wire.UpstreamError{Status: 418, Message: "m"}},
		{"Vertex round Anthropic", `{"error":{"code":400,"message":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"m\"}}","status":"INVALID_ARGUMENT"}}`,
			wire.UpstreamError{Status: 418, Type: "invalid_request_error", Code: "400", Message: "m"}},
		{"no JSON", `<html>nginx secret</html>`, wire.UpstreamError{Status: 418}},
		{"nothing", ``, wire.UpstreamError{Status: 418}},
		{"null", `{"error":null}`, wire.UpstreamError{Status: 418}},
		{"X4 line breaks", `{"error":{"message":"a\r\nb","code":"c\nd"}}`, wire.UpstreamError{Status: 418, Code: "c d", Message: "a  b"}},
		{"nested without end", strings.Repeat(`{"error":`, 50), wire.UpstreamError{Status: 418}},
	} {
		if got := wire.ParseError(418, []byte(row.body)); *got != row.want {
			t.Errorf("%s: %+v", row.name, *got)
		}
	}
	long := wire.ParseError(400, []byte(`{"message":"`+strings.Repeat("a", 1<<20)+`","code":"`+strings.Repeat("b", 1<<20)+`"}`))
	if len(long.Message) > 2048 || len(long.Code) > 128 {
		t.Errorf("kept %d and %d bytes", len(long.Message), len(long.Code))
	}
	if text := wire.ParseError(400, []byte(`{"error":{"message":"your prompt: secret","type":"t"}}`)).Error(); text != "upstream error 400 t" {
		t.Errorf("the error says %q", text)
	}
	if in := wire.ErrorIn(0, jsonedit.Read([]byte(`{"code":503,"message":"m"}`))); in.Status != 503 {
		t.Errorf("the code inside of a stream gives %+v", in)
	}
}

// TestProblemOf: in the words of another protocol nothing points at the account.
func TestProblemOf(t *testing.T) {
	for _, row := range []struct {
		name   string
		of     wire.UpstreamError
		status int
		code   wire.Code
		says   string
	}{
		{"context", wire.UpstreamError{Status: 413, Code: "context_length_exceeded", Message: "secret"}, 400, "context_length_exceeded", "prompt is too long: the input exceeds the context window"},
		{"policy", wire.UpstreamError{Status: 403, Code: "content_filter", Message: "secret"}, 400, "content_policy_violation", "content policy"},
		{"credential", wire.UpstreamError{Status: 401, Message: "secret"}, 502, wire.UpstreamCredentials, "operator"},
		{"quota", wire.UpstreamError{Status: 429, Code: "insufficient_quota", Message: "secret"}, 429, wire.RateLimited, "Retry-After"},
		{"server", wire.UpstreamError{Status: 500, Message: "secret"}, 502, wire.UpstreamFailed, "Try again"},
		{"model", wire.UpstreamError{Status: 404, Message: "secret"}, 502, wire.UpstreamFailed, "Try again"},
		{"parent", wire.UpstreamError{Status: 400, Code: "previous_response_not_found"}, 400, wire.PreviousResponseNotFound, "whole conversation"},
		{"request", wire.UpstreamError{Status: 422, Param: "temperature", Message: "temperature must be below 2, see https://secret/x in org-secret or `proj_secret`."},
			422, wire.InvalidRequest, "temperature must be below 2, see [removed] in [removed] or `[removed]`."},
		{"inside of words", wire.UpstreamError{Status: 400, Message: `{"account":"acct_secret1"} project=proj_secret12, (http://secret.example/v1) at 10.9.8.7:443 of key-secretsecret: key-value pairs at 1.5`},
			400, wire.InvalidRequest, `{"account":"[removed]"} project=[removed], ([removed]) at [removed] of [removed]: key-value pairs at 1.5`},
		{"request without words", wire.UpstreamError{Status: 422}, 422, wire.InvalidRequest, "Check its parameters."},
	} {
		p := row.of.Problem()
		if p.Status != row.status || p.Code != row.code || !strings.Contains(p.Message, row.says) || strings.Contains(p.Message, "secret") {
			t.Errorf("%s: %+v", row.name, p)
		}
	}
}

// FuzzParseError: whatever a provider sends, what is kept is bounded and clean.
func FuzzParseError(f *testing.F) {
	f.Add(400, []byte(`{"error":{"message":"{\"error\":{\"message\":\"m\"}}","code":7,"innererror":{"code":"x"}}}`))
	f.Add(0, []byte(`[[{"error":"x"}]]`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := wire.ParseError(status, body)
		for _, text := range []string{e.Type, e.Code, e.Param, e.Message, e.Error()} {
			if len(text) > 8<<10 || strings.ContainsAny(text, "\r\n\x00") {
				t.Fatalf("kept %q", text)
			}
		}
		if e.Class().String() == "" || e.Problem().Status < 400 {
			t.Fatalf("got %+v", e)
		}
	})
}
