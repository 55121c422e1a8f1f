package messages

import (
	"slices"
	"strings"

	"holdfast/functions/internal/wire"
)

// turn is a message as this protocol has it.
type turn struct {
	role    wire.Role
	parts   []wire.Part
	results int // how many of the parts, the first ones, are results of tools
}

// answersTools reports whether the turn brings results of tools.
func (t turn) answersTools() bool { return t.results > 0 }

// turns sorts a dialog's messages into the opening and the conversation: one
// turn for all that one side says in a row, results of tools first in it. Between
// calls and their results nothing may stand: a system message there waits.
func (w *writer) turns() (system []wire.Part, turns []turn) {
	var waiting []wire.Message
	add := func(m wire.Message) {
		parts := w.spoken(m)
		if m.Role == wire.System || m.Role == wire.Developer {
			if len(turns) == 0 || w.version < adapts && !w.native {
				system = append(system, parts...)
				return
			}
			m.Role = wire.System
		}
		turns = join(turns, m.Role, parts)
	}
	results := resultsFollow(w.d.Messages)
	for i, m := range w.d.Messages {
		if system := m.Role == wire.System || m.Role == wire.Developer; system && results[i] {
			waiting = append(waiting, m)
			continue
		}
		if m.Role != wire.ToolRole {
			for _, late := range waiting {
				add(late)
			}
			waiting = nil
		}
		add(m)
	}
	for _, late := range waiting {
		add(late)
	}
	return system, w.trimEnd(turns)
}

// resultsFollow tells of each message whether results of tools are the next that
// anybody but the system says after it.
func resultsFollow(messages []wire.Message) []bool {
	follow, next := make([]bool, len(messages)), false
	for i := len(messages) - 1; i >= 0; i-- {
		follow[i] = next
		if role := messages[i].Role; role != wire.System && role != wire.Developer {
			next = role == wire.ToolRole
		}
	}
	return follow
}

// join adds what somebody says to the turn that is theirs.
func join(turns []turn, role wire.Role, parts []wire.Part) []turn {
	if len(parts) == 0 {
		return turns
	}
	results := 0
	if role == wire.ToolRole {
		role, results = wire.User, len(parts)
	}
	if len(turns) == 0 || turns[len(turns)-1].role != role {
		return append(turns, turn{role, parts, results})
	}
	t := &turns[len(turns)-1]
	if results == 0 {
		t.parts = append(t.parts, parts...)
		return turns
	}
	t.parts = slices.Insert(t.parts, t.results, parts...)
	t.results += results
	return turns
}

// trimEnd takes the blanks off the end of an answer that is to be continued:
// the provider refuses them.
func (w *writer) trimEnd(turns []turn) []turn {
	if len(turns) == 0 || w.native {
		return turns
	}
	last := turns[len(turns)-1]
	if end := &last.parts[len(last.parts)-1]; last.role == wire.Assistant && end.Kind == wire.Text {
		end.Text = strings.TrimRight(end.Text, " \t\r\n")
	}
	return turns
}

// spoken are the parts of a message that this protocol can carry, in a slice of
// their own.
func (w *writer) spoken(m wire.Message) []wire.Part {
	if m.Name != "" {
		w.drop("messages.name", "input.name", "messages.name")
	}
	parts := make([]wire.Part, 0, len(m.Parts))
	for _, part := range m.Parts {
		switch {
		case part.Kind == wire.Refusal:
			part.Kind = wire.Text
		case part.Kind == wire.Reasoning && (!w.native || part.Signature == "" && part.Sealed == ""):
			w.drop("reasoning_content", "input.reasoning", "thinking")
			continue
		}
		if part.Kind == wire.Text && strings.TrimSpace(part.Text) == "" {
			continue
		}
		parts = append(parts, part)
	}
	return parts
}
