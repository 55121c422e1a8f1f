package routing

import "time"

// The back-off between attempts on one deployment: full jitter, doubling.
const (
	backoffBase = 50 * time.Millisecond
	backoffMax  = 10 // doublings
)

// retry tries the same deployment again while it has attempts left and the
// wait before them is short enough; else the next.
func (r *Run) retry(now time.Time, o Outcome) Step {
	wait, ok := r.pause(now, o)
	if r.used >= r.d.policy.MaxAttempts || !ok || !r.stillEligible(now) {
		return r.leave(now, o)
	}
	r.used++
	return r.again(wait)
}

// again repeats the current candidate. Its repair, if any, stays.
func (r *Run) again(wait time.Duration) Step {
	r.number++
	r.waited += wait
	return Step{
		Action: Try, Candidate: r.last.Candidate, Wait: wait,
		Number: r.number, Attempt: r.used, Repair: r.last.Repair,
	}
}

// stillEligible asks eligibility about the current candidate once more. The
// cooldown that this exchange has just caused does not cut its attempts.
func (r *Run) stillEligible(now time.Time) bool {
	c := r.last.Candidate
	weight, _ := r.d.weightIn(r.source, c.Target.ID)
	q := question{target: c.Target, pool: r.source, weight: weight, pinned: c.Pinned, again: true}
	return r.d.eligible(now, q).reason == ""
}

// pause returns how long to wait for the current candidate, and whether to
// wait at all. The first candidate's Retry-After is honoured, since its cache
// is worth it; a longer one than anybody waits moves on at once, wherever it
// comes from.
func (r *Run) pause(now time.Time, o Outcome) (time.Duration, bool) {
	wait := r.backoff(r.used)
	if o.RetryAfter > 0 && r.head {
		wait = o.RetryAfter
	}
	longest := r.d.maxWait()
	if o.RetryAfter > longest || wait > longest || r.late(now.Add(wait)) {
		return 0, false
	}
	return wait, !r.waits() || r.waited+wait <= longest
}

// backoff is the full-jitter wait after n failures, at most max_wait.
func (r *Run) backoff(n int) time.Duration {
	longest := min(backoffBase<<min(n-1, backoffMax), r.d.maxWait())
	if r.d.r.Jitter == nil {
		return longest
	}
	return time.Duration(r.d.r.Jitter() * float64(longest))
}

// waits reports whether the current candidate is one that is waited for rather
// than left: a strict preference, or the owner of what is continued.
func (r *Run) waits() bool {
	return r.last.Candidate.Pinned && (r.d.strict || r.d.r.Owner != nil)
}

// uncertain follows an outcome after which the provider may have acted. A call
// that must not happen twice ends here.
func (r *Run) uncertain(now time.Time, o Outcome) Step {
	switch {
	case r.d.r.SideEffects, r.d.r.Owner != nil && o.Class != ServerError:
		return Step{Action: Refuse, Refusal: *refuse(UpstreamUnknownOutcome)}
	case r.d.r.Owner != nil:
		return r.relay()
	}
	return r.retry(now, o)
}

// noRoom follows a deployment's own limit: the request goes elsewhere and the
// preference stays, or it waits where nobody else may serve.
func (r *Run) noRoom(now time.Time, o Outcome) Step {
	r.limited = true
	if !r.waits() {
		r.spilled = r.spilled || r.last.Candidate.Pinned
		return r.leave(now, o)
	}
	r.full++
	wait := min(backoffBase<<min(r.full-1, backoffMax), r.d.maxWait()-r.waited)
	if wait <= 0 || r.late(now.Add(wait)) {
		return Step{Action: Refuse, Refusal: *refuse(DeploymentsCooling)}
	}
	return r.again(wait)
}

// unable follows a deployment whose protocol cannot say what was asked. Another
// may; if none does, what it lacks is the answer.
func (r *Run) unable(now time.Time, o Outcome) Step {
	if r.report.target == nil {
		r.report = failed{r.last.Number, o.Class, r.last.Candidate.Target}
	}
	r.lasting = true
	return r.leave(now, o)
}

// leave goes on without the current candidate, unless affinity is strict and
// its trouble passes by itself.
func (r *Run) leave(now time.Time, o Outcome) Step {
	if r.d.strict && r.last.Candidate.Pinned && o.Class.transient() {
		return r.holdOut(o)
	}
	r.done = append(r.done, r.last.Candidate.Target)
	return r.advance(now)
}

// holdOut ends a strict request: the preference stays and the client is told
// when to come back.
func (r *Run) holdOut(o Outcome) Step {
	back := max(soon, o.RetryAfter)
	if o.Class == RateLimited {
		return Step{Action: Relay, Relay: r.last.Number, RetryAfter: back}
	}
	f := refuse(NoEligibleDeployment)
	f.RetryAfter = back
	return Step{Action: Refuse, Refusal: *f}
}

// relay answers with the error of the current attempt.
func (r *Run) relay() Step { return Step{Action: Relay, Relay: r.last.Number} }

// finish ends a run that has nobody left.
func (r *Run) finish(now time.Time) Step {
	if r.report.target == nil {
		return Step{Action: Refuse, Refusal: *r.unserved(now)}
	}
	back := r.comeBack(now)
	var code Code
	switch r.report.class {
	case CredentialRefused:
		code = UpstreamCredentials
	case Unreachable, Broken, Stale: // there is no error of the upstream's to show
		code = UpstreamFailed
	default:
		return Step{Action: Relay, Relay: r.report.number, RetryAfter: back}
	}
	f := refuse(code)
	f.RetryAfter = back
	return Step{Action: Refuse, Refusal: *f}
}

// unserved says why nobody was called.
func (r *Run) unserved(now time.Time) *Refusal {
	switch {
	case r.late(now):
		return refuse(DeadlineExceeded)
	case r.limited:
		return refuse(DeploymentsCooling)
	}
	return r.d.nobody(now, r.visited())
}

// comeBack is the Retry-After of the primary's error: when the first of all
// those who only wait is back. 0 where waiting is no cure.
func (r *Run) comeBack(now time.Time) time.Duration {
	if r.lasting {
		return 0
	}
	reset := r.reset
	if others, waits := r.d.waiting(now, r.visited()); waits && (reset.IsZero() || others.Before(reset)) {
		reset = others
	}
	return max(soon, reset.Sub(now))
}
