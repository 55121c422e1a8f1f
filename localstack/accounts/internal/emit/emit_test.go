package emit_test

import (
	"math"
	"testing"

	"holdfast/localstack/accounts/internal/emit"
)

func TestUpto(t *testing.T) {
	e := &emit.Events{}
	for _, kind := range "pooxoe" { // preamble, output, output, something, output, end
		e.Bytes = append(e.Bytes, byte(kind), '\n')
		e.End(kind == 'o')
	}
	for after, want := range map[int]int{-1: 0, 0: 1, 1: 2, 2: 4, 3: 5, 99: 5, math.MaxInt: 5} {
		if got := e.Upto(after); got != want {
			t.Errorf("after %d outputs: %d events leave, want %d", after, got, want)
		}
	}
	if got := string(e.Event(3)); got != "x\n" {
		t.Errorf("the fourth event is %q", got)
	}
}
