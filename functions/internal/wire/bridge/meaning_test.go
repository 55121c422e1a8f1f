package bridge_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/chat"
	"holdfast/functions/internal/wire/messages"
	"holdfast/functions/internal/wire/responses"
	"holdfast/functions/internal/wire/sse"
)

// readDialog, writeDialog and so on are the codec of a protocol, as far as the
// tests speak it themselves.

func readDialog(t fataler, p wire.Protocol, body []byte) *wire.Dialog {
	t.Helper()
	f := inspect(t, p, body)
	read := map[wire.Protocol]func(*wire.Facts) (*wire.Dialog, *wire.Problem){
		wire.Chat: chat.ReadDialog, wire.Responses: responses.ReadDialog, wire.Messages: messages.ReadDialog}[p]
	d, problem := read(f)
	if problem != nil {
		t.Fatalf("%s (%s)\n%s", problem.Message, problem.Param, body)
	}
	return d
}

func inspect(t fataler, p wire.Protocol, body []byte) *wire.Facts {
	t.Helper()
	f, problem := wire.Inspect(string(p), body)
	if problem != nil {
		t.Fatalf("%s\n%s", problem.Message, body)
	}
	return f
}

func writeDialog(t fataler, p wire.Protocol, d *wire.Dialog) []byte {
	t.Helper()
	write := map[wire.Protocol]func(*wire.Dialog) ([]byte, []string, *wire.Problem){
		wire.Chat: chat.WriteDialog, wire.Responses: responses.WriteDialog, wire.Messages: messages.WriteDialog}[p]
	d.Client = p
	body, _, problem := write(d)
	if problem != nil {
		t.Fatalf("%s (%s)", problem.Message, problem.Param)
	}
	return body
}

func readReply(t fataler, p wire.Protocol, body []byte) wire.Reply {
	t.Helper()
	read := map[wire.Protocol]func([]byte, wire.Counting) (wire.Reply, error){
		wire.Chat: chat.ReadReply, wire.Responses: responses.ReadReply, wire.Messages: messages.ReadReply}[p]
	r, err := read(body, wire.ByProtocol)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return r
}

// echo is of a request that says nothing.
func echo(t fataler) *responses.Echo {
	return responses.NewEcho(inspect(t, wire.Responses, []byte(`{"model":"asked-model","input":"x"}`)))
}

func writeReply(t fataler, p wire.Protocol, r wire.Reply) []byte {
	switch p {
	case wire.Chat:
		return chat.WriteReply(r)
	case wire.Messages:
		return messages.WriteReply(r)
	}
	body, _ := responses.WriteReply(r, echo(t))
	return body
}

func writeStream(t fataler, p wire.Protocol, r wire.Reply) (out []byte) {
	var events interface {
		Append([]byte, wire.Delta) []byte
	}
	switch stamp := options(p).Stamp; p {
	case wire.Chat:
		events = chat.NewEvents(stamp, true)
	case wire.Messages:
		events = messages.NewEvents(stamp, true)
	default:
		events = responses.NewEvents(stamp, echo(t))
	}
	for _, d := range steps(r) {
		out = events.Append(out, d)
	}
	return out
}

func readStream(t fataler, p wire.Protocol, stream []byte) wire.Reply {
	t.Helper()
	var deltas interface {
		Event(name, data []byte, out []wire.Delta) []wire.Delta
	}
	switch p {
	case wire.Chat:
		deltas = chat.NewDeltas(wire.ByProtocol)
	case wire.Messages:
		deltas = messages.NewDeltas(wire.ByProtocol)
	default:
		deltas = responses.NewDeltas(wire.ByProtocol)
	}
	var all []wire.Delta
	for r := sse.NewReader(strings.NewReader(string(stream)), 0); ; {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		all = deltas.Event(e.Name, e.Data, all)
	}
	r := wire.Reply{}
	for _, d := range all {
		switch d.Kind {
		case wire.PartBegin:
			d.Part.Arguments = "" // told by what follows
			r.Parts = append(r.Parts, d.Part)
		case wire.PartDelta:
			if q := &r.Parts[d.Index]; q.Kind == wire.ToolCall {
				q.Arguments += d.Text
			} else {
				q.Text += d.Text
			}
		case wire.ReplyStop:
			r.Stop = d.Stop
		case wire.ReplyUsage:
			r.Usage, r.HasUsage = d.Usage, true
		}
	}
	if len(all) == 0 || all[len(all)-1].Kind != wire.ReplyEnd {
		t.Fatalf("the stream does not end\n%s", stream)
	}
	return r
}

// steps are the deltas by which an answer is streamed, a few bytes at a time.
func steps(r wire.Reply) []wire.Delta {
	out := []wire.Delta{{Kind: wire.ReplyBegin}}
	for i, p := range r.Parts {
		words := []rune(p.Text + p.Arguments)
		p.Text, p.Arguments = "", ""
		out = append(out, wire.Delta{Kind: wire.PartBegin, Index: i, Part: p})
		for len(words) > 0 {
			n := min(3, len(words))
			out = append(out, wire.Delta{Kind: wire.PartDelta, Index: i, Text: string(words[:n])})
			words = words[n:]
		}
		out = append(out, wire.Delta{Kind: wire.PartEnd, Index: i})
	}
	return append(out, wire.Delta{Kind: wire.ReplyStop, Stop: r.Stop},
		wire.Delta{Kind: wire.ReplyUsage, Usage: r.Usage}, wire.Delta{Kind: wire.ReplyEnd})
}

// meaning is what a dialog says, whatever the protocol divides it into.
func meaning(d *wire.Dialog) string {
	var out strings.Builder
	who := wire.Role("")
	for _, m := range d.Messages {
		role := m.Role
		if role == wire.Developer {
			role = wire.System
		}
		for _, p := range m.Parts {
			if role != who || p.Kind == wire.ToolResult {
				fmt.Fprintf(&out, "\n%s:", role)
				who = role
			}
			fmt.Fprintf(&out, " %s", said(p))
		}
	}
	for _, t := range d.Tools {
		strict := t.Strict != nil && *t.Strict
		fmt.Fprintf(&out, "\ntool %s %q %s %v", t.Name, t.Description, t.Schema, strict)
	}
	fmt.Fprintf(&out, "\nchoice %v max %d", d.Choice, d.MaxTokens)
	if d.Parallel != nil {
		fmt.Fprintf(&out, " parallel %v", *d.Parallel)
	}
	if d.Temperature != nil {
		fmt.Fprintf(&out, " temperature %v", *d.Temperature)
	}
	if d.Format != nil {
		fmt.Fprintf(&out, " format %s", d.Format.Schema)
	}
	fmt.Fprintf(&out, " user %s stream %v", d.User, d.Stream)
	return out.String()
}

// said is what a part says. A failed tool says so in words, since that is all
// that one of the protocols has.
func said(p wire.Part) string {
	switch p.Kind {
	case wire.Image:
		return "[image " + p.Media.Reference() + "]"
	case wire.Document:
		return "[document " + p.Media.Reference() + " " + p.Media.Name + "]"
	case wire.ToolCall:
		return "[call " + p.CallID + " " + p.Name + " " + p.Arguments + "]"
	case wire.ToolResult:
		out := ""
		for _, r := range p.Result {
			out += said(r)
		}
		if p.IsError && !strings.HasPrefix(out, "Error: ") {
			out = "Error: " + out
		}
		return "[result " + p.CallID + " " + out + "]"
	}
	return p.Text
}

func word() *rapid.Generator[string] { return rapid.StringMatching(`[a-zé"\\<]{1,8}`) }

// dialogs generates conversations of what all protocols have.
func dialogs() *rapid.Generator[*wire.Dialog] {
	return rapid.Custom(func(t *rapid.T) *wire.Dialog {
		d := &wire.Dialog{Model: "asked-model", Stream: rapid.Bool().Draw(t, "stream"), MaxTokens: rapid.Int64Range(16, 9999).Draw(t, "max")}
		if rapid.Bool().Draw(t, "system") {
			d.Messages = append(d.Messages, wire.Message{Role: wire.System, Parts: []wire.Part{text(word().Draw(t, "opening"))}})
		}
		tools := rapid.Bool().Draw(t, "tools")
		for turn := range rapid.IntRange(1, 4).Draw(t, "turns") {
			d.Messages = append(d.Messages, wire.Message{Role: wire.User, Parts: userParts(t)})
			answer := wire.Message{Role: wire.Assistant}
			if rapid.Bool().Draw(t, "words") || !tools {
				answer.Parts = append(answer.Parts, text(word().Draw(t, "answer")))
			}
			results := wire.Message{Role: wire.ToolRole}
			if tools {
				for n := range rapid.IntRange(1, 3).Draw(t, "calls") {
					id := fmt.Sprintf("call_%d_%d", turn, n)
					answer.Parts = append(answer.Parts, wire.Part{Kind: wire.ToolCall, CallID: id, Name: "f", Arguments: `{"a":` + quoted(word().Draw(t, "argument")) + `}`})
					results.Parts = append(results.Parts, wire.Part{Kind: wire.ToolResult, CallID: id,
						Result: []wire.Part{text(word().Draw(t, "result"))}, IsError: rapid.Bool().Draw(t, "failed")})
				}
			}
			d.Messages = append(d.Messages, answer)
			if tools {
				d.Messages = append(d.Messages, results)
			}
		}
		if !tools || rapid.Bool().Draw(t, "more") {
			d.Messages = append(d.Messages, wire.Message{Role: wire.User, Parts: userParts(t)})
		}
		settings(t, d, tools)
		return d
	})
}

func settings(t *rapid.T, d *wire.Dialog, tools bool) {
	if tools {
		yes := true
		d.Tools = []wire.Tool{{Name: "f", Description: word().Draw(t, "description"), Schema: []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`), Strict: &yes}}
		d.Choice = rapid.SampledFrom([]wire.ToolChoice{{}, {Mode: "auto"}, {Mode: "none"}, {Mode: "required"}, {Mode: "tool", Name: "f"}}).Draw(t, "choice")
		if parallel := rapid.Bool().Draw(t, "parallel"); d.Choice.Mode == "auto" {
			d.Parallel = &parallel
		}
	}
	if rapid.Bool().Draw(t, "warm") {
		warm := rapid.SampledFrom([]float64{0, 0.25, 1}).Draw(t, "temperature")
		d.Temperature = &warm
	}
	if rapid.Bool().Draw(t, "formatted") {
		d.Format = &wire.Format{Name: "n", Schema: []byte(`{"type":"object"}`)}
	}
	d.User = rapid.SampledFrom([]string{"", "u-1"}).Draw(t, "user")
}

func userParts(t *rapid.T) []wire.Part {
	parts := []wire.Part{text(word().Draw(t, "question"))}
	switch rapid.IntRange(0, 4).Draw(t, "shown") {
	case 0:
		parts = append(parts, wire.Part{Kind: wire.Image, Media: &wire.Media{Type: "image/png", Data: "aWk="}})
	case 1:
		parts = append(parts, wire.Part{Kind: wire.Image, Media: &wire.Media{URL: "https://images.example/a.png"}}, text(word().Draw(t, "caption")))
	case 2:
		parts = append(parts, wire.Part{Kind: wire.Document, Media: &wire.Media{Type: "application/pdf", Data: "cGRm", Name: "a.pdf"}})
	}
	return parts
}

func text(s string) wire.Part { return wire.Part{Kind: wire.Text, Text: s} }

func quoted(s string) string { return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(s) + `"` }

// TestThereAndBack: a request that goes from one protocol to another and back
// says what it said.
func TestThereAndBack(t *testing.T) {
	for _, pair := range pairs() {
		t.Run(string(pair[0])+"-"+string(pair[1]), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				body := writeDialog(t, pair[0], dialogs().Draw(t, "dialog"))
				o := options(pair[0])
				o.Model = "asked-model"
				there := translate(t, pair[0], pair[1], string(body), o)
				back := translate(t, pair[1], pair[0], string(there.Body), o)
				if diff := cmp.Diff(meaning(readDialog(t, pair[0], body)), meaning(readDialog(t, pair[0], back.Body))); diff != "" {
					t.Fatalf("%s\n%s\n%s\n%s", diff, body, there.Body, back.Body)
				}
			})
		})
	}
}

// TestAnswersSayTheSame: an answer says to the client what the target said,
// whole and streamed.
func TestAnswersSayTheSame(t *testing.T) {
	for _, pair := range pairs() {
		client, target := pair[0], pair[1]
		t.Run(string(client)+"-"+string(target), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := replies().Draw(t, "reply")
				whole := translate(t, client, target, minimal(client, false), options(client))
				body, answer, err := whole.Answer(writeReply(t, target, want))
				if err != nil {
					t.Fatal(err)
				}
				got := readReply(t, client, body)
				if diff := cmp.Diff(telling(want), telling(got)); diff != "" {
					t.Fatalf("whole: %s\n%s", diff, body)
				}
				tr := translate(t, client, target, minimal(client, true), options(client))
				s := tr.Stream()
				var out []byte
				for r := sse.NewReader(strings.NewReader(string(writeStream(t, target, want))), 0); ; {
					e, err := r.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					out = s.Event(out, e.Name, e.Data)
				}
				oracle(t, out)
				if diff := cmp.Diff(telling(want), telling(readStream(t, client, out))); diff != "" {
					t.Fatalf("streamed: %s\n%s", diff, out)
				}
				if diff := cmp.Diff(answer, s.Answer()); diff != "" {
					t.Fatalf("the exchange is told two things: %s", diff)
				}
				if answer.Usage != want.Usage {
					t.Fatalf("%+v, not %+v", answer.Usage, want.Usage)
				}
			})
		})
	}
}

// minimal is a request that asks for usage where that must be asked for.
func minimal(client wire.Protocol, stream bool) string {
	switch client {
	case wire.Chat:
		return fmt.Sprintf(`{"model":"asked-model","messages":[{"role":"user","content":"Hi"}],"stream":%v,"stream_options":{"include_usage":true}}`, stream)
	case wire.Responses:
		return fmt.Sprintf(`{"model":"asked-model","input":"Hi","stream":%v}`, stream)
	}
	return fmt.Sprintf(`{"model":"asked-model","max_tokens":99,"messages":[{"role":"user","content":"Hi"}],"stream":%v}`, stream)
}

// replies generates answers of what all protocols have, in the order that Chat
// has for them.
func replies() *rapid.Generator[wire.Reply] {
	return rapid.Custom(func(t *rapid.T) wire.Reply {
		r := wire.Reply{HasUsage: true, Stop: wire.StopEnd, Usage: wire.Usage{Input: rapid.Int64Range(1, 99).Draw(t, "input"),
			CacheRead: rapid.Int64Range(0, 99).Draw(t, "read"), CacheWrite5m: rapid.Int64Range(0, 9).Draw(t, "written"), Output: 7, Reasoning: rapid.Int64Range(0, 7).Draw(t, "thought")}}
		if rapid.Bool().Draw(t, "thinks") {
			r.Parts = append(r.Parts, wire.Part{Kind: wire.Reasoning, Text: word().Draw(t, "thoughts")})
		}
		if rapid.Bool().Draw(t, "talks") {
			r.Parts = append(r.Parts, text(word().Draw(t, "words")))
		}
		for n := range rapid.IntRange(0, 3).Draw(t, "calls") {
			r.Parts = append(r.Parts, wire.Part{Kind: wire.ToolCall, CallID: fmt.Sprint("call_", n), Name: "f", Arguments: `{"a":` + quoted(word().Draw(t, "argument")) + `}`})
			r.Stop = wire.StopTool
		}
		if rapid.IntRange(0, 3).Draw(t, "limit") == 0 {
			r.Stop = wire.StopLength
		}
		return r
	})
}

// telling is what an answer says.
func telling(r wire.Reply) string {
	out := string(r.Stop)
	for _, p := range r.Parts {
		out += fmt.Sprintf("\n%d %s", p.Kind, said(p))
	}
	return out + fmt.Sprintf("\n%d %d %d", r.Usage.Input, r.Usage.CacheRead, r.Usage.Output)
}
