package responses_test

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/responses"
	"holdfast/functions/internal/wire/sse"
)

// fixture reads a file of cases; each is a run of sections.
func fixture(t *testing.T, name string) []txtar.File {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/portable/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	return archive.Files
}

// tell passes a stream through a Teller.
func tell(t testing.TB, from io.Reader) []byte {
	t.Helper()
	var teller responses.Teller
	var out []byte
	events := sse.NewReader(from, 0)
	for {
		e, err := events.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = teller.Event(out, *e)
	}
}

// ids puts the provider's ids back, in angle brackets, where the same id of ours
// stands for the same one of theirs everywhere.
type ids map[string]string

var made = regexp.MustCompile(`rs_hf_[0-9a-f]{32}`)

func (m ids) compare(t *testing.T, want, got string) {
	t.Helper()
	names := regexp.MustCompile(`<rs_\w+>`).FindAllString(want, -1)
	stand := made.FindAllString(got, -1)
	if len(names) != len(stand) {
		t.Fatalf("%d ids of ours, want %d in\n%s", len(stand), len(names), got)
	}
	for i, name := range names {
		if known := m[name]; known != "" && known != stand[i] {
			t.Errorf("%s is %s here, and %s elsewhere", name, stand[i], known)
		}
		m[name] = stand[i]
	}
	i := -1
	got = made.ReplaceAllStringFunc(got, func(string) string { i++; return names[i] })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTellerStream(t *testing.T) {
	files := fixture(t, "stream")
	stream, want := string(files[0].Data), string(files[1].Data)
	m := ids{}
	m.compare(t, want, string(tell(t, strings.NewReader(stream))))
	crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	m.compare(t, crlf(want), string(tell(t, strings.NewReader(crlf(stream)))))
	for name, other := range m {
		for twin, id := range m {
			if name != twin && id == other {
				t.Errorf("%s and %s are one", name, twin)
			}
		}
	}
}

func TestTellerBody(t *testing.T) {
	files := fixture(t, "body")
	for i := 0; i < len(files); i += 2 {
		got := new(responses.Teller).Body(files[i].Data)
		ids{}.compare(t, string(files[i+1].Data), string(got))
	}
}

func TestPortable(t *testing.T) {
	files := fixture(t, "input")
	for i := 0; i < len(files); i += 3 {
		if diff := cmp.Diff(string(files[i+1].Data), string(responses.Portable(files[i].Data))); diff != "" {
			t.Errorf("portable %d: %s", i/3, diff)
		}
		if diff := cmp.Diff(string(files[i+2].Data), string(responses.Rebuilt(files[i].Data))); diff != "" {
			t.Errorf("rebuilt %d: %s", i/3, diff)
		}
	}
}

// TestPortableRewrite shows the same inside of a request, whose other bytes stay,
// and the ids of answers staying where nobody stores them.
func TestPortableRewrite(t *testing.T) {
	const input = `[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"g"},{"type":"message","id":"msg_1","role":"assistant","content":"Hi"}]`
	for store, want := range map[string]string{
		``:                `[{"type":"message","role":"assistant","content":"Hi"}]`,
		`"store":true, `:  `[{"type":"message","role":"assistant","content":"Hi"}]`,
		`"store":false, `: `[{"type":"message","id":"msg_1","role":"assistant","content":"Hi"}]`,
	} {
		f, p := wire.Inspect(wire.EndpointResponses, []byte(`{ "model":"m", `+store+`"input" : `+input+` ,"x":1.0}`))
		if p != nil {
			t.Fatal(p)
		}
		got := responses.Rewrite(f, wire.Edits{Portable: true}).Body
		if full := `{ "model":"m", ` + store + `"input" : ` + want + ` ,"x":1.0}`; string(got) != full {
			t.Errorf("%s", cmp.Diff(full, string(got)))
		}
		if got := responses.Rewrite(f, wire.Edits{}).Body; !bytes.Equal(got, f.Body()) {
			t.Errorf("without being asked: %s", got)
		}
	}
}

// FuzzTeller: whatever a provider sends, no ciphertext of a reasoning item comes
// out, and what does not speak of reasoning comes out as it was.
func FuzzTeller(f *testing.F) {
	f.Add([]byte(`{"type":"response.output_item.done","item":{"type":"reasoning","id":"rs_1","encrypted_content":"secret"}}`))
	f.Add([]byte(`{"response":{"output":[{"type":"reasoning","encrypted_content":"secret"},{"type":"\u0072easoning","encrypted_content":"secret"}]}}`))
	f.Add([]byte("{\"item\":\n{\"type\":\"reasoning\",\"encrypted_content\":\"secret\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		stream := sse.AppendEvent(nil, "response.output_item.done", data)
		out := tell(t, bytes.NewReader(stream))
		if !bytes.Contains(data, []byte("reasoning")) && !bytes.Contains(data, []byte(`\u00`)) && !bytes.Contains(data, []byte("rs_hf_")) && !bytes.Equal(out, stream) {
			t.Fatalf("%q became %q", stream, out)
		}
		if !jsonedit.Valid(data) {
			return
		}
		_, told, _ := bytes.Cut(out, []byte("data: "))
		event, body := jsonedit.Read(told), jsonedit.Read(new(responses.Teller).Body(data))
		for _, item := range slices.Concat(itemsIn(event), outputIn(body)) {
			if item.Get("type").Is("reasoning") && item.Get("encrypted_content").Exists() {
				t.Fatalf("%q keeps %q", data, item.Bytes())
			}
		}
	})
}

// itemsIn are the items of an event, and those of a response in it.
func itemsIn(v jsonedit.Value) []jsonedit.Value {
	list := outputIn(v.Get("response"))
	for each := v.Each(); each.Next(); {
		if each.Is("item") {
			list = append(list, each.Value())
		}
	}
	return list
}

// outputIn are the items of a response or of a page.
func outputIn(v jsonedit.Value) []jsonedit.Value {
	var list []jsonedit.Value
	for each := v.Each(); each.Next(); {
		if each.Is("output") || each.Is("data") {
			for one := each.Value().Each(); one.Next(); {
				list = append(list, one.Value())
			}
		}
	}
	return list
}

// FuzzPortable: what is taken out leaves valid items, without anything sealed.
func FuzzPortable(f *testing.F) {
	for _, seed := range []string{`[]`, `[{"type":"reasoning","summary":[{"text":"x"}],"encrypted_content":"g"},{"id":"rs_hf_1"},{"type":"message","role":"assistant","id":"m"}]`, `"x"`, `[[],{},1]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if !jsonedit.Valid(bytes.TrimSpace(input)) { // two values that only look like one inside of a body
			return
		}
		_, err := jsonedit.Parse(append(append([]byte(`{"input":`), input...), '}'))
		for _, out := range [][]byte{responses.Portable(input), responses.Rebuilt(input)} {
			if err == nil && !jsonedit.Valid(bytes.TrimSpace(out)) {
				t.Fatalf("%q became %q", input, out)
			}
		}
		if err != nil {
			return
		}
		for each := jsonedit.Read(responses.Portable(input)).Each(); each.Next(); {
			if item := each.Value(); item.Get("type").Is("reasoning") && (item.Get("encrypted_content").Exists() || item.Get("id").Exists()) {
				t.Fatalf("%q keeps %q", input, item.Bytes())
			}
		}
	})
}

// TestTellerAllocations: a delta in the middle of a stream costs nothing.
func TestTellerAllocations(t *testing.T) {
	var teller responses.Teller
	raw := []byte("event: x\ndata: " + delta + "\n\n")
	e := sse.Event{Raw: raw, Data: []byte(delta)}
	dst := make([]byte, 0, 2*len(raw))
	if allocs := testing.AllocsPerRun(100, func() { dst = teller.Event(dst[:0], e) }); allocs > 0 || !bytes.Equal(dst, raw) {
		t.Errorf("%v allocations, %q", allocs, dst)
	}
}
