package identity

import (
	"crypto/sha256"
	"hash"
)

// canonical hashes a JSON document in the form of RFC 8785 while it is written:
// the caller gives members in the order of their names and no white space, and
// strings are brought into their one canonical spelling here. Its size is not
// bounded and nothing of it is kept.
type canonical struct {
	sum  hash.Hash
	used int
	room [512]byte
	text decoder
}

func newCanonical() *canonical { return &canonical{sum: sha256.New()} }

// raw writes bytes that are canonical as they are.
func (c *canonical) raw(p string) {
	for len(p) > 0 {
		n := copy(c.room[c.used:], p)
		c.used += n
		p = p[n:]
		c.flush(len(c.room))
	}
}

// bytes is raw for a byte slice; a long one goes to the hash without a copy.
func (c *canonical) bytes(p []byte) {
	if len(p) > len(c.room)-c.used {
		c.flush(1)
		if len(p) >= len(c.room) {
			c.sum.Write(p)
			return
		}
	}
	c.used += copy(c.room[c.used:], p)
}

// flush hands what is collected to the hash, once there is enough of it.
func (c *canonical) flush(enough int) {
	if c.used >= enough {
		c.sum.Write(c.room[:c.used])
		c.used = 0
	}
}

// str writes a raw JSON string, respelled; false where it is malformed.
func (c *canonical) str(raw []byte) bool {
	c.raw(`"`)
	c.text.open(raw)
	for piece := c.text.next(); piece != nil; piece = c.text.next() {
		if c.text.escaped && (piece[0] < ' ' || piece[0] == '"' || piece[0] == '\\') {
			c.quoted(piece[0])
		} else {
			c.bytes(piece)
		}
	}
	c.raw(`"`)
	return !c.text.bad
}

// quoted writes a character that JSON strings cannot hold as it is.
func (c *canonical) quoted(char byte) {
	const hex = "0123456789abcdef"
	switch char {
	case '"', '\\':
		c.bytes([]byte{'\\', char})
	case '\b':
		c.raw(`\b`)
	case '\t':
		c.raw(`\t`)
	case '\n':
		c.raw(`\n`)
	case '\f':
		c.raw(`\f`)
	case '\r':
		c.raw(`\r`)
	default:
		c.bytes([]byte{'\\', 'u', '0', '0', hex[char>>4], hex[char&0xf]})
	}
}

// digest ends the document.
func (c *canonical) digest() (sum [sha256.Size]byte) {
	c.flush(1)
	c.sum.Sum(sum[:0])
	return sum
}
