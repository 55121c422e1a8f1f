// Package routing says what to try, in which order, and what follows each
// outcome.
//
// Plan takes everything that a decision depends on as a value and returns a
// Decision; Decision.Start gives the first Step and a Run, whose Next turns
// each attempt's Outcome into the next Step. The same eligibility function
// judges new sessions, preferences, claim winners, continuations, fallbacks and
// retries.
//
// Invariants: a Run ends; it tries a deployment at most max_attempts times,
// at most MaxModels models, and never one that eligibility refuses; once output
// has reached the client there is no other target; a call whose outcome is
// unknown is not replayed where that could do harm. Equal inputs give equal
// steps in every process.
//
// The package does no I/O, reads no clock and draws no random numbers: time and
// jitter come with the request. Nothing is ranked or explained before it is
// needed, so that a preference that holds costs next to nothing.
//
// Concurrency: a Decision and its Run belong to one exchange. What a Request
// refers to is only read.
//
// Errors: what cannot be served is a Refusal, a value with a code, a status and
// a time to come back.
package routing

import (
	"slices"
	"time"

	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// MaxModels is how many models one exchange may try, the requested one
// included.
const MaxModels = 8

// Request is everything that one decision depends on.
type Request struct {
	Catalog  *catalog.Catalog
	Caller   *catalog.Caller // nil, or without a policy: configuration_unavailable
	Pool     *catalog.Pool   // the requested model or group; nil: model_not_found
	Endpoint string
	Bridges  Bridges // nil: deployments serve their own protocol only
	Native   bool    // the upstream is addressed as it is: endpoints and protocols are no matter
	Needs    Needs
	Health   Health // nil: every deployment is well

	Pin   Pin    // the session's preference; the zero Pin is none
	Owner *Owner // set on a continuation: the one who must serve it

	Seed     []byte         // equal for all requests of a session, model and endpoint
	Turn     uint64         // of the round_robin counter
	Session  uint32         // short hash of the session, for cooldowns; of the exchange where there is none
	Jitter   func() float64 // in [0, 1); nil: back-off takes its longest
	Now      time.Time
	Deadline time.Time // of the whole exchange; zero: none

	DisableFallbacks bool     // the request's own word; the template may forbid them as well
	SideEffects      bool     // a second call could do harm: never replayed after an unknown outcome
	Tried            []string // deployments that this exchange has already exhausted
}

// Bridges reports whether requests of an endpoint can be translated to a
// protocol that differs from it.
type Bridges func(endpoint, protocol string) bool

// Needs are what a request asks of a deployment.
type Needs struct {
	Stream, Tools, Images, Documents, JSONSchema bool
	Input, Output                                int // expected tokens; 0: unknown
}

// Health tells what is known of deployments at this moment.
type Health interface {
	// Of returns what is known; the zero Condition is a deployment that is well.
	Of(deployment string) Condition
}

// Condition is one deployment's state, as far as it is shared or counted.
type Condition struct {
	Rest     cooldown.Status
	InFlight int           // running attempts, this exchange's excluded
	Requests int           // started this minute
	Tokens   int           // used this minute
	Latency  time.Duration // moving average to the first byte; 0: not measured
	Refused  Reason        // a verdict from outside, such as Budget, Guardrail, NoCredential, Limit; "": none
	Reset    time.Time     // when Refused or a limit ends; zero: unknown
}

// Pin is a session's preference: where it last succeeded.
type Pin struct {
	Deployment string
	Pool       string   // through which it was reached
	Path       []string // the sources of fallback chains that led there; empty without fallback
	Cached     int      // input tokens that its prompt cache is expected to hold
}

// Owner is the creator of what a continuation refers to.
type Owner struct {
	Deployment string
	BaseURL    string   // of its connection when it created
	Boundary   string   // likewise
	Peers      []string // deployments to which the protocol lets the reference be sent as well; each must share the boundary
}

// Candidate is one deployment that may serve the request.
type Candidate struct {
	Target *catalog.Target
	Pool   string   // the model or group through which it was reached
	Path   []string // the sources of fallback chains that led there; empty without fallback
	Pinned bool     // the session's preference, or the owner of what is continued
}

// Decision is what follows from a Request. It is a value: copy it only before
// the first Start.
type Decision struct {
	r       Request
	policy  *catalog.Policy
	pin     Candidate // Target is nil when the pin does not hold
	wait    time.Time // when set, the pin serves from then on and is waited for
	why     Reason    // why the pin does not hold
	strict  bool
	spilled bool
	refusal *Refusal
}

// Plan decides.
func Plan(r Request) Decision {
	d := Decision{r: r}
	switch {
	case r.Catalog == nil || r.Caller == nil || r.Caller.Policy == nil:
		d.refusal = refuse(ConfigurationUnavailable)
		return d
	case r.Pool == nil:
		d.refusal = refuse(ModelNotFound)
		return d
	}
	d.policy = r.Caller.Policy
	stickiness := d.policy.Affinity(r.Pool)
	d.strict = stickiness == catalog.Strict
	switch {
	case r.Owner != nil:
		d.bind()
	case r.Pin.Deployment != "" && stickiness != catalog.NotSticky:
		d.Follow(r.Pin)
	}
	return d
}

// Made reports whether Plan has made the decision: the zero one explains nothing.
func (d *Decision) Made() bool { return d.policy != nil || d.refusal != nil }

// maxWait is the longest Retry-After that is honoured.
func (d *Decision) maxWait() time.Duration {
	return time.Duration(d.r.Catalog.Affinity().MaxWait)
}

// fallbacks is the chain of a source for a class of failure.
func (d *Decision) fallbacks(class catalog.Class, source *catalog.Pool) []*catalog.Pool {
	if d.r.DisableFallbacks {
		return nil
	}
	return d.policy.Fallbacks(class, source)
}

// condition is what is known of a deployment.
func (d *Decision) condition(deployment string) Condition {
	if d.r.Health == nil {
		return Condition{}
	}
	return d.r.Health.Of(deployment)
}

// Spilled reports whether the preference is well but at its own limit: what
// serves instead must neither move nor renew it.
func (d *Decision) Spilled() bool { return d.spilled }

// Pinned returns the preference or owner that will be tried first, if any.
func (d *Decision) Pinned() (Candidate, bool) { return d.pin, d.pin.Target != nil }

// Passed returns why the preference does not hold: "" when it does, or when
// there is none.
func (d *Decision) Passed() Reason { return d.why }

// tried reports whether an earlier part of this exchange exhausted it.
func (d *Decision) tried(deployment string) bool { return slices.Contains(d.r.Tried, deployment) }
