package jsonedit_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"holdfast/functions/internal/wire/jsonedit"
)

// patchRow is an edit of a document and what comes of it.
type patchRow struct {
	name, in string
	edit     func(*jsonedit.Document, *jsonedit.Patch)
	want     string
}

func (row patchRow) run(t *testing.T) {
	d, err := jsonedit.Parse([]byte(row.in))
	if err != nil {
		t.Fatal(err)
	}
	p := d.Edit()
	row.edit(d, p)
	if got := string(p.Bytes()); got != row.want {
		t.Errorf("got  %q\nwant %q", got, row.want)
	}
	if string(d.Raw()) != row.in {
		t.Error("the document itself has changed")
	}
	if string(p.Bytes()) != row.want {
		t.Error("writing out twice gives something else")
	}
}

const three = ` { "a" : 1 , "b":[1, 2] ,"c":{"d":"e"} } `

// TestPatch: edits of top-level members.
func TestPatch(t *testing.T) {
	set := func(name, value string) func(*jsonedit.Document, *jsonedit.Patch) {
		return func(_ *jsonedit.Document, p *jsonedit.Patch) { p.Set(name, []byte(value)) }
	}
	del := func(names ...string) func(*jsonedit.Document, *jsonedit.Patch) {
		return func(_ *jsonedit.Document, p *jsonedit.Patch) {
			for _, name := range names {
				p.Delete(name)
			}
		}
	}
	for _, row := range []patchRow{
		{"nothing", three, func(*jsonedit.Document, *jsonedit.Patch) {}, three},
		{"delete absent", three, del("x"), three},
		{"replace", three, set("b", `"new"`), ` { "a" : 1 , "b":"new" ,"c":{"d":"e"} } `},
		{"add", three, set("x", `true`), ` { "a" : 1 , "b":[1, 2] ,"c":{"d":"e"},"x":true } `},
		{"add to empty", ` { } `, set("x", `true`), ` {"x":true } `},
		{"delete first", three, del("a"), ` { "b":[1, 2] ,"c":{"d":"e"} } `},
		{"delete middle", three, del("b"), ` { "a" : 1 ,"c":{"d":"e"} } `},
		{"delete last", three, del("c"), ` { "a" : 1 , "b":[1, 2] } `},
		{"delete first two", three, del("b", "a"), ` { "c":{"d":"e"} } `},
		{"delete last two", three, del("b", "c"), ` { "a" : 1 } `},
		{"delete ends", three, del("c", "a"), ` { "b":[1, 2] } `},
		{"delete all", three, del("a", "b", "c"), ` {  } `},
		{"delete all and add", three, func(_ *jsonedit.Document, p *jsonedit.Patch) {
			del("a", "b", "c")(nil, p)
			p.SetText("x", "ä\n")
			p.Set("y", []byte("[]"))
		}, ` { "x":"ä\n","y":[] } `},
		{"last edit of a name counts", three, func(_ *jsonedit.Document, p *jsonedit.Patch) {
			p.Delete("a")
			p.Set("a", []byte("2"))
			p.Set("b", []byte("3"))
			p.Delete("b")
		}, ` { "a" : 2 ,"c":{"d":"e"} } `},
		{"escaped name", `{"\u0061":1}`, set("a", "2"), `{"\u0061":2}`},
	} {
		t.Run(row.name, row.run)
	}
}

// TestPatchNested: edits inside of members, beside others.
func TestPatchNested(t *testing.T) {
	for _, row := range []patchRow{
		{"several at once", three, func(d *jsonedit.Document, p *jsonedit.Patch) {
			p.Set("z", []byte("0"))
			p.SetIn(d.Value("c"), "d", []byte("1"))
			p.SetIn(d.Value("c"), "f", []byte("2"))
			p.Prune(d.Value("b"), func(c *jsonedit.Cursor) bool { return string(c.Value().Bytes()) == "1" })
			p.Delete("a")
		}, ` { "b":[2] ,"c":{"d":1,"f":2},"z":0 } `},
		{"set in an empty object", `{"a":{}}`, func(d *jsonedit.Document, p *jsonedit.Patch) { p.SetIn(d.Value("a"), "b", []byte("1")) }, `{"a":{"b":1}}`},
		{"prune by name", `{"a":{"x":1, "y":2, "z":3}}`, func(d *jsonedit.Document, p *jsonedit.Patch) {
			if kept := p.Prune(d.Value("a"), func(c *jsonedit.Cursor) bool { return !c.Is("y") }); kept != 1 {
				t.Errorf("%d kept", kept)
			}
		}, `{"a":{"y":2}}`},
		{"prune all", `{"a":[ 1 , 2 ]}`, func(d *jsonedit.Document, p *jsonedit.Patch) {
			p.Prune(d.Value("a"), func(*jsonedit.Cursor) bool { return true })
		}, `{"a":[  ]}`},
		{"edits inside of what goes are lost", `{"a":[{"b":1},{"c":[1,2]}],"d":{"e":1}}`, func(d *jsonedit.Document, p *jsonedit.Patch) {
			p.Prune(d.Value("a"), func(c *jsonedit.Cursor) bool {
				p.Prune(c.Value().Get("c"), func(*jsonedit.Cursor) bool { return true })
				p.Replace(c.Value().Get("b"), []byte("2"))
				return c.Value().Get("c").Exists()
			})
			p.Replace(d.Value("d").Get("e"), []byte("9"))
			p.Set("d", []byte("0"))
		}, `{"a":[{"b":2}],"d":0}`},
	} {
		t.Run(row.name, row.run)
	}
}

// FuzzPatch: an edited document is valid, holds the edit, and every other
// member is byte for byte as it was; sjson agrees on the outcome.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[1,2],"c":{}}`), "a", "x", "b")
	f.Add([]byte(` { "\u0061" : "x" } `), "a", "", "a")
	f.Add([]byte(`{}`), "model", "m", "model")
	f.Fuzz(func(t *testing.T, in []byte, set, value, drop string) {
		d, err := jsonedit.Parse(in)
		if err != nil {
			return
		}
		p := d.Edit()
		p.SetText(set, value)
		if drop != set {
			p.Delete(drop)
		}
		out := p.Bytes()
		after, err := jsonedit.Parse(out)
		if err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		name := string(jsonedit.Quote(set))
		if got, want := string(after.Value(decoded(t, name)).Bytes()), string(jsonedit.Quote(value)); got != want {
			t.Fatalf("%s is %s, want %s", name, got, want)
		}
		if drop != set && after.Value(drop).Exists() {
			t.Fatalf("%q is still there", drop)
		}
		d.Names(func(name []byte) bool {
			if n := string(name); n != set && n != drop && !bytes.Equal(after.Value(n).Bytes(), d.Value(n).Bytes()) {
				t.Fatalf("%q has changed", name)
			}
			return true
		})
		agree(t, in, out, set, value, drop)
	})
}

func decoded(t *testing.T, literal string) (text string) {
	if err := json.Unmarshal([]byte(literal), &text); err != nil {
		t.Fatal(err)
	}
	return text
}

// agree compares with sjson, for the names that its path language leaves alone.
func agree(t *testing.T, in, out []byte, set, value, drop string) {
	for _, name := range []string{set, drop} {
		if name == "" || !plainName(name) {
			return
		}
	}
	gjson.ParseBytes(in).ForEach(func(key, _ gjson.Result) bool { // sjson compares names as they are written
		if key.Str != key.Raw[1:len(key.Raw)-1] {
			in = nil
		}
		return true
	})
	if in == nil {
		return
	}
	want, err := sjson.SetBytes(in, set, decoded(t, string(jsonedit.Quote(value))))
	if err == nil && drop != set {
		want, err = sjson.DeleteBytes(want, drop)
	}
	if err != nil {
		return
	}
	var a, b map[string]any
	if json.Unmarshal(want, &a) != nil || json.Unmarshal(out, &b) != nil {
		return
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Fatalf("%q\n%s", in, diff)
	}
}

func plainName(name string) bool {
	for _, c := range name {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}
