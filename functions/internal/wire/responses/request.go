// Package responses is the codec of OpenAI Responses: edits of a request's
// bytes, what the exchange must know of an answer, errors in this protocol's own
// form, and for bridges requests and answers in the neutral form.
//
// Invariants: between a client and a deployment of this protocol a body is
// edited, never rebuilt, and answers are read, never changed; what is read of an
// answer is bounded. A stream ends by response.completed, response.incomplete,
// response.failed or error, and by nothing else. What a bridge reads and cannot
// put into the neutral form is noted by name or refused.
//
// Concurrency: a Stream, Deltas or Events belongs to one exchange; functions are
// safe for many goroutines.
package responses

import "holdfast/functions/internal/wire"

// Rewrite makes the client's body ready for a deployment of this protocol. It
// changes what e names and strips the gateway's own members; all else stays
// byte for byte. Usage needs no asking for in this protocol.
func Rewrite(f *wire.Facts, e wire.Edits) wire.Rewritten {
	p := f.Edit()
	e.Common(f, p)
	if e.Portable {
		ours(f).strip(p, f.Value("input"))
	}
	return wire.Rewritten{Body: p.Bytes()}
}
