package sse

import (
	"bytes"
	"io"
)

// maxBlank bounds the blanks that First passes over, in bytes.
const maxBlank = 4 << 10

// Opens reports whether a stream's first byte that is no blank can begin an event:
// with a comment or a field that has a meaning. No JSON text begins so.
func Opens(first byte) bool { return bytes.IndexByte([]byte(":deir"), first) >= 0 }

// First is the first byte of a text that is no blank and not of a byte order mark;
// 0 where there is none.
func First(text []byte) byte {
	for _, c := range text {
		if bytes.IndexByte([]byte(" \t\r\n\xef\xbb\xbf"), c) < 0 {
			return c
		}
	}
	return 0
}

// First waits for what the source begins with, as the function First says it of a
// text, and leaves it to be read. It is 0 where the source ends or fails before,
// and where it begins with too many blanks. It is called before the first Next.
func (r *Reader) First() byte {
	for {
		if c := First(r.buf[:r.end]); c != 0 || r.err != nil || r.end >= maxBlank {
			return c
		}
		_ = r.fill() // its error is kept
	}
}

// Rest is the source from its first byte on, for whoever reads it in the Reader's
// place after First. It uses the Reader's buffer.
func (r *Reader) Rest() io.Reader { return io.MultiReader(bytes.NewReader(r.buf[:r.end]), r.from) }
