package identity

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"strings"
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

// str writes a raw JSON string, respelled; false where it is malformed. What is
// spelled canonically already, as most of what clients send is, goes through in
// one piece.
func (c *canonical) str(raw []byte) bool {
	c.raw(`"`)
	for c.text.open(raw); len(c.text.rest) > 0 && !c.text.bad; {
		n := asIs(c.text.rest)
		c.bytes(c.text.rest[:n])
		c.text.rest = c.text.rest[n:]
		if piece := c.text.next(); len(piece) == 1 {
			c.char(piece[0])
		} else {
			c.bytes(piece)
		}
	}
	c.raw(`"`)
	return !c.text.bad
}

// asIs returns how much of a string's inside is spelled canonically: everything
// up to an escape that has a shorter form, or might have one.
func asIs(b []byte) int {
	for n := 0; ; n += len(`\n`) {
		next := bytes.IndexByte(b[n:], '\\')
		if next < 0 {
			return len(b)
		}
		n += next
		if n+1 >= len(b) || strings.IndexByte(`"\bfnrt`, b[n+1]) < 0 {
			return n
		}
	}
}

// char writes a character that stood as an escape.
func (c *canonical) char(char byte) {
	const hex = "0123456789abcdef"
	switch char {
	case '"':
		c.raw(`\"`)
	case '\\':
		c.raw(`\\`)
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
		if char < ' ' {
			c.raw(`\u00`)
			c.raw(hex[char>>4 : char>>4+1])
			char = hex[char&0xf]
		}
		c.flush(len(c.room))
		c.room[c.used] = char
		c.used++
	}
}

// digest ends the document.
func (c *canonical) digest() (sum [sha256.Size]byte) {
	c.flush(1)
	c.sum.Sum(sum[:0])
	return sum
}
