package jsonedit

import (
	"bytes"
	"errors"
	"strconv"

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

// validate leaves the checking to jsontext, whose pooled decoder reads raw in
// place. Where the fault lies is found by a second reading, made only then.
func validate(raw []byte) error {
	if jsontext.Value(raw).IsValid() {
		return nil
	}
	if skipSpace(raw, 0) == len(raw) {
		return &Error{Reason: Empty}
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if err := d.SkipValue(); err != nil {
		return explain(err, int64(len(raw)))
	}
	return &Error{Reason: Trailing, Offset: d.InputOffset()}
}

// Valid reports whether a provider's answer is whole: one JSON value and nothing
// after it. Duplicate names and stray bytes in strings are the provider's affair.
func Valid(raw []byte) bool {
	return jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// explain turns a decoder's error into one of ours. A value cut short is
// reported at the end.
func explain(err error, size int64) *Error {
	e := &Error{Reason: Malformed, Offset: size}
	if fault := (*jsontext.SyntacticError)(nil); errors.As(err, &fault) {
		e.Offset = fault.ByteOffset
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		e.Reason = DuplicateName
	}
	return e
}
