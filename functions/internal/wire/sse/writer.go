package sse

import "bytes"

// AppendEvent appends one event with the given name and data. Whatever they
// hold, it stays one event: a name loses its CR, LF and NUL, data with line
// breaks of any kind becomes several data lines. An empty name is left out.
func AppendEvent(dst []byte, name string, data []byte) []byte {
	if name != "" {
		dst = append(dst, "event: "...)
		for i := range len(name) {
			if c := name[i]; c != '\r' && c != '\n' && c != 0 {
				dst = append(dst, c)
			}
		}
		dst = append(dst, '\n')
	}
	dst = appendLines(dst, "data: ", data)
	return append(dst, '\n')
}

// AppendComment appends a comment, which clients do not see: the heartbeat of
// streams whose protocol has none.
func AppendComment(dst []byte, text string) []byte {
	dst = appendLines(dst, ": ", []byte(text))
	return append(dst, '\n')
}

// appendLines appends each line of text behind the prefix.
func appendLines(dst []byte, prefix string, text []byte) []byte {
	for {
		at := bytes.IndexAny(text, "\r\n")
		line := text
		if at >= 0 {
			line = text[:at]
		}
		dst = append(append(append(dst, prefix...), line...), '\n')
		if at < 0 {
			return dst
		}
		if text[at] == '\r' && at+1 < len(text) && text[at+1] == '\n' {
			at++
		}
		text = text[at+1:]
	}
}
