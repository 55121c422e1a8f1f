package jsonedit_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/wire/jsonedit"
)

func nested(open, close string, levels int) string {
	return strings.Repeat(open, levels) + strings.Repeat(close, levels)
}

// TestParse: what is accepted and what is refused, with reason and place.
func TestParse(t *testing.T) {
	many := strings.Repeat(`{"a":[1]},`, 200)
	for _, row := range []struct {
		name, in string
		reason   jsonedit.Reason
		offset   int64 // -1: accepted
	}{
		{"empty object", `{}`, 0, -1},
		{"white space around", " \t\r\n{\"a\" : 1 } \n", 0, -1},
		{"same name in different objects", `{"a":{"a":1},"b":[{"a":1},{"a":1}]}`, 0, -1},
		{"128 objects", nested(`{"a":`, `}`, 127)[:127*5] + `{}` + strings.Repeat("}", 127), 0, -1},
		{"128 levels of lists", `{"a":` + nested("[", "]", 127) + `}`, 0, -1},
		{"brackets in strings", `{"a":["` + strings.Repeat(`[{\"`, 500) + `"]}`, 0, -1},
		{"many shallow elements", `{"a":[[` + many + `1],1]}`, 0, -1},
		{"number beyond a float", `{"a":1e999}`, 0, -1},

		{"nothing", "", jsonedit.Empty, 0},
		{"white space", " \n", jsonedit.Empty, 0},
		{"a list", ` [{"a":1}]`, jsonedit.NotObject, 1},
		{"null", `null`, jsonedit.NotObject, 0},
		{"byte order mark", "\xef\xbb\xbf{}", jsonedit.NotObject, 0},
		{"cut", `{"a":1`, jsonedit.Malformed, 6},
		{"cut in a string", `{"a":"b`, jsonedit.Malformed, 7},
		{"trailing comma", `{"a":1,}`, jsonedit.Malformed, 6},
		{"no comma", `{"a":1 "b":2}`, jsonedit.Malformed, 7},
		{"single quotes", `{'a':1}`, jsonedit.Malformed, 1},
		{"control character", "{\"a\":\"\n\"}", jsonedit.Malformed, 6},
		{"not UTF-8", "{\"a\":\"\xff\"}", jsonedit.Malformed, 6},
		{"half a surrogate", `{"a":"\ud800"}`, jsonedit.Malformed, 6},
		{"leading zero", `{"a":01}`, jsonedit.Malformed, 6},
		{"two objects", `{}{}`, jsonedit.Trailing, 3},
		{"text after", `{} x`, jsonedit.Trailing, 2},
		{"duplicate", `{"a":1,"a":1}`, jsonedit.DuplicateName, 7},
		{"duplicate by escape", `{"model":1,"\u006dodel":2}`, jsonedit.DuplicateName, 11},
		{"duplicate deep inside", `{"a":[[{"b":{"c":1,"d":2,"c":3}}]]}`, jsonedit.DuplicateName, 25},
		{"129 objects", nested(`{"a":`, `}`, 128)[:128*5] + `{}` + strings.Repeat("}", 128), jsonedit.TooDeep, 5},
		{"129 levels of lists", `{"a":` + nested("[", "]", 128) + `}`, jsonedit.TooDeep, 6},
		{"129 levels beside much", `{"a":[[` + many + nested("[", "]", 126) + `],1]}`, jsonedit.TooDeep, 6},
		{"too deep and broken", strings.Repeat(`{"a":[`, 20000), jsonedit.TooDeep, 30000},
		{"only braces", strings.Repeat(`[`, 100000), jsonedit.NotObject, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, err := jsonedit.Parse([]byte(row.in))
			if row.offset < 0 {
				if err != nil || string(d.Raw()) != row.in {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			fault := (*jsonedit.Error)(nil)
			if !errors.As(err, &fault) || d != nil {
				t.Fatalf("got %v", err)
			}
			if fault.Reason != row.reason || fault.Offset != row.offset {
				t.Errorf("got %q at %d, want %q at %d", fault.Reason, fault.Offset, row.reason, row.offset)
			}
		})
	}
}

// TestErrorHoldsNothing: an error's text has none of the bytes.
func TestErrorHoldsNothing(t *testing.T) {
	for _, in := range []string{`{"secret":"secret","secret":1}`, `{"a":secret}`, `{"a":"secret\x"}`, `{"secret":1} secret`} {
		if _, err := jsonedit.Parse([]byte(in)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestMembers(t *testing.T) {
	raw := []byte(` {"a": "x" ,"b\u0063":[1, 2],"":{} } `)
	d, err := jsonedit.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": `"x"`, "bc": `[1, 2]`, "": `{}`, "b": ""} {
		if got := d.Value(name); string(got.Bytes()) != want || got.Exists() != (want != "") {
			t.Errorf("%q is %q", name, got.Bytes())
		}
	}
	var names []string
	d.Names(func(name []byte) bool { names = append(names, string(name)); return len(names) < 2 })
	if diff := cmp.Diff([]string{"a", "bc"}, names); diff != "" {
		t.Error(diff)
	}
	if v := d.Value("a").Bytes(); &v[0] != &raw[7] || cap(v) != len(v) {
		t.Error("a value is a copy, or can be appended to")
	}
}

// FuzzParse: what Parse accepts is what the standard says, and its members are
// those that a decoder finds.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[{"b":1}],"c\n":"\ud83d\ude00"}`, `{"a":1,"a":2}`, ` [1]`, `{"a":[[[[`, "{\"a\":\"\xff\"}", `{"a":{}}{}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		d, err := jsonedit.Parse(in)
		object := jsontext.Value(in).IsValid() && jsontext.Value(in).Kind() == '{'
		if err != nil {
			fault := (*jsonedit.Error)(nil)
			if !errors.As(err, &fault) || fault.Offset < 0 || fault.Offset > int64(len(in)) || fault.Reason.String() == "" {
				t.Fatalf("got %#v", err)
			}
			if object && fault.Reason != jsonedit.TooDeep {
				t.Fatalf("refused: %v", err)
			}
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(in, &want); err != nil || !object {
			t.Fatalf("accepted, but %v", err)
		}
		found := 0
		d.Names(func(name []byte) bool {
			found++
			if got := d.Value(string(name)).Bytes(); string(got) != string(want[string(name)]) {
				t.Fatalf("%q is %q, want %q", name, got, want[string(name)])
			}
			return true
		})
		if found != len(want) {
			t.Fatalf("%d members, want %d", found, len(want))
		}
	})
}
