package main

import (
	"errors"
	"math/rand/v2"
)

// The providers' published rules of prompt caches.
const (
	stepTokens = 128
	minTokens  = 1024
)

// price is in USD per million tokens.
type price struct{ input, cached, written, output float64 }

// world is what conversations meet.
type world struct {
	accounts  int
	instances int
	ttl       float64 // seconds
	between   float64 // mean seconds between outages of an account; 0: none
	outage    float64 // mean seconds of one
	refused   float64 // share of calls
	price     price
	seed      uint64
}

func defaultWorld() world {
	return world{accounts: 4, instances: 8, ttl: 300, outage: 60, price: price{3, 0.3, 3.75, 15}, seed: 1}
}

func (w world) check() error {
	if w.accounts < 1 || w.accounts > 64 || w.instances < 1 || w.instances > 1024 || !(w.ttl > 0) ||
		!(w.refused >= 0 && w.refused < 1) || w.between < 0 || w.between > 0 && !(w.outage > 0) {
		return errors.New("1 to 64 accounts, 1 to 1024 instances, a ttl above 0, a share below 1")
	}
	return nil
}

// entry is a cached prefix.
type entry struct {
	tokens int
	until  float64
}

// account is one provider account: its prompt cache, its load and its outages.
// Of each thread it keeps the longest prefix, beside what all begin with.
type account struct {
	world    world
	random   *rand.Rand
	prefixes map[string]entry // by thread; by model for what all begin with
	swept    float64

	inFlight  int
	down      bool
	changesAt float64 // when down changes
}

func newAccount(w world, number int) *account {
	a := &account{world: w, random: rand.New(rand.NewPCG(w.seed, uint64(number)+100)), prefixes: map[string]entry{}}
	a.changesAt = a.span(w.between)
	return a
}

// span draws how long a state lasts.
func (a *account) span(mean float64) float64 { return a.random.ExpFloat64() * mean }

// works reports whether a call at a time is answered.
func (a *account) works(at float64) bool {
	for a.world.between > 0 && a.changesAt <= at {
		a.down = !a.down
		if a.down {
			a.changesAt += a.span(a.world.outage)
		} else {
			a.changesAt += a.span(a.world.between)
		}
	}
	return !a.down && (a.world.refused == 0 || a.random.Float64() >= a.world.refused)
}

// serve answers a request and returns how many of its tokens were read from the
// cache and how many written to it.
func (a *account) serve(r Request, thread string) (read, written int) {
	a.sweep(r.At)
	read = max(a.live(thread, r.At, r.Kept), a.live("\x00"+r.Model, r.At, r.Shared))
	written = max(0, steps(r.Input)-read)
	a.keep(thread, r.At, steps(r.Input+r.Output))
	a.keep("\x00"+r.Model, r.At, steps(r.Shared))
	return read, written
}

// steps is the part of a prefix that is cached.
func steps(tokens int) int {
	if tokens < minTokens {
		return 0
	}
	return tokens / stepTokens * stepTokens
}

// live is what is cached of a prefix of that many tokens.
func (a *account) live(name string, at float64, tokens int) int {
	e, known := a.prefixes[name]
	if !known || e.until <= at {
		return 0
	}
	return min(e.tokens, steps(tokens))
}

func (a *account) keep(name string, at float64, tokens int) {
	if tokens > 0 {
		a.prefixes[name] = entry{tokens, at + a.world.ttl}
	}
}

// sweep drops what has expired, now and then.
func (a *account) sweep(at float64) {
	if at < a.swept+a.world.ttl {
		return
	}
	a.swept = at
	for name, e := range a.prefixes {
		if e.until <= at {
			delete(a.prefixes, name)
		}
	}
}
