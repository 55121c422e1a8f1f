package identity_test

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"holdfast/affinity/identity"
)

// TestLargeMedia: I7 with media of many blocks: every spelling of the same bytes
// is the same image, and one bit or byte more is another.
func TestLargeMedia(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{1, 3071, 3072, 3073, 6144, 50_000} {
		data := make([]byte, size)
		_, _ = random.Read(data)
		standard := base64.StdEncoding.EncodeToString(data)
		id := func(base64Text string) string {
			t.Helper()
			body := `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + base64Text + `"}}]}]}`
			return opening(t, "messages", body)
		}
		content := []any{map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png", "data": standard}}}
		want := reference(t, "messages", map[string]any{"messages": []any{map[string]any{"role": "user", "content": content}}})
		for name, text := range map[string]string{
			"standard":        standard,
			"no padding":      strings.TrimRight(standard, "="),
			"other alphabet":  base64.URLEncoding.EncodeToString(data),
			"wrapped":         wrapped(standard, 76, `\r\n`),
			"wrapped at 4097": wrapped(standard, 4097, " "),
			"a space first":   " " + standard,
			"escaped":         strings.NewReplacer("/", `\/`, "+", `\u002b`).Replace(standard),
		} {
			if got := id(text); got != want {
				t.Errorf("%d bytes, %s: %s, want %s", size, name, got, want)
			}
		}
		data[size/2] ^= 1
		if id(base64.StdEncoding.EncodeToString(data)) == want || id(base64.StdEncoding.EncodeToString(append(data, 0))) == want {
			t.Errorf("%d bytes: other bytes, the same image", size)
		}
		if got := id(standard + "*"); got != "generated: "+string(identity.UnreadableMedia) {
			t.Errorf("%d bytes and a stray character: %s", size, got)
		}
	}
}

// wrapped puts a separator behind every width characters.
func wrapped(text string, width int, separator string) string {
	var b strings.Builder
	for len(text) > width {
		b.WriteString(text[:width])
		b.WriteString(separator)
		text = text[width:]
	}
	return b.String() + text
}
