package messages

import (
	"holdfast/functions/internal/wire/jsonedit"
)

// StripThinking takes the thinking out of a conversation whose thinking blocks
// the upstream does not accept: all thinking and redacted_thinking blocks of the
// history, and messages that held nothing else. With a fixed thinking budget the
// last turn must begin with a thinking block while its tool calls are open;
// there thinking itself goes, and with it what depends on it. All else stays
// byte for byte. It fails with a *jsonedit.Error where body is no valid document.
func StripThinking(body []byte) ([]byte, error) {
	doc, err := jsonedit.Parse(body)
	if err != nil {
		return nil, err
	}
	p := doc.Edit()
	p.Prune(doc.Value("messages"), func(c *jsonedit.Cursor) bool {
		content := c.Value().Get("content")
		return content.Kind() == '[' && stripBlocks(p, content)
	})
	if doc.Value("thinking").Get("type").Is("enabled") && toolsOpen(doc.Value("messages")) {
		p.Delete("thinking")
		dropThinkingEdits(doc, p)
	}
	return p.Bytes(), nil
}

// stripBlocks takes the thinking blocks out of a message's content and reports
// whether nothing is left of it.
func stripBlocks(p *jsonedit.Patch, content jsonedit.Value) (empty bool) {
	found := false
	kept := p.Prune(content, func(c *jsonedit.Cursor) bool {
		kind := c.Value().Get("type")
		drop := kind.Is("thinking") || kind.Is("redacted_thinking")
		found = found || drop
		return drop
	})
	return found && kept == 0
}

// toolsOpen reports whether the conversation's end is inside of a turn with tool
// calls: the last message, operator's messages aside, calls tools or brings
// their results.
func toolsOpen(messages jsonedit.Value) (open bool) {
	for each := messages.Each(); each.Next(); {
		message := each.Value()
		if message.Get("role").Is("system") {
			continue
		}
		open = false
		for block := message.Get("content").Each(); block.Next(); {
			kind := block.Value().Get("type")
			open = open || kind.Is("tool_use") || kind.Is("tool_result")
		}
	}
	return open
}

// dropThinkingEdits takes out the context edit that the upstream refuses
// without thinking.
func dropThinkingEdits(doc *jsonedit.Document, p *jsonedit.Patch) {
	management := doc.Value("context_management")
	edits := management.Get("edits")
	found := false
	kept := p.Prune(edits, func(c *jsonedit.Cursor) bool {
		drop := c.Value().Get("type").Is("clear_thinking_20251015")
		found = found || drop
		return drop
	})
	if found && kept == 0 {
		p.Delete("context_management")
	}
}
