package identity

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of what is read as an id.
const (
	maxID       = 256  // bytes of a session id, of an agent id, of a cache key
	maxResponse = 1024 // bytes of a previous_response_id: some proxies pack routes into theirs
	maxQuoted   = 6    // bytes that one byte of text takes at most in JSON, as \u0000
)

// check returns why s is no valid id of at most most bytes, or "".
func check(s string, most int) Reason {
	switch {
	case s == "":
		return Empty
	case len(s) > most:
		return TooLong
	case !utf8.ValidString(s):
		return NotUTF8
	case strings.ContainsFunc(s, unicode.IsControl): // exactly U+0000-001F and 007F-009F
		return ControlCharacter
	}
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	if unicode.IsSpace(first) || unicode.IsSpace(last) {
		return WhiteSpace
	}
	return ""
}

// present reports whether a body member was sent: JSON null counts as absent.
func present(raw []byte) bool {
	raw = trim(raw)
	return len(raw) > 0 && string(raw) != "null"
}

// unquote decodes a JSON string of at most most bytes. The result may share
// memory with raw. Longer ones are not decoded.
func unquote(raw []byte, most int) ([]byte, Reason) {
	raw = trim(raw)
	if len(raw) == 0 || raw[0] != '"' {
		return nil, NotString
	}
	if len(raw) > most*maxQuoted+len(`""`) {
		return nil, TooLong
	}
	if inner := raw[1:]; bytes.IndexByte(inner, '\\') < 0 && len(inner) > 0 && bytes.IndexByte(inner, '"') == len(inner)-1 {
		return inner[:len(inner)-1], ""
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return nil, NotUTF8
	}
	return text, ""
}

// bodyID reads a body member as an id under the core's rules.
func bodyID(raw []byte, most int) (string, Reason) {
	text, reason := unquote(raw, most)
	if reason != "" {
		return "", reason
	}
	id := string(text)
	return id, check(id, most)
}

// looseID reads a body member as an id under the registry's rules: surrounding
// white space does not count.
func looseID(raw []byte) (string, Reason) {
	text, reason := unquote(raw, maxID)
	if reason != "" {
		return "", reason
	}
	id := string(bytes.TrimSpace(text))
	return id, check(id, maxID)
}
