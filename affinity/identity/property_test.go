package identity_test

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"holdfast/affinity/identity"
)

// abstract is a conversation apart from any protocol.
type abstract struct {
	system    []string // blocks of one system turn; empty: none
	developer string   // a developer turn behind it; empty: none
	opening   []part   // the first user turn, meaningful
	later     int      // turns behind it
}

// part is a block: text, or media of one sort.
type part struct {
	sort string // text, image, image-url, document, document-url
	text string
}

func genConversation(t *rapid.T) abstract {
	text := rapid.StringMatching(`[a-zé"\\/\n\t😀 <&\x01\x7f]{0,12}x`)
	c := abstract{
		system: rapid.SliceOfN(text, 0, 2).Draw(t, "system"),
		opening: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) part {
			return part{rapid.SampledFrom([]string{"text", "text", "image", "image-url", "document", "document-url"}).Draw(t, "sort"), text.Draw(t, "text")}
		}), 1, 3).Draw(t, "opening"),
		later: rapid.IntRange(0, 3).Draw(t, "later"),
	}
	if rapid.Bool().Draw(t, "has developer") {
		c.developer = text.Draw(t, "developer")
	}
	return c
}

// writer spells JSON in ways that mean the same: members in any order, escapes
// where none are needed, white space, members that do not count.
type writer struct{ t *rapid.T }

func (w writer) object(members ...string) string {
	if rapid.Bool().Draw(w.t, "decorate") {
		members = append(members, `"cache_control": {"type":"ephemeral"}`, `"id":"x{[\"1"`)
	}
	shuffled := rapid.Permutation(members).Draw(w.t, "order")
	return "{" + strings.Join(shuffled, rapid.SampledFrom([]string{",", " ,\n\t"}).Draw(w.t, "comma")) + "}"
}

func (w writer) member(name, value string) string { return w.str(name) + ":" + value }

func (w writer) str(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	style := rapid.IntRange(0, 2).Draw(w.t, "spelling")
	for _, r := range text {
		switch {
		case style == 0 && r >= ' ' && r != '"' && r != '\\', style == 1 && r > '~':
			b.WriteRune(r)
		case style == 2 && r == '/':
			b.WriteString(`\/`)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04X`, unit)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (w writer) blocks(protocol string, parts []part) string {
	if len(parts) == 1 && parts[0].sort == "text" && rapid.Bool().Draw(w.t, "as string") {
		return w.str(parts[0].text)
	}
	list := make([]string, len(parts))
	for i, p := range parts {
		list[i] = w.block(protocol, p)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func (w writer) block(protocol string, p part) string {
	typed := func(kind string, members ...string) string {
		return w.object(append(members, w.member("type", w.str(kind)))...)
	}
	inline := func(mediaType string) string {
		return w.str("data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString([]byte(p.text)))
	}
	source := func(kind, mediaType string) string {
		return typed(kind, w.member("source", typed("base64", w.member("media_type", w.str(mediaType)), w.member("data", w.str(base64.StdEncoding.EncodeToString([]byte(p.text)))))))
	}
	url := w.str("https://example.com/" + p.text)
	switch p.sort + " " + protocol {
	case "text chat", "text messages":
		return typed("text", w.member("text", w.str(p.text)))
	case "text responses":
		return typed("input_text", w.member("text", w.str(p.text)))
	case "image chat":
		return typed("image_url", w.member("image_url", w.object(w.member("url", inline("image/png")))))
	case "image responses":
		return typed("input_image", w.member("image_url", inline("image/png")))
	case "image messages":
		return source("image", "image/png")
	case "image-url chat":
		return typed("image_url", w.member("image_url", w.object(w.member("url", url))))
	case "image-url responses":
		return typed("input_image", w.member("image_url", url))
	case "image-url messages":
		return typed("image", w.member("source", typed("url", w.member("url", url))))
	case "document chat":
		return typed("file", w.member("file", w.object(w.member("file_data", inline("application/pdf")))))
	case "document responses":
		return typed("input_file", w.member("file_data", inline("application/pdf")), w.member("filename", w.str("a.pdf")))
	case "document messages":
		return source("document", "application/pdf")
	case "document-url messages":
		return typed("document", w.member("source", typed("url", w.member("url", url))))
	default: // Chat has no member of its own for it; gateways take this one
		return typed("input_file", w.member("file_url", url))
	}
}

// body writes a conversation in one protocol.
func (w writer) body(protocol string, c abstract) string {
	turn := func(role string, content string) string {
		return w.object(w.member("role", w.str(role)), w.member("content", content))
	}
	texts := func(list []string) (parts []part) {
		for _, text := range list {
			parts = append(parts, part{"text", text})
		}
		return parts
	}
	var members, turns []string
	if len(c.system) > 0 {
		system := w.blocks(protocol, texts(c.system))
		top := map[string]string{"messages": "system", "responses": "instructions"}[protocol]
		if top != "" && rapid.Bool().Draw(w.t, "at the top") {
			members = append(members, w.member(top, system))
		} else {
			turns = append(turns, turn("system", system))
		}
	}
	if c.developer != "" {
		turns = append(turns, turn("developer", w.blocks(protocol, texts([]string{c.developer}))))
	}
	turns = append(turns, turn("user", w.blocks(protocol, c.opening)))
	for i := range c.later {
		turns = append(turns, turn([]string{"assistant", "user", "system"}[i%3], w.str("later")))
	}
	list := map[string]string{"chat": "messages", "messages": "messages", "responses": "input"}[protocol]
	members = append(members, w.member(list, "["+strings.Join(turns, ",")+"]"), w.member("model", w.str(rapid.SampledFrom([]string{"a", "b"}).Draw(w.t, "model"))))
	return w.object(members...)
}

// TestOneOpeningOneID: I3 and I4 over made-up conversations: one id for every
// protocol and every spelling of it, and another one for another conversation.
func TestOneOpeningOneID(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := genConversation(rt), genConversation(rt)
		id := func(protocol string, c abstract) string {
			body := writer{rt}.body(protocol, c)
			got := session(t, resolver(t), identity.Request{Endpoint: protocol, Member: members(t, body)})
			if got.Source != identity.Prompt {
				rt.Fatalf("%s: %+v", body, got)
			}
			return got.ID
		}
		want := id("chat", a)
		for _, protocol := range []string{"chat", "messages", "responses"} {
			if got := id(protocol, a); got != want {
				rt.Fatalf("%s: %s, want %s", protocol, got, want)
			}
		}
		a.later, b.later = 0, 0
		if same := reflect.DeepEqual(a, b); same != (id("messages", b) == want) {
			rt.Fatalf("%+v and %+v", a, b)
		}
	})
}
