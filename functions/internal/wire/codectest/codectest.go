// Package codectest is the one suite that every protocol's codec passes, so
// that the exchange may hold them behind one interface.
//
// What a codec says of answers is written in fixtures, txtar files in the
// codec's testdata: a stream or a response as a provider sends it, and beside it
// what every event means and what is known in the end.
package codectest

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/sse"
)

// Stream is what a codec's stream offers.
type Stream interface {
	Event(name, data []byte) wire.Step
	End() wire.Status
	Answer() wire.Answer
	Failure(*wire.Problem, wire.Stamp) []byte
}

// Codec is one protocol.
type Codec struct {
	Endpoint  string
	Follow    func(wire.Counting) Stream
	Read      func([]byte, wire.Counting) (wire.Answer, error)
	Rewrite   func(*wire.Facts, wire.Edits) wire.Rewritten
	ErrorBody func(*wire.Problem, string) []byte
	Heartbeat func() []byte
}

// Run runs the whole suite with the fixtures of testdata.
func Run(t *testing.T, c Codec) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { c.fixture(t, file) })
	}
	t.Run("rewrite", c.rewrite)
	t.Run("errors", c.errors)
}

// fixture checks one file: its answer, and what must hold of any.
func (c Codec) fixture(t *testing.T, file string) {
	parts := load(t, file)
	counting := wire.ByProtocol
	switch strings.TrimSpace(parts["counting"]) {
	case "inside":
		counting = wire.Inside
	case "outside":
		counting = wire.Outside
	}
	if response, ok := parts["response"]; ok {
		answer, err := c.Read([]byte(response), counting)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, parts["want"], describe(answer))
		return
	}
	stream := parts["stream"]
	events, said := c.follow(t, strings.NewReader(stream), counting)
	compare(t, parts["want"], said)
	_, bytewise := c.follow(t, iotest.OneByteReader(strings.NewReader(stream)), counting)
	compare(t, said, bytewise)
	_, crlf := c.follow(t, strings.NewReader(strings.ReplaceAll(stream, "\n", "\r\n")), counting)
	compare(t, said, crlf)
	c.breakOff(t, events, counting)
}

func load(t *testing.T, file string) map[string]string {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, f := range archive.Files {
		parts[f.Name] = string(f.Data)
	}
	return parts
}

func compare(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
		t.Errorf("%s\nin full:\n%s", diff, got)
	}
}

// event is a copy of an event's name and data.
type event struct{ name, data []byte }

// follow reads a stream and writes down what every event means.
func (c Codec) follow(t *testing.T, from io.Reader, counting wire.Counting) ([]event, string) {
	t.Helper()
	var events []event
	var steps []string
	s, r := c.Follow(counting), sse.NewReader(from, 0)
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(e.Raw)) == 0 {
			continue
		}
		events = append(events, event{bytes.Clone(e.Name), bytes.Clone(e.Data)})
		steps = append(steps, stepWords(s.Event(e.Name, e.Data)))
	}
	return events, fmt.Sprintf("steps: %s\nend: %s\n%s", strings.Join(steps, " "), statusWord(s.End()), describe(s.Answer()))
}

func stepWords(s wire.Step) string {
	var words []string
	for _, w := range []struct {
		word string
		is   bool
	}{{"output", s.Output}, {"closing", s.Closing}, {"usage", s.UsageOnly}, {statusWord(s.Status), s.Status != wire.Open}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, "+")
}

func statusWord(s wire.Status) string {
	return [...]string{"open", "completed", "incomplete", "failed"}[s]
}

func describe(a wire.Answer) string {
	out := fmt.Sprintf("answer: %s %s %s\n", a.ID, a.Model, statusWord(a.Status))
	if u := a.Usage; a.HasUsage {
		out += fmt.Sprintf("usage: input=%d read=%d write5m=%d write1h=%d output=%d reasoning=%d\n",
			u.Input, u.CacheRead, u.CacheWrite5m, u.CacheWrite1h, u.Output, u.Reasoning)
	}
	if e := a.Err; e != nil {
		out += fmt.Sprintf("error: %d type=%s code=%s class=%s %s\n", e.Status, e.Type, e.Code, e.Class(), e.Message)
	}
	return out
}

// breakOff breaks the stream off after each of its events: the failure must be
// read as a failure by whoever has read the events before, and a heartbeat as
// nothing.
func (c Codec) breakOff(t *testing.T, events []event, counting wire.Counting) {
	t.Helper()
	problem := wire.Refuse(wire.UpstreamFailed).Saying("Broken\r\ndata: forged\n\n: off.")
	stamp := wire.Stamp{RequestID: "req-1", Model: "asked", At: time.Unix(1e9, 0)}
	for n := range events {
		s := c.Follow(counting)
		for _, e := range events[:n] {
			s.Event(e.name, e.data)
		}
		if s.Answer().Status != wire.Open {
			return
		}
		out := append(c.Heartbeat(), s.Failure(problem, stamp)...)
		r := sse.NewReader(bytes.NewReader(out), 0)
		for _, want := range []wire.Status{wire.Open, wire.Failed} {
			e, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			step := s.Event(e.Name, e.Data)
			if step.Status != want || (step.Err != nil) != (want == wire.Failed) {
				t.Fatalf("after %d events %q means %v", n, e.Raw, step)
			}
			if want == wire.Failed && step.Err.Message != wire.Clean(problem.Message, 999) {
				t.Errorf("the message became %q", step.Err.Message)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("something follows the failure: %v", err)
		}
	}
}
