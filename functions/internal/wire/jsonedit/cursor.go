package jsonedit

import "bytes"

// Cursor visits the members of an object or the elements of an array, one
// after the other, without allocating. Over broken JSON it stops early.
type Cursor struct {
	raw             []byte
	pos, end        int
	object          bool
	start           int // of the member's name, or of the element
	nameEnd         int
	value, valueEnd int
	depth           int // levels of the value
}

// Next moves on and reports whether there is a member or element.
func (c *Cursor) Next() bool {
	i := c.skip(c.pos)
	if i < c.end && c.raw[i] == ',' {
		i = c.skip(i + 1)
	}
	if i >= c.end || c.raw[i] == '}' || c.raw[i] == ']' {
		c.pos = c.end
		return false
	}
	c.start = i
	if c.object {
		if i = c.afterName(i); i < 0 {
			c.pos = c.end
			return false
		}
	}
	c.value = i
	c.valueEnd, c.depth = skipValue(c.raw[:c.end], i)
	c.pos = c.valueEnd
	return c.valueEnd > c.value
}

// afterName passes the name at i and its colon; -1 where there is none.
func (c *Cursor) afterName(i int) int {
	if c.raw[i] != '"' {
		return -1
	}
	c.nameEnd = skipString(c.raw[:c.end], i)
	i = c.skip(c.nameEnd)
	if i >= c.end || c.raw[i] != ':' {
		return -1
	}
	return c.skip(i + 1)
}

func (c *Cursor) skip(i int) int { return skipSpace(c.raw[:c.end], i) }

// Value returns the value of the current member or element.
func (c *Cursor) Value() Value { return Value{c.raw, c.value, c.valueEnd} }

// Name returns the current member's name, unescaped; nil in an array. It is
// part of the document unless it had escapes.
func (c *Cursor) Name() []byte {
	text, plain := c.literal()
	if plain {
		return text
	}
	return unquote(c.raw[c.start:c.nameEnd])
}

// Is reports whether the current member is called name.
func (c *Cursor) Is(name string) bool {
	text, plain := c.literal()
	if plain {
		return string(text) == name
	}
	return string(c.Name()) == name
}

func (c *Cursor) literal() (text []byte, plain bool) {
	if !c.object || c.nameEnd-c.start < 2 {
		return nil, true
	}
	text = c.raw[c.start+1 : c.nameEnd-1]
	return text, bytes.IndexByte(text, '\\') < 0
}
