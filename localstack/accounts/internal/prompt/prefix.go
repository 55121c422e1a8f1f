// Package prompt holds what a provider's prompt cache works on: the canonical
// form of a request's prompt, counted in tokens, and the cache of its prefixes.
//
// The canonical form is what a provider would feed to its model: tools, system
// text and turns in order, without sampling parameters, item ids, cache markers
// or earlier reasoning, and with text that was given as a string equal to the
// same text given as one block. A codec writes it piece by piece; nothing is
// kept but one running hash for each whole step.
//
// Invariants: four bytes of canonical form are one token, rounded up; only whole
// steps of 128 tokens are cached, and nothing shorter than 1,024 tokens; two
// prompts share a cached prefix exactly as far as their canonical bytes, model
// and protocol agree.
//
// Concurrency: a Prefix belongs to one goroutine, a Cache to all.
package prompt

import (
	"hash/maphash"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The arithmetic of every simulated provider.
const (
	TokenBytes = 4    // bytes of canonical form in one token
	StepTokens = 128  // granularity of what is cached
	MinTokens  = 1024 // the shortest prefix worth caching
)

const (
	stepBytes = StepTokens * TokenBytes
	minSteps  = MinTokens / StepTokens
)

// Tokens is the number of tokens of n canonical bytes.
func Tokens(n int) int { return (n + TokenBytes - 1) / TokenBytes }

// Whole is the longest head of s within n bytes that ends between characters.
func Whole(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Prefix is the canonical form of one prompt while it is written. Get one from
// Cache.Prefix.
type Prefix struct {
	hash  maphash.Hash
	size  int      // canonical bytes so far
	sums  []uint64 // running hash at the end of each whole step
	marks []mark
	auto  bool
}

// mark is a place up to which a request wants its prompt cached.
type mark struct {
	steps int
	ttl   time.Duration // 0: the cache's own
}

// Text writes one text block.
func (p *Prefix) Text(text string) { p.write("\x1d"); p.write(text) }

// Turn begins a message of a role.
func (p *Prefix) Turn(role string) { p.write("\x1e"); p.write(role) }

// Call writes a tool call. Its arguments count in their canonical form, since
// clients decode and encode them again.
func (p *Prefix) Call(id, name, arguments string) {
	if v := jsontext.Value(arguments); v.Canonicalize() == nil {
		arguments = string(v)
	}
	for _, s := range [...]string{"\x1ccall ", id, " ", name, " ", arguments} {
		p.write(s)
	}
}

// Result begins a tool result; its content follows.
func (p *Prefix) Result(id string) { p.write("\x1cresult "); p.write(id) }

// Media writes an image, a document or a sound. It costs one step, whatever its
// size: providers price media by their dimensions, which nobody decodes here.
func (p *Prefix) Media(data string) {
	const digits = "0123456789abcdef"
	var block [stepBytes]byte
	sum := maphash.String(p.hash.Seed(), data)
	for i := range block {
		block[i] = digits[sum>>(i%16*4)&15]
	}
	p.write(string(block[:]))
}

// Mark asks that everything written so far is cached, for the cache's own time
// when ttl is 0.
func (p *Prefix) Mark(ttl time.Duration) {
	p.marks = append(p.marks, mark{steps: p.size / stepBytes, ttl: ttl})
}

// Auto asks that the whole prompt is cached, and the answer with it once it is
// complete, as providers do that want no markers. Call it last.
func (p *Prefix) Auto(ttl time.Duration) { p.Mark(ttl); p.auto = true }

// Automatic tells whether the answer of this prompt is cached with it.
func (p *Prefix) Automatic() bool { return p.auto }

// Marks is the number of places that were marked.
func (p *Prefix) Marks() int { return len(p.marks) }

// Size is the number of canonical bytes.
func (p *Prefix) Size() int { return p.size }

// Tokens is the number of tokens of the whole prompt.
func (p *Prefix) Tokens() int { return Tokens(p.size) }

// write adds canonical bytes and notes the hash at each step that they finish.
func (p *Prefix) write(s string) {
	for len(s) > 0 {
		n := min(len(s), stepBytes-p.size%stepBytes)
		p.hash.WriteString(s[:n])
		s = s[n:]
		if p.size += n; p.size%stepBytes == 0 {
			p.sums = append(p.sums, p.hash.Sum64())
		}
	}
}

// limit is the last step that the marks cover, 0 when that is too short.
func (p *Prefix) limit() int {
	steps := 0
	for _, m := range p.marks {
		steps = max(steps, m.steps)
	}
	if steps < minSteps {
		return 0
	}
	return steps
}

// ttl is the longest time that a mark at or behind a step asks for.
func (p *Prefix) ttl(step int, own time.Duration) time.Duration {
	var longest time.Duration
	for _, m := range p.marks {
		if m.steps < step {
			continue
		}
		if m.ttl == 0 {
			m.ttl = own
		}
		longest = max(longest, m.ttl)
	}
	return longest
}
