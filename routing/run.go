package routing

import (
	"slices"
	"time"

	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// Action is what to do next.
type Action uint8

// The actions.
const (
	Try    Action = iota // make an attempt at Candidate, after Wait
	Done                 // it was served by Candidate
	Relay                // answer with the error of the step that has the number Step.Relay
	Refuse               // answer with Refusal
	Abort                // output was sent, or the client has left: end by the protocol's own error event
)

// Step is what follows. All actions but Try end the run.
type Step struct {
	Action     Action
	Candidate  Candidate
	Wait       time.Duration // before the attempt
	Number     int           // of this step in the exchange, from 1: the n-th Try is followed by the n-th Outcome
	Attempt    int           // on this deployment, from 1 up to max_attempts; a free resend keeps its number
	Fresh      bool          // over a new connection
	Repair     bool          // with the repaired body
	NextKey    bool          // with the next key of the connection
	Relay      int           // the Number of the step whose error is returned
	RetryAfter time.Duration // to go with the relayed error; 0: none
	Refusal    Refusal
}

// Run is the state of one exchange's attempts. Copy it only before its first
// Next.
type Run struct {
	d    *Decision
	last Step

	at      ranking         // the deployments of the pool at hand
	index   int             // of the next one
	pool    *catalog.Pool   // at hand; nil: none
	path    []string        // that led to it
	opened  bool            // the requested pool is, or was, at hand
	queue   []hop           // the pools of chains to come
	chained []*catalog.Pool // those of chains that were at hand

	done    []*catalog.Target // those who will not be tried again
	models  [MaxModels]string
	nmodels int

	source   *catalog.Pool // through which the current candidate was reached
	head     bool          // the current candidate is the first of the exchange
	used     int           // attempts on it that count
	keys     int           // how often its key was changed
	full     int           // how often it had no room
	waited   time.Duration // for it
	number   int           // of the last step
	calls    int           // steps at which something was sent
	repaired bool
	limited  bool // somebody had no room

	report  failed // what the client is told when all have failed
	lasting bool   // some failure was none that passes by itself
	reset   time.Time
	fails   []cooldown.Failure
	counted bool
	spilled bool
}

// failed is an attempt that may become the answer.
type failed struct {
	number int
	class  Class
	target *catalog.Target
}

// Start returns the first step. The time is that of the call, for a claim may
// have taken some.
func (d *Decision) Start(now time.Time) (Run, Step) {
	r := Run{d: d, head: true, spilled: d.spilled}
	switch {
	case d.refusal != nil:
		r.last = Step{Action: Refuse, Refusal: *d.refusal}
	case d.pin.Target == nil:
		r.last = r.advance(now)
	default:
		r.last = r.first(now)
	}
	return r, r.last
}

// first tries the pin, after the wait that its state asks for.
func (r *Run) first(now time.Time) Step {
	wait := time.Duration(0)
	if !r.d.wait.IsZero() {
		wait = max(0, r.d.wait.Sub(now))
	}
	if wait > r.d.maxWait() || wait > 0 && r.late(now.Add(wait)) {
		return Step{Action: Refuse, Candidate: r.d.pin, Refusal: *refuseUntil(DeploymentsCooling, now, r.d.wait)}
	}
	source := r.d.r.Pool
	if pool := r.d.r.Catalog.Pool(r.d.pin.Pool); pool != nil {
		source = pool
	}
	r.waited = wait
	return r.take(r.d.pin, source, wait)
}

// Next turns the outcome of the attempt that the last step asked for into what
// follows. Once the run has ended, it repeats the end.
func (r *Run) Next(now time.Time, o Outcome) Step {
	if r.last.Action == Try {
		r.last = r.next(now, o)
	}
	return r.last
}

func (r *Run) next(now time.Time, o Outcome) Step {
	if o.Class.called() && !o.Unsent {
		r.calls++
	}
	if step, free := r.resend(o); free {
		return step
	}
	r.note(now, o)
	switch {
	case o.Class == Success:
		return Step{Action: Done, Candidate: r.last.Candidate, Number: r.number, Attempt: r.used}
	case o.Output || o.Class == Cancelled:
		return Step{Action: Abort, Candidate: r.last.Candidate}
	case o.Class == Expired:
		return Step{Action: Refuse, Refusal: *refuse(DeadlineExceeded)}
	}
	if class, ok := o.Class.chain(); ok {
		return r.divert(now, class)
	}
	switch o.Class {
	case AtLimit:
		return r.noRoom(now, o)
	case Incapable:
		return r.unable(now, o)
	case CredentialRefused, Exhausted, UnknownModel:
		return r.leave(now, o)
	case RateLimited, Unreachable:
		return r.retry(now, o)
	case ServerError, Broken, Stale:
		return r.uncertain(now, o)
	}
	return r.relay() // Rejected, LocalRefusal, or a repair that did not help
}

// resend is for what does not count as an attempt: one resend over a fresh
// connection, one repair an exchange, the other keys of the connection. A call
// that must not happen twice is not resent when nobody knows its outcome.
func (r *Run) resend(o Outcome) (Step, bool) {
	step := r.last
	step.Wait, step.Fresh, step.NextKey = 0, false, false
	switch {
	case o.Output:
		return Step{}, false
	case o.Class == Stale && !r.last.Fresh && !r.d.r.SideEffects:
		step.Fresh = true
	case o.Class == Repairable && !r.repaired:
		step.Repair, r.repaired = true, true
	case o.Class.Keyed() && o.OtherKey && r.keys < len(r.last.Candidate.Target.Account.Keys)-1:
		step.NextKey = true
		r.keys++
	default:
		return Step{}, false
	}
	r.number++
	step.Number = r.number
	return step, true
}

// note keeps what the end of the exchange and the cooldowns need to know.
func (r *Run) note(now time.Time, o Outcome) {
	target := r.last.Candidate.Target
	if o.Class == Success || !o.Class.called() {
		return
	}
	// The primary's last error is the answer when all fail, except that a
	// refused credential of ours is nothing to tell where there is anything else,
	// nor is a protocol that could not say what was asked.
	mine := r.report.target == nil || r.report.target == target || r.report.class == Incapable
	if mine || r.report.class == CredentialRefused && o.Class != CredentialRefused {
		r.report = failed{r.last.Number, o.Class, target}
	}
	r.lasting = r.lasting || !o.Class.transient()
	if back := now.Add(o.RetryAfter); o.RetryAfter > 0 && (r.reset.IsZero() || back.Before(r.reset)) {
		r.reset = back
	}
	r.cool(now, o, target)
}

// cool notes what the cooldowns learn: one failure an exchange, and everybody
// who cools by one failure alone.
func (r *Run) cool(now time.Time, o Outcome, target *catalog.Target) {
	if !o.Class.Counts() {
		return
	}
	f := cooldown.Failure{
		Deployment: target.ID, At: now, Session: r.d.r.Session,
		Cause: o.Class.cause(), RetryAfter: o.RetryAfter,
	}
	atOnce := f.RetryAfter > r.d.maxWait() || f.Cause == cooldown.Exhausted
	if atOnce || !r.counted {
		r.counted = r.counted || !atOnce
		r.fails = append(r.fails, f)
	}
}

// Failures returns what this exchange has learned about deployments' health:
// to be applied to their pools' cooldown records, in order.
func (r *Run) Failures() []cooldown.Failure { return r.fails }

// Spilled reports whether the preference is well but has no room: what served
// instead must neither move nor renew it.
func (r *Run) Spilled() bool { return r.spilled }

// Calls returns how many times an upstream was called, as far as Next has been
// told.
func (r *Run) Calls() int { return r.calls }

// take makes the candidate the current one.
func (r *Run) take(c Candidate, source *catalog.Pool, wait time.Duration) Step {
	if !r.seen(c.Target.Model) {
		r.models[r.nmodels] = c.Target.Model
		r.nmodels++
	}
	r.source, r.used, r.keys, r.full = source, 1, 0, 0
	r.number++
	return Step{Action: Try, Candidate: c, Wait: wait, Number: r.number, Attempt: 1}
}

func (r *Run) seen(model string) bool { return slices.Contains(r.models[:r.nmodels], model) }

// late reports whether a time is past the exchange's deadline.
func (r *Run) late(at time.Time) bool {
	return !r.d.r.Deadline.IsZero() && !at.Before(r.d.r.Deadline)
}
