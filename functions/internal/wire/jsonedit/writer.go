package jsonedit

import (
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Writer builds a JSON document piece by piece into a buffer that grows. It
// sets the commas itself; that objects and arrays are closed, and that names
// stand in objects only, is its user's to see to. The zero Writer is empty.
type Writer struct{ buf []byte }

// Sized returns a Writer with room for so many bytes.
func Sized(size int) *Writer { return &Writer{buf: make([]byte, 0, size)} }

// Reset empties the Writer and keeps its buffer.
func (w *Writer) Reset() *Writer {
	w.buf = w.buf[:0]
	return w
}

// Bytes is what was built so far; it is valid until the next call.
func (w *Writer) Bytes() []byte { return w.buf }

// Object opens an object.
func (w *Writer) Object() *Writer { return w.open('{') }

// Array opens an array.
func (w *Writer) Array() *Writer { return w.open('[') }

// End closes the object that was opened last.
func (w *Writer) End() *Writer {
	w.buf = append(w.buf, '}')
	return w
}

// Close closes the array that was opened last.
func (w *Writer) Close() *Writer {
	w.buf = append(w.buf, ']')
	return w
}

// Name begins a member, whose value comes next. The name needs no escapes.
func (w *Writer) Name(name string) *Writer {
	w.comma()
	w.buf = append(append(append(w.buf, '"'), name...), '"', ':')
	return w
}

// Member begins a member of any name, whose value comes next.
func (w *Writer) Member(name string) *Writer {
	w.Text(name)
	w.buf = append(w.buf, ':')
	return w
}

// Text is a string; what is not UTF-8 becomes U+FFFD.
func (w *Writer) Text(text string) *Writer {
	w.comma()
	if plain(text) {
		w.buf = append(append(append(w.buf, '"'), text...), '"')
		return w
	}
	w.buf, _ = jsontext.AppendQuote(w.buf, text)
	return w
}

// plain reports whether text is its own JSON form between quotes.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Raw is a value that is JSON already; nil is null.
func (w *Writer) Raw(value []byte) *Writer {
	w.comma()
	if value == nil {
		value = []byte("null")
	}
	w.buf = append(w.buf, value...)
	return w
}

// Int is a whole number.
func (w *Writer) Int(n int64) *Writer {
	w.comma()
	w.buf = strconv.AppendInt(w.buf, n, 10)
	return w
}

// Float is a number; what JSON cannot say is 0.
func (w *Writer) Float(f float64) *Writer {
	w.comma()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		f = 0
	}
	w.buf = strconv.AppendFloat(w.buf, f, 'g', -1, 64)
	return w
}

// Time is a time as a string, by RFC 3339 with what it has of a second.
func (w *Writer) Time(at time.Time) *Writer {
	w.comma()
	w.buf = append(at.AppendFormat(append(w.buf, '"'), time.RFC3339Nano), '"')
	return w
}

// Bool is true or false.
func (w *Writer) Bool(is bool) *Writer {
	w.comma()
	w.buf = strconv.AppendBool(w.buf, is)
	return w
}

func (w *Writer) open(c byte) *Writer {
	w.comma()
	w.buf = append(w.buf, c)
	return w
}

// comma sets a comma where a value or member follows another.
func (w *Writer) comma() {
	if len(w.buf) == 0 {
		return
	}
	switch w.buf[len(w.buf)-1] {
	case '{', '[', ':', ',':
	default:
		w.buf = append(w.buf, ',')
	}
}
