package guard_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/guard"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/routing/catalog"
)

const secret = "AKIA0123456789ABCDEF"

func rule(name, match, action string, output bool) catalog.Guard {
	return catalog.Guard{Name: name, Match: regexp.MustCompile(match), Action: action, Input: !output, Output: output}
}

func aws(action string, output bool) catalog.Guard {
	return rule("aws", "AKIA[0-9A-Z]{16}", action, output)
}

// Everything that a model would see is looked at, in every protocol; names,
// switches, signatures and media are not.
func TestInput(t *testing.T) {
	rules := guard.Compile([]catalog.Guard{aws(catalog.Redact, false)})
	for name, row := range map[string]struct{ body, want string }{
		"nothing":          {`{"model":"m","messages":[{"role":"user","content":"Hello"}]}`, ``},
		"chat text":        {`{"messages":[{"role":"user","content":"my SECRET."}]}`, `{"messages":[{"role":"user","content":"my [redacted]."}]}`},
		"chat part":        {`{"messages":[{"content":[{"type":"text","text":"SECRET"}]}]}`, `{"messages":[{"content":[{"type":"text","text":"[redacted]"}]}]}`},
		"escaped":          {`{"messages":[{"content":"\u0041KIA0123456789ABCDEF \"x\""}]}`, `{"messages":[{"content":"[redacted] \"x\""}]}`},
		"tool arguments":   {`{"messages":[{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"k\":\"SECRET\"}"}}]}]}`, `{"messages":[{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"k\":\"[redacted]\"}"}}]}]}`},
		"argument escaped": {`{"messages":[{"tool_calls":[{"function":{"arguments":"{\"k\":[\"\\u0041KIA0123456789ABCDEF\\n\"], \"n\":1.50}"}}]}]}`, `{"messages":[{"tool_calls":[{"function":{"arguments":"{\"k\":[\"[redacted]\\n\"], \"n\":1.50}"}}]}]}`},
		"argument id":      {`{"messages":[{"content":[{"type":"tool_use","id":"SECRET","input":{"id":"SECRET","format":{"type":"SECRET"},"data":"SECRET"}},{"type":"image","source":{"data":"SECRET"}}]}]}`, `{"messages":[{"content":[{"type":"tool_use","id":"SECRET","input":{"id":"[redacted]","format":{"type":"[redacted]"},"data":"[redacted]"}},{"type":"image","source":{"data":"SECRET"}}]}]}`},
		"argument cut":     {`{"input":[{"type":"function_call","arguments":"{\"id\":\"SECRET\\"}]}`, `{"input":[{"type":"function_call","arguments":"{\"id\":\"[redacted]\\"}]}`},
		"tool result":      {`{"messages":[{"role":"tool","tool_call_id":"c","content":"SECRET"}]}`, `{"messages":[{"role":"tool","tool_call_id":"c","content":"[redacted]"}]}`},
		"instructions":     {`{"instructions":"SECRET","input":"x"}`, `{"instructions":"[redacted]","input":"x"}`},
		"responses input":  {`{"input":"SECRET"}`, `{"input":"[redacted]"}`},
		"function output":  {`{"input":[{"type":"function_call_output","call_id":"c","output":"SECRET"}]}`, `{"input":[{"type":"function_call_output","call_id":"c","output":"[redacted]"}]}`},
		"system":           {`{"system":[{"type":"text","text":"SECRET"}],"messages":[]}`, `{"system":[{"type":"text","text":"[redacted]"}],"messages":[]}`},
		"messages tool":    {`{"messages":[{"content":[{"type":"tool_use","id":"t","name":"f","input":{"a":{"b":["SECRET"]}}}]}]}`, `{"messages":[{"content":[{"type":"tool_use","id":"t","name":"f","input":{"a":{"b":["[redacted]"]}}}]}]}`},
		"nested result":    {`{"messages":[{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"SECRET"}]}]}]}`, `{"messages":[{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"[redacted]"}]}]}]}`},
		"text document":    {`{"messages":[{"content":[{"type":"document","source":{"type":"text","data":"SECRET"}}]}]}`, `{"messages":[{"content":[{"type":"document","source":{"type":"text","data":"[redacted]"}}]}]}`},
		"tools":            {`{"tools":[{"function":{"description":"SECRET"}}]}`, `{"tools":[{"function":{"description":"[redacted]"}}]}`},
		"embeddings":       {`{"input":["a","SECRET"]}`, `{"input":["a","[redacted]"]}`},
		"video":            {`{"prompt":"SECRET"}`, `{"prompt":"[redacted]"}`},
		"unknown member":   {`{"novelty":{"x":"SECRET"}}`, `{"novelty":{"x":"[redacted]"}}`},
		"twice":            {`{"input":"SECRET, SECRET"}`, `{"input":"[redacted], [redacted]"}`},
		"base64":           {`{"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"SECRET"}}]}]}`, ``},
		"data URL":         {`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,SECRET"}}]}]}`, ``},
		"signed":           {`{"messages":[{"content":[{"type":"thinking","signature":"SECRET"}]}],"input":[{"encrypted_content":"SECRET"}]}`, ``},
		"names":            {`{"model":"SECRET","prompt_cache_key":"SECRET","messages":[{"role":"tool","tool_call_id":"SECRET"}]}`, ``},
		"white space kept": {"{ \"input\" :\t\"SECRET\" , \"x\" : 1.50 }", "{ \"input\" :\t\"[redacted]\" , \"x\" : 1.50 }"},
	} {
		body := strings.ReplaceAll(row.body, "SECRET", secret)
		want := strings.ReplaceAll(row.want, "SECRET", secret)
		var names []string
		if want == "" {
			want = body
		} else {
			names = []string{"aws"}
		}
		got, found := rules.Input([]byte(body))
		if diff := cmp.Diff(want, string(got)); diff != "" || !cmp.Equal(found.Names, names) || found.Blocked != "" {
			t.Errorf("%s: %+v (-want +got):\n%s", name, found, diff)
		}
	}
}

// Rules apply in order, each to what the one before has left; the first that
// blocks decides.
func TestOrder(t *testing.T) {
	for name, row := range map[string]struct {
		rules   []catalog.Guard
		blocked string
		names   []string
		want    string
	}{
		"redacted before it is blocked": {[]catalog.Guard{rule("r", "b+", catalog.Redact, false), rule("k", "b", catalog.Block, false)}, "", []string{"r"}, `{"input":"a[redacted]c"}`},
		"blocked first":                 {[]catalog.Guard{rule("k", "b", catalog.Block, false), rule("r", "b", catalog.Redact, false)}, "k", []string{"k"}, ""},
		"noted":                         {[]catalog.Guard{rule("l", "c", catalog.LogMatch, false), rule("r", "x", catalog.Redact, false)}, "", []string{"l"}, `{"input":"abbc"}`},
		"two":                           {[]catalog.Guard{rule("one", "a", catalog.Redact, false), rule("two", "red", catalog.Redact, false)}, "", []string{"one", "two"}, `{"input":"[[redacted]acted]bbc"}`},
		"too long":                      {[]catalog.Guard{{Name: "size", MaxBytes: 3, Action: catalog.Block, Input: true}}, "size", []string{"size"}, ""},
		"long enough":                   {[]catalog.Guard{{Name: "size", MaxBytes: 4, Action: catalog.Block, Input: true}}, "", nil, `{"input":"abbc"}`},
		"of answers":                    {[]catalog.Guard{rule("k", "b", catalog.Block, true)}, "", nil, `{"input":"abbc"}`},
	} {
		got, found := guard.Compile(row.rules).Input([]byte(`{"input":"abbc"}`))
		if found.Blocked != row.blocked || !cmp.Equal(found.Names, row.names) || row.blocked == "" && string(got) != row.want {
			t.Errorf("%s: %s %+v", name, got, found)
		}
	}
}

func TestNoRules(t *testing.T) {
	var none *guard.Rules
	if guard.Compile(nil) != none || none.GuardsInput() || none.GuardsOutput() {
		t.Error("no rules guard something")
	}
	if in := guard.Compile([]catalog.Guard{aws(catalog.Block, false)}); !in.GuardsInput() || in.GuardsOutput() {
		t.Error("a rule for requests guards answers")
	}
}

func TestHistory(t *testing.T) {
	rules := guard.Compile([]catalog.Guard{aws(catalog.Redact, false)})
	got, found := rules.History([]byte(`[{"type":"message","content":[{"type":"output_text","text":"`+secret+`"}]}]`), 0)
	if string(got) != `[{"type":"message","content":[{"type":"output_text","text":"[redacted]"}]}]` || len(found.Names) != 1 {
		t.Errorf("%s %+v", got, found)
	}
	rules = guard.Compile([]catalog.Guard{{Name: "size", MaxBytes: 9, Action: catalog.Block, Input: true}})
	_, body := rules.Input([]byte(`{"input":"12345"}`))
	for items, blocked := range map[string]string{`["1234"]`: "", `["12345"]`: "size"} {
		if _, found := rules.History([]byte(items), body.Bytes); found.Blocked != blocked {
			t.Errorf("%s after %d bytes: blocked by %q", items, body.Bytes, found.Blocked)
		}
	}
}

// What an answer repeats of the request is none of its text; token by token
// copies of it go.
func TestOutput(t *testing.T) {
	rules := guard.Compile([]catalog.Guard{aws(catalog.Redact, true)})
	for endpoint, row := range map[string]struct{ body, want string }{
		"chat": {
			`{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"SECRET"},"logprobs":{"content":[{"token":"AKIA"}]}}]}`,
			`{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"[redacted]"},"logprobs":null}]}`},
		"responses": {
			`{"instructions":"SECRET","output":[{"type":"message","content":[{"type":"output_text","text":"SECRET","logprobs":[{"token":"A"}]}]}]}`,
			`{"instructions":"SECRET","output":[{"type":"message","content":[{"type":"output_text","text":"[redacted]","logprobs":[]}]}]}`},
		"messages": {
			`{"content":[{"type":"thinking","thinking":"SECRET","signature":"s"},{"type":"tool_use","input":{"a":"SECRET"}}]}`,
			`{"content":[{"type":"thinking","thinking":"[redacted]","signature":"s"},{"type":"tool_use","input":{"a":"[redacted]"}}]}`},
	} {
		got, found := rules.Output(endpoint, []byte(strings.ReplaceAll(row.body, "SECRET", secret)))
		if want := strings.ReplaceAll(row.want, "SECRET", secret); string(got) != want || len(found.Names) != 1 {
			t.Errorf("%s: %s %+v, want %s", endpoint, got, found, want)
		}
	}
}

// Whatever the body is, the answer is JSON where the body was, and what is
// redacted is gone.
func FuzzInput(f *testing.F) {
	f.Add([]byte(`{"messages":[{"content":"` + secret + `"}],"x":["\u0041KIA0123456789ABCDEF"]}`))
	f.Add([]byte(`{"a":{"data":"` + secret + `","type":"text"},"logprobs":[1]}`))
	f.Add([]byte(`{"a":`))
	rules := guard.Compile([]catalog.Guard{aws(catalog.Redact, false), rule("word", `\bsecret\b`, catalog.Redact, false)})
	f.Fuzz(func(t *testing.T, body []byte) {
		got, found := rules.Input(body)
		if _, err := jsonedit.Parse(body); err != nil {
			return
		}
		if _, err := jsonedit.Parse(got); err != nil || !json.Valid(got) {
			t.Fatalf("%q became %q: %v", body, got, err)
		}
		if again, found := rules.Input(got); len(found.Names) > 0 || string(again) != string(got) {
			t.Fatalf("%q is not settled: %q", got, again)
		}
		if len(found.Names) == 0 && string(got) != string(body) {
			t.Fatalf("%q became %q for nothing", body, got)
		}
	})
}
