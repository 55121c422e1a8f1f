package codectest

import (
	"fmt"
	"strings"

	"holdfast/functions/internal/wire"
)

// DescribeDialog is a dialog in words, one line for each thing said.
func DescribeDialog(d *wire.Dialog) string {
	var out strings.Builder
	line := func(name string, value any, given bool) {
		if given {
			fmt.Fprintf(&out, "%s: %v\n", name, value)
		}
	}
	line("model", d.Model, true)
	line("stream", d.Stream, d.Stream)
	for _, tool := range d.Tools {
		line("tool", describeTool(tool), true)
	}
	line("choice", d.Choice.Mode+" "+d.Choice.Name, d.Choice.Mode != "")
	line("parallel", value(d.Parallel), d.Parallel != nil)
	line("max tokens", d.MaxTokens, d.MaxTokens != 0)
	line("temperature", value(d.Temperature), d.Temperature != nil)
	line("top p", value(d.TopP), d.TopP != nil)
	line("top k", value(d.TopK), d.TopK != nil)
	line("seed", value(d.Seed), d.Seed != nil)
	line("presence", value(d.PresencePenalty), d.PresencePenalty != nil)
	line("frequency", value(d.FrequencyPenalty), d.FrequencyPenalty != nil)
	line("stop", fmt.Sprintf("%q", d.Stop), len(d.Stop) > 0)
	line("effort", d.Effort, d.Effort != "")
	line("budget", d.ThinkingBudget, d.ThinkingBudget != 0)
	line("thinking", "off", d.ThinkingOff)
	line("thinking", "auto", d.ThinkingAuto)
	line("summary", d.Summary, d.Summary != "")
	line("verbosity", d.Verbosity, d.Verbosity != "")
	if f := d.Format; f != nil {
		line("format", fmt.Sprintf("%q %q strict=%v %s", f.Name, f.Description, value(f.Strict), f.Schema), true)
	}
	line("user", d.User, d.User != "")
	line("metadata", string(d.Metadata), d.Metadata != nil)
	line("cache key", d.CacheKey, d.CacheKey != "")
	line("tier", d.Tier, d.Tier != "")
	for _, m := range d.Messages {
		line("-", strings.TrimSpace(string(m.Role)+" "+m.Name), true)
		describeParts(&out, "  ", m.Parts)
	}
	line("dropped", strings.Join(d.Dropped, " "), len(d.Dropped) > 0)
	return out.String()
}

func value[T any](v *T) any {
	if v == nil {
		return "-"
	}
	return *v
}

func describeTool(t wire.Tool) string {
	return fmt.Sprintf("%s %q strict=%v custom=%v %s %s%s", t.Name, t.Description, value(t.Strict), t.Custom, t.Schema, t.Grammar, marker(t.Cache))
}

func marker(cache []byte) string {
	if cache == nil {
		return ""
	}
	return " cache=" + string(cache)
}

func describeParts(out *strings.Builder, indent string, parts []wire.Part) {
	for _, p := range parts {
		fmt.Fprintf(out, "%s%s%s\n", indent, describePart(p), marker(p.Cache))
		describeParts(out, indent+"  ", p.Result)
	}
}

func describePart(p wire.Part) string {
	switch p.Kind {
	case wire.Image, wire.Document, wire.Audio:
		m := p.Media
		return fmt.Sprintf("%s %s url=%q data=%q file=%q name=%q detail=%q text=%q",
			[...]string{wire.Image: "image", wire.Document: "document", wire.Audio: "audio"}[p.Kind],
			m.Type, m.URL, m.Data, m.FileID, m.Name, m.Detail, m.Text)
	case wire.ToolCall:
		return fmt.Sprintf("call %s %s custom=%v %q", p.CallID, p.Name, p.Custom, p.Arguments)
	case wire.ToolResult:
		return fmt.Sprintf("result %s error=%v", p.CallID, p.IsError)
	case wire.Reasoning:
		return fmt.Sprintf("reasoning %q signature=%q sealed=%q summary=%v", p.Text, p.Signature, p.Sealed, p.Summary)
	case wire.Refusal:
		return fmt.Sprintf("refusal %q", p.Text)
	}
	return fmt.Sprintf("text %q", p.Text)
}

// DescribeReply is an answer in words.
func DescribeReply(r wire.Reply) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n", r.ID, r.Model)
	describeParts(&out, "", r.Parts)
	fmt.Fprintf(&out, "stop: %s %q\n", r.Stop, r.StopText)
	if u := r.Usage; r.HasUsage {
		fmt.Fprintf(&out, "usage: input=%d read=%d write5m=%d write1h=%d output=%d reasoning=%d\n",
			u.Input, u.CacheRead, u.CacheWrite5m, u.CacheWrite1h, u.Output, u.Reasoning)
	}
	return out.String()
}
