package budget

import (
	"strconv"
	"time"
)

// Excess is a limit that leaves no room for a request.
type Excess struct {
	Account
	What  string // requests, tokens, or USD
	Used  int64  // in that unit, billionths for USD; reservations included
	Held  int64  // of Used: what of a budget is only reserved
	Limit int64
	Needs int64 // the estimate that does not fit; 0 for a soft limit
}

// Money reports whether a budget is used up, and not a rate.
func (x *Excess) Money() bool { return x.Period != "" }

// Resets is when the limit counts anew.
func (x *Excess) Resets() time.Time { return x.Window.End }

// inFlight is how long a client waits for reservations of requests that run: most
// are settled soon, for less than was reserved.
const inFlight = 5 * time.Second

// Wait is how long the limit leaves no room: until it counts anew, or, where only
// reservations of running requests stand in the way, until some may be settled.
func (x *Excess) Wait(now time.Time) time.Duration {
	left := x.Resets().Sub(now)
	if x.passing() {
		return min(left, inFlight)
	}
	return left
}

// passing reports whether nothing but reservations stands in the way.
func (x *Excess) passing() bool {
	booked := x.Used - x.Held
	return x.Held > 0 && booked < x.Limit && booked+x.Needs <= x.Limit
}

// Later is the one of two excesses that keeps the client waiting longer.
func Later(a, b *Excess, now time.Time) *Excess {
	if a == nil || b != nil && b.Wait(now) > a.Wait(now) {
		return b
	}
	return a
}

// Message tells the client which limit it is, how much of it is used, when it
// counts anew, and what to do.
func (x *Excess) Message() string {
	name := string(x.Level) + " " + x.ID
	at := x.Resets().Format(time.RFC3339)
	if !x.Money() {
		text := "The limit of " + name + " is reached: " + amount(x.Used) + " of " + amount(x.Limit) + " " + x.What + " this minute are used"
		if x.Needs > 0 {
			text += " and this request may need " + amount(x.Needs)
		}
		return text + ". It resets at " + at + "." + x.advice("")
	}
	text := "The " + x.Period + " budget of " + name + " is used up: " + usd(x.Used) + " of " + usd(x.Limit) + " USD are spent"
	if x.Needs > 0 {
		text += " or reserved and this request may cost up to " + usd(x.Needs)
	}
	return text + ". It renews at " + at + " (UTC)." + x.advice(" Wait until then or ask the operator for more.")
}

// advice is what to do, where that is not what is usual.
func (x *Excess) advice(usual string) string {
	switch {
	case x.Needs > x.Limit:
		return " That is more than the whole limit: bound the answer's length (max_tokens), shorten the request, or ask the operator for more."
	case x.passing():
		return " Requests that run now hold a part of it and may give some back: wait as long as Retry-After says and try again."
	}
	return usual
}

func amount(n int64) string { return strconv.FormatInt(n, 10) }

// usd writes an amount with as many digits as it has, at least two.
func usd(nanos int64) string {
	text := strconv.FormatFloat(float64(nanos)/1e9, 'f', 6, 64)
	for len(text) > 4 && text[len(text)-1] == '0' && text[len(text)-3] != '.' {
		text = text[:len(text)-1]
	}
	return text
}
