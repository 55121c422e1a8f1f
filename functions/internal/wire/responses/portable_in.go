package responses

import (
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// Portable takes out of input items what only the account that made it could
// use, so that any account can go on from them. Reasoning items lose
// encrypted_content, id and status; one with nothing readable left goes, and so
// does a reference to an id that the gateway has made. Answers and tool calls
// behind a reasoning item lose their ids too. All else keeps its bytes.
//
// What is no array is returned as it is.
func Portable(items []byte) []byte { return stripped(items, stripping{ids: true}) }

// Rebuilt is Portable for items that go back to the account that made them: it
// can still read its own ciphertext, but no longer knows the ids.
func Rebuilt(items []byte) []byte { return stripped(items, stripping{ids: true, sealed: true}) }

// stripping says how input items are made portable.
type stripping struct {
	sealed bool // ciphertext stays
	ids    bool // of answers and tool calls behind reasoning go
}

func stripped(items []byte, how stripping) []byte {
	p := jsonedit.Amend(items)
	how.strip(p, jsonedit.Read(items))
	return p.Bytes()
}

// ours is how a client's request is made portable. An account that keeps what it
// answers insists, where it is told the id of an answer, on the reasoning that
// came before it: then such ids go as well.
func ours(f *wire.Facts) stripping { return stripping{ids: f.Store == nil || *f.Store} }

// strip adds the edits to a patch.
func (how stripping) strip(p *jsonedit.Patch, items jsonedit.Value) {
	if items.Kind() != '[' || !mentions(items.Bytes()) {
		return
	}
	behind := false // a reasoning item
	p.Prune(items, func(c *jsonedit.Cursor) bool {
		item := c.Value()
		switch kind := item.Get("type"); {
		case kind.Is("reasoning"):
			behind = true
			if !readable(item) && !(how.sealed && item.Get("encrypted_content").Filled()) {
				return true
			}
			p.Prune(item, func(c *jsonedit.Cursor) bool {
				return c.Is("id") || c.Is("status") || !how.sealed && c.Is("encrypted_content")
			})
		case made(item):
			behind = true
			return true
		case behind && how.ids && free(item, kind):
			p.Prune(item, func(c *jsonedit.Cursor) bool { return c.Is("id") })
		}
		return false
	})
}

// made reports whether an item refers to one by an id of the gateway's making.
func made(item jsonedit.Value) bool {
	id, is := reference(item)
	return is && strings.HasPrefix(id, madePrefix)
}

// free reports whether an item of the model's own may come without its id.
func free(item, kind jsonedit.Value) bool {
	return kind.Is("function_call") || kind.Is("custom_tool_call") || (kind.Is("message") || !kind.Exists()) && item.Get("role").Is("assistant")
}
