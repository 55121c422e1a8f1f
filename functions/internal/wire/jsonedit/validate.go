package jsonedit

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Reason is why a body is no valid document.
type Reason uint8

// The reasons.
const (
	Malformed     Reason = iota // not JSON, or not UTF-8
	Empty                       // no bytes but white space
	NotObject                   // JSON, but no object
	DuplicateName               // one object has a name twice
	TooDeep                     // nests deeper than MaxDepth
	Trailing                    // something follows the object
)

// String says the reason in words fit for a client.
func (r Reason) String() string {
	return [...]string{
		"is not valid JSON in UTF-8", "is empty", "is not a JSON object", "has an object with a duplicate key",
		"nests deeper than " + strconv.Itoa(MaxDepth) + " levels", "has something after the JSON object",
	}[r]
}

// Error is a refusal of Parse. It holds nothing of what was parsed.
type Error struct {
	Reason Reason
	Offset int64 // bytes before the fault
}

// Error implements error.
func (e *Error) Error() string {
	return "body " + e.Reason.String() + " (at byte " + strconv.FormatInt(e.Offset, 10) + ")"
}

// Valid reports whether a provider's answer is whole: one JSON value and nothing
// after it. Duplicate names and stray bytes in strings are the provider's affair.
func Valid(raw []byte) bool {
	return jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Whole returns a provider's answer as a value; one that is not whole, by Valid,
// does not exist. Where it ends is known then without looking for it.
func Whole(raw []byte) Value {
	if !Valid(raw) {
		return Value{}
	}
	end := len(raw)
	for end > 0 && (raw[end-1] == ' ' || raw[end-1] == '\n' || raw[end-1] == '\t' || raw[end-1] == '\r') {
		end--
	}
	return Value{raw, skipSpace(raw, 0), end}
}

// keepReaders bounds the bodies whose reader is used again: what a decoder has
// grown for a giant is not kept for ever.
const keepReaders = 4 << 20

// readers keeps decoders between requests; one has nothing of a body left in it.
var readers = sync.Pool{New: func() any { return &reader{decoder: jsontext.NewDecoder(new(bytes.Buffer))} }}

// reader checks a document and finds its members in the same pass: jsontext
// reads the bytes in place, value by value. Lists are read element by element,
// since a short value is seen to be shallow without looking into it.
type reader struct {
	buffer  bytes.Buffer
	decoder *jsontext.Decoder
}

// release forgets the body.
func (r *reader) release(size int) {
	r.buffer = bytes.Buffer{}
	r.decoder.Reset(&r.buffer)
	if size <= keepReaders {
		readers.Put(r)
	}
}

// read fills d from its bytes.
func (r *reader) read(d *Document) error {
	r.buffer = *bytes.NewBuffer(d.raw)
	r.decoder.Reset(&r.buffer)
	_, err := r.decoder.ReadToken()
	for err == nil && r.decoder.PeekKind() != '}' {
		err = r.member(d)
	}
	if err == nil {
		_, err = r.decoder.ReadToken()
	}
	if err != nil {
		return explain(err, d.raw)
	}
	if _, err = r.decoder.ReadToken(); err != io.EOF {
		return &Error{Reason: Trailing, Offset: r.decoder.InputOffset()}
	}
	return nil
}

// member reads one name with its value.
func (r *reader) member(d *Document) error {
	literal, err := r.decoder.ReadValue()
	if err != nil {
		return err
	}
	m := member{name: nameOf(literal), start: int(r.decoder.InputOffset()) - len(literal)}
	if r.decoder.PeekKind() == '[' {
		m.value, err = r.list()
	} else {
		m.value, err = r.value(MaxDepth - 1)
	}
	m.end = int(r.decoder.InputOffset())
	d.members = append(d.members, m)
	return err
}

// list reads an array, value a value that may nest so many levels; both return
// where it starts.
func (r *reader) list() (start int, err error) {
	if _, err = r.decoder.ReadToken(); err != nil {
		return 0, err
	}
	start = int(r.decoder.InputOffset()) - 1
	for err == nil && r.decoder.PeekKind() != ']' {
		_, err = r.value(MaxDepth - 2)
	}
	if err == nil {
		_, err = r.decoder.ReadToken()
	}
	return start, err
}

func (r *reader) value(levels int) (start int, err error) {
	v, err := r.decoder.ReadValue()
	start = int(r.decoder.InputOffset()) - len(v)
	if err == nil && deeper(v, levels) {
		err = &Error{Reason: TooDeep, Offset: int64(start)}
	}
	return start, err
}

// deeper reports whether a valid value nests more than so many levels. Counting
// brackets, those in strings included, settles it for nearly all values at the
// speed of memory.
func deeper(v []byte, levels int) bool {
	if len(v) <= 2*levels || bytes.Count(v, []byte("{"))+bytes.Count(v, []byte("[")) <= levels {
		return false
	}
	_, depth := skipValue(v, 0)
	return depth > levels
}

// nameOf is what a name's literal says: the bytes in it where it has no escapes.
func nameOf(literal []byte) []byte {
	if len(literal) >= 2 && bytes.IndexByte(literal, '\\') < 0 {
		return literal[1 : len(literal)-1 : len(literal)-1]
	}
	return unquote(literal)
}

// explain turns a decoder's error into one of ours. What was cut short is at
// fault at its end; what lies too deep is so even where it is broken as well.
func explain(err error, raw []byte) *Error {
	e := &Error{Reason: Malformed, Offset: int64(len(raw))}
	if errors.As(err, &e) {
		return e
	}
	if fault := (*jsontext.SyntacticError)(nil); errors.As(err, &fault) {
		e.Offset = fault.ByteOffset
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		e.Reason = DuplicateName
	} else if deeper(bytes.TrimLeft(raw[:e.Offset], " \n\t\r"), MaxDepth) {
		e.Reason = TooDeep
	}
	return e
}
