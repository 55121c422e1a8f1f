package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/wire"
)

func TestFreeform(t *testing.T) {
	for _, text := range []string{"", "***\n\"", "{\"input\":\"x\"}", "\u00e9"} {
		if got := wire.UnwrapFreeform(wire.WrapFreeform(text)); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, other := range []string{"", "***", "broken {", `{"input":5}`, `{"input":"x"`, `{"text":"x"}`, `{"input":"x","input":"y"}`} {
		if got := wire.UnwrapFreeform(other); got != other {
			t.Errorf("%q became %q", other, got)
		}
	}
}

func TestSyntax(t *testing.T) {
	for grammar, want := range map[string][2]string{
		`{"type":"grammar","syntax":"lark","definition":"d"}`:              {"lark", "d"},
		`{"type":"grammar","grammar":{"syntax":"regex","definition":"d"}}`: {"regex", "d"},
		`{"type":"text"}`: {}, "": {},
	} {
		kind, definition := wire.Tool{Grammar: []byte(grammar)}.Syntax()
		if kind != want[0] || definition != want[1] {
			t.Errorf("%s: %q %q", grammar, kind, definition)
		}
	}
}

func TestMediaAt(t *testing.T) {
	for url, want := range map[string]*wire.Media{
		"https://x.example/a": {URL: "https://x.example/a"}, "http://x": {URL: "http://x"},
		"data:Image/PNG;charset=x;base64,aGk=": {Type: "image/png", Data: "aGk="},
		"data:image/png,hi":                    nil, "data:image/png;base64,": nil, "data:image/png;base64,a b": nil, "file:///a": nil, "": nil,
	} {
		got, ok := wire.MediaAt(url)
		if ok != (want != nil) || ok && !cmp.Equal(got, want) {
			t.Errorf("%q: %+v %v", url, got, ok)
		}
	}
	if text, ok := (&wire.Media{Type: "text/plain", Data: "aP8="}).OpenText(); !ok || text != "h\uFFFD" {
		t.Errorf("%q %v", text, ok)
	}
}
