package jsonedit

import "bytes"

// Cursor visits the members of an object or the elements of an array, one
// after the other, without allocating. Over broken JSON it stops early.
//
// A value is passed over only when its end is asked for or the cursor moves on,
// so that whoever goes into values reads all bytes once: Enter gives a cursor
// over the current value, Leave takes the one that has come to its end back.
type Cursor struct {
	raw      []byte // up to the end of what may be read
	pos      int
	object   bool
	ended    bool
	start    int // of the member's name, or of the element
	nameEnd  int
	value    int
	valueEnd int // 0 while not known
}

// Next moves on and reports whether there is a member or element.
func (c *Cursor) Next() bool {
	if c.ended {
		return false
	}
	i := skipSpace(c.raw, c.stop())
	if i < len(c.raw) && c.raw[i] == ',' {
		i = skipSpace(c.raw, i+1)
	}
	if i >= len(c.raw) || c.raw[i] == '}' || c.raw[i] == ']' {
		return c.finish(i + 1)
	}
	c.start = i
	if c.object {
		if i = c.afterName(i); i < 0 {
			return c.finish(len(c.raw))
		}
	}
	if i >= len(c.raw) || delimits(c.raw[i]) && c.raw[i] != '"' && c.raw[i] != '{' && c.raw[i] != '[' {
		return c.finish(len(c.raw))
	}
	c.value, c.valueEnd = i, 0
	return true
}

// finish is the end of the object or array, which lies at pos.
func (c *Cursor) finish(pos int) bool {
	c.ended, c.pos, c.valueEnd = true, min(pos, len(c.raw)), 0
	return false
}

// stop returns the end of the current value, or the cursor's beginning before
// the first.
func (c *Cursor) stop() int {
	if c.valueEnd == 0 && c.value > 0 && !c.ended {
		c.valueEnd, _ = skipValue(c.raw, c.value)
	}
	return max(c.pos, c.valueEnd)
}

// afterName passes the name at i and its colon; -1 where there is none.
func (c *Cursor) afterName(i int) int {
	if c.raw[i] != '"' {
		return -1
	}
	c.nameEnd = skipString(c.raw, i)
	i = skipSpace(c.raw, c.nameEnd)
	if i >= len(c.raw) || c.raw[i] != ':' {
		return -1
	}
	return skipSpace(c.raw, i+1)
}

// Value returns the value of the current member or element.
func (c *Cursor) Value() Value { return Value{c.raw, c.value, c.stop()} }

// Kind is Value's Kind, without looking for the value's end.
func (c *Cursor) Kind() byte { return c.raw[c.value] }

// Enter returns a cursor over the current value, which visits nothing where the
// value is neither object nor array.
func (c *Cursor) Enter() Cursor {
	kind := c.Kind()
	if kind != '{' && kind != '[' {
		return Cursor{ended: true}
	}
	return Cursor{raw: c.raw, pos: c.value + 1, object: kind == '{'}
}

// Leave takes back a cursor that Enter gave, once its Next has returned false.
func (c *Cursor) Leave(inner *Cursor) {
	if inner.raw != nil {
		c.valueEnd = inner.pos
	}
}

// Name returns the current member's name, unescaped; nil in an array. It is
// part of the document unless it had escapes.
func (c *Cursor) Name() []byte {
	if !c.object {
		return nil
	}
	return nameOf(c.raw[c.start:c.nameEnd])
}

// Is reports whether the current member is called name.
func (c *Cursor) Is(name string) bool {
	if !c.object || c.nameEnd-c.start < 2 {
		return false
	}
	text := c.raw[c.start+1 : c.nameEnd-1]
	if len(text) == len(name) {
		return string(text) == name
	}
	return len(text) > len(name) && bytes.IndexByte(text, '\\') >= 0 && string(c.Name()) == name
}
