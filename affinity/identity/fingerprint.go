package identity

import (
	"crypto/sha256"
	"strings"
)

// attribution starts a block that a client puts before its instructions and
// that changes from one conversation to the next without meaning anything.
const attribution = "x-anthropic-billing-header:"

// fingerprint hashes the opening of a conversation: its instructions up to the
// first user turn, and the first meaningful user turn. The hash input is the
// RFC 8785 form of an array of turns, {"role", "content": [blocks]}. A reason
// other than "" says why there is none.
//
// A user turn that holds nothing but tool results is no user turn: the other
// protocols carry the same thing under a role of its own. A blank user turn is
// one, so it ends the instructions, but is not meaningful itself. A turn without
// blocks is left out.
func fingerprint(q Request) ([sha256.Size]byte, Reason) {
	o := opening{out: newCanonical()}
	o.out.raw("[")
	reason := o.read(q)
	o.out.raw("]")
	if reason != "" {
		return [sha256.Size]byte{}, reason
	}
	return o.out.digest(), ""
}

// opening writes the turns that count.
type opening struct {
	out    *canonical
	turns  int
	nested bool // inside a document made of blocks, which may hold no other one
}

// read writes the opening of a request in any of the three protocols.
func (o *opening) read(q Request) Reason {
	var first, turns []byte
	switch q.Endpoint {
	case chat:
		turns = q.member("messages")
	case messages:
		first, turns = q.member("system"), q.member("messages")
	case responses:
		first, turns = q.member("instructions"), q.member("input")
	}
	if turns == nil {
		return NoUserTurn
	}
	if reason := o.turn("system", first); reason != "" {
		return reason
	}
	if q.Endpoint == responses && trim(turns)[0] == '"' {
		_, reason := o.user(turns)
		return reason
	}
	return o.conversation(turns, q.Endpoint == responses)
}

// conversation walks the turns until the first meaningful one of the user.
func (o *opening) conversation(raw []byte, items bool) Reason {
	c, instructing := enter(raw, '['), true
	for value, ok := c.element(); ok; value, ok = c.element() {
		turn, good := parse(value)
		if !good {
			return Malformed
		}
		switch role := turn.speaker(items); role {
		case "system", "developer":
			if !instructing {
				continue
			}
			if reason := o.turn(role, turn.content); reason != "" {
				return reason
			}
		case "user":
			result, reason := o.user(turn.content)
			if reason != "" && reason != NoUserTurn || result == meaningful {
				return reason
			}
			instructing = instructing && result == results
		case "unknown":
			return UnknownContent
		}
	}
	if c.bad {
		return Malformed
	}
	return NoUserTurn
}

// speaker returns the role of a turn that counts, "" for one that is left out,
// and "unknown" for one that cannot be told. The items of the responses
// protocol have types; only messages have roles.
func (t object) speaker(items bool) string {
	if kind := word(t.kind); items && t.kind != nil && string(kind) != "message" {
		if leftOut(string(kind)) {
			return ""
		}
		return "unknown"
	}
	switch string(word(t.role)) {
	case "system":
		return "system"
	case "developer":
		return "developer"
	case "user":
		return "user"
	case "assistant", "tool", "function":
		return ""
	}
	return "unknown"
}

// leftOut reports whether an item of the responses protocol is a tool's call or
// result, or reasoning. References and compacted history are not among them:
// they may stand for turns that count.
func leftOut(item string) bool {
	return item == "reasoning" || strings.HasPrefix(item, "mcp_") ||
		strings.HasSuffix(item, "_call") || strings.HasSuffix(item, "_call_output")
}

// weight says what a user turn is worth.
type weight int

const (
	results    weight = iota // tool results and nothing else
	blank                    // no block, or white space only
	meaningful               // at least one block of text or media
)

// user writes a user turn where it is meaningful.
func (o *opening) user(content []byte) (weight, Reason) {
	w, reason := o.weigh(content)
	switch {
	case reason != "":
		return w, reason
	case w != meaningful:
		return w, NoUserTurn
	}
	return w, o.turn("user", content)
}

// weigh looks at a user turn without writing, and at no more of it than is
// needed to know that it is meaningful.
func (o *opening) weigh(content []byte) (weight, Reason) {
	w, count := results, 0
	reason := eachBlock(content, func(b object) (more bool, reason Reason) {
		count++
		switch b.sort() {
		case result:
			return true, ""
		case text:
			if o.out.text.blank(b.text) {
				w = blank
				return true, ""
			}
		case unknown:
			return false, UnknownContent
		}
		w = meaningful
		return false, ""
	})
	if count == 0 {
		w = blank
	}
	return w, reason
}

// turn writes one turn, and nothing where no block of it counts. Members stand
// in the order of their names.
func (o *opening) turn(role string, content []byte) Reason {
	written := 0
	reason := eachBlock(content, func(b object) (bool, Reason) {
		sort := b.sort()
		if sort == result || sort == text && role != "user" && o.out.text.starts(b.text, attribution) {
			return true, ""
		}
		switch {
		case written > 0:
			o.out.raw(",")
		case o.turns > 0:
			o.out.raw(`,{"content":[`)
		default:
			o.out.raw(`{"content":[`)
		}
		written++
		reason := o.block(b, sort)
		return reason == "", reason
	})
	if written > 0 {
		o.out.raw(`],"role":"` + role + `"}`)
		o.turns++
	}
	return reason
}
