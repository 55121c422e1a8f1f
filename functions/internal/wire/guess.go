package wire

import "unicode/utf8"

// GuessedTokens is an estimate of the tokens of a Messages prompt, equal for equal
// bodies on every process: over the JSON text of system, messages and tools, one
// token for four ASCII characters and one for every other character, whichever
// way it is written; media at the flat rates of EstimatedTokens.
func (f *Facts) GuessedTokens() int64 {
	plain, other := int64(0), int64(0)
	for _, name := range [...]string{"system", "messages", "tools", "tool_choice"} {
		a, b := characters(f.Member(name))
		plain, other = plain+a, other+b
	}
	m := f.media()
	return max(1, max(0, plain-int64(m.bytes))/bytesPerToken+other+m.tokens)
}

// characters counts the ASCII characters of JSON text and all others. An escape
// counts as what it stands for; of a pair the first half does.
func characters(text []byte) (plain, other int64) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\\' && i+5 < len(text) && text[i+1] == 'u':
			switch unit := unhex(text[i+2 : i+6]); {
			case unit < utf8.RuneSelf:
				plain++
			case unit < 0xdc00 || unit > 0xdfff:
				other++
			}
			i += 6
		case c == '\\' && i+1 < len(text):
			plain++
			i += 2
		case c < utf8.RuneSelf:
			plain++
			i++
		default:
			_, size := utf8.DecodeRune(text[i:])
			other++
			i += size
		}
	}
	return plain, other
}

// unhex reads the hexadecimal digits of a valid escape.
func unhex(digits []byte) (unit int) {
	for _, c := range digits {
		if c <= '9' {
			unit = unit<<4 | int(c-'0')
		} else {
			unit = unit<<4 | (int(c|0x20) - 'a' + 10)
		}
	}
	return unit
}
