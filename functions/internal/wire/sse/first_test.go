package sse_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"holdfast/functions/internal/wire/sse"
)

// TestFirst: what a source begins with is told whatever pieces it comes in, and
// nothing of it is lost to those who read on.
func TestFirst(t *testing.T) {
	for text, want := range map[string]byte{
		"": 0, " \r\n\t": 0, "data: x\n\n": 'd', ": hi\n\n": ':', "\xef\xbb\xbfdata: x\n\n": 'd', " \n {\"a\":1}": '{', "<html>": '<',
		strings.Repeat("\n", 100): 0, strings.Repeat("\n", 100_000) + "{": 0, strings.Repeat("\n", 100) + "{": '{',
	} {
		for name, pieces := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with its end": iotest.DataErrReader,
		} {
			r := sse.NewReader(pieces(strings.NewReader(text)), 0)
			if got := r.First(); got != want {
				t.Errorf("%s, %.20q: begins with %q, want %q", name, text, got, want)
			}
			if all, err := io.ReadAll(r.Rest()); string(all) != text || err != nil {
				t.Errorf("%s, %.20q: %d bytes (%v) are left of %d", name, text, len(all), err, len(text))
			}
			r = sse.NewReader(pieces(strings.NewReader(text)), 0)
			_ = r.First()
			if all := raw(r); all != text {
				t.Errorf("%s, %.20q: events of %d bytes, want %d", name, text, len(all), len(text))
			}
		}
	}
	broken := errors.New("broken")
	r := sse.NewReader(iotest.ErrReader(broken), 0)
	if got := r.First(); got != 0 {
		t.Errorf("nothing begins with %q", got)
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Errorf("the source's error has become %v", err)
	}
}

// raw are the bytes of all events.
func raw(r *sse.Reader) string {
	var all strings.Builder
	for {
		event, err := r.Next()
		if err != nil {
			return all.String()
		}
		all.Write(event.Raw)
	}
}

// TestOpens: JSON and pages are told from events by their first byte.
func TestOpens(t *testing.T) {
	for _, text := range []string{"data: x", "event: x", "id: 1", "retry: 5", ": comment", " \n\xef\xbb\xbfdata"} {
		if !sse.Opens(sse.First([]byte(text))) {
			t.Errorf("%q begins no event", text)
		}
	}
	for _, text := range []string{"", "{}", " [1]", "true", "false", "null", `"text"`, "-1", "7", "<html>"} {
		if sse.Opens(sse.First([]byte(text))) {
			t.Errorf("%q begins an event", text)
		}
	}
}
