package chat_test

import (
	"strings"
	"testing"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/chat"
	"holdfast/functions/internal/wire/codectest"
)

func neutral() codectest.Neutral {
	return codectest.Neutral{
		Endpoint: wire.EndpointChat, ReadDialog: chat.ReadDialog, WriteDialog: chat.WriteDialog,
		ReadReply: chat.ReadReply, WriteReply: chat.WriteReply,
		Deltas: func(c wire.Counting) codectest.Deltas { return chat.NewDeltas(c) },
		Events: func(by wire.Stamp, usage bool) codectest.Events { return chat.NewEvents(by, usage) },
		Follow: func(c wire.Counting) codectest.Stream { return chat.NewStream(c) },
		Known:  known, KnownReply: knownReply,
	}
}

// known takes out of a dialog what this protocol cannot say: who reads it again
// finds one message for each result, failures in words, no reasoning.
func known(d *wire.Dialog) {
	own := strings.HasPrefix(d.Model, "gpt-")
	d.TopK, d.Metadata, d.Summary, d.ThinkingOff = nil, nil, "", false
	if !own {
		d.CacheKey, d.Verbosity, d.Tier = "", "", ""
	}
	var messages []wire.Message
	var late []wire.Part
	for _, m := range d.Messages {
		if len(late) > 0 && m.Role != wire.ToolRole {
			messages, late = append(messages, wire.Message{Role: wire.User, Parts: late}), nil
		}
		if m.Role == wire.Developer && !own {
			m.Role = wire.System
		}
		var kept []wire.Part
		for _, p := range m.Parts {
			p.Cache = nil
			switch {
			case p.Kind == wire.Reasoning:
				continue
			case p.Kind == wire.ToolResult:
				var shown []wire.Part
				p, shown = result(p)
				late = append(late, shown...)
				messages = append(messages, wire.Message{Role: m.Role, Parts: []wire.Part{p}})
				continue
			case p.Kind == wire.Document && p.Media.Name == "" && p.Media.Data != "":
				p.Media.Name = "document.pdf"
			}
			kept = append(kept, p)
		}
		if m.Role != wire.User {
			kept = oneText(kept)
		}
		if len(kept) > 0 || len(m.Parts) == 0 {
			m.Parts = kept
			messages = append(messages, m)
		}
	}
	if len(late) > 0 {
		messages = append(messages, wire.Message{Role: wire.User, Parts: late})
	}
	d.Messages = messages
}

// oneText makes one of the texts that stand in a row.
func oneText(parts []wire.Part) (out []wire.Part) {
	for _, p := range parts {
		if n := len(out); n > 0 && p.Kind == wire.Text && out[n-1].Kind == wire.Text {
			out[n-1].Text += "\n\n" + p.Text
			continue
		}
		out = append(out, p)
	}
	return out
}

// result is a result in words, one text, and what it showed besides.
func result(p wire.Part) (wire.Part, []wire.Part) {
	var texts, shown []wire.Part
	for _, r := range p.Result {
		if r.Kind == wire.Text {
			texts = append(texts, r)
			continue
		}
		shown = append(shown, wire.Part{Kind: wire.Text, Text: "Shown by the tool call " + p.CallID + ":"}, r)
	}
	if texts = oneText(texts); p.IsError {
		texts[0].Text = "Error: " + texts[0].Text
	}
	p.IsError, p.Result = false, texts
	return p, shown
}

// knownReply takes out of a reply what this protocol cannot say.
func knownReply(r *wire.Reply) {
	for i := range r.Parts {
		r.Parts[i].Signature = ""
	}
	r.StopText = ""
	switch r.Stop {
	case wire.StopSequence, wire.StopPause:
		r.Stop = wire.StopEnd
	case wire.StopRefusal:
		if refusals(r.Parts) == 0 {
			r.Stop = wire.StopFilter
		}
	}
	r.Usage.CacheWrite5m, r.Usage.CacheWrite1h = r.Usage.CacheWrite5m+r.Usage.CacheWrite1h, 0
}

func refusals(parts []wire.Part) (n int) {
	for _, p := range parts {
		if p.Kind == wire.Refusal {
			n++
		}
	}
	return n
}

func TestNeutralFixtures(t *testing.T) { neutral().Fixtures(t) }

func TestNeutralDialogs(t *testing.T) { neutral().Dialogs(t, wire.Chat) }

func TestNeutralReplies(t *testing.T) { neutral().Replies(t) }
