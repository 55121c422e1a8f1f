package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"holdfast/functions/internal/wire"
)

// fitting is how a request was made to fit its target, as far as the answer must
// be made to fit again.
type fitting struct {
	wrapped map[string]bool   // free-text tools that the target knows as functions
	renamed map[string]string // the client's name of a tool by the target's
	stops   []string          // sequences that end the answer here, since the target does not watch for them
}

// fit changes a dialog so that the target can be asked the same.
func (f *fitting) fit(d *wire.Dialog, to wire.Protocol, o Options) *wire.Problem {
	if p := foreignFiles(d, to); p != nil {
		return p
	}
	unseal(d)
	if to != wire.Messages && d.CacheKey == "" {
		d.CacheKey = o.CacheKey
	}
	f.rename(d)
	if to == wire.Responses {
		freeResults(d)
	} else {
		f.free(d, to)
	}
	renumber(d)
	return f.watch(d, to)
}

// parts visits the parts of all messages, those inside tool results too.
func parts(d *wire.Dialog, visit func(*wire.Part)) {
	for i := range d.Messages {
		for j := range d.Messages[i].Parts {
			p := &d.Messages[i].Parts[j]
			visit(p)
			for k := range p.Result {
				visit(&p.Result[k])
			}
		}
	}
}

// foreignFiles refuses files that are known by an id at one provider only. Chat
// and Responses are served by the same files, Messages by others.
func foreignFiles(d *wire.Dialog, to wire.Protocol) (p *wire.Problem) {
	if to != wire.Messages && d.Client != wire.Messages {
		return nil
	}
	parts(d, func(part *wire.Part) {
		if m := part.Media; m != nil && m.FileID != "" && m.URL == "" && m.Data == "" {
			p = wire.Refuse(wire.CapabilityMissing).About("file_id").Saying(
				"The deployments of this model do not know the file: it is kept by another provider. Send its content or use another model.")
		}
	})
	return p
}

// unseal takes out what only the provider that made it can read or check:
// ciphertext, signatures, and reasoning of which nothing else is left.
func unseal(d *wire.Dialog) {
	sealed, signed := false, false
	for i := range d.Messages {
		m := &d.Messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			sealed, signed = sealed || p.Sealed != "", signed || p.Signature != ""
			p.Sealed, p.Signature = "", ""
		}
		m.Parts = slices.DeleteFunc(m.Parts, func(p wire.Part) bool { return p.Kind == wire.Reasoning && p.Text == "" })
	}
	d.Messages = slices.DeleteFunc(d.Messages, func(m wire.Message) bool { return len(m.Parts) == 0 })
	if sealed {
		d.Dropped = wire.Note(d.Dropped, d.Named("reasoning_details", "input.encrypted_content", "redacted_thinking"))
	}
	if signed {
		d.Dropped = wire.Note(d.Dropped, d.Named("reasoning_details", "input.signature", "thinking.signature"))
	}
}

// free remembers the free-text tools, which the target knows as functions of one
// argument. The Messages codec tells them so; Chat has such tools in OpenAI's own
// models only, so they are told as functions there too.
func (f *fitting) free(d *wire.Dialog, to wire.Protocol) {
	for i := range d.Tools {
		t := &d.Tools[i]
		if !t.Custom {
			continue
		}
		if f.wrapped == nil {
			f.wrapped = map[string]bool{}
		}
		f.wrapped[t.Name] = true
		if to == wire.Chat {
			t.Custom, t.Schema = false, []byte(wrapping)
			if kind, definition := t.Syntax(); definition != "" {
				t.Description = strings.TrimSpace(t.Description + "\n\nThe input must match this " + kind + " grammar:\n" + definition)
			}
			t.Grammar = nil
		}
	}
	if to == wire.Chat {
		parts(d, func(p *wire.Part) {
			if p.Custom && p.Kind == wire.ToolCall {
				p.Arguments = wire.WrapFreeform(p.Arguments)
			}
			p.Custom = false
		})
	}
}

// freeResults marks the results of free-text calls, which this target tells from
// others and Chat does not.
func freeResults(d *wire.Dialog) {
	calls := map[string]bool{}
	parts(d, func(p *wire.Part) {
		switch p.Kind {
		case wire.ToolCall:
			calls[p.CallID] = p.Custom
		case wire.ToolResult:
			p.Custom = calls[p.CallID]
		}
	})
}

// maxToolName is how long a tool's name may be at every provider, in bytes.
const maxToolName = 64

// rename shortens the names of tools that only the client's protocol allows.
func (f *fitting) rename(d *wire.Dialog) {
	for i := range d.Tools {
		if name := d.Tools[i].Name; len(name) > maxToolName {
			if f.renamed == nil {
				f.renamed = map[string]string{}
			}
			d.Tools[i].Name = shortName(name)
			f.renamed[d.Tools[i].Name] = name
		}
	}
	d.Choice.Name = shortName(d.Choice.Name)
	parts(d, func(p *wire.Part) {
		if p.Kind == wire.ToolCall {
			p.Name = shortName(p.Name)
		}
	})
}

func shortName(name string) string {
	if len(name) <= maxToolName {
		return name
	}
	return name[:maxToolName-9] + "_" + digest(name)[:8]
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// renumber gives calls and their results ids that every provider takes: others
// are refused for a character or for their length.
func renumber(d *wire.Dialog) {
	parts(d, func(p *wire.Part) {
		if p.Kind == wire.ToolCall || p.Kind == wire.ToolResult {
			p.CallID = plainID(p.CallID)
		}
	})
}

const maxCallID = 64

func plainID(id string) string {
	odd := func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	if len(id) <= maxCallID && !strings.ContainsFunc(id, odd) {
		return id
	}
	return "call_" + digest(id)[:24]
}

// maxChatStops is how many stop sequences a Chat provider takes.
const maxChatStops = 4

// maxStop is how long a stop sequence may be that is watched for here, in bytes.
const maxStop = 1024

// watch keeps the stop sequences that the target would not watch for.
func (f *fitting) watch(d *wire.Dialog, to wire.Protocol) *wire.Problem {
	d.Stop = slices.DeleteFunc(d.Stop, func(s string) bool { return s == "" })
	told := d.Stop
	switch to {
	case wire.Responses:
		told = nil
	case wire.Messages: // which refuses those of white space only
		told = slices.DeleteFunc(slices.Clone(d.Stop), func(s string) bool { return strings.TrimSpace(s) == "" })
	case wire.Chat:
		told = d.Stop[:min(len(d.Stop), maxChatStops)]
	}
	for _, s := range d.Stop {
		if slices.Contains(told, s) {
			continue
		}
		if len(s) > maxStop {
			return wire.Refuse(wire.InvalidRequest).About(d.Named("stop", "stop", "stop_sequences")).Saying(
				"A stop sequence is longer than 1024 bytes. Send a shorter one.")
		}
		f.stops = append(f.stops, s)
	}
	d.Stop = told
	return nil
}
