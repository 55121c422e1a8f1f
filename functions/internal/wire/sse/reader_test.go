package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	oracle "github.com/tmaxmax/go-sse"

	"holdfast/functions/internal/wire/sse"
)

// event is an Event as text, with whether there was data at all.
type event struct {
	Raw, Name, Data string
	HasData         bool
	Partial         bool
}

// readAll copies every event of a source.
func readAll(from io.Reader, max int) (events []event, err error) {
	r := sse.NewReader(from, max)
	for {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, event{string(e.Raw), string(e.Name), string(e.Data), e.Data != nil, e.Partial})
	}
}

func TestReader(t *testing.T) {
	for _, row := range []struct {
		name, in string
		want     []event
	}{
		{"plain", "data: a\n\ndata: b\n\n", []event{
			{Raw: "data: a\n\n", Data: "a", HasData: true}, {Raw: "data: b\n\n", Data: "b", HasData: true}}},
		{"named, with id and retry", "event: x\nid: 7\nretry: 3\ndata: {}\n\n", []event{
			{Raw: "event: x\nid: 7\nretry: 3\ndata: {}\n\n", Name: "x", Data: "{}", HasData: true}}},
		{"CRLF", "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []event{
			{Raw: "event: x\r\ndata: a\r\n\r\n", Name: "x", Data: "a", HasData: true},
			{Raw: "data: b\r\n\r\n", Data: "b", HasData: true}}},
		{"CR", "data: a\r\rdata: b\r\r", []event{
			{Raw: "data: a\r\r", Data: "a", HasData: true}, {Raw: "data: b\r\r", Data: "b", HasData: true}}},
		{"several data lines", "data: a\ndata:b\ndata\ndata:  c\n\n", []event{
			{Raw: "data: a\ndata:b\ndata\ndata:  c\n\n", Data: "a\nb\n\n c", HasData: true}}},
		{"comments", ": keep-alive\n\n: before\ndata: a\n\n", []event{
			{Raw: ": keep-alive\n\n"}, {Raw: ": before\ndata: a\n\n", Data: "a", HasData: true}}},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []event{{Raw: "\xef\xbb\xbfdata: a\n\n", Data: "a", HasData: true}}},
		{"mark only at the beginning", "data: a\n\n\xef\xbb\xbfdata: b\n\n", []event{
			{Raw: "data: a\n\n", Data: "a", HasData: true}, {Raw: "\xef\xbb\xbfdata: b\n\n"}}},
		{"blank lines", "\n\ndata: a\n\n\n", []event{
			{Raw: "\n"}, {Raw: "\n"}, {Raw: "data: a\n\n", Data: "a", HasData: true}, {Raw: "\n"}}},
		{"no end", "data: a\n\ndata: b", []event{
			{Raw: "data: a\n\n", Data: "a", HasData: true}, {Raw: "data: b", Data: "b", HasData: true, Partial: true}}},
		{"no blank line", "data: [DONE]\n", []event{{Raw: "data: [DONE]\n", Data: "[DONE]", HasData: true, Partial: true}}},
		{"empty data", "data\n\ndata:\n\n", []event{{Raw: "data\n\n", HasData: true}, {Raw: "data:\n\n", HasData: true}}},
		{"unknown fields", "foo: bar\ndatax: no\nevents: no\n\n", []event{{Raw: "foo: bar\ndatax: no\nevents: no\n\n"}}},
		{"last event field counts", "event: a\nevent: b\ndata: x\n\n", []event{
			{Raw: "event: a\nevent: b\ndata: x\n\n", Name: "b", Data: "x", HasData: true}}},
		{"nothing", "", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := readAll(strings.NewReader(row.in), 0)
			if err != io.EOF {
				t.Fatalf("the stream ended with %v", err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSplits: what an event says does not depend on how its bytes arrive. A CRLF
// whose halves arrive apart may leave its LF to the next event's Raw.
func TestSplits(t *testing.T) {
	in := "\xef\xbb\xbf: hi\r\n\r\nevent: x\r\ndata: a\r\ndata: b\r\n\r\ndata: c\n\nid: 1\rdata: d\r\rdata: e"
	whole, _ := readAll(strings.NewReader(in), 0)
	bytewise, err := readAll(iotest.OneByteReader(strings.NewReader(in)), 0)
	if err != io.EOF {
		t.Fatal(err)
	}
	if diff := cmp.Diff(said(whole), said(bytewise)); diff != "" {
		t.Error(diff)
	}
	if raw := raws(bytewise); raw != in {
		t.Errorf("the bytes changed: %q", raw)
	}
}

// said is what the events say, apart from their bytes; blocks that say nothing
// are left out.
func said(events []event) (out []event) {
	for _, e := range events {
		if e.Name != "" || e.Data != "" {
			out = append(out, event{Name: e.Name, Data: e.Data})
		}
	}
	return out
}

func raws(events []event) string {
	var out strings.Builder
	for _, e := range events {
		out.WriteString(e.Raw)
	}
	return out.String()
}

// TestDelivery: an event is there as soon as its blank line is, though the
// source gives no more; Buffered says so without reading.
func TestDelivery(t *testing.T) {
	from, to := io.Pipe()
	defer from.Close()
	r := sse.NewReader(from, 0)
	if r.Buffered() {
		t.Error("an event is buffered before any byte came")
	}
	go to.Write([]byte("data: a\r\n\r\ndata: b\n\ndata: c"))
	e, err := r.Next()
	if err != nil || string(e.Data) != "a" {
		t.Fatalf("got %v, %v", e, err)
	}
	if !r.Buffered() {
		t.Error("the second event is not buffered")
	}
	if e, _ = r.Next(); string(e.Data) != "b" {
		t.Errorf("got %q", e.Data)
	}
	if r.Buffered() {
		t.Error("half an event counts as buffered")
	}
	go to.Write([]byte("d\n\n"))
	if e, _ = r.Next(); string(e.Data) != "cd" || string(e.Raw) != "data: cd\n\n" {
		t.Errorf("got %q", e.Raw)
	}
}

func TestBound(t *testing.T) {
	exact := "data: 1234\n\n"
	events, err := readAll(strings.NewReader(exact+exact), len(exact))
	if err != io.EOF || len(events) != 2 {
		t.Errorf("events at the bound: %d, %v", len(events), err)
	}
	events, err = readAll(strings.NewReader(exact+"data: 12345\n\n"+exact), len(exact))
	if !errors.Is(err, sse.ErrTooLarge) || len(events) != 1 {
		t.Errorf("an event above the bound: %d events, %v", len(events), err)
	}
	r := sse.NewReader(strings.NewReader(strings.Repeat("x", 100)+"\n\n"+exact), 50)
	for range 3 { // for ever
		if _, err := r.Next(); !errors.Is(err, sse.ErrTooLarge) {
			t.Errorf("got %v", err)
		}
	}
}

// TestBrokenSource: what was whole is told, the rest is not, and the source's
// error stays.
func TestBrokenSource(t *testing.T) {
	broken := errors.New("reset")
	source := io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken))
	events, err := readAll(source, 0)
	if !errors.Is(err, broken) || len(events) != 1 || events[0].Data != "a" {
		t.Errorf("got %v, %v", events, err)
	}
	_, err = readAll(silent{}, 0)
	if !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source that gives nothing: %v", err)
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// FuzzReader: the bytes come back as they were, the splits do not matter, and
// the events are those of an independent reader.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "event: x\r\ndata: 1\r\n\r\n", "\xef\xbb\xbfdata: a\r\r", ": c\n\ndata\n\n", "\r\n\r\n\n\r", "data: a\rdata: b\n\r\ndata",
	} {
		f.Add([]byte(seed), uint64(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, split uint64) {
		whole, err := readAll(bytes.NewReader(in), 0)
		if err != io.EOF {
			t.Fatal(err)
		}
		parts, err := readAll(&chopper{in, split}, 0)
		if err != io.EOF {
			t.Fatal(err)
		}
		if raws(whole) != string(in) || raws(parts) != string(in) {
			t.Fatalf("the bytes changed: %q, %q", raws(whole), raws(parts))
		}
		if diff := cmp.Diff(said(whole), said(parts)); diff != "" {
			t.Fatal(diff)
		}
		if bytes.LastIndex(in, []byte("\ufeff")) > 0 {
			return // the other reader takes a mark after blank lines for one at the beginning
		}
		if diff := cmp.Diff(expected(t, in), said(finished(whole))); diff != "" {
			t.Fatal(diff)
		}
	})
}

// finished leaves a last event without its end out, as the standard says.
func finished(events []event) []event {
	if n := len(events); n > 0 && events[n-1].Partial {
		return events[:n-1]
	}
	return events
}

func expected(t *testing.T, in []byte) []event {
	var out []event
	for e, err := range oracle.Read(bytes.NewReader(in), &oracle.ReadConfig{MaxEventSize: 1 << 20}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, event{Name: e.Type, Data: e.Data})
	}
	return said(out)
}

// chopper gives its bytes in pieces whose sizes follow from a number.
type chopper struct {
	rest []byte
	rule uint64
}

func (c *chopper) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	c.rule = c.rule*6364136223846793005 + 1442695040888963407
	n := copy(p, c.rest[:min(len(c.rest), 1+int(c.rule>>61))])
	c.rest = c.rest[n:]
	return n, nil
}

// stream is an answer of 200 events as providers send it.
func stream() []byte {
	return []byte(strings.Repeat(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}`+"\n\n", 200))
}

func BenchmarkReader200(b *testing.B) {
	in := stream()
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	source := bytes.NewReader(nil)
	for b.Loop() {
		source.Reset(in)
		r := sse.NewReader(source, 0)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}

// TestAllocations: a stream costs its reader and its buffer, its events nothing.
func TestAllocations(t *testing.T) {
	in := stream()
	source := bytes.NewReader(nil)
	allocs := testing.AllocsPerRun(50, func() {
		source.Reset(in)
		r := sse.NewReader(source, 0)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	})
	if allocs > 2 {
		t.Errorf("%v allocations for 200 events, want 2 for the reader", allocs)
	}
}
