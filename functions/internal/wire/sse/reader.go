// Package sse reads and writes server-sent events without changing a byte of
// what passes through.
//
// Reader cuts a stream into events whose Raw bytes, put together, are the stream:
// comments, CRLF, a byte order mark, id and retry fields, blank lines and a last
// event without its blank line included.
//
// Invariants: an event is handed over as soon as its blank line is there,
// whatever may follow; no event allocates once the buffer has grown to its
// size; an event larger than the Reader's bound is refused.
//
// Concurrency: a Reader belongs to one goroutine; an Event is valid until the
// next call of Next or Buffered.
//
// Errors: Next fails with io.EOF after the last byte, with ErrTooLarge, or with
// the source's own error, after all events that were complete before it.
package sse

import (
	"bytes"
	"errors"
	"io"
)

const (
	// MaxEvent is the default bound on one event's raw bytes.
	MaxEvent = 16 << 20

	firstBuffer = 8 << 10
	maxEmpty    = 100 // reads in a row that give neither bytes nor an error
)

// ErrTooLarge is an event beyond the Reader's bound. The stream cannot be read
// any further.
var ErrTooLarge = errors.New("sse: event too large")

// Event is one event of a stream, or a block of comments alone.
type Event struct {
	Raw     []byte // exactly as received, with the blank line that ends it
	Name    []byte // the last event field; empty where there is none
	Data    []byte // the data lines joined by LF; nil where there is none
	Partial bool   // the stream ended before the blank line
}

// Reader cuts a stream into events.
type Reader struct {
	from io.Reader
	max  int
	err  error // of the source, told once the buffer has no whole event left

	buf        []byte
	start, end int // the current event begins at start; bytes are valid up to end
	next       int // start of the line that is read now
	lf, cr     int // no LF in [next, lf), no CR in [next, cr)
	afterCR    bool
	begun      bool // the first line was read
	open       bool // the current event was begun and not handed over
	whole      bool // its blank line was read
	dirty      bool // it has a line that is not blank

	name, data span // by offsets from start
	lines      int  // data lines so far
	joined     []byte
	event      Event
}

type span struct{ from, to int }

// NewReader reads events of at most max raw bytes from a source; 0 means
// MaxEvent.
func NewReader(from io.Reader, max int) *Reader {
	if max <= 0 {
		max = MaxEvent
	}
	return &Reader{from: from, max: max}
}

// Use gives the Reader a buffer to begin with, in place of one that it would
// make. It is called before the first Next.
func (r *Reader) Use(buffer []byte) { r.buf = buffer[:cap(buffer)] }

// Buffer returns the buffer for another Reader to begin with. The Reader and its
// events are done with then.
func (r *Reader) Buffer() []byte { return r.buf }

// Next returns the next event. It reads from the source only when the bytes it
// has hold no whole event.
func (r *Reader) Next() (*Event, error) {
	for !r.Buffered() {
		if r.err != nil {
			return r.last()
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
	return r.emit(false), nil
}

// Buffered reports whether Next will return an event without reading from the
// source.
func (r *Reader) Buffered() bool {
	r.begin()
	r.whole = r.whole || r.usual()
	for !r.whole {
		at := r.lineEnd()
		if at < 0 {
			return false
		}
		r.whole = r.line(at)
	}
	return true
}

// usual reads an event of the form that nearly all have in one step: one data
// line, a blank one, both ended by LF. Where it has any other form, is not all
// there yet, or was looked at before, nothing is read.
func (r *Reader) usual() bool {
	const field = "data: "
	if !r.begun || r.afterCR || r.next > r.start || r.lf > r.start {
		return false
	}
	text := r.buf[r.start:r.end]
	at := bytes.IndexByte(text, '\n')
	if at < len(field) || at+1 == len(text) || text[at+1] != '\n' || string(text[:len(field)]) != field || bytes.IndexByte(text[:at], '\r') >= 0 {
		return false
	}
	r.data, r.lines, r.dirty = span{len(field), at}, 1, true
	r.next = r.start + at + 2
	return true
}

// begin forgets the event before, once it was handed over.
func (r *Reader) begin() {
	if r.open {
		return
	}
	r.open, r.start = true, r.next
	if r.start == r.end {
		r.start, r.end, r.next, r.lf, r.cr = 0, 0, 0, 0, 0
	}
	r.name, r.data, r.lines, r.joined, r.dirty = span{}, span{}, 0, r.joined[:0], false
}

// lineEnd returns the offset of the CR or LF that ends the current line, -1
// while it is not there. What was searched once is not searched again, so that
// a large event in many small pieces costs its length.
func (r *Reader) lineEnd() int {
	if r.afterCR && r.next < r.end {
		if r.buf[r.next] == '\n' { // the other half of a CRLF
			r.next++
		}
		r.afterCR = false
	}
	r.lf = find(r.buf[:r.end], max(r.lf, r.next), '\n')
	r.cr = find(r.buf[:r.lf], max(r.cr, r.next), '\r')
	switch {
	case r.cr < r.lf:
		return r.cr
	case r.lf < r.end:
		return r.lf
	}
	return -1
}

// find returns the offset of c from i on, len(buf) where there is none.
func find(buf []byte, i int, c byte) int {
	if at := bytes.IndexByte(buf[i:], c); at >= 0 {
		return i + at
	}
	return len(buf)
}

// line passes the line that ends at the CR or LF at, and reports whether it is
// blank.
func (r *Reader) line(at int) (blank bool) {
	text := r.next
	r.next = at + 1
	r.afterCR = r.buf[at] == '\r'
	if r.afterCR && r.next < r.end {
		if r.buf[r.next] == '\n' {
			r.next++
		}
		r.afterCR = false
	}
	return r.text(text, at)
}

// text reads what a line says, without its end, and reports whether it is blank.
func (r *Reader) text(from, to int) (blank bool) {
	if !r.begun {
		r.begun = true
		if bytes.HasPrefix(r.buf[from:to], []byte("\xef\xbb\xbf")) {
			from += 3
		}
	}
	if from == to {
		return true
	}
	r.dirty = true
	r.field(r.buf[from:to], from-r.start)
	return false
}

// field takes a line's field in; from is the line's offset in the event.
func (r *Reader) field(text []byte, from int) {
	colon := bytes.IndexByte(text, ':')
	value := len(text)
	if colon < 0 {
		colon = len(text)
	} else if value = colon + 1; value < len(text) && text[value] == ' ' {
		value++
	}
	s := span{from + value, from + len(text)}
	switch string(text[:colon]) {
	case "event":
		r.name = s
	case "data":
		r.addData(s)
	}
}

// addData keeps a single data line where it is and joins several.
func (r *Reader) addData(s span) {
	r.lines++
	if r.lines == 1 {
		r.data = s
		return
	}
	if r.lines == 2 {
		r.joined = append(r.joined, r.at(r.data)...)
	}
	r.joined = append(append(r.joined, '\n'), r.at(s)...)
}

func (r *Reader) at(s span) []byte { return r.buf[r.start+s.from : r.start+s.to : r.start+s.to] }

// emit hands the current event over.
func (r *Reader) emit(partial bool) *Event {
	r.open, r.whole = false, false
	r.event = Event{Raw: r.buf[r.start:r.next:r.next], Name: r.at(r.name), Partial: partial}
	switch {
	case r.lines == 1:
		r.event.Data = r.at(r.data)
	case r.lines > 1:
		r.event.Data = r.joined
	}
	return &r.event
}

// last is what is left when the source has ended: an event without its end
// where it ended cleanly, nothing where it broke.
func (r *Reader) last() (*Event, error) {
	if r.err != io.EOF || r.start == r.end {
		r.open, r.next = false, r.end
		return nil, r.err
	}
	if r.next < r.end {
		r.text(r.next, r.end)
		r.next = r.end
	}
	return r.emit(r.dirty), nil
}

// fill reads more bytes, in front of which the current event stays.
func (r *Reader) fill() error {
	if r.end-r.start >= r.max {
		r.err, r.open, r.next = ErrTooLarge, false, r.end
		return r.err
	}
	if r.end == len(r.buf) {
		r.room()
	}
	for range maxEmpty {
		n, err := r.from.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return nil
		}
	}
	r.err = io.ErrNoProgress
	return nil
}

// room makes space after end: by moving the current event to the front, or by
// doubling the buffer.
func (r *Reader) room() {
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.next, r.lf, r.cr = r.next-r.start, max(0, r.lf-r.start), max(0, r.cr-r.start)
		r.start = 0
	}
	size := min(max(firstBuffer, 2*len(r.buf)), r.max)
	if r.end < len(r.buf)/2 || size <= len(r.buf) {
		return
	}
	grown := make([]byte, size)
	copy(grown, r.buf[:r.end])
	r.buf = grown
}
