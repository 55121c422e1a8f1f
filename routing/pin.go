package routing

import (
	"slices"
	"time"

	"holdfast/routing/catalog"
)

// Follow judges a preference or the winner of a claim and, where it holds,
// puts it first. It returns why it does not hold: Limit means that this request
// spills over and the record stands; any other reason that the record may be
// replaced.
//
// Where affinity is strict, a target that is only transiently unavailable
// holds: it is waited for, or the request refused.
func (d *Decision) Follow(p Pin) Reason {
	if d.refusal != nil || d.r.Owner != nil {
		return ""
	}
	d.r.Pin = p // its cached share is priced whether or not it holds
	d.pin, d.wait, d.why, d.spilled = Candidate{}, time.Time{}, "", false
	pool, path, reason := d.way(p)
	if reason != "" {
		d.why = reason
		return reason
	}
	q := question{target: d.r.Catalog.Deployment(p.Deployment), pool: pool, pinned: true}
	q.weight, _ = d.weightIn(pool, p.Deployment)
	v := d.eligible(d.r.Now, q)
	if v.reason == "" || d.strict && v.transient {
		d.pin = Candidate{Target: q.target, Pool: pool.Name, Path: path, Pinned: true}
		d.hold(v)
		return ""
	}
	d.why, d.spilled = v.reason, v.reason == Limit
	return v.reason
}

// hold notes until when a pin that is transiently unavailable is waited for.
func (d *Decision) hold(v verdict) {
	if v.reason == "" {
		return
	}
	d.why = v.reason
	d.wait = v.reset
	if d.wait.IsZero() { // a slot may come free at any moment
		d.wait = d.r.Now.Add(backoffBase)
	}
}

// way finds how the requested name leads to a pin: directly, or by fallback
// chains that still exist, when this request may be replayed on another model.
// The class of failure that led there once is not remembered: a way through
// any chain in force is legal.
func (d *Decision) way(p Pin) (*catalog.Pool, []string, Reason) {
	if d.r.Catalog.Deployment(p.Deployment) == nil {
		return nil, nil, Deleted
	}
	if _, member := d.r.Pool.Position(p.Deployment); member {
		return d.r.Pool, nil, ""
	}
	if len(p.Path) == 0 || len(p.Path) > MaxModels || d.r.SideEffects || d.r.Catalog.Pool(p.Path[0]) != d.r.Pool {
		return nil, nil, ChainRemoved
	}
	at := d.r.Pool
	for _, name := range p.Path[1:] {
		next := d.r.Catalog.Pool(name)
		if next == nil || !d.chained(at, next) && !slices.Contains(at.Members, next) {
			return nil, nil, ChainRemoved
		}
		at = next
	}
	pool := d.r.Catalog.Pool(p.Pool)
	if pool == nil || !d.chained(at, pool) {
		return nil, nil, ChainRemoved
	}
	if _, member := pool.Position(p.Deployment); !member {
		return nil, nil, ChainRemoved
	}
	return pool, p.Path, ""
}

// chained reports whether some chain leads from one name to another.
func (d *Decision) chained(from, to *catalog.Pool) bool {
	for _, class := range []catalog.Class{catalog.General, catalog.ContextWindow, catalog.ContentPolicy} {
		if slices.Contains(d.fallbacks(class, from), to) {
			return true
		}
	}
	return false
}

// bind looks for the one who may serve a continuation: its creator, else a
// peer in the same boundary that the protocol allows. One that is only
// transiently unavailable is waited for, or the request refused with the time
// to come back; all else is a refusal for good.
func (d *Decision) bind() {
	creator, v := d.judge(d.r.Owner.Deployment, true)
	if v.reason == "" {
		d.pin = creator
		return
	}
	for _, id := range d.r.Owner.Peers {
		if peer, v := d.judge(id, false); v.reason == "" {
			d.pin = peer
			return
		}
	}
	d.why = v.reason
	switch {
	case v.reason.transient():
		d.pin = creator
		d.hold(v)
	case v.reason == EndpointUnsupported || v.reason == CapabilityMissing || v.reason == ModelForbidden || v.reason == Budget || v.reason == Guardrail:
		d.refusal = refuseFor(v)
	default:
		d.refusal = refuse(ContinuationUnavailable)
	}
}

// judge asks whether a deployment may serve a continuation. Its account must
// be the one that created; the creator's address must not have changed either.
func (d *Decision) judge(id string, creator bool) (Candidate, verdict) {
	t := d.r.Catalog.Deployment(id)
	if t == nil {
		return Candidate{}, verdict{reason: Deleted}
	}
	if t.Account.Boundary != d.r.Owner.Boundary || creator && t.BaseURL != d.r.Owner.BaseURL {
		return Candidate{}, verdict{reason: Boundary}
	}
	pool := d.r.Pool
	weight, member := d.weightIn(pool, id)
	if !member { // it was reached by a fallback
		pool = d.r.Catalog.Pool(t.Model)
		weight, _ = d.weightIn(pool, id)
	}
	v := d.eligible(d.r.Now, question{target: t, pool: pool, weight: weight, pinned: true})
	return Candidate{Target: t, Pool: pool.Name, Pinned: true}, v
}
