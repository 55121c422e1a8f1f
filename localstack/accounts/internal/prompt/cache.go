package prompt

import (
	"hash/maphash"
	"sync"
	"time"
)

// Long is the time from which a written token counts as a long write.
const Long = time.Hour

// defaultTokens bounds a cache that was given no bound of its own.
const defaultTokens = 16 << 20

// Cache is the prompt cache of one account. It holds two generations of steps:
// when the younger one is full the elder is dropped, so memory is bounded and
// what was used lately survives.
type Cache struct {
	seed maphash.Seed
	ttl  time.Duration
	half int // steps of one generation

	mu           sync.Mutex
	young, elder map[uint64]span
	stats        Stats
}

// span is how long a step stays, from each use on.
type span struct {
	until time.Time
	ttl   time.Duration
}

// Use is what one prompt took from the cache and left in it, in tokens.
type Use struct {
	Total      int // the whole prompt, what follows included
	Read       int
	WriteShort int // written for less than an hour
	WriteLong  int // written for an hour or longer
}

// Fresh is the number of tokens neither read nor written.
func (u Use) Fresh() int { return u.Total - u.Read - u.WriteShort - u.WriteLong }

// Stats counts what a cache has seen since it was made or cleared.
type Stats struct {
	Prompts       int `json:"prompts"`        // requests that asked for caching
	Hits          int `json:"hits"`           // of them, those that read something
	Cold          int `json:"cold"`           // long enough to be cached and nothing was there
	Writes        int `json:"writes"`         // of them, those that wrote something
	TokensRead    int `json:"tokens_read"`    //
	TokensWritten int `json:"tokens_written"` // of prompts, not of answers
	Entries       int `json:"entries"`        // steps held, expired ones included
}

// NewCache makes a cache whose entries live for ttl after each use and that
// holds about the given number of tokens, 16 Mi when it is 0.
func NewCache(ttl time.Duration, tokens int) *Cache {
	if tokens <= 0 {
		tokens = defaultTokens
	}
	c := &Cache{seed: maphash.MakeSeed(), ttl: ttl, half: max(tokens/StepTokens/2, minSteps)}
	c.Clear()
	return c
}

// Clear forgets every prefix and every count.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.elder, c.stats = map[uint64]span{}, map[uint64]span{}, Stats{}
}

// Stats is a snapshot.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Entries = len(c.young) + len(c.elder)
	return s
}

// Prefix begins a prompt of a protocol and a model. Both are part of what is
// hashed, neither counts as tokens.
func (c *Cache) Prefix(protocol, model string) *Prefix {
	p := &Prefix{}
	p.hash.SetSeed(c.seed)
	p.hash.WriteString(protocol)
	p.hash.WriteByte(0)
	p.hash.WriteString(model)
	p.hash.WriteByte(0)
	return p
}

// Use reads the longest prefix that the cache holds and writes the rest as far
// as the prompt's marks say, in one step: of identical prompts at the same time
// exactly one writes.
func (c *Cache) Use(p *Prefix, now time.Time) Use {
	c.mu.Lock()
	defer c.mu.Unlock()
	use := Use{Total: p.Tokens()}
	limit := p.limit()
	read := c.longest(p.sums[:limit], now)
	for i, sum := range p.sums[:limit] {
		ttl := p.ttl(i+1, c.ttl)
		switch {
		case i < read:
			c.touch(sum, now)
			continue
		case ttl >= Long:
			use.WriteLong += StepTokens
		default:
			use.WriteShort += StepTokens
		}
		c.put(sum, span{until: now.Add(ttl), ttl: ttl})
	}
	use.Read = read * StepTokens
	c.count(use, limit)
	return use
}

// Extend caches what was written to a prompt after Use, its answer.
func (c *Cache) Extend(p *Prefix, now time.Time) {
	if len(p.sums) < minSteps {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ttl := p.ttl(0, c.ttl)
	for _, sum := range p.sums[p.limit():] {
		c.put(sum, span{until: now.Add(ttl), ttl: ttl})
	}
}

// longest is the number of steps of the longest live prefix.
func (c *Cache) longest(sums []uint64, now time.Time) int {
	for n := len(sums); n >= minSteps; n-- {
		if s, ok := c.get(sums[n-1]); ok && now.Before(s.until) {
			return n
		}
	}
	return 0
}

func (c *Cache) get(sum uint64) (span, bool) {
	if s, ok := c.young[sum]; ok {
		return s, true
	}
	s, ok := c.elder[sum]
	return s, ok
}

// touch starts an entry's time anew. A step that was dropped with an elder
// generation stays dropped: the longer prefix that was read vouches for it.
func (c *Cache) touch(sum uint64, now time.Time) {
	if s, ok := c.get(sum); ok {
		s.until = now.Add(s.ttl)
		c.put(sum, s)
	}
}

func (c *Cache) put(sum uint64, s span) {
	if _, ok := c.young[sum]; !ok && len(c.young) >= c.half {
		c.young, c.elder = make(map[uint64]span, c.half), c.young
	}
	c.young[sum] = s
	delete(c.elder, sum)
}

func (c *Cache) count(use Use, limit int) {
	c.stats.Prompts++
	c.stats.TokensRead += use.Read
	c.stats.TokensWritten += use.WriteShort + use.WriteLong
	if use.Read > 0 {
		c.stats.Hits++
	} else if limit > 0 {
		c.stats.Cold++
	}
	if use.WriteShort+use.WriteLong > 0 {
		c.stats.Writes++
	}
}
