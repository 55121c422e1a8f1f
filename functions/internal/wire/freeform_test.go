package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/wire"
)

func TestFreeform(t *testing.T) {
	d := &wire.Dialog{Tools: []wire.Tool{{Name: "read"}, {Name: "patch", Custom: true}}}
	calls := []wire.Part{
		{Kind: wire.ToolCall, Name: "read", Arguments: `{"input":"a"}`}, {Kind: wire.ToolCall, Name: "patch", Arguments: wire.WrapFreeform("***\n\"")},
		{Kind: wire.ToolCall, Name: "patch", Arguments: "broken {"},
	}
	want := []wire.Part{calls[0], calls[1], calls[2]}
	want[1].Custom, want[1].Arguments = true, "***\n\""
	want[2].Custom = true
	r := wire.Reply{Parts: append([]wire.Part(nil), calls...)}
	d.Freeform().Reply(&r)
	if diff := cmp.Diff(want, r.Parts); diff != "" {
		t.Error(diff)
	}
	f := d.Freeform()
	var out []wire.Delta
	for i, call := range calls {
		said := call.Arguments
		call.Arguments = ""
		for _, delta := range []wire.Delta{{Kind: wire.PartBegin, Part: call}, {Kind: wire.PartDelta, Text: said[:3]}, {Kind: wire.PartDelta, Text: said[3:]}, {Kind: wire.PartEnd}} {
			delta.Index = i
			out = f.Delta(delta, out)
		}
	}
	got := make([]wire.Part, len(calls))
	for _, delta := range out {
		if delta.Kind == wire.PartBegin {
			got[delta.Index] = delta.Part
		}
		got[delta.Index].Arguments += delta.Text
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	none := (&wire.Dialog{}).Freeform()
	none.Reply(&r)
	if out := none.Delta(wire.Delta{Kind: wire.PartEnd}, nil); len(out) != 1 {
		t.Error("a delta is gone")
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
