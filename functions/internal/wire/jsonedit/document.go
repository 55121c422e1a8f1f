// Package jsonedit reads and edits JSON without decoding it: what is not
// edited stays as it was, byte for byte.
//
// Parse is the one strict gate for a client's body: a single JSON object in
// UTF-8, no duplicate names at any depth, at most MaxDepth levels, nothing after
// it. A Document and its Values are offsets into the bytes given; nothing is
// copied until a Patch is written out.
//
// Read is for what a provider sent, which passes through whatever it is: it
// checks nothing. Reading a broken Value finds less, never panics and never
// reads outside of its bytes.
//
// Concurrency: a Document and its Values may be read by many goroutines while
// the bytes stay unchanged; a Patch belongs to one.
//
// Errors: Parse fails with an *Error, which carries an offset and a Reason and
// none of the bytes.
package jsonedit

import (
	"bytes"
)

// MaxDepth is how deep objects and arrays may nest in a parsed document.
const MaxDepth = 128

// Document is a valid JSON object with its top-level members found.
type Document struct {
	raw     []byte
	members []member
	open    int // of the object's brace
}

// member is one name and value of the outermost object, by offsets.
type member struct {
	name       []byte // unescaped
	start      int    // of the name's opening quote
	value, end int
}

// Parse checks raw and finds its top-level members. The Document keeps raw,
// which must not change from then on.
func Parse(raw []byte) (*Document, error) {
	open := skipSpace(raw, 0)
	switch {
	case open == len(raw):
		return nil, &Error{Reason: Empty}
	case raw[open] != '{':
		return nil, &Error{Reason: NotObject, Offset: int64(open)}
	}
	d := &Document{raw: raw, open: open, members: make([]member, 0, 12)}
	r := readers.Get().(*reader)
	defer r.release(len(raw))
	if err := r.read(d); err != nil {
		return nil, err
	}
	return d, nil
}

// Raw returns the document's bytes, which are not to be changed.
func (d *Document) Raw() []byte { return d.raw }

// Value returns a top-level member's value; one that is not there does not
// exist.
func (d *Document) Value(name string) Value {
	for i := range d.members {
		if m := &d.members[i]; string(m.name) == name {
			return Value{d.raw, m.value, m.end}
		}
	}
	return Value{}
}

// Names calls visit with each top-level name, in order, until it returns false.
func (d *Document) Names(visit func(name []byte) bool) {
	for i := range d.members {
		if !visit(d.members[i].name) {
			return
		}
	}
}

// skipSpace returns the first offset from i on that holds no white space.
func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the offset after the string whose opening quote is at i.
// A string without an end reaches to the end of raw.
func skipString(raw []byte, i int) int {
	for from := i + 1; ; {
		at := bytes.IndexByte(raw[from:], '"')
		if at < 0 {
			return len(raw)
		}
		from += at
		if !escaped(raw[i+1 : from]) {
			return from + 1
		}
		from++
	}
}

// escaped reports whether the byte after text is escaped: an odd number of
// backslashes stands before it.
func escaped(text []byte) bool {
	n := len(text)
	for n > 0 && text[n-1] == '\\' {
		n--
	}
	return (len(text)-n)%2 == 1
}

// skipValue returns the offset after the value that starts at i and how many
// levels it nests: 0 for a scalar.
func skipValue(raw []byte, i int) (end, depth int) {
	if i >= len(raw) {
		return i, 0
	}
	switch raw[i] {
	case '"':
		return skipString(raw, i), 0
	case '{', '[':
		return skipNested(raw, i)
	}
	for i < len(raw) && !delimits(raw[i]) {
		i++
	}
	return i, 0
}

// skipNested is skipValue for an object or an array. What ends before its
// brackets close reaches to the end of raw.
func skipNested(raw []byte, i int) (end, depth int) {
	level := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
			continue
		case '{', '[':
			level++
			depth = max(depth, level)
		case '}', ']':
			level--
			if level == 0 {
				return i + 1, depth
			}
		}
		i++
	}
	return i, depth
}

// delimits reports whether c ends a number or a literal.
func delimits(c byte) bool {
	switch c {
	case ',', ':', '}', ']', '{', '[', '"', ' ', '\n', '\t', '\r':
		return true
	}
	return false
}
