package codectest

import (
	"encoding/json"
	"strconv"

	"pgregory.net/rapid"

	"holdfast/functions/internal/wire"
)

// text draws text with something in it besides blanks, and with what JSON and
// SSE must escape.
func text(t *rapid.T) string {
	return "t" + rapid.StringOf(rapid.SampledFrom([]rune("ab \n\r\t\"\\{}é\U0001F600\u2028:,\x00"))).Draw(t, "text") + "."
}

// optional draws a value or none.
func optional[T any](t *rapid.T, name string, values ...T) *T {
	if !rapid.Bool().Draw(t, name+"?") {
		return nil
	}
	v := rapid.SampledFrom(values).Draw(t, name)
	return &v
}

// Dialog draws a dialog as a client of a protocol could mean it.
func Dialog(t *rapid.T, client wire.Protocol) *wire.Dialog {
	d := &wire.Dialog{Client: client, Model: rapid.SampledFrom([]string{"gpt-5", "llama", "claude-opus-4-1", "claude-opus-5"}).Draw(t, "model")}
	d.Stream = rapid.Bool().Draw(t, "stream")
	for range rapid.IntRange(0, 1).Draw(t, "systems") {
		d.Messages = append(d.Messages, wire.Message{Role: wire.System, Parts: []wire.Part{{Kind: wire.Text, Text: text(t)}}})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "tools") {
		d.Tools = append(d.Tools, wire.Tool{
			Name: "tool_" + strconv.Itoa(i), Description: text(t), Schema: json.RawMessage(`{"type":"object"}`),
			Strict: optional(t, "strict", true, false),
		})
	}
	for turn := range rapid.IntRange(1, 4).Draw(t, "turns") {
		say(t, d, turn)
	}
	settings(t, d)
	return d
}

// say draws what a user says and what comes of it: an answer, or calls with
// their results and an answer.
func say(t *rapid.T, d *wire.Dialog, turn int) {
	user := wire.Message{Role: wire.User}
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		user.Parts = append(user.Parts, shown(t))
	}
	d.Messages = append(d.Messages, user)
	calls := rapid.IntRange(0, 3).Draw(t, "calls")
	answer := wire.Message{Role: wire.Assistant, Parts: Parts(t, calls, turn)}
	d.Messages = append(d.Messages, answer)
	results := wire.Message{Role: wire.ToolRole}
	for _, part := range answer.Parts {
		if part.Kind == wire.ToolCall {
			result := wire.Part{Kind: wire.ToolResult, CallID: part.CallID, IsError: rapid.Bool().Draw(t, "failed")}
			result.Result = []wire.Part{{Kind: wire.Text, Text: text(t)}}
			results.Parts = append(results.Parts, result)
		}
	}
	if len(results.Parts) > 0 {
		d.Messages = append(d.Messages, results)
	}
}

// shown draws what a user shows.
func shown(t *rapid.T) wire.Part {
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return wire.Part{Kind: wire.Image, Media: &wire.Media{Type: "image/png", Data: "aGk="}}
	case 1:
		return wire.Part{Kind: wire.Image, Media: &wire.Media{URL: "https://x.example/i.png"}}
	case 2:
		return wire.Part{Kind: wire.Document, Media: &wire.Media{Type: "application/pdf", Data: "JVBERg==", Name: "a.pdf"}}
	}
	return wire.Part{Kind: wire.Text, Text: text(t)}
}

// Parts draws what a model answers: reasoning, text, calls, in this order and
// never nothing.
func Parts(t *rapid.T, calls, turn int) (parts []wire.Part) {
	if rapid.Bool().Draw(t, "thinks") {
		parts = append(parts, wire.Part{Kind: wire.Reasoning, Text: text(t), Signature: "c2ln"})
	}
	if calls == 0 || rapid.Bool().Draw(t, "speaks") {
		parts = append(parts, wire.Part{Kind: wire.Text, Text: text(t)})
	}
	for i := range calls {
		parts = append(parts, wire.Part{
			Kind: wire.ToolCall, CallID: "call_" + strconv.Itoa(turn) + "_" + strconv.Itoa(i), Name: "tool_" + strconv.Itoa(i%2),
			Arguments: rapid.SampledFrom([]string{"{}", `{"a":[1,{"b":"\n"}]}`, `{"path":"\u00e9"}`}).Draw(t, "arguments"),
		})
	}
	return parts
}

// settings draws the rest.
func settings(t *rapid.T, d *wire.Dialog) {
	if len(d.Tools) > 0 {
		d.Choice = rapid.SampledFrom([]wire.ToolChoice{{}, {Mode: "auto"}, {Mode: "required"}, {Mode: "tool", Name: "tool_0"}}).Draw(t, "choice")
		d.Parallel = optional(t, "parallel", true, false)
	}
	d.MaxTokens = rapid.SampledFrom([]int64{4096, 50000}).Draw(t, "max tokens")
	d.Temperature = optional(t, "temperature", 0, 0.5, 1)
	d.TopP = optional(t, "top p", 0.25, 1)
	d.TopK = optional(t, "top k", int64(40))
	d.Seed = optional(t, "seed", int64(7))
	d.PresencePenalty = optional(t, "presence", -0.5, 1.5)
	d.FrequencyPenalty = optional(t, "frequency", 0.5)
	d.Stop = rapid.SampledFrom([][]string{nil, {"END"}, {"a", "b\n"}}).Draw(t, "stop")
	d.Effort = rapid.SampledFrom([]string{"", "low", "medium", "high"}).Draw(t, "effort")
	d.User = rapid.SampledFrom([]string{"", "user-1"}).Draw(t, "user")
	d.Tier = rapid.SampledFrom([]string{"", "auto", "default"}).Draw(t, "tier")
	d.CacheKey = rapid.SampledFrom([]string{"", "key"}).Draw(t, "cache key")
	d.Verbosity = rapid.SampledFrom([]string{"", "low"}).Draw(t, "verbosity")
	if rapid.Bool().Draw(t, "format") {
		d.Format = &wire.Format{Name: "answer", Schema: json.RawMessage(`{"type":"object","additionalProperties":false}`)}
	}
}

// Reply draws a whole answer.
func Reply(t *rapid.T) wire.Reply {
	calls := rapid.IntRange(0, 3).Draw(t, "calls")
	r := wire.Reply{ID: "id-1", Model: "asked", Created: 1796000000, Parts: Parts(t, calls, 0), HasUsage: true}
	count := rapid.Int64Range(0, 1<<30)
	r.Usage = wire.Usage{Input: count.Draw(t, "input"), CacheRead: count.Draw(t, "read"), CacheWrite5m: count.Draw(t, "5m"),
		CacheWrite1h: count.Draw(t, "1h"), Output: count.Draw(t, "output"), Reasoning: count.Draw(t, "reasoning")}
	stops := []wire.Stop{wire.StopEnd, wire.StopLength, wire.StopSequence, wire.StopFilter, wire.StopRefusal, wire.StopPause}
	if calls > 0 {
		stops = []wire.Stop{wire.StopTool, wire.StopLength}
	}
	r.Stop = rapid.SampledFrom(stops).Draw(t, "stop")
	if r.Stop == wire.StopSequence {
		r.StopText = "END"
	}
	return r
}

// Pieces draws the deltas by which a reply could come: parts begin in order, calls
// may mix, and each piece is cut anywhere.
func Pieces(t *rapid.T, r wire.Reply) []wire.Delta {
	deltas := []wire.Delta{{Kind: wire.ReplyBegin, ID: r.ID, Model: r.Model}}
	mixed := rapid.Bool().Draw(t, "mixed")
	var calls [][]wire.Delta
	for i, p := range r.Parts {
		said := p.Text + p.Arguments
		begin := p
		begin.Text, begin.Arguments, begin.Signature, begin.Sealed = "", "", "", ""
		piece := []wire.Delta{{Kind: wire.PartBegin, Index: i, Part: begin}}
		cut := rapid.IntRange(0, len(said)).Filter(func(n int) bool { return n == len(said) || said[n]&0xC0 != 0x80 }).Draw(t, "cut")
		piece = append(piece, wire.Delta{Kind: wire.PartDelta, Index: i, Text: said[:cut]}, wire.Delta{Kind: wire.PartDelta, Index: i, Text: said[cut:]})
		if p.Signature != "" {
			piece = append(piece, wire.Delta{Kind: wire.PartSeal, Index: i, Part: wire.Part{Signature: p.Signature}})
		}
		piece = append(piece, wire.Delta{Kind: wire.PartEnd, Index: i})
		if p.Kind != wire.ToolCall || !mixed {
			deltas = append(deltas, piece...)
			continue
		}
		deltas, calls = append(deltas, piece[0]), append(calls, piece[1:])
	}
	for len(calls) > 0 {
		i := rapid.IntRange(0, len(calls)-1).Draw(t, "whose")
		deltas, calls[i] = append(deltas, calls[i][0]), calls[i][1:]
		if len(calls[i]) == 0 {
			calls = append(calls[:i], calls[i+1:]...)
		}
	}
	return append(deltas, wire.Delta{Kind: wire.ReplyStop, Stop: r.Stop, StopText: r.StopText},
		wire.Delta{Kind: wire.ReplyUsage, Usage: r.Usage}, wire.Delta{Kind: wire.ReplyEnd})
}
