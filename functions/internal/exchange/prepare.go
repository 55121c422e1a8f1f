package exchange

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"time"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/wire"
	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// prepare does everything that comes before the first upstream call. Where the
// one read tells of a new configuration, all is decided again under it.
func (e *exchange) prepare(ctx context.Context) *wire.Problem {
	var p *wire.Problem
	if e.facts, p = wire.Inspect(e.in.Endpoint, e.in.Body); p != nil {
		return p
	}
	e.line.Stream = e.facts.Stream
	for range maxRevisions {
		p = e.look(ctx)
		newer, err := e.newer(ctx)
		switch {
		case err != nil:
			return wire.Refuse(wire.ConfigurationUnavailable)
		case newer == nil && p != nil:
			return p
		case newer == nil:
			return e.decide(ctx)
		}
		e.in.Snapshot = newer
		if p = e.again(); p != nil {
			return p
		}
	}
	return wire.Refuse(wire.ConfigurationUnavailable)
}

// maxRevisions bounds how often one exchange follows a configuration that
// changes under it.
const maxRevisions = 3

// look finds the session, what was asked for, and reads the store once.
func (e *exchange) look(ctx context.Context) *wire.Problem {
	e.plan = nil
	signals, err := e.in.Snapshot.Sessions.Read(identity.Request{
		Endpoint: e.in.Endpoint, Header: e.http.Header, Member: e.facts.Member,
	})
	if err != nil {
		return refusal(err)
	}
	if signals.ParentResponse == "" {
		e.session, _ = signals.Session(nil) // fails for continuations only
	}
	if p := e.permit(); p != nil {
		return p
	}
	also := e.lookups()
	e.plan, err = e.Affinity.Plan(ctx, affinity.Request{
		Scope: e.in.Principal.Scope, Signals: signals, Model: e.pool.Name, Endpoint: e.in.Endpoint,
		Off: e.off(), Also: also,
	})
	if err != nil {
		return refusal(err)
	}
	e.session = e.plan.Session
	e.take(e.plan.Also())
	return nil
}

// lookups are the records beside the preference that the one read brings: the
// configuration's revision, cooldowns, rests of keys, and use.
func (e *exchange) lookups() []store.Key {
	keys := e.Configuration.Keys()
	if token := e.returned(); token != "" {
		keys = append(keys, e.turnStateKey(token))
	}
	e.pooled = e.models()
	keys = append(keys, cooldownKeys(e.pooled)...)
	e.ringed = e.rings()
	e.ringed = e.ringed[:min(len(e.ringed), maxRings)]
	for _, account := range e.ringed {
		keys = append(keys, ringKey(account.ID))
	}
	e.load = load{}
	return append(keys, e.load.keys(e, store.MaxReadKeys-1-len(keys))...)
}

// maxRings bounds how many connections' keys one exchange asks about.
const maxRings = 4

// take sorts what lookups has brought.
func (e *exchange) take(read []store.Handle) {
	read = read[len(e.Configuration.Keys()):]
	if e.issuer = ""; e.returned() != "" {
		record, _ := read[0].Record()
		e.issuer, read = string(record.Value), read[1:]
	}
	e.health = health{load: &e.load, now: e.Now()}
	for range e.pooled {
		if pool := decode(read[0]); !pool.Empty() {
			e.health.pools = append(e.health.pools, pool)
		}
		read = read[1:]
	}
	for _, account := range e.ringed {
		if ring := decode(read[0]); !ring.Empty() {
			if e.resting == nil {
				e.resting = map[string]cooldown.Pool{}
			}
			e.resting[account.ID] = ring
		}
		read = read[1:]
	}
	if len(read) > 0 {
		e.load.take(e, read)
	}
}

// permit finds the model or group that was asked for, if the caller may use it.
func (e *exchange) permit() *wire.Problem {
	e.pool = e.in.Snapshot.Catalog.Pool(e.facts.Model)
	switch {
	case e.pool == nil:
		return wire.Refuse(wire.ModelNotFound).About("model")
	case !e.in.Principal.Caller.MayUse(e.pool):
		e.pool = nil
		return wire.Refuse(wire.ModelForbidden).About("model")
	}
	e.line.Model = e.pool.Name
	return nil
}

// off reports whether this exchange plans as if new and writes nothing.
func (e *exchange) off() bool {
	policy := e.in.Principal.Caller.Policy
	return e.http.Header.Get("X-Holdfast-Affinity") == "off" || policy != nil && policy.Affinity(e.pool) == catalog.NotSticky
}

// newer returns the snapshot of a configuration that the read has told of, nil
// where the current one rules.
func (e *exchange) newer(ctx context.Context) (*Snapshot, error) {
	n := len(e.Configuration.Keys())
	if e.plan == nil && e.pool == nil { // refused for its model, without a read
		if fresh := e.Configuration.Refresh(ctx); fresh != e.in.Snapshot {
			return fresh, nil
		}
	}
	if e.plan == nil || e.plan.Degraded || n == 0 || len(e.plan.Also()) < n {
		return nil, nil
	}
	follow, err := e.Configuration.Follow(ctx, e.plan.Also()[:n])
	if err != nil || follow == e.in.Snapshot {
		return nil, err
	}
	return follow, nil
}

// again asks for the caller's rights under a new configuration.
func (e *exchange) again() *wire.Problem {
	principal, err := auth.Authenticate(e.in.Snapshot.Catalog, e.http.Header, e.Now())
	switch {
	case err == nil:
		e.in.Principal = principal
		return nil
	case errors.Is(err, auth.ErrDisabled):
		return wire.Refuse(wire.KeyDisabled)
	case errors.Is(err, auth.ErrExpired):
		return wire.Refuse(wire.KeyExpired)
	}
	return wire.Refuse(wire.InvalidAPIKey)
}

// decide plans the route and claims the session's preference where it has none.
func (e *exchange) decide(ctx context.Context) *wire.Problem {
	e.describe()
	e.route(ctx)
	if e.plan.Preference != nil || e.plan.Owner != nil {
		return nil
	}
	return e.claim(ctx)
}

// route decides in memory who may serve, in which order.
func (e *exchange) route(ctx context.Context) {
	now := e.Now()
	var deadline time.Time
	if until, bounded := ctx.Deadline(); bounded {
		deadline = now.Add(time.Until(until))
	}
	e.turn = e.turns.Add(1)
	e.decision = routing.Plan(routing.Request{
		Catalog: e.in.Snapshot.Catalog, Caller: e.in.Principal.Caller, Pool: e.pool, Endpoint: e.in.Endpoint,
		Needs: e.needs(), Health: e.health, Pin: pin(e.plan.Preference), Owner: e.owner(),
		Seed: e.plan.Seed(), Turn: e.turn, Session: e.short(), Jitter: rand.Float64,
		Now: now, Deadline: deadline, DisableFallbacks: e.facts.DisableFallbacks,
	})
	if e.decision.Spilled() {
		e.plan.Spill()
	}
	e.line.Passed = string(e.decision.Passed())
}

// first is the target that a run would begin with, the zero Target for none.
func (e *exchange) first() affinity.Target {
	if _, step := e.decision.Start(e.Now()); step.Action == routing.Try {
		return wanted(step.Candidate)
	}
	return affinity.Target{}
}

// claim reserves the preference for the first candidate. A winner that is
// eligible is followed; one that is not is replaced.
func (e *exchange) claim(ctx context.Context) *wire.Problem {
	mine := e.first()
	if mine.Deployment == "" {
		return nil // nobody to claim for: the run says why
	}
	for range 2 {
		winner, err := e.plan.Claim(ctx, mine)
		if err != nil {
			return refusal(err)
		}
		if winner.Deployment == mine.Deployment {
			return nil
		}
		switch e.decision.Follow(pin(&winner)) {
		case "":
			return nil
		case routing.Limit:
			e.plan.Spill()
			return nil
		}
	}
	return nil
}

// owner is who must serve a continuation: its creator, else a deployment of the
// same account, where the id is the provider's own.
func (e *exchange) owner() *routing.Owner {
	o := e.plan.Owner
	if o == nil {
		return nil
	}
	owner := &routing.Owner{Deployment: o.Deployment, BaseURL: o.BaseURL, Boundary: o.Boundary}
	for _, t := range e.pool.Deployments {
		if t.ID != o.Deployment && t.Protocol == e.in.Endpoint && o.SameAccount(t.Account.Boundary) {
			owner.Peers = append(owner.Peers, t.ID)
		}
	}
	return owner
}

// pin is a preference as routing takes it.
func pin(t *affinity.Target) routing.Pin {
	if t == nil {
		return routing.Pin{}
	}
	return routing.Pin{Deployment: t.Deployment, Pool: t.Pool, Path: t.Path}
}

// wanted is a candidate as affinity keeps it.
func wanted(c routing.Candidate) affinity.Target {
	return affinity.Target{Deployment: c.Target.ID, Model: c.Target.Model, Pool: c.Pool, Path: c.Path, TTL: c.Target.CacheTTL}
}

// short is the session's hash for counting failures; the exchange's own where
// there is no session.
func (e *exchange) short() uint32 {
	id := e.session.ID
	if id == "" {
		id = e.in.ID
	}
	sum := sha256.Sum256([]byte(e.in.Principal.Scope.String() + "\x00" + id))
	return binary.BigEndian.Uint32(sum[:4])
}

// refusal turns an error of identity or affinity into the client's problem.
func refusal(err error) *wire.Problem {
	var session *identity.Error
	switch {
	case errors.As(err, &session) && session.Code == identity.CodeParentNotFound:
		return wire.Refuse(wire.PreviousResponseNotFound).About("previous_response_id") // alike for all who do not own it
	case errors.As(err, &session):
		return wire.Refuse(wire.Code(session.Code)).Saying(session.Error()).About(session.Signal)
	case errors.Is(err, affinity.ErrParentNotFound):
		return wire.Refuse(wire.PreviousResponseNotFound).About("previous_response_id")
	case errors.Is(err, affinity.ErrOwnershipUnavailable):
		return wire.Refuse(wire.OwnershipUnavailable)
	case errors.Is(err, store.ErrInvalid):
		return wire.Refuse(wire.InvalidRequest)
	case errors.Is(err, context.DeadlineExceeded):
		return wire.Refuse(wire.DeadlineExceeded)
	}
	return wire.Refuse("") // the client has left: nobody reads it
}

// describe tells the log what is known before any call.
func (e *exchange) describe() {
	e.line.SessionSource, e.line.SessionSignal = string(e.session.Source), e.session.Signal
	scope := e.in.Principal.Scope.String()
	if e.session.ID != "" {
		e.line.Session = e.Hash("session", scope, e.session.ID)
	}
	if e.session.Lane != "" {
		e.line.Lane = e.Hash("lane", scope, e.session.ID, e.session.Lane)
	}
	e.line.Degraded = string(e.plan.Reason)
	e.line.Revision = e.in.Snapshot.Catalog.Revision()
	if policy := e.in.Principal.Caller.Policy; policy != nil {
		e.line.Template, e.line.RuleSource = policy.Template, string(e.in.Principal.Caller.PolicySource)
	}
}

// needs are what the request asks of a deployment. What no deployment of the
// pool is short of is not looked for.
func (e *exchange) needs() routing.Needs {
	n := routing.Needs{Stream: e.facts.Stream, Output: int(min(e.facts.MaxTokens, 1<<30))}
	for _, t := range e.pool.Deployments {
		if !t.Tools || !t.Images || !t.Documents || !t.JSONSchema || t.Context > 0 {
			n.Tools, n.Images, n.Documents = e.facts.HasTools(), e.facts.HasImages(), e.facts.HasDocuments()
			n.JSONSchema, n.Input = e.facts.JSONSchema(), int(e.facts.EstimatedTokens())
			return n
		}
	}
	if e.in.Principal.Caller.Policy.Split(e.pool).Strategy == catalog.Cost {
		n.Input = int(e.facts.EstimatedTokens())
	}
	return n
}
