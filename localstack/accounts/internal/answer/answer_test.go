package answer_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"holdfast/localstack/accounts/internal/answer"
	"holdfast/localstack/accounts/internal/prompt"
)

func tools(names ...string) []answer.Tool {
	var list []answer.Tool
	for _, n := range names {
		list = append(list, answer.Tool{Name: n, Schema: jsontext.Value(`{"type":"object","properties":{"command":{"type":"string"}}}`)})
	}
	return list
}

func TestToolCalls(t *testing.T) {
	for _, tc := range []struct {
		name string
		ask  answer.Ask
		want []string
	}{
		{"nothing is asked for", answer.Ask{Last: "hello", User: true, Tools: tools("bash")}, nil},
		{"RUNTOOL", answer.Ask{Last: "RUNTOOL please", User: true, Tools: tools("bash", "read")}, []string{"bash"}},
		{"twice", answer.Ask{Last: "RUNTOOL RUNTOOL", User: true, Tools: tools("bash", "read")}, []string{"bash", "read"}},
		{"more often than there are tools", answer.Ask{Last: "RUNTOOL RUNTOOL", User: true, Tools: tools("bash")}, []string{"bash", "bash"}},
		{"at most eight", answer.Ask{Last: strings.Repeat("RUNTOOL ", 50), User: true, Tools: tools("bash")}, strings.Fields(strings.Repeat("bash ", 8))},
		{"by name", answer.Ask{Last: "please call read now", User: true, Tools: tools("bash", "read")}, []string{"read"}},
		{"a longer name is another one", answer.Ask{Last: "call read_file", User: true, Tools: tools("read")}, nil},
		{"no parallel calls", answer.Ask{Last: "RUNTOOL RUNTOOL", User: true, Single: true, Tools: tools("bash", "read")}, []string{"bash"}},
		{"in a tool's result", answer.Ask{Last: "RUNTOOL", Tools: tools("bash")}, nil},
		{"without tools", answer.Ask{Last: "RUNTOOL", User: true}, nil},
		{"forbidden", answer.Ask{Last: "RUNTOOL", User: true, Force: answer.None, Tools: tools("bash")}, nil},
		{"forced", answer.Ask{Last: "hello", User: true, Force: answer.Any, Tools: tools("bash", "read")}, []string{"bash"}},
		{"forced and asked for", answer.Ask{Last: "call read", User: true, Force: answer.Any, Tools: tools("bash", "read")}, []string{"read"}},
		{"forced by name", answer.Ask{Last: "hello", User: true, Force: answer.Named, Named: "read", Tools: tools("bash", "read")}, []string{"read"}},
		{"forced by an unknown name", answer.Ask{Last: "hello", User: true, Force: answer.Named, Named: "write", Tools: tools("bash")}, nil},
	} {
		got := answer.Style{}.Answer(tc.ask)
		var names []string
		for _, c := range got.Calls {
			names = append(names, c.Name)
			if c.Arguments != `{"command":"ls"}` {
				t.Errorf("%s: arguments %s", tc.name, c.Arguments)
			}
		}
		if diff := cmp.Diff(tc.want, names); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tc.name, diff)
		}
		if (got.Ending == answer.Calling) != (len(names) > 0) || (got.Text == "") != (len(names) > 0) {
			t.Errorf("%s: ending %v and text %q with %d calls", tc.name, got.Ending, got.Text, len(names))
		}
	}
}

func TestProse(t *testing.T) {
	long := answer.Style{Tokens: 50}
	first := long.Answer(answer.Ask{Last: "hello", User: true, Size: 10})
	if again := long.Answer(answer.Ask{Last: "hello", User: true, Size: 10}); again.Text != first.Text {
		t.Errorf("the same request got %q and %q", first.Text, again.Text)
	}
	for name, other := range map[string]answer.Ask{
		"other words":   {Last: "bye", User: true, Size: 10},
		"other history": {Last: "hello", User: true, Size: 11},
	} {
		if got := long.Answer(other); got.Text == first.Text {
			t.Errorf("%s got the same answer", name)
		}
	}
	if got := first.Tokens(); got != 50 {
		t.Errorf("%d tokens, want the configured 50: %q", got, first.Text)
	}
	if got := long.Answer(answer.Ask{Last: "answer in 7 tokens", User: true}); got.Tokens() != 7 || got.Ending != answer.Natural {
		t.Errorf("7 tokens were asked for: %d, %v", got.Tokens(), got.Ending)
	}
	if got := long.Answer(answer.Ask{Last: "hello", User: true, MaxTokens: 5}); got.Tokens() != 5 || got.Ending != answer.Length {
		t.Errorf("cut at 5: %d tokens, ending %v", got.Tokens(), got.Ending)
	}
	fixed := answer.Style{Fixed: "one two three"}
	if got := fixed.Answer(answer.Ask{Last: "hello", User: true}); got.Text != "one two three" {
		t.Errorf("fixed answer %q", got.Text)
	}
	stopped := fixed.Answer(answer.Ask{Stops: []string{"three", "", "two"}})
	if stopped.Text != "one " || stopped.Ending != answer.Stop || stopped.Stop != "two" {
		t.Errorf("stopped at %q by %q, ending %v", stopped.Text, stopped.Stop, stopped.Ending)
	}
	if thought := fixed.Answer(answer.Ask{Reason: true}); thought.Thought == "" || thought.Thinking() == 0 {
		t.Errorf("no thought: %+v", thought)
	}
}

func TestPiecesAreWhole(t *testing.T) {
	for _, text := range []string{"", "abc", "abcdefgh", "größer ist schöner", "日本語のテキスト", "a😀b😀"} {
		var got strings.Builder
		answer.Pieces(text, func(p string) {
			if strings.ToValidUTF8(p, "") != p || p == "" {
				t.Errorf("piece %q of %q", p, text)
			}
			got.WriteString(p)
		})
		if got.String() != text {
			t.Errorf("the pieces of %q are %q", text, got.String())
		}
	}
}

func TestDocument(t *testing.T) {
	for _, tc := range []struct{ name, schema, want string }{
		{"object", `{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}}}`, `{"a":"a","b":1}`},
		{"enum, const, minimum", `{"type":"object","properties":{"c":{"const":{"x":1}},"e":{"enum":["red","blue"]},"n":{"type":"number","minimum":2.5}}}`, `{"c":{"x":1},"e":"red","n":2.5}`},
		{"array", `{"type":"array","minItems":2,"items":{"type":"boolean"}}`, `[true,true]`},
		{"nullable", `{"type":["null","string"],"minLength":6}`, `"textxx"`},
		{"reference", `{"$defs":{"p":{"type":"object","properties":{"x":{"type":"null"}}}},"type":"object","properties":{"p":{"$ref":"#/$defs/p"}}}`, `{"p":{"x":null}}`},
		{"alternative", `{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `1`},
		{"formats", `{"type":"object","properties":{"d":{"type":"string","format":"date"}}}`, `{"d":"2026-01-02"}`},
		{"any document", ``, `{}`},
		{"not a schema", `3`, `null`},
	} {
		got := answer.Style{}.Answer(answer.Ask{JSON: true, Schema: jsontext.Value(tc.schema)})
		if got.Text != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got.Text, tc.want)
		}
	}
}

// Any schema gives a valid document of bounded size.
func FuzzDocument(f *testing.F) {
	f.Add(`{"$ref":"#"}`)
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"type":"array","minItems":999999,"items":{"$ref":"#"}}}}`)
	f.Add(`{"anyOf":[{"anyOf":[{"enum":[ 1 , 2 ]}]}]}`)
	f.Add(`{"type":"string","minLength":100000000}`)
	f.Add(`{"$ref":"#/a~1b/0","a/b":[1]}`)
	f.Fuzz(func(t *testing.T, schema string) {
		if !jsontext.Value(schema).IsValid() {
			return
		}
		got := answer.Style{}.Answer(answer.Ask{JSON: true, Schema: jsontext.Value(schema)})
		var any any
		if err := json.Unmarshal([]byte(got.Text), &any); err != nil {
			t.Fatalf("%s is answered by %s: %v", schema, got.Text, err)
		}
		if limit := 8<<20 + 4000*len(schema); len(got.Text) > limit {
			t.Fatalf("%d bytes for a schema of %d", len(got.Text), len(schema))
		}
	})
}

func TestTokensCountEverything(t *testing.T) {
	a := answer.Answer{Text: "12345678", Thought: "1234", Calls: []answer.Call{{Name: "ab", Arguments: "{}"}}}
	if got := a.Tokens(); got != 4 {
		t.Errorf("%d tokens, want 2 of text, 1 of thought, 1 of the call", got)
	}
	if got := prompt.Tokens(5); got != 2 {
		t.Errorf("5 bytes are %d tokens, want 2", got)
	}
}
