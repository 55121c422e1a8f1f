package messages

import (
	"strings"

	"holdfast/functions/internal/wire"
)

// turn is a message as this protocol has it.
type turn struct {
	role  wire.Role
	parts []wire.Part
}

// answersTools reports whether the turn brings results of tools.
func (t turn) answersTools() bool {
	return len(t.parts) > 0 && t.parts[0].Kind == wire.ToolResult
}

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
	for i, m := range w.d.Messages {
		if system := m.Role == wire.System || m.Role == wire.Developer; system && w.resultsFollow(i) {
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

// resultsFollow reports whether results of tools are the next that anybody but
// the system says after the i-th message.
func (w *writer) resultsFollow(i int) bool {
	for _, m := range w.d.Messages[i+1:] {
		if m.Role != wire.System && m.Role != wire.Developer {
			return m.Role == wire.ToolRole
		}
	}
	return false
}

// join adds what somebody says to the turn that is theirs.
func join(turns []turn, role wire.Role, parts []wire.Part) []turn {
	if role == wire.ToolRole {
		role = wire.User
	}
	if len(parts) == 0 {
		return turns
	}
	if len(turns) == 0 || turns[len(turns)-1].role != role {
		return append(turns, turn{role, parts})
	}
	t := &turns[len(turns)-1]
	if parts[0].Kind != wire.ToolResult {
		t.parts = append(t.parts, parts...)
		return turns
	}
	first := 0
	for first < len(t.parts) && t.parts[first].Kind == wire.ToolResult {
		first++
	}
	rest := append([]wire.Part(nil), t.parts[first:]...)
	t.parts = append(append(t.parts[:first], parts...), rest...)
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
