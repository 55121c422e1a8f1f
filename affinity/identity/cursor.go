package identity

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// cursor steps through one JSON array or object, handing out raw values without
// decoding them. It trusts nothing: on anything that is not JSON it stops with
// bad set. It never looks behind the value it stands on, and what it skips costs
// one pass over the bytes, however deep.
type cursor struct {
	b   []byte // what is left, from behind the last value on
	end byte   // the closing bracket
	bad bool   // not an array or object, or malformed
}

// enter opens a raw array ('[') or object ('{').
func enter(raw []byte, open byte) cursor {
	raw = trim(raw)
	if len(raw) == 0 || raw[0] != open {
		return cursor{bad: true}
	}
	return cursor{b: raw[1:], end: open + 2} // ] and } stand two behind [ and {
}

// element returns the next raw value of an array.
func (c *cursor) element() (value []byte, ok bool) {
	if !c.more() {
		return nil, false
	}
	return c.value()
}

// member returns the next member of an object, its name decoded.
func (c *cursor) member() (name, value []byte, ok bool) {
	if !c.more() {
		return nil, nil, false
	}
	name, ok = c.value()
	if c.space(); !ok || len(name) == 0 || name[0] != '"' || len(c.b) == 0 || c.b[0] != ':' {
		c.bad = true
		return nil, nil, false
	}
	c.b = c.b[1:]
	value, ok = c.value()
	return plainName(name), value, ok
}

// more skips the comma before the next value, and reports whether there is one.
func (c *cursor) more() bool {
	c.space()
	if len(c.b) > 0 && c.b[0] == ',' {
		c.b = c.b[1:]
		c.space()
	}
	if c.bad || len(c.b) == 0 || c.b[0] == c.end {
		c.bad = c.bad || len(c.b) == 0
		return false
	}
	return true
}

// value takes the next raw value off.
func (c *cursor) value() ([]byte, bool) {
	c.space()
	n := length(c.b)
	if n == 0 {
		c.bad = true
		return nil, false
	}
	value := c.b[:n]
	c.b = c.b[n:]
	return value, true
}

func (c *cursor) space() {
	for len(c.b) > 0 && space(c.b[0]) {
		c.b = c.b[1:]
	}
}

// plainName is a member's name without its quotes. Names that we look for are
// short, so a long one stays as it is.
func plainName(quoted []byte) []byte {
	const longest = 64 * maxQuoted
	inner := quoted[1 : len(quoted)-1]
	if len(inner) > longest || bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	name, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return inner
	}
	return name
}

// length returns how many bytes the JSON value at the start of b takes; 0 where
// there is none, or none that ends.
func length(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"':
		return stringLength(b)
	case '{', '[':
		return nestedLength(b)
	}
	n := bytes.IndexAny(b, ",:]}\" \t\r\n")
	if n < 0 {
		return len(b)
	}
	return n
}

// stringLength is length for a string. A quote ends it unless an odd number of
// backslashes stands before.
func stringLength(b []byte) int {
	for n := 1; ; {
		next := bytes.IndexByte(b[n:], '"')
		if next < 0 {
			return 0
		}
		n += next
		slashes := 0
		for b[n-slashes-1] == '\\' { // the opening quote ends the count
			slashes++
		}
		n++
		if slashes%2 == 0 {
			return n
		}
	}
}

// nestedLength is length for an array or object. It counts brackets without
// matching their kinds, which validation has done.
func nestedLength(b []byte) int {
	depth := 0
	for n := 0; n < len(b); n++ {
		switch b[n] {
		case '"':
			skipped := stringLength(b[n:])
			if skipped == 0 {
				return 0
			}
			n += skipped - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return n + 1
			}
		}
	}
	return 0
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// trim removes JSON's white space around a raw value.
func trim(raw []byte) []byte {
	for len(raw) > 0 && space(raw[0]) {
		raw = raw[1:]
	}
	for len(raw) > 0 && space(raw[len(raw)-1]) {
		raw = raw[:len(raw)-1]
	}
	return raw
}
