package wire

import (
	"strings"
	"unicode/utf8"
)

// Clean makes text from outside fit to be kept or shown: at most limit bytes,
// valid UTF-8, control characters (CR and LF among them) as spaces.
func Clean(text string, limit int) string {
	if len(text) > limit {
		cut := limit
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r <= 0x9f {
			return ' '
		}
		return r
	}, text)
}
