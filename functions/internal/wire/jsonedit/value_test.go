package jsonedit_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdfast/functions/internal/wire/jsonedit"
)

const sample = `{"s":"plain","e":"a\n\"b\"","u":"\u00e9","empty":"","t":true,"f":false,"n":null,"i":42,"neg":-7,"x":1.9,"big":12345678901234567890,
	"huge":1e999,"list":[1,"two",[3],{"four":4}],"none":[],"o":{"in":{"deep":"yes"},"s\u0065":"esc"},"obj":{}}`

func TestValue(t *testing.T) {
	v := jsonedit.Read([]byte(sample))
	for path, want := range map[string]string{"s": "plain", "e": "a\n\"b\"", "u": "é", "empty": "", "i": "", "list": "", "missing": "", "o.in.deep": "yes", "o.se": "esc", "s.x": ""} {
		at := v.Get(strings.Split(path, ".")...)
		if got := at.Text(); got != want {
			t.Errorf("%s is %q", path, got)
		}
		if at.Kind() == '"' && !at.Is(want) || at.Is("other") || at.Kind() != '"' && at.Is("") {
			t.Errorf("%s is or is not what it says", path)
		}
	}
	for path, want := range map[string]int64{"i": 42, "neg": -7, "x": 1} {
		if n, ok := v.Get(path).Int(); n != want || !ok {
			t.Errorf("%s is %d, %v", path, n, ok)
		}
	}
	for _, path := range []string{"s", "t", "n", "big", "huge", "missing", "list"} {
		if n, ok := v.Get(path).Int(); ok || n != 0 {
			t.Errorf("%s is the number %d", path, n)
		}
	}
	for path, want := range map[string]string{"t": "true true", "f": "false true", "n": "false false", "s": "false false", "missing": "false false"} {
		b, ok := v.Get(path).Bool()
		if got := map[bool]string{true: "true", false: "false"}[b] + " " + map[bool]string{true: "true", false: "false"}[ok]; got != want {
			t.Errorf("%s is %s", path, got)
		}
	}
	for path, want := range map[string]bool{"s": true, "empty": false, "t": true, "f": false, "n": false, "i": true, "list": true, "none": false, "o": true, "obj": false, "missing": false} {
		if got := v.Get(path).Filled(); got != want {
			t.Errorf("%s filled: %v", path, got)
		}
	}
	if v.Get("n").Given() || !v.Get("n").Exists() || !v.Get("f").Given() || v.Get("missing").Given() {
		t.Error("null, false and absent are mixed up")
	}
}

// TestHead: the beginning of a long string, whole escapes only.
func TestHead(t *testing.T) {
	for _, row := range []struct {
		in    string
		limit int
		want  string
	}{
		{`"abcdef"`, 6, "abcdef"}, {`"abcdef"`, 3, "abc"}, {`"ab\ncd"`, 3, "ab"}, {`"ab\u00e9d"`, 5, "ab"}, {`"\\\\x"`, 4, `\\`}, {`7`, 3, ""},
	} {
		if got := jsonedit.Read([]byte(row.in)).Head(row.limit); got != row.want {
			t.Errorf("%s up to %d is %q", row.in, row.limit, got)
		}
	}
}

func TestCursor(t *testing.T) {
	each := jsonedit.Read([]byte(` { "a" : [1] , "b":{"c":[true,"]"]},"d":7 } rest`)).Each()
	var seen []string
	for each.Next() {
		if each.Is("b") { // go in and come back
			inner := each.Enter()
			for inner.Next() {
				seen = append(seen, "in "+string(inner.Name()))
			}
			each.Leave(&inner)
			continue
		}
		seen = append(seen, string(each.Name())+"="+string(each.Value().Bytes()))
	}
	if got := strings.Join(seen, " "); got != "a=[1] in c d=7" {
		t.Errorf("saw %s", got)
	}
	if each.Next() {
		t.Error("a cursor at its end goes on")
	}
	scalar := jsonedit.Read([]byte(`[5]`)).Each()
	scalar.Next()
	if inside := scalar.Enter(); inside.Next() {
		t.Error("there is something inside of a number")
	} else if scalar.Leave(&inside); scalar.Next() {
		t.Error("leaving a number loses the place")
	}
}

func TestVoid(t *testing.T) {
	for in, want := range map[string]bool{
		`{}`: true, `{"usage":null}`: true, `{"usage": null,"x":{"usage":null}}`: true, `{"usage":{}}`: false,
		`{"usage":null,"x":{"usage":1}}`: false, `{"x":"usage"}`: false, `{"x":"\"usage\":{}"}`: true, `{"x":"say \"usage\":1"}`: true,
	} {
		if got := jsonedit.Void([]byte(in), `"usage"`); got != want {
			t.Errorf("%s: %v", in, got)
		}
	}
}

// walk reads everything that a value gives, and its depth.
func walk(t *testing.T, v jsonedit.Value, raw []byte, depth int) {
	if depth > 200 {
		return
	}
	if len(v.Bytes()) > len(raw) || len(v.Text()) > 4*len(raw) || len(v.Head(3)) > 9 {
		t.Fatal("a value is larger than what it was read from")
	}
	v.Int()
	v.Bool()
	v.Is("x")
	for each := v.Each(); each.Next(); {
		each.Name()
		each.Is("a")
		walk(t, each.Value(), raw, depth+1)
	}
}

// FuzzRead: reading broken JSON is bounded and never fails; reading valid JSON
// finds what another reader finds.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{sample, `{"a":`, `[[[[`, `{"a" "b"}`, `{"a":1,,"b":2}`, `"\`, `[1,2,}`, `{"a":{"b":]}`, "\\\"\\"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v := jsonedit.Read(in)
		walk(t, v, in, 0)
		d, err := jsonedit.Parse(in)
		if err != nil {
			return
		}
		entered := v.Each()
		gjson.ParseBytes(in).ForEach(func(key, value gjson.Result) bool {
			if !entered.Next() || string(entered.Name()) != key.Str {
				t.Fatalf("the member %q is missing", key.Str)
			}
			inner := entered.Enter()
			for inner.Next() {
				inner.Kind()
			}
			entered.Leave(&inner)
			got := d.Value(key.Str)
			if strings.TrimSpace(value.Raw) != string(got.Bytes()) || value.Type == gjson.String && value.Str != got.Text() {
				t.Fatalf("%q is %q, want %q", key.Str, got.Bytes(), value.Raw)
			}
			return true
		})
		if entered.Next() {
			t.Fatal("there is a member too many")
		}
	})
}
