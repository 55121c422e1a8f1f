package routing

import (
	"slices"
	"time"

	"holdfast/routing/catalog"
)

// hop is a pool that a fallback chain names, with the sources that led there.
type hop struct {
	pool *catalog.Pool
	path []string
}

// advance goes to the next deployment that may serve: of the pool at hand,
// then of the chains. It ends the run when there is none.
func (r *Run) advance(now time.Time) Step {
	if r.late(now) {
		return r.finish(now)
	}
	if r.number > 0 {
		r.head = false
	}
	for {
		if c, ok := r.pick(now); ok {
			return r.take(c, r.pool, 0)
		}
		if !r.open(now) {
			return r.finish(now)
		}
	}
}

// pick returns the next eligible deployment of the pool at hand. It asks again,
// since time has passed and other processes write cooldowns.
func (r *Run) pick(now time.Time) (Candidate, bool) {
	for list := r.at.list(); r.index < len(list); {
		k := list[r.index]
		r.index++
		if slices.Contains(r.done, k.target) || r.nmodels == MaxModels && !r.seen(k.target.Model) {
			continue
		}
		weight := r.d.policy.Split(r.pool).Weights[k.position]
		if r.d.eligible(now, question{target: k.target, pool: r.pool, weight: weight}).reason != "" {
			continue
		}
		return Candidate{Target: k.target, Pool: r.pool.Name, Path: r.path}, true
	}
	return Candidate{}, false
}

// open puts the next pool at hand: the requested one, then those that chains
// lead to, none of them twice.
func (r *Run) open(now time.Time) bool {
	if r.d.r.Owner != nil {
		return false
	}
	if !r.opened {
		r.opened = true
		r.load(now, hop{pool: r.d.r.Pool})
		return true
	}
	r.close(now)
	for len(r.queue) > 0 {
		next := r.queue[0]
		r.queue = r.queue[1:]
		if next.pool != r.d.r.Pool && !slices.Contains(r.chained, next.pool) {
			r.chained = append(r.chained, next.pool)
			r.load(now, next)
			return true
		}
	}
	return false
}

func (r *Run) load(now time.Time, h hop) {
	r.pool, r.path, r.index = h.pool, h.path, 0
	r.d.rank(&r.at, now, h.pool)
}

// visited are the pools that were at hand, or would have been.
func (r *Run) visited() []*catalog.Pool {
	return append([]*catalog.Pool{r.d.r.Pool}, r.chained...)
}

// drop leaves the pool at hand without looking at the rest of it.
func (r *Run) drop() {
	r.pool, r.path, r.index = nil, nil, 0
	r.at.n, r.at.big = 0, nil
}

// close queues the general chains of an exhausted pool: its own, then, of a
// group, those of the members that have failed. A pool in which the request
// fits nowhere goes to its context chain first.
func (r *Run) close(now time.Time) {
	if r.pool == nil {
		return
	}
	pool, path := r.pool, r.path
	r.drop()
	if r.d.oversize(now, pool) {
		r.queue = append(r.queue, r.d.hops(catalog.ContextWindow, pool, path)...)
	}
	r.queue = append(r.queue, r.d.hops(catalog.General, pool, path)...)
	for _, member := range r.failedMembers(pool) {
		r.queue = append(r.queue, r.d.hops(catalog.General, member, extend(path, pool.Name))...)
	}
}

// failedMembers returns the members of a group in the order in which they
// failed, or all of them where none could even be tried. That a member may come
// twice does not matter: no pool is opened twice.
func (r *Run) failedMembers(group *catalog.Pool) []*catalog.Pool {
	var failed []*catalog.Pool
	for _, target := range r.done {
		member := r.d.r.Catalog.Pool(target.Model)
		if slices.Contains(group.Members, member) {
			failed = append(failed, member)
		}
	}
	if failed == nil {
		return group.Members
	}
	return failed
}

// hops are the pools of a source's chain; path is what led to the source.
func (d *Decision) hops(class catalog.Class, source *catalog.Pool, path []string) []hop {
	chain := d.fallbacks(class, source)
	hops := make([]hop, len(chain))
	for i, pool := range chain {
		hops[i] = hop{pool, extend(path, source.Name)}
	}
	return hops
}

func extend(path []string, name string) []string {
	return append(slices.Clone(path), name)
}

// divert goes to the chain of a class of failure at once, past all other
// deployments at hand: they would fail in the same way. The chains are those
// of the requested name, then of what has failed. Without any chain the error
// is returned.
func (r *Run) divert(now time.Time, class catalog.Class) Step {
	requested, current := r.d.r.Pool, r.last.Candidate
	hops := r.d.hops(class, requested, nil)
	path := current.Path
	if r.source != requested {
		hops = append(hops, r.d.hops(class, r.source, path)...)
	}
	if model := r.d.r.Catalog.Pool(current.Target.Model); model != r.source && model != requested {
		hops = append(hops, r.d.hops(class, model, extend(path, r.source.Name))...)
	}
	if len(hops) == 0 {
		return r.relay()
	}
	r.opened = true
	r.drop()
	r.queue = append(hops, r.queue...)
	r.done = append(r.done, current.Target)
	return r.advance(now)
}
