package identity

import (
	"bytes"
	"encoding/base64"
	"hash"
	"strings"
)

// dataHead is what stands before the comma of a data: URL.
type dataHead struct {
	mediaType string
	base64    bool
}

// head reads the head of a data: URL and leaves the decoder behind its comma.
func (d *decoder) head(raw []byte) (h dataHead, ok bool) {
	const longest = 256
	d.open(raw)
	var text []byte
	for piece := d.next(); piece != nil; piece = d.next() {
		comma := bytes.IndexByte(piece[:min(len(piece), longest)], ',')
		if comma < 0 {
			comma = len(piece)
		}
		if text = append(text, piece[:min(comma, longest)]...); len(text) >= longest {
			return h, false
		}
		if comma == len(piece) {
			continue
		}
		d.back = piece[comma+1:]
		kind, coded := strings.CutSuffix(strings.ToLower(string(text[len("data:"):])), ";base64")
		if h = (dataHead{normalType(kind), coded}); h.mediaType == "" {
			h.mediaType = "text/plain" // RFC 2397
		}
		return h, true
	}
	return h, false
}

// base64Reader hashes the bytes that base64 text stands for. Both alphabets,
// missing padding and white space are fine: equal bytes are to have equal sums.
type base64Reader struct {
	sum    hash.Hash
	bad    bool // not base64, or nothing at all
	padded bool
	any    bool
	used   int
	in     [4096]byte
	out    [3072]byte
}

func (r *base64Reader) write(text []byte) {
	for len(text) > 0 {
		text = r.plain(text)
		n := min(len(text), len(r.in)-r.used)
		for _, c := range text[:n] {
			r.char(c)
		}
		text = text[n:]
	}
}

// plain takes what can be decoded where it stands, in whole blocks of the plain
// alphabet, and returns the rest.
func (r *base64Reader) plain(text []byte) []byte {
	for r.used == 0 && !r.padded && len(text) >= len(r.in) {
		n, err := base64.RawStdEncoding.Decode(r.out[:], text[:len(r.in)])
		if err != nil || n < len(r.out) {
			break
		}
		r.sum.Write(r.out[:])
		r.any, text = true, text[len(r.in):]
	}
	return text
}

func (r *base64Reader) char(c byte) {
	switch {
	case c == '=':
		r.padded = true
		return
	case space(c):
		return
	case c == '-':
		c = '+'
	case c == '_':
		c = '/'
	}
	r.bad = r.bad || r.padded // nothing may follow the padding
	r.in[r.used] = c
	if r.used++; r.used == len(r.in) {
		r.decode()
	}
}

func (r *base64Reader) close() {
	r.decode()
	r.bad = r.bad || !r.any
}

func (r *base64Reader) decode() {
	n, err := base64.RawStdEncoding.Decode(r.out[:], r.in[:r.used])
	r.bad, r.any, r.used = r.bad || err != nil, r.any || n > 0, 0
	r.sum.Write(r.out[:n])
}
