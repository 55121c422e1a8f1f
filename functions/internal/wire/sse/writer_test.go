package sse_test

import (
	"bytes"
	"strings"
	"testing"

	"holdfast/functions/internal/wire/sse"
)

func TestWrite(t *testing.T) {
	for _, row := range []struct{ name, got, want string }{
		{"event", string(sse.AppendEvent(nil, "ping", []byte("{}"))), "event: ping\ndata: {}\n\n"},
		{"no name", string(sse.AppendEvent([]byte("x"), "", []byte("{}"))), "xdata: {}\n\n"},
		{"lines", string(sse.AppendEvent(nil, "", []byte("a\nb\r\nc\rd"))), "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"no data", string(sse.AppendEvent(nil, "a", nil)), "event: a\ndata: \n\n"},
		{"comment", string(sse.AppendComment(nil, "keep-alive")), ": keep-alive\n\n"},
	} {
		if row.got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, row.got, row.want)
		}
	}
}

// FuzzWrite (X4): whatever a name, data or a comment holds, one event is written
// and nothing else gets into the stream.
func FuzzWrite(f *testing.F) {
	f.Add("error\ndata: forged\n\n", "a\r\n\r\nevent: forged\rdata: b\n")
	f.Fuzz(func(t *testing.T, name, data string) {
		out := sse.AppendEvent(nil, name, []byte(data))
		out = sse.AppendComment(out, data)
		events, _ := readAll(bytes.NewReader(out), 0)
		if len(events) != 2 || events[0].Partial || events[1].HasData || events[1].Name != "" {
			t.Fatalf("%q became %+v", out, events)
		}
		lines := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(data)
		if events[0].Data != lines {
			t.Fatalf("the data is %q, want %q", events[0].Data, lines)
		}
		clean := strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(name)
		if events[0].Name != clean {
			t.Fatalf("the name is %q, want %q", events[0].Name, clean)
		}
	})
}
