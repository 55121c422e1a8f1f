package bridge_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/bridge"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
)

// seed adds a file of every fixture, with the number of its pair.
func seed(f *testing.F, name string) {
	for i, pair := range pairs() {
		files, err := filepath.Glob("testdata/" + string(pair[0]) + "-" + string(pair[1]) + "/*.txtar")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				f.Fatal(err)
			}
			for _, part := range archive.Files {
				if part.Name == name {
					f.Add(uint8(i), part.Data)
				}
			}
		}
	}
}

// inProportion bounds what is made of what was read.
func inProportion(t *testing.T, in, out []byte) {
	if len(out) > 64<<10+100*len(in) {
		t.Fatalf("%d bytes of %d", len(out), len(in))
	}
}

// FuzzRequest: whatever a client sends is refused with 400 or becomes a request
// of the target's.
func FuzzRequest(f *testing.F) {
	seed(f, "request")
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		pair := pairs()[int(which)%6]
		facts, p := wire.Inspect(string(pair[0]), body)
		if p != nil {
			return
		}
		tr, p := bridge.Request(facts, pair[1], options(pair[0]))
		if p != nil {
			if p.Status != 400 || p.Message == "" {
				t.Fatalf("%+v", p)
			}
			return
		}
		inProportion(t, body, tr.Body)
		if _, err := jsonedit.Parse(tr.Body); err != nil {
			t.Fatalf("%v\n%s\n%s", err, body, tr.Body)
		}
		for _, name := range tr.Dropped {
			if bytes.ContainsAny([]byte(name), "\r\n, \x00") || len(name) > 64 || name == "" {
				t.Fatalf("%q in a header", name)
			}
		}
	})
}

// FuzzAnswer: whatever a target answers becomes an answer of the client's
// protocol, or none.
func FuzzAnswer(f *testing.F) {
	seed(f, "response")
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		pair := pairs()[int(which)%6]
		out, answer, err := translate(t, pair[0], pair[1], minimal(pair[0], false), options(pair[0])).Answer(body)
		if err != nil || out == nil {
			return
		}
		inProportion(t, body, out)
		if _, err := jsonedit.Parse(out); err != nil || answer.ID != options(pair[0]).Stamp.ID {
			t.Fatalf("%v\n%s", err, out)
		}
	})
}

// FuzzStream: whatever a target streams becomes events of the client's protocol
// that any reader can read; after the end there is nothing.
func FuzzStream(f *testing.F) {
	seed(f, "stream")
	f.Fuzz(func(t *testing.T, which uint8, in []byte) {
		pair := pairs()[int(which)%6]
		s := translate(t, pair[0], pair[1], minimal(pair[0], true), options(pair[0])).Stream()
		var out []byte
		for r := sse.NewReader(bytes.NewReader(in), 0); ; {
			e, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return
			}
			ended, before := s.Answer().Status != wire.Open, len(out)
			if out = s.Event(out, e.Name, e.Data); ended && len(out) > before {
				t.Fatalf("after the end: %s", out[before:])
			}
		}
		if s.Answer().Status == wire.Open && which&64 > 0 {
			out = s.End(out)
		}
		if s.Answer().Status == wire.Open {
			out = append(out, s.Failure(wire.Refuse(wire.UpstreamFailed), options(pair[0]).Stamp)...)
		}
		inProportion(t, in, out)
		oracle(t, out)
	})
}
