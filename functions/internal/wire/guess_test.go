package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/functions/internal/wire"
)

// guessed is the estimate of a body.
func guessed(t testing.TB, body string) int64 {
	t.Helper()
	facts, p := wire.Inspect(wire.EndpointCountTokens, []byte(body))
	if p != nil {
		t.Fatal(p)
	}
	return facts.GuessedTokens()
}

// TestGuess holds the estimate's rule: four ASCII characters are a token, every
// other character is one, however it is escaped; media cost the same whatever
// their size, and what is no prompt costs nothing.
func TestGuess(t *testing.T) {
	around := func(text string) string {
		return `{"model":"m","messages":[{"role":"user","content":"` + text + `"}]}`
	}
	base := guessed(t, around(""))
	for name, row := range map[string]struct {
		body string
		want int64
	}{
		"ASCII":          {around(strings.Repeat("abcd", 100)), base + 100},
		"CJK":            {around(strings.Repeat("你", 100)), base + 100},
		"CJK as escapes": {around(strings.Repeat(`\u4f60`, 100)), base + 100},
		"a pair":         {around(strings.Repeat(`\ud83d\ude00`, 100)), base + 100},
		"the same pair":  {around(strings.Repeat("😀", 100)), base + 100},
		"ASCII escapes":  {around(strings.Repeat(`\u0041\u005A\n\"`, 100)), base + 100},
		"other members":  {`{"model":"m","metadata":{"user_id":"` + strings.Repeat("x", 4000) + `"},"messages":[{"role":"user","content":""}]}`, base},
		"nothing":        {`{"model":"m"}`, 1},
	} {
		if got := guessed(t, row.body); got != row.want {
			t.Errorf("%s: %d, want %d", name, got, row.want)
		}
	}
	image := func(size int) int64 {
		data := strings.Repeat("A", size)
		return guessed(t, `{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+data+`"}}]}]}`)
	}
	if small, large := image(40), image(40000); small != large || small < 1600 {
		t.Errorf("images: %d and %d", small, large)
	}
}

// FuzzGuess holds that an estimate never panics, is positive, and does not
// depend on how text is escaped.
func FuzzGuess(f *testing.F) {
	f.Add("Hello \u4f60 😀 \\ \"")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		plain, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var escaped strings.Builder
		for _, r := range string(plain) {
			if r < 0x80 || r > 0xffff {
				escaped.WriteRune(r)
				continue
			}
			const digits = "0123456789abcdef"
			escaped.WriteString(`\u` + string([]byte{digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]}))
		}
		a, b := guessed(t, `{"model":"m","system":`+string(plain)+`}`), guessed(t, `{"model":"m","system":`+escaped.String()+`}`)
		if a != b || a < 1 {
			t.Errorf("%q: %d, escaped %d", text, a, b)
		}
	})
}
