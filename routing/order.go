package routing

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"holdfast/routing/catalog"
)

// ranked is a deployment with its place in the order.
type ranked struct {
	target   *catalog.Target
	position int     // in the pool
	score    float64 // the strategy's, higher first
	share    float64 // of the rendezvous, higher first: decides between equal scores
}

// smallPool is how many deployments are ranked without an allocation.
const smallPool = 10

// ranking is the eligible deployments of one pool, in order.
type ranking struct {
	few [smallPool]ranked
	n   int
	big []ranked // all of them, where few does not suffice
}

// list returns what is ranked. It is valid as long as the ranking is not copied.
func (k *ranking) list() []ranked {
	if k.big != nil {
		return k.big
	}
	return k.few[:k.n]
}

func (k *ranking) add(r ranked) {
	switch {
	case k.big != nil:
		k.big = append(k.big, r)
	case k.n < smallPool:
		k.few[k.n] = r
		k.n++
	default:
		k.big = append(append(make([]ranked, 0, 4*smallPool), k.few[:]...), r)
	}
}

// rank orders the deployments of a pool that may serve at now.
func (d *Decision) rank(k *ranking, now time.Time, pool *catalog.Pool) {
	k.n, k.big = 0, nil
	split := d.policy.Split(pool)
	for i, target := range pool.Deployments {
		q := question{target: target, pool: pool, weight: split.Weights[i]}
		if d.eligible(now, q).reason != "" {
			continue
		}
		r := ranked{target: target, position: i}
		r.score, r.share = d.scores(split.Strategy, target, q.weight)
		k.add(r)
	}
	d.sort(k.list(), split.Strategy)
}

func (d *Decision) sort(list []ranked, strategy string) {
	if strategy == catalog.RoundRobin {
		rotate(list, d.r.Turn)
		return
	}
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.share, a.share), strings.Compare(a.target.ID, b.target.ID))
	})
}

// scores returns what a strategy thinks of a deployment and its rendezvous
// share. With strategies other than weighted the share only decides ties, and
// every deployment has the same.
func (d *Decision) scores(strategy string, t *catalog.Target, weight float64) (score, share float64) {
	switch strategy {
	case catalog.Cost:
		score = -d.cost(t)
	case catalog.Latency: // what was never measured is measured first
		score = -d.condition(t.ID).Latency.Seconds()
	case catalog.LeastUsage:
		score = -float64(d.condition(t.ID).Tokens)
	case catalog.RoundRobin:
		return 0, 0
	default:
		share = rendezvous(d.r.Seed, t.ID, weight)
		return share, share
	}
	return score, rendezvous(d.r.Seed, t.ID, 1)
}

// rotate turns the list by the counter, so that each has its turn.
func rotate(list []ranked, turn uint64) {
	if len(list) == 0 {
		return
	}
	by := int(turn % uint64(len(list)))
	slices.Reverse(list[:by])
	slices.Reverse(list[by:])
	slices.Reverse(list)
}

// usualInput is assumed where a request's size is not known, and a quarter of
// the input for an unknown output: only the ratio matters for an order.
const usualInput = 1000

// cost is the price of the expected tokens in USD. The pin's deployment has a
// part of them in its cache. An unknown price is above every known one.
func (d *Decision) cost(t *catalog.Target) float64 {
	if t.Price == nil {
		return math.Inf(1)
	}
	input, output := float64(d.r.Needs.Input), float64(d.r.Needs.Output)
	if input == 0 {
		input = usualInput
	}
	if output == 0 {
		output = input / 4
	}
	cached := 0.0
	if t.ID == d.r.Pin.Deployment {
		cached = min(float64(d.r.Pin.Cached), input)
	}
	return ((input-cached)*t.Price.Input + cached*t.Price.CachedInput + output*t.Price.Output) / 1e6
}
