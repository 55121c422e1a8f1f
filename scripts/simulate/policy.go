package main

import (
	"math/rand/v2"
)

// fleet is the accounts as one policy loads them.
type fleet struct {
	accounts []*account
	made     int // calls of the request at hand
}

// call tries an account and reports whether it answers.
func (f *fleet) call(account int, at float64) bool {
	f.made++
	return f.accounts[account].works(at)
}

// policy is one way of choosing accounts. It belongs to one goroutine.
type policy interface {
	// serve calls accounts until one answers, and returns which; -1 when none does.
	serve(f *fleet, r Request, thread string, instance int) (int, error)
	// used is what the policy's shared store was asked for so far.
	used() operations
}

// operations are a store's, counted as DynamoDB bills them: items read strongly
// consistent, and items written.
type operations struct {
	Reads  int `json:"reads"`
	Writes int `json:"writes"`
}

// Prices of DynamoDB on demand in USD per million, us-east-1.
const (
	readPrice  = 0.125
	writePrice = 0.625
)

// cost is in USD.
func (o operations) cost() float64 {
	return (float64(o.Reads)*readPrice + float64(o.Writes)*writePrice) / 1e6
}

// named is a policy with how to make one.
type named struct {
	name string
	make func(w world) (policy, error)
}

// policies are those that are compared.
func policies() []named {
	plain := func(choose func(w world) chooser) func(w world) (policy, error) {
		return func(w world) (policy, error) { return &simple{choose: choose(w)}, nil }
	}
	return []named{
		{"none", plain(atRandom)},
		{"round robin", plain(roundRobin)},
		{"least busy", plain(leastBusy)},
		{"pin per instance", func(w world) (policy, error) { return newPins(w, w.instances), nil }},
		{"shared pin", func(w world) (policy, error) { return newPins(w, 1), nil }},
		{"holdfast", func(w world) (policy, error) { return newHoldfast(w) }},
	}
}

// chooser names the account to begin with.
type chooser func(f *fleet, instance int) int

// simple begins where its chooser says and goes on in order.
type simple struct{ choose chooser }

func (s *simple) serve(f *fleet, r Request, _ string, instance int) (int, error) {
	return inOrder(f, r.At, s.choose(f, instance)), nil
}

func (s *simple) used() operations { return operations{} }

// inOrder calls one account after the other from the first on.
func inOrder(f *fleet, at float64, first int) int {
	for i := range f.accounts {
		if n := (first + i) % len(f.accounts); f.call(n, at) {
			return n
		}
	}
	return -1
}

// atRandom is what a load balancer without memory does.
func atRandom(w world) chooser {
	random := rand.New(rand.NewPCG(w.seed, 11))
	return func(f *fleet, _ int) int { return random.IntN(len(f.accounts)) }
}

// roundRobin takes turns, in each process for itself.
func roundRobin(w world) chooser {
	turns := make([]int, w.instances)
	return func(f *fleet, instance int) int {
		turns[instance]++
		return (turns[instance] + instance) % len(f.accounts)
	}
}

// leastBusy knows how many calls run everywhere, which no real one does.
func leastBusy(world) chooser {
	return func(f *fleet, _ int) int {
		least := 0
		for i, a := range f.accounts {
			if a.inFlight < f.accounts[least].inFlight {
				least = i
			}
		}
		return least
	}
}

// pinLife is how long a pin outlives its last use, in seconds.
const pinLife = 3600

// pin is where a thread was served last.
type pin struct {
	account int
	until   float64
}

// pins remembers where threads were served: in each process for itself, or in
// one place that all share.
type pins struct {
	maps   []map[string]pin
	choose chooser
	ops    operations
	swept  float64
}

func newPins(w world, places int) *pins {
	p := &pins{maps: make([]map[string]pin, places), choose: roundRobin(w)}
	for i := range p.maps {
		p.maps[i] = map[string]pin{}
	}
	return p
}

func (p *pins) serve(f *fleet, r Request, thread string, instance int) (int, error) {
	p.sweep(r.At)
	here := p.maps[instance%len(p.maps)]
	known, pinned := here[thread]
	pinned = pinned && known.until > r.At
	first := known.account
	if !pinned {
		first = p.choose(f, instance)
	}
	served := inOrder(f, r.At, first)
	if served >= 0 {
		here[thread] = pin{served, r.At + pinLife}
	}
	if len(p.maps) == 1 { // shared: read each time, written each time to live on
		p.ops.Reads++
		p.ops.Writes++
	}
	return served, nil
}

func (p *pins) used() operations { return p.ops }

func (p *pins) sweep(at float64) {
	if at < p.swept+pinLife {
		return
	}
	p.swept = at
	for _, m := range p.maps {
		for thread, known := range m {
			if known.until <= at {
				delete(m, thread)
			}
		}
	}
}
