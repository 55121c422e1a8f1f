package wire

import (
	"slices"
	"strings"
)

// Bounds on a Dialog and on a Reply. A body that has more is refused with 400,
// of an answer the rest is left out.
const (
	MaxDialogMessages = 20_000
	MaxDialogParts    = 100_000 // in all messages and tool results together
	MaxDialogTools    = 1_024
	MaxDialogStops    = 64
	MaxReplyParts     = 10_000
	maxNotes          = 64 // of what was dropped
	maxNoteBytes      = 64
)

// Note adds what is dropped to a list of it, by the client's name for it, each
// name once, so cleaned and bounded that the list can stand in a header.
func Note(list []string, name string) []string {
	name = strings.Map(func(r rune) rune {
		if r <= ' ' || r == ',' || r > '~' {
			return '_'
		}
		return r
	}, Clean(name, maxNoteBytes))
	if name == "" || len(list) >= maxNotes || slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// Named is the name of a member in the client's own protocol, so that what a
// target cannot carry is told to the client in its words.
func (d *Dialog) Named(chat, responses, messages string) string {
	switch d.Client {
	case Responses:
		return responses
	case Messages:
		return messages
	}
	return chat
}

// Tool returns the tool of a name, and whether there is one.
func (d *Dialog) Tool(name string) (Tool, bool) {
	for _, tool := range d.Tools {
		if tool.Name == name {
			return tool, true
		}
	}
	return Tool{}, false
}
