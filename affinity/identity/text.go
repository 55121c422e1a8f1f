package identity

import (
	"bytes"
	"encoding/hex"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// decoder hands out the text of a JSON string in pieces, so that a text of any
// size is read without a copy of it.
type decoder struct {
	rest []byte
	back []byte // a piece that was taken only in part
	bad  bool   // the string is malformed
	room [utf8.UTFMax]byte
}

// open starts on a raw JSON string.
func (d *decoder) open(raw []byte) {
	raw = trim(raw)
	d.rest, d.back, d.bad = nil, nil, true
	if len(raw) > 0 && raw[0] == '"' && stringLength(raw) == len(raw) {
		d.rest, d.bad = raw[1:len(raw)-1], false
	}
}

// next returns the next piece, nil at the end. A piece is valid until the next
// call.
func (d *decoder) next() []byte {
	if piece := d.back; len(piece) > 0 {
		d.back = nil
		return piece
	}
	if len(d.rest) == 0 || d.bad {
		return nil
	}
	if d.rest[0] == '\\' {
		return d.escape()
	}
	n := bytes.IndexByte(d.rest, '\\')
	if n < 0 {
		n = len(d.rest)
	}
	piece := d.rest[:n]
	d.rest = d.rest[n:]
	return piece
}

// escape decodes the escape at the front.
func (d *decoder) escape() []byte {
	r, n := simpleEscape(d.rest)
	if n == 0 {
		r, n = unicodeEscape(d.rest)
	}
	if n == 0 {
		d.bad = true
		return nil
	}
	d.rest = d.rest[n:]
	return utf8.AppendRune(d.room[:0], r)
}

// simpleEscape decodes an escape of two bytes; n is 0 where it is none.
func simpleEscape(b []byte) (r rune, n int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch c := b[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	return 0, 0
}

// unicodeEscape decodes \uXXXX, or a pair of surrogates; half a pair is none.
func unicodeEscape(b []byte) (r rune, n int) {
	r, ok := unit(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	low, ok := unit(b[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// unit decodes one \uXXXX.
func unit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var v [2]byte
	if _, err := hex.Decode(v[:], b[2:6]); err != nil {
		return 0, false
	}
	return rune(v[0])<<8 | rune(v[1]), true
}

// blank reports whether a raw JSON string holds white space only, reading no
// further than the first character that is none. A malformed one is not blank.
func (d *decoder) blank(raw []byte) bool {
	d.open(raw)
	for piece := d.next(); piece != nil; piece = d.next() {
		if bytes.ContainsFunc(piece, func(r rune) bool { return !unicode.IsSpace(r) }) {
			return false
		}
	}
	return !d.bad
}

// starts reports whether a raw JSON string starts with an ASCII prefix,
// whatever its case.
func (d *decoder) starts(raw []byte, prefix string) bool {
	d.open(raw)
	for len(prefix) > 0 {
		piece := d.next()
		if piece == nil {
			return false
		}
		n := min(len(piece), len(prefix))
		if !bytes.EqualFold(piece[:n], []byte(prefix[:n])) {
			return false
		}
		prefix = prefix[n:]
	}
	return true
}
