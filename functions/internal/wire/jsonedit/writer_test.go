package jsonedit_test

import (
	"math"
	"testing"

	"holdfast/functions/internal/wire/jsonedit"
)

func TestWriter(t *testing.T) {
	var w jsonedit.Writer
	w.Object().Name("a").Array().Int(-1).Float(0.25).Float(math.NaN()).Bool(true).Raw(nil).Close()
	w.Name("b").Object().End().Name("c").Text("{\"\n\xff").Name("d").Raw([]byte(`[ 1 ]`)).Name("e").Array().Object().End().Object().End().Close().End()
	const want = `{"a":[-1,0.25,0,true,null],"b":{},"c":"{\"\n` + "\uFFFD" + `","d":[ 1 ],"e":[{},{}]}`
	if got := string(w.Bytes()); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	if got := string(w.Reset().Text("x").Bytes()); got != `"x"` {
		t.Errorf("after a reset: %s", got)
	}
	if allocs := testing.AllocsPerRun(100, func() { w.Reset().Object().Name("x").Text("some text").Name("n").Int(1).End() }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
