// Package messages is the codec of Anthropic Messages: edits of a request's
// bytes, what the exchange must know of an answer, and errors in this
// protocol's own form.
//
// Invariants: a body is edited, never rebuilt, so thinking blocks and their
// signatures stay byte for byte; answers are read, never changed; what is read
// of an answer is bounded. A stream ends by message_stop or error, or by its stop
// reason where an upstream leaves message_stop out.
//
// Concurrency: a Stream belongs to one exchange; functions are safe for many
// goroutines.
package messages

import (
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// attribution is how the block begins in which a client counts versions and
// turns: it differs between conversations and so defeats prefix caching where
// it means nothing.
const attribution = "x-anthropic-billing-header:"

// Rewrite makes the client's body ready for a deployment of this protocol. It
// changes what e names and strips the gateway's own members; all else stays
// byte for byte. Usage needs no asking for in this protocol.
func Rewrite(f *wire.Facts, e wire.Edits) wire.Rewritten {
	p := f.Edit()
	e.Common(f, p)
	if e.Foreign {
		dropAttribution(f, p)
	}
	return wire.Rewritten{Body: p.Bytes()}
}

// dropAttribution takes the attribution blocks out of the opening, and the
// opening itself where nothing else is in it.
func dropAttribution(f *wire.Facts, p *jsonedit.Patch) {
	system := f.Value("system")
	if system.Kind() != '[' {
		return
	}
	found := false
	kept := p.Prune(system, func(c *jsonedit.Cursor) bool {
		drop := strings.HasPrefix(c.Value().Get("text").Head(len(attribution)), attribution)
		found = found || drop
		return drop
	})
	if found && kept == 0 {
		p.Delete("system")
	}
}
