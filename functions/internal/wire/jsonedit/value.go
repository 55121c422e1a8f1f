package jsonedit

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is one JSON value inside a document. The zero Value does not exist; it
// answers every question like an absent member.
type Value struct {
	raw        []byte // of the whole document
	start, end int
}

// Read returns the value that raw starts with, white space skipped, unchecked.
func Read(raw []byte) Value {
	start := skipSpace(raw, 0)
	if start == len(raw) {
		return Value{}
	}
	end, _ := skipValue(raw, start)
	return Value{raw, start, end}
}

// Exists reports whether there is a value; null is one.
func (v Value) Exists() bool { return v.start < v.end }

// Bytes returns the value's own bytes, nil where there is none. They are part
// of the document and not to be changed.
func (v Value) Bytes() []byte {
	if !v.Exists() {
		return nil
	}
	return v.raw[v.start:v.end:v.end]
}

// Kind returns the value's first byte: '{', '[', '"', 't', 'f', 'n', a digit or
// '-'; 0 where there is none.
func (v Value) Kind() byte {
	if !v.Exists() {
		return 0
	}
	return v.raw[v.start]
}

// Given reports whether there is a value other than null.
func (v Value) Given() bool { return v.Exists() && v.Kind() != 'n' }

// Each returns a cursor before the first member or element of an object or an
// array, and one with nothing to visit for any other value.
func (v Value) Each() Cursor {
	kind := v.Kind()
	if kind != '{' && kind != '[' {
		return Cursor{ended: true}
	}
	return Cursor{raw: v.raw[:v.end], pos: v.start + 1, object: kind == '{'}
}

// Get returns the named member of an object, following further names into it.
func (v Value) Get(names ...string) Value {
	for _, name := range names {
		v = v.member(name)
	}
	return v
}

func (v Value) member(name string) Value {
	if v.Kind() != '{' {
		return Value{}
	}
	for each := v.Each(); each.Next(); {
		if each.Is(name) {
			return each.Value()
		}
	}
	return Value{}
}

// Text returns a string's content, "" for any other value.
func (v Value) Text() string {
	inner, plain := v.inner()
	if plain {
		return string(inner)
	}
	return string(unquote(v.Bytes()))
}

// Head returns the beginning of a string's content, from at most limit bytes
// between its quotes; "" for any other value.
func (v Value) Head(limit int) string {
	if v.Len() <= limit {
		return v.Text()
	}
	text := v.raw[v.start+1 : v.start+1+limit]
	if escaped(text) { // the cut parts a backslash from what it escapes
		text = text[:limit-1]
	}
	literal := append(make([]byte, 0, limit+2), '"')
	return string(unquote(append(append(literal, text...), '"')))
}

// Is reports whether the value is the string text.
func (v Value) Is(text string) bool {
	inner, plain := v.inner()
	if plain {
		return v.Kind() == '"' && string(inner) == text
	}
	return string(unquote(v.Bytes())) == text
}

// Filled reports whether there is something in the value: a string with
// content, an array or object with a member, a number or a true.
func (v Value) Filled() bool {
	switch v.Kind() {
	case 0, 'n', 'f':
		return false
	case '"':
		return v.end-v.start > 2
	case '{', '[':
		each := v.Each()
		return each.Next()
	}
	return true
}

// Len returns the number of bytes between a string's quotes, 0 for any other
// value.
func (v Value) Len() int {
	if v.Kind() != '"' {
		return 0
	}
	return max(0, v.end-v.start-2)
}

// Bool returns a boolean, and whether the value is one.
func (v Value) Bool() (value, ok bool) {
	switch string(v.Bytes()) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// Int returns a number without its fraction, and whether the value is a number
// that fits.
func (v Value) Int() (int64, bool) {
	if k := v.Kind(); k != '-' && (k < '0' || k > '9') || v.end-v.start > 32 {
		return 0, false
	}
	text := v.raw[v.start:v.end]
	if n, ok := digits(text); ok {
		return n, true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f < -1<<62 || f > 1<<62 {
		return 0, false
	}
	return int64(f), true
}

// Float returns a number, and whether the value is one that fits.
func (v Value) Float() (float64, bool) {
	if k := v.Kind(); k != '-' && (k < '0' || k > '9') || v.end-v.start > 64 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.Bytes()), 64)
	return f, err == nil
}

// digits reads up to 18 plain digits.
func digits(text []byte) (n int64, ok bool) {
	if len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// inner returns what stands between a string's quotes and whether that is the
// content as it is: true for every value that is no string, with nothing inside.
func (v Value) inner() (text []byte, plain bool) {
	if v.Kind() != '"' || v.end-v.start < 2 {
		return nil, true
	}
	text = v.raw[v.start+1 : v.end-1]
	return text, bytes.IndexByte(text, '\\') < 0
}

// unquote decodes a string literal; faults in it become U+FFFD.
func unquote(literal []byte) []byte {
	text, _ := jsontext.AppendUnquote(nil, literal)
	return text
}

// Quote returns text as a JSON string; what is not UTF-8 becomes U+FFFD.
func Quote(text string) []byte {
	literal, _ := jsontext.AppendQuote(make([]byte, 0, len(text)+2), text)
	return literal
}

// Void reports whether no member of that name, given with its quotes, has a
// value other than null, at any depth. It only looks for bytes, so it is for
// events that come by the hundred: true can be relied on where raw is valid and
// writes the name without escapes, false may also mean that the name stands
// there as a string.
func Void(raw []byte, quoted string) bool {
	for {
		at := bytes.Index(raw, []byte(quoted))
		if at < 0 {
			return true
		}
		raw = raw[at+len(quoted):]
		if !bytes.HasPrefix(raw, []byte(":null")) && !bytes.HasPrefix(raw, []byte(": null")) {
			return false
		}
	}
}
