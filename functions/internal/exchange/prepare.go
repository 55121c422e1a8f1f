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
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/bridge"
	"holdfast/routing"
	"holdfast/routing/catalog"
)

// prepare does everything that comes before the first upstream call. Where the
// one read tells of a new configuration, all is decided again under it.
func (e *exchange) prepare(ctx context.Context) *wire.Problem {
	p := e.inspect()
	if p != nil {
		return p
	}
	e.line.Stream = e.facts.Stream
	for range maxRevisions {
		p = e.look(ctx)
		newer, err := e.newer(ctx)
		switch {
		case err != nil:
			return wire.Refuse(wire.ConfigurationUnavailable)
		case newer != nil:
			e.in.Snapshot = newer
			if p = e.again(ctx); p != nil {
				return p
			}
			continue
		}
		switch changed, refused := e.follow(ctx); {
		case refused != nil:
			return refused
		case changed:
			continue
		case p != nil:
			return p
		}
		return e.decide(ctx)
	}
	return wire.Refuse(wire.ConfigurationUnavailable)
}

// maxRevisions bounds how often one exchange follows a configuration that
// changes under it.
const maxRevisions = 3

// decide plans the route and claims the session's preference where it has none.
func (e *exchange) decide(ctx context.Context) *wire.Problem {
	e.describe()
	if p := e.inspectText(); p != nil {
		return p
	}
	if e.codec.errand && e.in.Bypass == nil { // counting: it costs nothing
		e.route(ctx)
		return nil
	}
	if p := e.allow(ctx); p != nil {
		return p
	}
	if e.codec.errand {
		e.route(ctx)
		return nil
	}
	if e.recall() {
		return nil
	}
	if e.codec.task != "" && e.plan.Degraded { // nobody could find again what is begun now
		return wire.Refuse(wire.OwnershipUnavailable)
	}
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
		Catalog: e.in.Snapshot.Catalog, Caller: e.caller(), Pool: e.pool, Endpoint: e.in.Endpoint, Bridges: e.bridges(), Native: e.in.Bypass != nil,
		Needs: e.needs(), Health: e.health, Pin: pin(e.plan.Preference), Owner: e.owner(),
		Seed: e.plan.Seed(), Turn: e.turn, Session: e.short(), Jitter: rand.Float64,
		Now: now, Deadline: deadline, DisableFallbacks: e.facts.DisableFallbacks || e.in.Bypass != nil, SideEffects: e.codec.task != "",
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
		if t.ID != o.Deployment && (t.Protocol == e.in.Endpoint || e.in.Bypass != nil) && o.SameAccount(t.Account.Boundary) {
			owner.Peers = append(owner.Peers, t.ID)
		}
	}
	e.stepIn(owner)
	return owner
}

// stepIn lets a deployment of the same account stand in for an owner that does
// not serve what is asked for now: a conversation, unlike a response, is not
// bound to a model.
func (e *exchange) stepIn(owner *routing.Owner) {
	if _, serves := e.pool.Position(owner.Deployment); serves || e.plan.Owner.Model == e.pool.Name {
		return
	}
	owner.Deployment = ""
	if len(owner.Peers) > 0 {
		owner.Deployment, owner.Peers = owner.Peers[0], owner.Peers[1:]
		owner.BaseURL = e.in.Snapshot.Catalog.Deployment(owner.Deployment).BaseURL
	}
}

// bridges says which deployments of other protocols may serve: none where only an
// account's own protocol knows what is asked for.
func (e *exchange) bridges() func(endpoint, protocol string) bool {
	if e.in.Compact {
		return nil
	}
	return bridge.Bridges
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
	switch parent := e.session.ParentAgent; {
	case parent == "":
	case e.session.FromSession:
		e.line.Parent = e.Hash("session", scope, parent)
	default:
		e.line.Parent = e.Hash("lane", scope, e.session.ID, parent)
	}
	e.line.Degraded = string(e.plan.Reason)
	e.line.Revision = e.in.Snapshot.Catalog.Revision()
	if policy := e.in.Principal.Caller.Policy; policy != nil {
		e.line.Template, e.line.RuleSource = policy.Template, string(e.in.Principal.Caller.PolicySource)
	}
}

// promptTokens estimates what a deployment has to read, restored history included.
func (e *exchange) promptTokens() int {
	return int(e.facts.EstimatedTokens()) + len(e.history)/bytesPerToken
}

// needs are what the request asks of a deployment. What no deployment of the
// pool is short of is not looked for.
func (e *exchange) needs() routing.Needs {
	n := routing.Needs{Stream: e.facts.Stream, Output: int(min(e.facts.MaxTokens, 1<<30))}
	for _, t := range e.pool.Deployments {
		if !t.Tools || !t.Images || !t.Documents || !t.JSONSchema || t.Context > 0 {
			n.Tools, n.Images, n.Documents = e.facts.HasTools(), e.facts.HasImages(), e.facts.HasDocuments()
			n.JSONSchema, n.Input = e.facts.JSONSchema(), e.promptTokens()
			return n
		}
	}
	if e.in.Principal.Caller.Policy.Split(e.pool).Strategy == catalog.Cost {
		n.Input = e.promptTokens()
	}
	return n
}
