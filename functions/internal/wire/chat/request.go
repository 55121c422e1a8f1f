// Package chat is the codec of OpenAI Chat Completions: edits of a request's
// bytes, what the exchange must know of an answer, and errors in this
// protocol's own form.
//
// Invariants: a body is edited, never rebuilt; answers are read, never changed;
// what is read of an answer is bounded. A stream ends by [DONE], or by its
// finish reason where an upstream leaves [DONE] out.
//
// Concurrency: a Stream belongs to one exchange; functions are safe for many
// goroutines.
package chat

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// Rewrite makes the client's body ready for a deployment of this protocol. It
// changes what e names and strips the gateway's own members; all else stays
// byte for byte.
func Rewrite(f *wire.Facts, e wire.Edits) wire.Rewritten {
	p := f.Edit()
	e.Common(f, p)
	added := e.IncludeUsage && askUsage(f, p)
	return wire.Rewritten{Body: p.Bytes(), UsageAdded: added}
}

// askUsage asks for the usage chunk of a stream and reports whether the client
// had not. Options that are no object are left for the provider to refuse.
func askUsage(f *wire.Facts, p *jsonedit.Patch) bool {
	if !f.Stream {
		return false
	}
	options := f.Value("stream_options")
	if !options.Given() {
		p.Set("stream_options", []byte(`{"include_usage":true}`))
		return true
	}
	if asked, _ := options.Get("include_usage").Bool(); asked || options.Kind() != '{' {
		return false
	}
	p.SetIn(options, "include_usage", []byte("true"))
	return true
}
