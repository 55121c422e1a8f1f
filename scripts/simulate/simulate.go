package main

import (
	"container/heap"
	"iter"
	"math"
	"math/rand/v2"
)

// Result is what a policy came to.
type Result struct {
	Policy     string     `json:"policy"`
	Requests   int        `json:"requests"`
	Failed     int        `json:"failed"` // that no account answered
	Calls      int        `json:"calls"`  // made at accounts
	Input      int        `json:"input_tokens"`
	Cached     int        `json:"cached_tokens"`
	Written    int        `json:"written_tokens"`
	Output     int        `json:"output_tokens"`
	Cost       float64    `json:"cost_usd"`
	Moves      int        `json:"moves"`     // turns that another account answered than the turn before
	Shares     []float64  `json:"shares"`    // of the requests, by account
	Imbalance  float64    `json:"imbalance"` // calls that ran at the busiest account over their mean, averaged over requests
	Store      operations `json:"store"`
	StoreCost  float64    `json:"store_cost_usd"`
	HitByHour  []float64  `json:"hit_by_hour"`
	Concurrent int        `json:"most_at_once"`
}

// Hit is the share of the input that was read from a cache.
func (r Result) Hit() float64 {
	if r.Input == 0 {
		return 0
	}
	return float64(r.Cached) / float64(r.Input)
}

// player plays a trace for one policy.
type player struct {
	result Result
	world  world
	policy policy
	fleet  fleet
	last   map[string]pin // where threads were served last
	ends   ends           // of running calls
	swept  float64
	served []int
	uneven float64
	hours  []hour
}

// hour is what one hour of the trace read and was asked for.
type hour struct{ input, cached int }

// end is when a call at an account ends.
type end struct {
	at      float64
	account int
}

// ends is a heap by time.
type ends []end

// Len, Less, Swap, Push and Pop are container/heap's.
func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].at < e[j].at }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(end)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// simulate plays a trace for all policies in one pass.
func simulate(w world, all []named, requests iter.Seq2[Request, error]) ([]Result, error) {
	players := make([]*player, len(all))
	for i, n := range all {
		made, err := n.make(w)
		if err != nil {
			return nil, err
		}
		players[i] = newPlayer(w, n.name, made)
	}
	previous := newHistories()
	random := rand.New(rand.NewPCG(w.seed, 3))
	for r, err := range requests {
		if err != nil {
			return nil, err
		}
		thread := r.Model + "\x00" + r.Session + "\x00" + r.Lane
		previous.complete(&r, thread)
		instance := random.IntN(w.instances)
		for _, p := range players {
			if err := p.play(r, thread, instance); err != nil {
				return nil, err
			}
		}
	}
	results := make([]Result, len(players))
	for i, p := range players {
		results[i] = p.finish()
	}
	return results, nil
}

func newPlayer(w world, name string, chosen policy) *player {
	p := &player{result: Result{Policy: name}, world: w, policy: chosen, last: map[string]pin{}, served: make([]int, w.accounts)}
	for i := range w.accounts {
		p.fleet.accounts = append(p.fleet.accounts, newAccount(w, i))
	}
	return p
}

// play lets the policy serve one request.
func (p *player) play(r Request, thread string, instance int) error {
	for len(p.ends) > 0 && p.ends[0].at <= r.At {
		p.fleet.accounts[heap.Pop(&p.ends).(end).account].inFlight--
	}
	p.fleet.made = 0
	served, err := p.policy.serve(&p.fleet, r, thread, instance)
	if err != nil {
		return err
	}
	res := &p.result
	res.Requests++
	res.Calls += p.fleet.made
	if served < 0 {
		res.Failed++
		return nil
	}
	a := p.fleet.accounts[served]
	read, written := a.serve(r, thread)
	res.Input += r.Input
	res.Cached += read
	res.Written += written
	res.Output += r.Output
	p.book(r, served, read, thread)
	a.inFlight++
	heap.Push(&p.ends, end{r.At + r.Seconds, served})
	p.balance()
	return nil
}

// book notes where a thread was served, and the hour's share.
func (p *player) book(r Request, served, read int, thread string) {
	p.sweep(r.At)
	if was, known := p.last[thread]; known && was.account != served {
		p.result.Moves++
	}
	p.last[thread] = pin{served, r.At + 24*pinLife}
	p.served[served]++
	h := min(int(r.At/3600), 1<<16)
	for len(p.hours) <= h {
		p.hours = append(p.hours, hour{})
	}
	p.hours[h].input += r.Input
	p.hours[h].cached += read
}

// balance compares the busiest account with the mean at this moment.
func (p *player) balance() {
	most := 0
	for _, a := range p.fleet.accounts {
		most = max(most, a.inFlight)
	}
	p.result.Concurrent = max(p.result.Concurrent, len(p.ends))
	p.uneven += float64(most) * float64(len(p.fleet.accounts)) / float64(len(p.ends))
}

// sweep forgets threads that have been silent for a day.
func (p *player) sweep(at float64) {
	if at < p.swept+pinLife {
		return
	}
	p.swept = at
	for thread, was := range p.last {
		if was.until <= at {
			delete(p.last, thread)
		}
	}
}

// finish sums up.
func (p *player) finish() Result {
	r := p.result
	price := p.world.price
	// Providers that bill writes bill them instead of fresh input.
	r.Cost = (float64(r.Input-r.Cached-r.Written)*price.input + float64(r.Cached)*price.cached +
		float64(r.Written)*price.written + float64(r.Output)*price.output) / 1e6
	answered := r.Requests - r.Failed
	for _, n := range p.served {
		r.Shares = append(r.Shares, float64(n)/math.Max(1, float64(answered)))
	}
	r.Imbalance = p.uneven / math.Max(1, float64(answered))
	r.Store = p.policy.used()
	r.StoreCost = r.Store.cost()
	for _, h := range p.hours {
		share := 0.0
		if h.input > 0 {
			share = float64(h.cached) / float64(h.input)
		}
		r.HitByHour = append(r.HitByHour, share)
	}
	return r
}

// histories remembers the last prompt of each thread, for traces that do not say
// what a turn has in common with the one before.
type histories struct {
	tokens map[string]pinned
	swept  float64
}

type pinned struct {
	tokens int
	until  float64
}

func newHistories() *histories { return &histories{tokens: map[string]pinned{}} }

// complete fills in what a request has in common with its predecessor.
func (h *histories) complete(r *Request, thread string) {
	if r.At >= h.swept+pinLife {
		h.swept = r.At
		for name, was := range h.tokens {
			if was.until <= r.At {
				delete(h.tokens, name)
			}
		}
	}
	if r.Kept == 0 {
		r.Kept = min(r.Input, h.tokens[thread].tokens)
	}
	h.tokens[thread] = pinned{r.Input + r.Output, r.At + 24*pinLife}
}
