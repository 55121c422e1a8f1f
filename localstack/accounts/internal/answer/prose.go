package answer

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"holdfast/localstack/accounts/internal/prompt"
)

// words is what prose is made of: 64 words, each in a cell of eight bytes.
const words = "" +
	"amber   anchor  autumn  basin   beacon  bridge  canvas  cedar   " +
	"cinder  copper  coral   cradle  delta   drift   ember   fable   " +
	"fern    galley  garden  glacier granite harbour hazel   hollow  " +
	"island  ivory   jetty   kernel  kettle  lantern ledger  linen   " +
	"lumen   maple   meadow  mirror  mortar  nectar  north   oaken   " +
	"orchard otter   paper   pebble  pilot   prairie quarry  quiet   " +
	"ribbon  river   rope    saddle  sail    signal  silver  stone   " +
	"summit  thicket timber  torch   valley  velvet  walnut  willow  "

// word is the one that a random number chooses.
func word(seed uint64) string {
	cell := seed % 64 * 8
	return strings.TrimRight(words[cell:cell+8], " ")
}

const quoteBytes = 40 // of the last turn, at the head of an answer

// prose makes text of the given number of tokens from a seed. It opens with
// the head of the last turn, so that a reader sees what was answered.
func prose(seed uint64, last string, tokens int) string {
	limit := tokens * prompt.TokenBytes
	var b strings.Builder
	b.Grow(limit + 16)
	if head := strings.Join(strings.Fields(prompt.Whole(last, quoteBytes)), " "); head != "" {
		b.WriteString("On \"" + head + "\": ")
	}
	for i := 0; b.Len() < limit; i++ {
		seed = mix(seed)
		next := word(seed)
		if i%8 == 0 {
			next = strings.ToUpper(next[:1]) + next[1:]
		}
		b.WriteString(next)
		if i%8 == 7 {
			b.WriteByte('.')
		}
		b.WriteByte(' ')
	}
	return strings.TrimRight(prompt.Whole(b.String(), limit), " ")
}

// mix is one step of the splitmix64 generator.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Pieces cuts text into the tokens that a stream delivers one by one: four
// bytes each, more where a character would be split.
func Pieces(text string, yield func(string)) {
	for len(text) > 0 {
		n := min(prompt.TokenBytes, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		yield(text[:n])
		text = text[n:]
	}
}

// wantedTokens reads "in N tokens" in the user's own words, 0 without them.
func wantedTokens(ask Ask) int {
	if !ask.User {
		return 0
	}
	head, _, found := strings.Cut(ask.Last, " tokens")
	if !found {
		return 0
	}
	at := strings.LastIndexByte(head, ' ')
	if at < 0 || !strings.HasSuffix(head[:at], "in") {
		return 0
	}
	n, err := strconv.Atoi(head[at+1:])
	if err != nil || n < 0 {
		return 0
	}
	return min(n, maxTokens)
}

// asksFor finds "call NAME" with nothing that could belong to a longer name
// behind it.
func asksFor(text, name string) bool {
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "call "+name)
		if !found {
			return false
		}
		if after == "" || !isNameByte(after[0]) {
			return true
		}
		rest = after
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
