package codectest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
)

// Dialogs checks that a dialog which is written and read again is the same but
// for the documented losses.
func (n Neutral) Dialogs(t *testing.T, client wire.Protocol) {
	rapid.Check(t, func(t *rapid.T) {
		d := Dialog(t, client)
		before := DescribeDialog(d)
		body, _, p := n.WriteDialog(d)
		if p != nil {
			t.Fatal(p)
		}
		if DescribeDialog(d) != before {
			t.Fatal("writing has changed the dialog")
		}
		again, p := n.read(t, body)
		if p != nil {
			t.Fatalf("%v\n%s", p, body)
		}
		if len(again.Dropped) > 0 {
			t.Fatalf("what was written is not all understood: %v", again.Dropped)
		}
		n.Known(d)
		if diff := cmp.Diff(DescribeDialog(d), DescribeDialog(again)); diff != "" {
			t.Fatalf("%s\n%s", diff, body)
		}
	})
}

// Replies checks the same of answers, in JSON and as streams, and that both say
// the same.
func (n Neutral) Replies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Reply(t)
		deltas := Pieces(t, r)
		body := n.WriteReply(r)
		if _, err := jsonedit.Parse(body); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		again, err := n.ReadReply(body, wire.ByProtocol)
		if err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		stream := n.write(deltas)
		n.oracle(t, stream)
		streamed := Assemble(n.translate(t, string(stream)))
		n.KnownReply(&r)
		if diff := cmp.Diff(DescribeReply(r), DescribeReply(again)); diff != "" {
			t.Fatalf("in JSON: %s\n%s", diff, body)
		}
		if diff := cmp.Diff(DescribeReply(r), DescribeReply(streamed)); diff != "" {
			t.Fatalf("streamed: %s\n%s", diff, stream)
		}
	})
}

// FuzzDialog feeds a codec what no client should send: what it takes it must be
// able to write and to read again, for itself and for others' clients alike.
func (n Neutral) FuzzDialog(f *testing.F, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		facts, p := wire.Inspect(n.Endpoint, in)
		if p != nil {
			return
		}
		d, p := n.ReadDialog(facts)
		if p != nil {
			if p.Status != 400 || len(p.Param) > 64 {
				t.Fatalf("refused with %+v", p)
			}
			return
		}
		for _, client := range []wire.Protocol{wire.Chat, wire.Responses, wire.Messages} {
			d.Client = client
			body, dropped, p := n.WriteDialog(d)
			if p != nil {
				continue
			}
			if len(body) > 4096+12*len(in) || len(dropped) > 128 {
				t.Fatalf("%d bytes and %d notes out of %d bytes", len(body), len(dropped), len(in))
			}
			if _, err := jsonedit.Parse(body); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
		}
	})
}

// FuzzReply is FuzzDialog for answers.
func (n Neutral) FuzzReply(f *testing.F, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := n.ReadReply(in, wire.ByProtocol)
		if err != nil {
			return
		}
		body := n.WriteReply(r)
		if _, err := jsonedit.Parse(body); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		if _, err := n.ReadReply(body, wire.ByProtocol); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
	})
}

// FuzzDeltas feeds a codec what no upstream should send: its deltas keep the
// rules, and what they become is a whole answer.
func (n Neutral) FuzzDeltas(f *testing.F, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		d, r := n.Deltas(wire.ByProtocol), sse.NewReader(bytes.NewReader(in), 0)
		var deltas []wire.Delta
		for {
			e, err := r.Next()
			if err == io.EOF {
				break
			}
			deltas = d.Event(e.Name, e.Data, deltas)
		}
		deltas = d.End(deltas)
		Assemble(deltas)
		stream := n.write(deltas)
		if strings.Count(string(stream), "\n") > 64*(len(in)+16) {
			t.Fatalf("%d bytes out of %d", len(stream), len(in))
		}
		n.oracle(t, stream)
	})
}
