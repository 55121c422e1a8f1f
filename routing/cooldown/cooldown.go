// Package cooldown decides which deployments rest and until when. It is
// arithmetic over values: the caller brings the clock, reads the record and
// writes it back by compare-and-swap.
//
// A Pool is what all processes share about the deployments of one public model,
// in one record, so that one read brings it along with everything else.
//
// Invariants: allowed failures of a deployment within one minute cool it; a
// session counts once a minute, whatever it sends; a provider that asks for a
// longer pause than anybody waits is cooled at once; a cooldown only ever
// extends, max(old, new), until somebody wakes the deployment; a drain stays
// until it is ended. What is remembered is bounded.
//
// Concurrency: a Pool never changes; every operation returns another one. On a
// conflict of writers, apply the event again to the record that stands. Merge
// joins the shared record with what a process noted while it was out of reach.
//
// Errors: Decode returns ErrInvalid for anything that Encode does not write.
package cooldown

import (
	"slices"
	"strings"
	"time"
)

// Window is how far back failures count.
const Window = time.Minute

// Bounds of one Pool. Beyond them the least recent knowledge is dropped.
const (
	MaxDeployments = 256
	MaxFailures    = 256 // remembered of one deployment: the largest AllowedFails that works
	MaxID          = 256 // bytes of a deployment's id
)

// Cause says why a deployment rests.
type Cause uint8

// The causes of a cooldown.
const (
	Failing    Cause = iota // rate limits, server errors, network failures
	Asked                   // the provider's own Retry-After
	Refused                 // its credential is not accepted
	Exhausted               // its account is empty, or its upstream model is gone
	ByOperator              // the admin API
	causes                  // how many there are
)

// String returns the cause's name in logs and answers.
func (c Cause) String() string {
	if c >= causes {
		return "unknown"
	}
	return [causes]string{"failing", "asked", "refused", "exhausted", "operator"}[c]
}

// Transient reports whether the deployment is likely to serve again by itself
// when the cooldown ends, so that waiting for it makes sense.
func (c Cause) Transient() bool { return c != Refused && c != Exhausted }

// Rules are a template's numbers.
type Rules struct {
	AllowedFails int           // failures within Window that cool; below 1 counts as 1
	Cooldown     time.Duration // how long a deployment rests
	MaxWait      time.Duration // a Retry-After above it cools at once
}

// Failure is one failed attempt that tells something about a deployment.
// Client errors, content policy, context errors, polls and cancellations are
// not failures: they never get here.
type Failure struct {
	Deployment string
	At         time.Time
	Session    uint32        // short hash of the session; 0: none, counts always
	Cause      Cause         // Refused and Failing count; Exhausted cools at once
	RetryAfter time.Duration // as the provider said; 0: it did not
}

// Status is what is known of one deployment. The zero Status is a deployment
// without a record: healthy.
type Status struct {
	Until   time.Time // cooling before it; zero: never cooled, or woken since
	Cause   Cause
	Drained bool // takes no new sessions
	Fails   int  // failures on record that count towards the next cooldown
}

// Cooling reports whether the deployment rests at now.
func (s Status) Cooling(now time.Time) bool { return s.Until.After(now) }

// Pool is an immutable set of deployments' states. The zero Pool knows nothing.
type Pool struct {
	rests []rest // sorted by id, without duplicates
}

// rest is one deployment's state. Times are Unix milliseconds, 0 for none.
type rest struct {
	id       string
	until    int64 // end of the cooldown
	cooled   int64 // when it was set: earlier failures are spent
	cause    Cause
	woken    int64 // last wake: everything before it is void
	drained  bool
	switched int64     // when drained was last set or ended
	failures []failure // sorted, distinct
}

type failure struct {
	at      int64
	session uint32
}

// Of returns a deployment's state.
func (p Pool) Of(deployment string) Status {
	i, found := p.find(deployment)
	if !found {
		return Status{}
	}
	r := p.rests[i]
	s := Status{Cause: r.cause, Drained: r.drained, Fails: r.fails()}
	if r.until != 0 {
		s.Until = time.UnixMilli(r.until)
	}
	return s
}

// Empty reports whether the pool knows nothing at all.
func (p Pool) Empty() bool { return len(p.rests) == 0 }

func (p Pool) find(id string) (int, bool) {
	return slices.BinarySearchFunc(p.rests, id, func(r rest, id string) int { return strings.Compare(r.id, id) })
}

// with returns the pool after change was applied to a copy of the state of id.
func (p Pool) with(id string, change func(*rest)) Pool {
	i, found := p.find(id)
	rests := slices.Clone(p.rests)
	if !found {
		rests = slices.Insert(rests, i, rest{id: id})
	}
	rests[i].failures = slices.Clone(rests[i].failures)
	change(&rests[i])
	return Pool{rests}
}
