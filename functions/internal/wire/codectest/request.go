package codectest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// body is odd on purpose: white space, escapes, numbers beyond a float, unknown
// members. All of it must come through as it is.
const body = "\n{ \"x_unknown\" : [1.0e2 ,12345678901234567890],\"session_id\":\"s\" ,\n  \"model\":\"m\\u006f\",\"stream\":true , " +
	"\"litellm_session_id\":\"l\",\"user\":\"\\ud83d\\ude00\\/\",\"disable_fallbacks\":true,\"metadata\":{ \"session_id\": \"inner\" } } \n"

// rewrite checks the edits that every protocol has.
func (c Codec) rewrite(t *testing.T) {
	f := inspect(t, c.Endpoint, body)
	for _, row := range []struct {
		name  string
		edits wire.Edits
		want  map[string]string // members that change; "" is gone
	}{
		{"strip", wire.Edits{}, map[string]string{"session_id": "", "litellm_session_id": "", "disable_fallbacks": ""}},
		{"same model", wire.Edits{Model: "mo"}, map[string]string{"session_id": "", "litellm_session_id": "", "disable_fallbacks": ""}},
		{"model", wire.Edits{Model: `up/"m"`, Keep: []string{"session_id"}}, map[string]string{
			"model": `"up/\"m\""`, "litellm_session_id": "", "disable_fallbacks": ""}},
		{"hint", wire.Edits{HintField: "prompt_cache_key", HintValue: "hf-1", Keep: []string{"session_id", "litellm_session_id", "disable_fallbacks"}},
			map[string]string{"prompt_cache_key": `"hf-1"`}},
		{"hint of the client's own", wire.Edits{HintField: "user", HintValue: "hf-1"}, map[string]string{
			"session_id": "", "litellm_session_id": "", "disable_fallbacks": ""}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := c.Rewrite(f, row.edits).Body
			want := members(t, []byte(body))
			for name, value := range row.want {
				if want[name] = value; value == "" {
					delete(want, name)
				}
			}
			if diff := cmp.Diff(want, members(t, got)); diff != "" {
				t.Error(diff)
			}
			for _, kept := range []string{"\n{ \"x_unknown\" : [1.0e2 ,12345678901234567890]", "\"\\ud83d\\ude00\\/\"", "{ \"session_id\": \"inner\" }"} {
				if !bytes.Contains(got, []byte(kept)) {
					t.Errorf("%q has changed in %q", kept, got)
				}
			}
			if string(f.Body()) != body {
				t.Error("the client's own bytes have changed")
			}
		})
	}
	plain := inspect(t, c.Endpoint, `{"model":"m","input":"x"}`)
	if got := c.Rewrite(plain, wire.Edits{Model: "m"}).Body; &got[0] != &plain.Body()[0] {
		t.Error("a body without edits was copied")
	}
}

func inspect(t *testing.T, endpoint, body string) *wire.Facts {
	t.Helper()
	f, p := wire.Inspect(endpoint, []byte(body))
	if p != nil {
		t.Fatal(p)
	}
	return f
}

// members are a document's top-level members, raw.
func members(t *testing.T, raw []byte) map[string]string {
	t.Helper()
	var values map[string]jsontext.Value
	if err := json.Unmarshal(raw, &values); err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	out := map[string]string{}
	for name, value := range values {
		out[name] = string(value)
	}
	return out
}

// errors checks error bodies: every code is told with its status's type, and
// nothing in a problem can break out of its JSON.
func (c Codec) errors(t *testing.T) {
	for _, code := range wire.Codes() {
		p := wire.Refuse(code).About("model\r\nX: y")
		raw := c.ErrorBody(p, "req-\"1\"\r\n")
		if bytes.ContainsAny(raw, "\r\n") {
			t.Errorf("%s has a raw line break: %q", code, raw)
		}
		if _, err := jsonedit.Parse(raw); err != nil {
			t.Errorf("%s: %v", code, err)
		}
		v := jsonedit.Read(raw)
		if got := v.Get("error", "message").Text(); got != p.Message {
			t.Errorf("%s: the message is %q", code, got)
		}
		if got := v.Get("error", "code").Text(); got != string(code) {
			t.Errorf("%s: the code is %q", code, got)
		}
		if kind := v.Get("error", "type").Text(); !strings.HasSuffix(kind, "_error") && kind != "request_too_large" {
			t.Errorf("%s: the type is %q", code, kind)
		}
		back := wire.ParseError(p.Status, raw)
		if back.Code != string(code) || back.Message != p.Message {
			t.Errorf("%s is read back as %+v", code, back)
		}
	}
}
