package cooldown

import (
	"cmp"
	"slices"
	"time"
)

// Fail counts a failure and cools its deployment where the rules say so. It
// reports whether anything was learned: if not, there is nothing to write.
func (p Pool) Fail(f Failure, rules Rules) (Pool, bool) {
	if f.Deployment == "" || len(f.Deployment) > MaxID {
		return p, false
	}
	if span, atOnce := f.span(rules); atOnce {
		return p.Cool(f.Deployment, f.At, f.At.Add(span), f.cause(rules))
	}
	at := f.At.UnixMilli()
	i, found := p.find(f.Deployment)
	if found && (at <= p.rests[i].spent() || p.rests[i].counted(at, f.Session)) {
		return p, false
	}
	return p.with(f.Deployment, func(r *rest) {
		r.count(failure{at, f.Session})
		if r.fails() >= rules.allowed() {
			r.cool(at, f.At.Add(rules.Cooldown).UnixMilli(), f.Cause)
		}
	}), true
}

// span returns how long one failure by itself cools its deployment, and
// whether it does.
func (f Failure) span(rules Rules) (time.Duration, bool) {
	if f.RetryAfter > rules.MaxWait {
		return max(f.RetryAfter, f.floor(rules)), true
	}
	return rules.Cooldown, f.Cause == Exhausted
}

// floor is the pause that an empty account gets even where the provider named
// a shorter one.
func (f Failure) floor(rules Rules) time.Duration {
	if f.Cause == Exhausted {
		return rules.Cooldown
	}
	return 0
}

// cause is what to write down for a failure that cools by itself.
func (f Failure) cause(rules Rules) Cause {
	if f.Cause == Failing && f.RetryAfter > rules.MaxWait {
		return Asked
	}
	return f.Cause
}

func (r Rules) allowed() int { return min(max(r.AllowedFails, 1), MaxFailures) }

// Cool lets a deployment rest until a time; a cooldown that ends later stands.
func (p Pool) Cool(deployment string, now, until time.Time, cause Cause) (Pool, bool) {
	if i, found := p.find(deployment); found && p.rests[i].until >= until.UnixMilli() {
		return p, false
	}
	return p.with(deployment, func(r *rest) { r.cool(now.UnixMilli(), until.UnixMilli(), cause) }), true
}

// Wake ends a deployment's cooldown and forgives its failures.
func (p Pool) Wake(deployment string, now time.Time) (Pool, bool) {
	i, found := p.find(deployment)
	if !found || (p.rests[i].until == 0 && p.rests[i].fails() == 0) {
		return p, false
	}
	return p.with(deployment, func(r *rest) {
		r.woken = max(now.UnixMilli(), r.cooled, r.woken) // a clock that lags behind must still wake
		r.settle()
	}), true
}

// Drain sets or ends a drain.
func (p Pool) Drain(deployment string, on bool, now time.Time) (Pool, bool) {
	if p.Of(deployment).Drained == on {
		return p, false
	}
	return p.with(deployment, func(r *rest) {
		r.drained = on
		r.switched = max(now.UnixMilli(), r.switched+1)
	}), true
}

// counted reports whether a failure of the same session is within the window.
// Clocks of several processes differ, so it looks both ways.
func (r *rest) counted(at int64, session uint32) bool {
	return session != 0 && slices.ContainsFunc(r.failures, func(f failure) bool {
		return f.session == session && max(f.at, at)-min(f.at, at) < Window.Milliseconds()
	})
}

// count adds a failure and drops those that have left the window. Two failures
// without a session in one millisecond are two: the second moves on by one.
func (r *rest) count(f failure) {
	for slices.Contains(r.failures, f) {
		f.at++
	}
	r.failures = append(r.failures, f)
	slices.SortFunc(r.failures, compareFailures)
	newest := r.failures[len(r.failures)-1].at
	r.failures = slices.DeleteFunc(r.failures, func(f failure) bool { return newest-f.at >= Window.Milliseconds() })
	r.bound()
}

// bound keeps the newest failures.
func (r *rest) bound() {
	if extra := len(r.failures) - MaxFailures; extra > 0 {
		r.failures = slices.Delete(r.failures, 0, extra)
	}
}

// cool extends the cooldown. The failures that led to it are spent: when the
// deployment wakes, it starts with a clean sheet. They stay on record, for
// their sessions have counted in this minute.
func (r *rest) cool(now, until int64, cause Cause) {
	r.cooled = max(r.cooled, now, r.woken+1)
	if until > r.until {
		r.until, r.cause = until, cause
	}
	r.settle()
}

// settle drops a cooldown that a wake made void.
func (r *rest) settle() {
	if r.cooled <= r.woken {
		r.until, r.cooled, r.cause = 0, 0, 0
	}
}

// spent is the time up to which failures no longer count: a cooldown answered
// them, or a wake forgave them.
func (r *rest) spent() int64 { return max(r.woken, r.cooled) }

// fails returns how many failures count towards the next cooldown.
func (r *rest) fails() int {
	n := 0
	for _, f := range r.failures {
		if f.at > r.spent() {
			n++
		}
	}
	return n
}

func compareFailures(a, b failure) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.session, b.session))
}

// Merge joins two views of one pool: the later cooldown, the later wake, the
// later word on a drain, and all failures. It is commutative and idempotent.
func Merge(a, b Pool) Pool {
	joined := Pool{slices.Clone(a.rests)}
	for _, other := range b.rests {
		joined = joined.with(other.id, func(r *rest) { *r = r.join(other) })
	}
	return joined.bounded()
}

func (r *rest) join(other rest) rest {
	next := *r
	next.woken = max(r.woken, other.woken)
	next.cooled = max(r.cooled, other.cooled)
	// A cooldown set before the later wake does not come back through the other view.
	next.until, next.cause = 0, 0
	for _, one := range []rest{*r, other} {
		later := one.until > next.until || one.until == next.until && one.cause > next.cause
		if one.cooled > next.woken && later {
			next.until, next.cause = one.until, one.cause
		}
	}
	if other.switched > r.switched || other.switched == r.switched && other.drained {
		next.drained, next.switched = other.drained, other.switched
	}
	next.failures = append(next.failures, other.failures...)
	slices.SortFunc(next.failures, compareFailures)
	next.failures = slices.Compact(next.failures)
	next.settle()
	next.bound()
	return next
}
