package codectest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/sse"
)

// FuzzStream feeds a codec what no provider should send: it must say something
// consistent, within bounds, and not break.
func FuzzStream(f *testing.F, c Codec, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s, r := c.Follow(wire.ByProtocol), sse.NewReader(bytes.NewReader(in), 0)
		ended := false
		for {
			e, err := r.Next()
			if err == io.EOF {
				break
			}
			step := s.Event(e.Name, e.Data)
			if ended && step != (wire.Step{}) {
				t.Fatalf("something after the terminal event: %+v", step)
			}
			if (step.Err != nil) != (step.Status == wire.Failed) {
				t.Fatalf("an error and a status that do not fit: %+v", step)
			}
			ended = ended || step.Status != wire.Open
		}
		check(t, s.Answer())
		if ended && s.End() == wire.Open {
			t.Fatal("an answer at its end counts as cut")
		}
	})
}

// FuzzRead is FuzzStream for JSON answers.
func FuzzRead(f *testing.F, c Codec, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		answer, err := c.Read(in, wire.ByProtocol)
		if err != nil && answer != (wire.Answer{}) {
			t.Fatalf("an answer beside an error: %+v", answer)
		}
		check(t, answer)
	})
}

// check holds of every answer.
func check(t *testing.T, a wire.Answer) {
	if len(a.ID) > 3*wire.MaxName || len(a.Model) > 3*wire.MaxName {
		t.Fatal("an id or a name beyond its bound")
	}
	if (a.Err != nil) != (a.Status == wire.Failed) {
		t.Fatalf("an error and a status that do not fit: %+v", a)
	}
	if e := a.Err; e != nil {
		if len(e.Message) > 8<<10 || strings.ContainsAny(e.Message+e.Type+e.Code+e.Param, "\r\n\x00") {
			t.Fatalf("an error that is not bounded and clean: %q", e.Message)
		}
		e.Class()
	}
}

// Allocations checks that an event in the middle of a stream costs nothing.
func Allocations(t *testing.T, c Codec, before []string, event string) {
	s := c.Follow(wire.ByProtocol)
	for _, data := range before {
		s.Event(nil, []byte(data))
	}
	data := []byte(event)
	if step := s.Event(nil, data); !step.Output || step.Status != wire.Open {
		t.Fatalf("the event means %+v", step)
	}
	if allocs := testing.AllocsPerRun(100, func() { s.Event(nil, data) }); allocs > 0 {
		t.Errorf("%v allocations per event", allocs)
	}
}
