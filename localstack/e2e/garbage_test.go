package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
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
	later := a.Header.Get("Retry-After")
	if waits := a.StatusCode == 429 || a.StatusCode == 503; waits && later == "" || later != "" && a.StatusCode < 429 {
		t.Errorf("%s: status %d with Retry-After %q", endpoint, a.StatusCode, later)
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

// paths are the routes of an endpoint, which work with and without /v1.
func paths(endpoint string) []string {
	return []string{route(endpoint), strings.TrimPrefix(route(endpoint), "/v1")}
}

// spoiled is a request that no deployment may ever see.
type spoiled struct {
	name, code string
	body       string
	headers    []string
}

// spoiledJSON are bodies that are no JSON object in UTF-8, or that two readers
// would read differently.
func spoiledJSON(valid string) []spoiled {
	nested := func(open, end string, depth int) string {
		return strings.TrimSuffix(valid, "}") + `,"x":` + strings.Repeat(open, depth) + "1" + strings.Repeat(end, depth) + "}"
	}
	bodies := map[string]string{
		"empty": "", "white space": " \r\n\t", "null": "null", "true": "true", "number": "5", "text": `"x"`, "list": "[]", "list of the object": "[" + valid + "]",
		"two objects": valid + valid, "text behind": valid + "x", "null character behind": valid + "\x00", "comma behind": strings.TrimSuffix(valid, "}") + ",}",
		"byte order mark": "\ufeff" + valid, "UTF-16": string(utf16Bytes(valid)), "form": "model=chat&messages=x", "multipart": "--b\r\n\r\n" + valid + "\r\n--b--",
		"single quotes": strings.ReplaceAll(valid, `"`, "'"), "comment": "/* */" + valid, "NaN": strings.TrimSuffix(valid, "}") + `,"x":NaN}`,
		"leading zero": strings.TrimSuffix(valid, "}") + `,"x":01}`, "unquoted key": strings.TrimSuffix(valid, "}") + `,x:1}`,
		"line break in a string": strings.TrimSuffix(valid, "}") + ",\"x\":\"a\nb\"}", "bad escape": strings.TrimSuffix(valid, "}") + `,"x":"\q"}`,
		"no UTF-8 in a value": strings.TrimSuffix(valid, "}") + ",\"x\":\"\xff\"}", "no UTF-8 in a key": strings.TrimSuffix(valid, "}") + ",\"\xc3\":1}",
		"overlong UTF-8": strings.TrimSuffix(valid, "}") + ",\"x\":\"\xc0\xaf\"}", "surrogate in UTF-8": strings.TrimSuffix(valid, "}") + ",\"x\":\"\xed\xa0\x80\"}",
		"half a surrogate pair": strings.TrimSuffix(valid, "}") + `,"x":"\ud800"}`,
		"lists, 200 deep":       nested("[", "]", 200), "objects, 200 deep": nested(`{"a":`, "}", 200), "129 deep": nested("[", "]", 128),
		"100,000 deep": nested("[", "]", 100_000), "100,000 open brackets": strings.Repeat("[", 100_000), "deep and cut": strings.TrimSuffix(valid, "}") + `,"x":` + strings.Repeat(`{"a":`, 500),
	}
	var rows []spoiled
	for name, body := range bodies {
		rows = append(rows, spoiled{name: name, code: "invalid_json", body: body})
	}
	for at := 1; at < len(valid); at += 9 {
		rows = append(rows, spoiled{name: "cut at " + valid[:at], code: "invalid_json", body: valid[:at]})
	}
	return rows
}

// utf16Bytes is ASCII text in little-endian UTF-16 with its mark.
func utf16Bytes(text string) []byte {
	out := []byte{0xff, 0xfe}
	for i := range len(text) {
		out = append(out, text[i], 0)
	}
	return out
}

// spoiledMedia are bodies of another kind than the route takes.
func spoiledMedia(valid string) []spoiled {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write([]byte(valid))
	_ = writer.Close()
	rows := []spoiled{{name: "gzip", body: packed.String(), headers: []string{"Content-Encoding", "gzip"}}}
	for _, coding := range []string{"gzip", "br", "zstd", "deflate", "gzip, identity", "x"} {
		rows = append(rows, spoiled{name: "said to be " + coding, body: valid, headers: []string{"Content-Encoding", coding}})
	}
	for _, kind := range []string{
		"text/plain", "text/json", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b",
		"application/octet-stream", "application/json; charset=iso-8859-1", "application/json; charset=utf-16", "json", "*/*", "a/b/c",
	} {
		rows = append(rows, spoiled{name: kind, body: valid, headers: []string{"Content-Type", kind}})
	}
	for i := range rows {
		rows[i].code = "unsupported_media_type"
	}
	return rows
}

// spoiledMembers are the members that the gateway itself reads, each with
// values of every wrong kind.
func spoiledMembers(t *testing.T, endpoint string, valid map[string]any) []spoiled {
	notText := []any{0, -1.5, 1e300, true, []any{}, []any{"chat"}, turn{}, turn{"a": nil}}
	notBool := []any{0, 1, "true", "", []any{}, turn{}}
	wrong := map[string][]any{
		"model":  append([]any{nil, "", "a\r\nX-Evil: 1", "a\x00", "\u0085", strings.Repeat("m", 257)}, notText...),
		"stream": notBool, "disable_fallbacks": notBool,
		"session_id": append([]any{"", "a\r\nX-Evil: 1"}, notText...), "prompt_cache_key": append([]any{"", "a\r\nX-Evil: 1"}, notText...),
		"api_base": {"http://127.0.0.1:1", nil, 1}, "base_url": {"http://127.0.0.1:1", nil}, "api_key": {"sk-x", nil}, "extra_headers": {turn{"X-Evil": "1"}, nil},
	}
	if endpoint == "responses" {
		wrong["store"], wrong["background"] = append(notBool, nil), notBool
		wrong["previous_response_id"] = append([]any{"", "a\r\nb", strings.Repeat("r", 5000)}, notText...)
	}
	codes := map[string]string{"session_id": "invalid_session_id", "prompt_cache_key": "invalid_session_id"}
	rows := []spoiled{{name: "no members", code: "invalid_request", body: "{}"}}
	for name, values := range wrong {
		for _, value := range values {
			body, err := json.Marshal(member(valid, name, value))
			if err != nil {
				t.Fatal(err)
			}
			code := codes[name]
			if code == "" && name != "previous_response_id" {
				code = "invalid_request"
			}
			rows = append(rows, spoiled{name: fmt.Sprintf("%s: %.40v", name, value), code: code, body: string(body)})
		}
	}
	return rows
}

// TestX5Garbage sends what is no request to every route: each gets a refusal in
// its protocol's form, no account is asked, and the process serves on.
func TestX5Garbage(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	for _, endpoint := range protocols() {
		good := ask(endpoint, false, user("Say "+secretWord))
		encoded, err := json.Marshal(good)
		if err != nil {
			t.Fatal(err)
		}
		rows := slices.Concat(spoiledJSON(string(encoded)), spoiledMedia(string(encoded)), spoiledMembers(t, endpoint, good))
		for i, row := range rows {
			a := post(t, r.URL+paths(endpoint)[i%2], row.body, row.headers...)
			if row.code != "" && a.code() != row.code {
				t.Errorf("%s, %.60q: %d %s, want %s", endpoint, row.name, a.StatusCode, a.code(), row.code)
			}
			refusalOf(t, endpoint, a)
			if r.calls() != 0 {
				t.Fatalf("%s, %.60q: an account was asked", endpoint, row.name)
			}
		}
	}
	for _, endpoint := range protocols() {
		for _, path := range paths(endpoint) {
			if a := post(t, r.URL+path, ask(endpoint, false, user("Say "+secretWord))); a.StatusCode != http.StatusOK {
				t.Errorf("%s, afterwards: %d %s", path, a.StatusCode, a.body)
			}
		}
	}
}

// mutants are requests with some bytes changed, taken out, doubled or put in,
// the same in every run.
func mutants(valid string, n int) []string {
	random := rand.New(rand.NewPCG(7, uint64(len(valid))))
	const alphabet = "{}[]\",:\\0-.eE tfn\x00\x7f\xff\n"
	list := make([]string, n)
	for i := range list {
		b := []byte(valid)
		for range 1 + random.IntN(4) {
			at, length := random.IntN(len(b)), 1+random.IntN(8)
			end := min(at+length, len(b))
			switch random.IntN(4) {
			case 0:
				b[at] = alphabet[random.IntN(len(alphabet))]
			case 1:
				b = slices.Delete(b, at, end)
			case 2:
				b = slices.Insert(b, at, b[at:end]...)
			default:
				b = slices.Insert(b, at, alphabet[random.IntN(len(alphabet))])
			}
			if len(b) == 0 {
				b = []byte("{")
			}
		}
		list[i] = string(b)
	}
	return list
}

// TestX5Mutants sends damaged requests. What is no strict JSON reaches nobody;
// what still is may be the provider's to refuse, and nothing is ever a 5xx.
func TestX5Mutants(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	for _, endpoint := range protocols() {
		body := member(ask(endpoint, false, says(text(endpoint, "Say "+secretWord)), replied("Hi."), user("Go on")), "tools", []turn{toolOf(endpoint, "ls")})
		encoded, err := json.Marshal(member(body, "session_id", "mutants"))
		if err != nil {
			t.Fatal(err)
		}
		passed := 0
		for _, mutant := range mutants(string(encoded), 400) {
			before := r.calls()
			a := post(t, r.URL+route(endpoint), mutant)
			called, strict := r.calls()-before, jsontext.Value(mutant).IsValid()
			passed += called
			if a.StatusCode >= 500 || a.Header.Get("X-Request-Id") == "" || called > 1 {
				t.Errorf("%s: %d after %d calls for %q\n%s", endpoint, a.StatusCode, called, mutant, a.body)
			}
			if called == 0 {
				refusalOf(t, endpoint, a)
			}
			if !strict && (a.code() != "invalid_json" || called > 0) {
				t.Errorf("%s: %d %s after %d calls for %q", endpoint, a.StatusCode, a.code(), called, mutant)
			}
		}
		if passed == 0 {
			t.Errorf("%s: no mutant was good enough to reach an account", endpoint)
		}
	}
}

// TestX5ProviderMembers gives the members that are the provider's own every
// wrong type: the provider refuses them in its protocol's form, and no
// deployment is thought the worse of.
func TestX5ProviderMembers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	values := []any{nil, 0, -1, "x", "", true, []any{}, []any{nil}, []any{5}, []any{"x"}, []any{[]any{}}, []any{turn{}}, turn{}, turn{"a": 1},
		[]any{turn{"role": 5, "content": 5}}, []any{turn{"role": "user", "content": turn{}}}, []any{turn{"role": "user", "content": []any{5, nil}}}}
	members := map[string][]string{
		"chat":      {"messages", "tools", "tool_choice", "temperature", "max_tokens", "stop", "response_format", "stream_options", "metadata", "user", "n"},
		"responses": {"input", "instructions", "tools", "tool_choice", "temperature", "max_output_tokens", "text", "reasoning", "metadata", "include", "conversation"},
		"messages":  {"messages", "system", "tools", "tool_choice", "temperature", "max_tokens", "stop_sequences", "thinking", "metadata"},
	}
	for endpoint, names := range members {
		refused := 0
		for i, name := range names {
			for j, value := range values {
				body := member(ask(endpoint, (i+j)%2 == 0, user("Hello")), name, value)
				a := post(t, r.URL+route(endpoint), body)
				if a.StatusCode >= 500 || a.Header.Get("X-Request-Id") == "" {
					t.Errorf("%s, %s: %v: %d %s", endpoint, name, value, a.StatusCode, a.body)
				}
				if a.StatusCode >= 400 {
					refused++
					if _, form := a.field("error", "message").(string); !form {
						t.Errorf("%s, %s: %v: %d is no error of the protocol: %s", endpoint, name, value, a.StatusCode, a.body)
					}
				}
			}
		}
		if refused == 0 {
			t.Errorf("%s: nothing was refused", endpoint)
		}
		if a := post(t, r.URL+route(endpoint), ask(endpoint, false, user("Hello"))); a.StatusCode != http.StatusOK {
			t.Errorf("%s, afterwards: %d %s", endpoint, a.StatusCode, a.body)
		}
	}
}
