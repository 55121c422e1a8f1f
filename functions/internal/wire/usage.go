package wire

import "holdfast/functions/internal/wire/jsonedit"

// Usage is tokens in the one form that the ledger keeps. Input excludes what
// was read from or written to a cache; Reasoning is part of Output.
type Usage struct {
	Input        int64
	CacheRead    int64
	CacheWrite5m int64 // short-lived cache entries
	CacheWrite1h int64 // long-lived cache entries
	Output       int64
	Reasoning    int64
	Estimated    bool // counted by us, not reported by the upstream
}

// Counting is how a provider counts cached tokens.
type Counting uint8

// The ways of counting. An answer's own hit and miss fields outrank this.
const (
	ByProtocol Counting = iota // chat and responses inside, messages outside
	Inside                     // cached tokens are part of the prompt's tokens
	Outside                    // the prompt's tokens exclude cached ones
)

// UsageNames are the names by which an OpenAI protocol reports tokens.
type UsageNames struct {
	Input, InputDetails, Output, OutputDetails string
}

// ReadUsage reads usage in one of OpenAI's forms, with what its imitators add:
// cached tokens outside of details, DeepSeek's hits and misses. Outside is for
// providers whose input excludes cached tokens. It reports whether there was
// anything to read.
func ReadUsage(v jsonedit.Value, names UsageNames, counting Counting) (Usage, bool) {
	if v.Kind() != '{' {
		return Usage{}, false
	}
	var u Usage
	var reads, writes, long, hit, miss int64
	var hasTotal, hasHit, hasMiss bool
	for each := v.Each(); each.Next(); {
		n, number := Tokens(each.Value())
		switch {
		case each.Is(names.Input):
			u.Input, hasTotal = n, hasTotal || number
		case each.Is(names.Output):
			u.Output, hasTotal = n, hasTotal || number
		case each.Is(names.InputDetails):
			reads, writes, long = inputDetails(each.Value(), reads)
		case each.Is(names.OutputDetails):
			u.Reasoning, _ = Tokens(each.Value().Get("reasoning_tokens"))
		case each.Is("cached_tokens"): // Moonshot, StepFun
			reads = max(reads, n)
		case each.Is("prompt_cache_hit_tokens"):
			hit, hasHit = n, number
		case each.Is("prompt_cache_miss_tokens"):
			miss, hasMiss = n, number
		}
	}
	if hasHit {
		reads = hit
	}
	u.CacheRead, u.CacheWrite1h = reads, min(long, writes)
	u.CacheWrite5m = writes - u.CacheWrite1h
	switch {
	case hasMiss:
		u.Input = miss
	case hasHit, counting != Outside:
		u.Input = max(0, u.Input-reads-writes)
	}
	return u, hasTotal || hasHit || hasMiss
}

// maxTokens bounds a count: what is larger is an upstream's mistake.
const maxTokens = 1 << 40

// Tokens reads a count of tokens, and whether there is one: neither negative
// nor beyond all measure, so that sums stay what they should be.
func Tokens(v jsonedit.Value) (int64, bool) {
	n, ok := v.Int()
	return min(max(n, 0), maxTokens), ok
}

// inputDetails reads what of the input was read from or written to a cache, and
// how much of the latter stays long.
func inputDetails(v jsonedit.Value, before int64) (reads, writes, long int64) {
	reads, _ = Tokens(v.Get("cached_tokens"))
	writes, _ = Tokens(v.Get("cache_write_tokens"))
	long, _ = Tokens(v.Get("cache_write_tokens_details", "ttl_12h_tokens"))
	return max(reads, before), writes, long
}
