package bridge_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gosse "github.com/tmaxmax/go-sse"
	"golang.org/x/tools/txtar"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/bridge"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
)

var update = flag.Bool("update", false, "write what is expected of the fixtures anew")

// pairs are the six pairs of protocols that differ.
func pairs() (all [][2]wire.Protocol) {
	protocols := []wire.Protocol{wire.Chat, wire.Responses, wire.Messages}
	for _, from := range protocols {
		for _, to := range protocols {
			if from != to {
				all = append(all, [2]wire.Protocol{from, to})
			}
		}
	}
	return all
}

func options(client wire.Protocol) bridge.Options {
	id := map[wire.Protocol]string{wire.Chat: "chatcmpl-ab12", wire.Responses: "resp_ab12", wire.Messages: "msg_ab12"}[client]
	return bridge.Options{Model: "upstream-model", Asked: "asked-model",
		Stamp: wire.Stamp{ID: id, RequestID: "req-1", At: time.Unix(1796010127, 0)}}
}

type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func translate(t fataler, client, target wire.Protocol, body string, o bridge.Options) *bridge.Translation {
	t.Helper()
	f, p := wire.Inspect(string(client), []byte(body))
	if p != nil {
		t.Fatal(p.Message)
	}
	out, p := bridge.Request(f, target, o)
	if p != nil {
		t.Fatalf("%s (%s)\n%s", p.Message, p.Param, body)
	}
	if _, err := jsonedit.Parse(out.Body); err != nil {
		t.Fatalf("%v\n%s", err, out.Body)
	}
	return out
}

// TestFixtures: what each pair makes of a request and of its answers, byte for
// byte. A fixture holds a request and, whole and streamed, an answer of the
// target's; beside them what becomes of them.
func TestFixtures(t *testing.T) {
	for _, pair := range pairs() {
		files, err := filepath.Glob("testdata/" + string(pair[0]) + "-" + string(pair[1]) + "/*.txtar")
		if err != nil || len(files) < 12 {
			t.Fatalf("%v: %d fixtures, %v", pair, len(files), err)
		}
		for _, file := range files {
			t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".txtar"), func(t *testing.T) { fixture(t, file, pair) })
		}
	}
}

func fixture(t *testing.T, file string, pair [2]wire.Protocol) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]string{}
	for _, f := range archive.Files {
		given[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
	}
	tr := translate(t, pair[0], pair[1], given["request"], options(pair[0]))
	got := map[string]string{"upstream": string(tr.Body), "dropped": strings.Join(tr.Dropped, ", ")}
	if response, ok := given["response"]; ok {
		body, answer, err := tr.Answer([]byte(response))
		if err != nil {
			t.Fatal(err)
		}
		got["client"] = string(body)
		wellFormed(t, body, answer)
	}
	if stream, ok := given["stream"]; ok {
		got["events"] = strings.TrimSuffix(relay(t, tr, stream), "\n")
	}
	if whole, streamed := got["client"], got["events"]; whole != "" && streamed != "" {
		if diff := cmp.Diff(telling(readReply(t, pair[0], []byte(whole))), telling(readStream(t, pair[0], []byte(streamed+"\n")))); diff != "" && !strings.HasSuffix(file, "usage-unasked.txtar") {
			t.Errorf("whole and streamed differ: %s", diff)
		}
	}
	if *update {
		rewrite(t, file, archive, got)
		return
	}
	for name, text := range got {
		if diff := cmp.Diff(given[name], text); diff != "" {
			t.Errorf("%s: %s\nin full:\n%s", name, diff, text)
		}
	}
}

// wellFormed checks a whole answer against what the exchange is told of it.
func wellFormed(t *testing.T, body []byte, answer wire.Answer) {
	t.Helper()
	if body == nil {
		if answer.Status != wire.Failed {
			t.Errorf("no body, and %+v", answer)
		}
		return
	}
	if _, err := jsonedit.Parse(body); err != nil {
		t.Errorf("%v\n%s", err, body)
	}
	if !jsonedit.Read(body).Get("id").Is(answer.ID) {
		t.Errorf("the answer is not %s", answer.ID)
	}
}

// relay runs a stream through a translation: a failure is told as the exchange
// tells it where the stream breaks off.
func relay(t *testing.T, tr *bridge.Translation, stream string) string {
	t.Helper()
	s, r := tr.Stream(), sse.NewReader(strings.NewReader(stream), 0)
	var out []byte
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		out = s.Event(out, e.Name, e.Data)
	}
	if s.Answer().Status == wire.Open {
		out = append(out, s.Failure(wire.Refuse(wire.UpstreamFailed), wire.Stamp{RequestID: "req-1", Model: "asked-model", At: time.Unix(1796010127, 0)})...)
	}
	oracle(t, out)
	return string(out)
}

// oracle reads a stream with another reader: it must see the same events.
func oracle(t fataler, stream []byte) {
	t.Helper()
	r := sse.NewReader(bytes.NewReader(stream), 0)
	for e, err := range gosse.Read(bytes.NewReader(stream), &gosse.ReadConfig{MaxEventSize: 64 << 20}) {
		if err != nil {
			t.Fatal(err)
		}
		own, err := r.Next()
		if err != nil || e.Type != string(own.Name) || e.Data != string(own.Data) {
			t.Fatalf("%q is read as %q %q: %v", own.Raw, e.Type, e.Data, err)
		}
		if e.Data != "[DONE]" && !jsonedit.Valid([]byte(e.Data)) {
			t.Fatalf("not JSON: %s", e.Data)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Fatalf("more events: %v", err)
	}
}

// rewrite puts what was got into a fixture.
func rewrite(t *testing.T, file string, archive *txtar.Archive, got map[string]string) {
	var files []txtar.File
	for _, f := range archive.Files {
		if _, made := got[f.Name]; made {
			continue
		}
		files = append(files, f)
		for _, next := range map[string][]string{"request": {"upstream", "dropped"}, "response": {"client"}, "stream": {"events"}}[f.Name] {
			files = append(files, txtar.File{Name: next, Data: []byte(got[next] + "\n")})
		}
	}
	archive.Files = files
	if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}
