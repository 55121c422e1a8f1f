package codectest

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tmaxmax "github.com/tmaxmax/go-sse"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/sse"
)

// Deltas is what a codec's translator of streams into the neutral form offers.
type Deltas interface {
	Event(name, data []byte, out []wire.Delta) []wire.Delta
	End(out []wire.Delta) []wire.Delta
}

// Events is what a codec's writer of streams offers.
type Events interface {
	Append(dst []byte, d wire.Delta) []byte
}

// Neutral is one protocol's codec of the neutral form. Known says what of a
// dialog and of a reply is left after being written and read again by the codec:
// the documented losses.
type Neutral struct {
	Endpoint    string
	ReadDialog  func(*wire.Facts) (*wire.Dialog, *wire.Problem)
	WriteDialog func(*wire.Dialog) ([]byte, []string, *wire.Problem)
	ReadReply   func([]byte, wire.Counting) (wire.Reply, error)
	WriteReply  func(wire.Reply) []byte
	Deltas      func(wire.Counting) Deltas
	Events      func(wire.Stamp, bool) Events
	Known       func(*wire.Dialog)
	KnownReply  func(*wire.Reply)
	Follow      func(wire.Counting) Stream
}

// Fixtures checks the files of testdata/neutral: a request as a client sends it,
// beside it the dialog that it is, and the request that the dialog becomes; or a
// stream and the answer in JSON, beside them the reply that both are, and the
// stream that it becomes.
func (n Neutral) Fixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/neutral/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			parts := load(t, file)
			if request, ok := parts["request"]; ok {
				n.request(t, request, parts)
			} else {
				n.stream(t, parts)
			}
		})
	}
}

// request checks a request's fixture.
func (n Neutral) request(t *testing.T, request string, parts map[string]string) {
	d, p := n.read(t, []byte(request))
	if p != nil {
		compare(t, parts["problem"], fmt.Sprintf("%d %s %s", p.Status, p.Code, p.Param))
		return
	}
	compare(t, parts["dialog"], DescribeDialog(d))
	body, dropped, p := n.WriteDialog(d)
	if p != nil {
		t.Fatal(p)
	}
	compare(t, parts["written"], string(body))
	compare(t, parts["dropped"], strings.Join(dropped, "\n"))
	again, p := n.read(t, body)
	if p != nil {
		t.Fatal(p)
	}
	n.Known(d)
	again.Dropped, d.Dropped = nil, nil
	if diff := cmp.Diff(DescribeDialog(d), DescribeDialog(again)); diff != "" {
		t.Errorf("not the same after writing and reading: %s", diff)
	}
}

func (n Neutral) read(t interface{ Fatal(...any) }, body []byte) (*wire.Dialog, *wire.Problem) {
	f, p := wire.Inspect(n.Endpoint, body)
	if p != nil {
		t.Fatal(p)
	}
	return n.ReadDialog(f)
}

// stamp signs the answers of tests.
func stamp() wire.Stamp {
	return wire.Stamp{RequestID: "req-1", ID: "id-1", Model: "asked", At: time.Unix(1796000000, 0)}
}

// stream checks a stream's fixture.
func (n Neutral) stream(t *testing.T, parts map[string]string) {
	deltas := n.translate(t, parts["stream"])
	reply := Assemble(deltas)
	compare(t, parts["reply"], DescribeReply(reply))
	if body, ok := parts["json"]; ok {
		whole, err := n.ReadReply([]byte(body), wire.ByProtocol)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, DescribeReply(reply), DescribeReply(whole))
	}
	written := n.write(deltas)
	compare(t, parts["written"], string(written))
	n.oracle(t, written)
	again := Assemble(n.translate(t, string(written)))
	n.KnownReply(&reply)
	again.ID, again.Model = reply.ID, reply.Model
	if diff := cmp.Diff(DescribeReply(reply), DescribeReply(again)); diff != "" {
		t.Errorf("not the same after writing and reading: %s", diff)
	}
}

// translate reads a stream into deltas.
func (n Neutral) translate(t interface{ Fatal(...any) }, stream string) []wire.Delta {
	d, r := n.Deltas(wire.ByProtocol), sse.NewReader(strings.NewReader(stream), 0)
	var out []wire.Delta
	for {
		e, err := r.Next()
		if err == io.EOF {
			return d.End(out)
		}
		if err != nil {
			t.Fatal(err)
		}
		out = d.Event(e.Name, e.Data, out)
	}
}

func (n Neutral) write(deltas []wire.Delta) (written []byte) {
	e := n.Events(stamp(), true)
	for _, d := range deltas {
		written = e.Append(written, d)
	}
	return written
}

// oracle reads a stream with another's reader: both must see the same events,
// and the codec's own Stream a whole answer.
func (n Neutral) oracle(t interface{ Fatalf(string, ...any) }, stream []byte) {
	type named struct{ name, data string }
	var ours, theirs []named
	s, r := n.Follow(wire.ByProtocol), sse.NewReader(bytes.NewReader(stream), 0)
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		s.Event(e.Name, e.Data)
		ours = append(ours, named{string(e.Name), string(e.Data)})
	}
	for e, err := range tmaxmax.Read(bytes.NewReader(stream), &tmaxmax.ReadConfig{MaxEventSize: 1 << 26}) {
		if err != nil {
			t.Fatalf("the oracle fails: %v", err)
		}
		theirs = append(theirs, named{e.Type, e.Data})
	}
	if diff := cmp.Diff(theirs, ours, cmp.AllowUnexported(named{})); diff != "" {
		t.Fatalf("read otherwise than by the oracle: %s", diff)
	}
	if status := s.Answer().Status; status != wire.Completed && status != wire.Incomplete {
		t.Fatalf("the written stream is no whole answer: %v", status)
	}
}

// Assemble puts a stream's deltas together to the answer that they are. It
// panics where they break the rules of deltas.
func Assemble(deltas []wire.Delta) (r wire.Reply) {
	at := map[int]int{}
	for _, d := range deltas {
		switch d.Kind {
		case wire.ReplyBegin:
			r.ID, r.Model = d.ID, d.Model
		case wire.PartBegin:
			if _, open := at[d.Index]; open {
				panic("a part begins twice")
			}
			at[d.Index] = len(r.Parts)
			r.Parts = append(r.Parts, d.Part)
		case wire.PartDelta, wire.PartSeal:
			i, open := at[d.Index]
			if !open {
				panic("a delta of a part that is not open")
			}
			add(&r.Parts[i], d)
		case wire.PartEnd:
			if _, open := at[d.Index]; !open {
				panic("a part ends that is not open")
			}
			delete(at, d.Index)
		case wire.ReplyStop:
			r.Stop, r.StopText = d.Stop, d.StopText
		case wire.ReplyUsage:
			r.Usage, r.HasUsage = d.Usage, true
		case wire.ReplyEnd:
			if len(at) > 0 || r.Stop == "" {
				panic("an end before the parts' ends or without a reason")
			}
		}
	}
	return r
}

func add(p *wire.Part, d wire.Delta) {
	switch {
	case d.Kind == wire.PartSeal:
		p.Signature += d.Part.Signature
		p.Sealed += d.Part.Sealed
	case p.Kind == wire.ToolCall:
		p.Arguments += d.Text
	default:
		p.Text += d.Text
	}
}
