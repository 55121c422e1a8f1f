package exchange

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bypass is what a request addresses past the unified routes.
type Bypass struct {
	Name string   // a connection's id, else a provider's
	Path string   // escaped as the client wrote it, beginning with a slash
	at   []string // its segments, unescaped, without a leading v1
}

// bypassPrefix begins the paths of the bypass.
const bypassPrefix = "/bypass/"

// maxPath bounds what is passed on, in bytes.
const maxPath = 4096

// ParseBypass reads an escaped path. It is confined to what lies below the
// upstream's base URL, whoever reads it next and however often it is unescaped: no
// step up, no empty step, no slash in disguise, no control character. It reports
// whether the path is such a one.
func ParseBypass(escaped string) (Bypass, bool) {
	rest, found := strings.CutPrefix(escaped, bypassPrefix)
	first, path, deeper := strings.Cut(rest, "/")
	name, sound := step(first)
	if !found || !sound || !deeper || len(escaped) > maxPath {
		return Bypass{}, false
	}
	b := Bypass{Name: name, Path: "/" + path}
	for path != "" {
		part, after, more := strings.Cut(path, "/")
		text, sound := step(part)
		if !sound {
			return Bypass{}, false
		}
		b.at = append(b.at, text)
		if path = after; more && path == "" {
			break // a slash at the end is no step
		}
	}
	if len(b.at) > 0 && b.at[0] == "v1" {
		b.at = b.at[1:]
	}
	return b, len(b.at) > 0
}

// step unescapes one segment and reports whether it is a plain one.
func step(escaped string) (string, bool) {
	text, err := url.PathUnescape(escaped)
	if err != nil || text == "" || text == "." || text == ".." || !utf8.ValidString(text) {
		return "", false
	}
	for _, r := range text {
		if r == '/' || r == '\\' || unicode.IsControl(r) {
			return "", false
		}
	}
	lower := strings.ToLower(text)
	for _, disguised := range [...]string{"%2e", "%2f", "%5c", "%25", "%00"} {
		if strings.Contains(lower, disguised) {
			return "", false
		}
	}
	return text, true
}
