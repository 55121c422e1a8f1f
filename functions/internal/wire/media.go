package wire

import (
	"encoding/base64"
	"strings"
)

// MediaAt reads a reference to media: an http(s) URL, or a data: URL with
// base64. It reports whether it is one.
func MediaAt(url string) (*Media, bool) {
	rest, inline := strings.CutPrefix(url, "data:")
	if !inline {
		web := strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
		return &Media{URL: url}, web
	}
	head, data, found := strings.Cut(rest, ",")
	kind, encoded := strings.CutSuffix(head, ";base64")
	kind, _, _ = strings.Cut(kind, ";")
	return &Media{Type: strings.ToLower(kind), Data: data}, found && encoded && base64ed(data)
}

// Reference is the URL of media: where they are, or a data: URL. It is "" where
// they are known by a file id or a text only.
func (m *Media) Reference() string {
	if m.Data != "" {
		return "data:" + m.Type + ";base64," + m.Data
	}
	return m.URL
}

// OpenText is the text of a plain-text document, whichever way it was given,
// and whether it is one.
func (m *Media) OpenText() (string, bool) {
	if m.Text != "" || m.Data == "" || !strings.HasPrefix(m.Type, "text/") {
		return m.Text, m.Text != ""
	}
	text, err := base64.StdEncoding.DecodeString(m.Data)
	return strings.ToValidUTF8(string(text), "\uFFFD"), err == nil
}

// base64ed reports whether data has nothing in it that base64 has not.
func base64ed(data string) bool {
	for i := range len(data) {
		c := data[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '=' {
			continue
		}
		return false
	}
	return data != ""
}
