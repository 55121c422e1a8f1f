package ledger

import "math"

// Sums are what was counted of some exchanges, each number by its index. Money
// is in pico-dollars. New numbers go to the end: records that were written
// without them hold zero.
type Sums [counted]int64

// The numbers of Sums.
const (
	Requests     = iota
	Failed       // with a status of 400 and above
	Input        // tokens, neither read from a cache nor written to one
	CacheRead    // tokens
	CacheWrite5m // tokens
	CacheWrite1h // tokens
	Output       // tokens
	Reasoning    // tokens, part of Output
	Estimated    // exchanges whose usage the gateway has estimated
	CostInput
	CostRead
	CostWrite
	CostOutput
	Saved
	Unpriced    // exchanges with tokens whose price is not known
	CacheHits   // exchanges that the gateway's own response cache answered
	CacheSaved  // what those did not cost
	CacheUnsure // of those, the ones for which that is not known
	Moved       // exchanges that left their session's deployment
	FirstBytes  // exchanges with a first byte
	FirstByteMS // their sum
	Settled     // sessions whose last exchange this is; moves on with them
	counted
)

// Of returns what one event counts.
func Of(e *Event) Sums {
	var s Sums
	s[Requests] = 1
	if e.Status >= 400 {
		s[Failed] = 1
	}
	if e.Affinity == "moved" {
		s[Moved] = 1
	}
	if e.FirstByteMS > 0 {
		s[FirstBytes], s[FirstByteMS] = 1, e.FirstByteMS
	}
	s.use(e)
	switch {
	case e.Cache == "":
	case e.CacheSaved == nil:
		s[CacheHits], s[CacheUnsure] = 1, 1
	default:
		s[CacheHits], s[CacheSaved] = 1, picos(*e.CacheSaved)
	}
	return s
}

// use counts tokens and money.
func (s *Sums) use(e *Event) {
	if u := e.Usage; u != nil {
		s[Input], s[CacheRead], s[CacheWrite5m], s[CacheWrite1h] = u.Input, u.CacheRead, u.CacheWrite5m, u.CacheWrite1h
		s[Output], s[Reasoning] = u.Output, u.Reasoning
		if u.Estimated {
			s[Estimated] = 1
		}
	}
	if c := e.Cost; c != nil {
		s[CostInput], s[CostRead], s[CostWrite], s[CostOutput] = picos(c.Input), picos(c.CacheRead), picos(c.CacheWrite), picos(c.Output)
	}
	switch {
	case e.Cost == nil && e.Usage != nil && s.Tokens() > 0:
		s[Unpriced] = 1
	case e.Saved != nil:
		s[Saved] = int64(math.Round(*e.Saved * pico)) // a cache may cost more than it saves
	}
}

// Add adds other numbers. A sum beyond an int64 stays at its end.
func (s *Sums) Add(o *Sums) {
	for i, n := range o {
		sum := s[i] + n
		switch {
		case n > 0 && sum < s[i]:
			sum = math.MaxInt64
		case n < 0 && sum > s[i]:
			sum = math.MinInt64
		}
		s[i] = sum
	}
}

// Prompt is all input tokens, cached or not.
func (s *Sums) Prompt() int64 { return s[Input] + s[CacheRead] + s[CacheWrite5m] + s[CacheWrite1h] }

// Tokens is all tokens.
func (s *Sums) Tokens() int64 { return s.Prompt() + s[Output] }

// HitRate is the share of the input that was read from a cache; nil where there
// was no input.
func (s *Sums) HitRate() *float64 {
	if s.Prompt() == 0 {
		return nil
	}
	rate := float64(s[CacheRead]) / float64(s.Prompt())
	return &rate
}

// Money returns a sum of money in USD, nil where a part of it is not known.
func (s *Sums) Money(parts ...int) *float64 {
	if s[Unpriced] > 0 {
		return nil
	}
	return s.Known(parts...)
}

// Known returns the part of a sum of money that is known.
func (s *Sums) Known(parts ...int) *float64 {
	var sum int64
	for _, part := range parts {
		sum += s[part]
	}
	amount := usd(sum)
	return &amount
}

// CostParts are the parts of a total cost.
func CostParts() []int { return []int{CostInput, CostRead, CostWrite, CostOutput} }
