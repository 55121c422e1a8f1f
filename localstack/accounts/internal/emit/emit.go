// Package emit builds the bytes of answers: JSON by appending, and streams of
// server-sent events that are made whole before the first of them leaves, so
// that faults can be placed between any two.
package emit

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Quote appends a JSON string. Broken UTF-8 becomes the replacement character.
func Quote(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // its only error is UTF-8 that it has replaced
	return b
}

// OrNull appends a JSON string, or null for the empty one.
func OrNull(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return Quote(b, s)
}

// Int appends literal text and a number after it.
func Int(b []byte, before string, n int) []byte {
	return strconv.AppendInt(append(b, before...), int64(n), 10)
}

// String appends literal text and a JSON string after it.
func String(b []byte, before, s string) []byte { return Quote(append(b, before...), s) }

// Raw appends literal text and a JSON value after it, or the fallback when the
// value is absent or null.
func Raw(b []byte, before string, v jsontext.Value, fallback string) []byte {
	b = append(b, before...)
	if Absent(v) {
		return append(b, fallback...)
	}
	return append(b, v...)
}

// Compact is a valid value without insignificant white space, so that it fits
// on one line of an event.
func Compact(v jsontext.Value) jsontext.Value {
	v = v.Clone()
	if v.Compact() != nil {
		return jsontext.Value("null")
	}
	return v
}

// Absent tells whether a JSON value is missing or null.
func Absent(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

// Events is a whole stream. Append an event's bytes to Bytes, then call End.
type Events struct {
	Bytes []byte
	ends  []boundary
}

type boundary struct {
	at     int
	output bool
}

// End closes the event whose bytes were appended last. Output is what a reader
// would see: text, reasoning, a tool call; not preambles, pings or ends.
func (e *Events) End(output bool) {
	e.ends = append(e.ends, boundary{at: len(e.Bytes), output: output})
}

// Len is the number of events.
func (e *Events) Len() int { return len(e.ends) }

// Event is the i-th event's bytes.
func (e *Events) Event(i int) []byte {
	start := 0
	if i > 0 {
		start = e.ends[i-1].at
	}
	return e.Bytes[start:e.ends[i].at]
}

// Head is the bytes of the first n events.
func (e *Events) Head(n int) []byte {
	if n == 0 {
		return nil
	}
	return e.Bytes[:e.ends[n-1].at]
}

// Output tells whether the i-th event is output.
func (e *Events) Output(i int) bool { return e.ends[i].output }

// Upto is the number of events that leave before a fault after n outputs: for 0
// everything before the first output, for less than 0 nothing at all, for more
// outputs than there are everything up to the last one, so never the end.
func (e *Events) Upto(n int) int {
	if n < 0 {
		return 0
	}
	last := 0
	for i, end := range e.ends {
		if !end.output {
			continue
		}
		if n == 0 {
			return i
		}
		n--
		last = i + 1
	}
	return last
}
