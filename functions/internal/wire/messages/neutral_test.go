package messages_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/codectest"
	"holdfast/functions/internal/wire/messages"
)

func neutral() codectest.Neutral {
	return codectest.Neutral{
		Endpoint: wire.EndpointMessages, ReadDialog: messages.ReadDialog, WriteDialog: messages.WriteDialog,
		ReadReply: messages.ReadReply, WriteReply: messages.WriteReply,
		Deltas: func(c wire.Counting) codectest.Deltas { return messages.NewDeltas(c) },
		Events: func(by wire.Stamp, usage bool) codectest.Events { return messages.NewEvents(by, usage) },
		Follow: func(c wire.Counting) codectest.Stream { return messages.NewStream(c) },
		Known:  known, KnownReply: knownReply,
	}
}

// known takes out of a dialog what this protocol cannot say.
func known(d *wire.Dialog) {
	d.Seed, d.PresencePenalty, d.FrequencyPenalty, d.Verbosity, d.CacheKey = nil, nil, nil, "", ""
	if d.Format != nil {
		d.Format.Name = ""
	}
	for i := range d.Tools {
		if d.Tools[i].Schema == nil {
			d.Tools[i].Schema = []byte(`{"type":"object","properties":{}}`)
		}
	}
	if d.Parallel != nil && d.Choice.Mode == "" {
		d.Choice.Mode = "auto"
	}
	for i := range d.Messages {
		d.Messages[i].Parts = slices.DeleteFunc(slices.Clone(d.Messages[i].Parts), func(p wire.Part) bool {
			return p.Kind == wire.Text && strings.TrimSpace(p.Text) == ""
		})
	}
	d.Messages = joined(d.Messages)
}

// joined makes one message of what one side says in a row.
func joined(messages []wire.Message) (out []wire.Message) {
	for _, m := range messages {
		if n := len(out); n > 0 && out[n-1].Role == m.Role {
			out[n-1].Parts = append(out[n-1].Parts, m.Parts...)
			continue
		}
		if len(m.Parts) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// knownReply takes out of a reply what this protocol cannot say.
func knownReply(r *wire.Reply) {
	r.Created = 0
	if r.Stop == wire.StopFilter {
		r.Stop = wire.StopRefusal
	}
	var parts []wire.Part
	for _, p := range r.Parts {
		if p.Sealed != "" {
			continue
		}
		if p.Kind == wire.Refusal {
			p.Kind = wire.Text
		}
		parts = append(parts, p)
	}
	r.Parts = parts
}

func TestNeutralFixtures(t *testing.T) { neutral().Fixtures(t) }

func TestNeutralDialogs(t *testing.T) { neutral().Dialogs(t, wire.Messages) }

func TestNeutralReplies(t *testing.T) { neutral().Replies(t) }
