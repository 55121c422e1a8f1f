package routing

import (
	"time"

	"holdfast/routing/catalog"
)

// Reason is why a deployment does not serve a request. "" is none: it does.
type Reason string

// The reasons, structural ones first: the first that applies is given.
const (
	Deleted             Reason = "deleted"
	ChainRemoved        Reason = "chain_removed" // no legal way leads from the requested name to it
	Disabled            Reason = "disabled"
	ZeroWeight          Reason = "zero_weight"
	EndpointUnsupported Reason = "endpoint_unsupported"
	CapabilityMissing   Reason = "capability_missing"
	ModelForbidden      Reason = "model_forbidden"
	Boundary            Reason = "boundary"      // its account is not the one that owns what is referred to
	NoCredential        Reason = "no_credential" // told from outside: a secret that could not be read
	Budget              Reason = "budget"
	Guardrail           Reason = "guardrail"
	AlreadyTried        Reason = "already_tried"
	Drained             Reason = "drained" // takes no new sessions
	Cooldown            Reason = "cooldown"
	Limit               Reason = "limit"
)

// transient reports whether the reason passes by itself.
func (r Reason) transient() bool { return r == Cooldown || r == Limit }

// question asks whether a deployment may serve: as a member of a pool, with
// the weight that it has there.
type question struct {
	target *catalog.Target
	pool   *catalog.Pool
	weight float64
	pinned bool // a session of its own: drains do not concern it
	again  bool // a retry: the cooldown and limits that this exchange itself causes do not concern it
}

// verdict is the answer. Reset is set with transient reasons.
type verdict struct {
	reason    Reason
	reset     time.Time
	transient bool // it passes by itself, and soon enough to be waited for
	lacks     Lack // with CapabilityMissing
}

// eligible is the one function that decides whether a deployment may serve.
func (d *Decision) eligible(now time.Time, q question) verdict {
	if q.target == nil {
		return verdict{reason: Deleted}
	}
	if v := d.configured(q); v.reason != "" {
		return v
	}
	c := d.condition(q.target.ID)
	switch {
	case c.Refused != "" && !c.Refused.transient():
		return verdict{reason: c.Refused, reset: c.Reset}
	case d.tried(q.target.ID):
		return verdict{reason: AlreadyTried}
	case c.Rest.Drained && !q.pinned:
		return verdict{reason: Drained}
	case q.again:
		return verdict{}
	case c.Rest.Cooling(now):
		return verdict{reason: Cooldown, reset: c.Rest.Until, transient: c.Rest.Cause.Transient()}
	case c.Refused != "":
		return verdict{reason: c.Refused, reset: c.Reset, transient: true}
	}
	return limited(now, q.target.Limits, c)
}

// configured answers from the configuration alone.
func (d *Decision) configured(q question) verdict {
	t := q.target
	switch {
	case !t.Enabled:
		return verdict{reason: Disabled}
	case q.weight == 0:
		return verdict{reason: ZeroWeight}
	case !d.serves(t):
		return verdict{reason: EndpointUnsupported}
	case lacking(t, d.r.Needs) != "":
		return verdict{reason: CapabilityMissing, lacks: lacking(t, d.r.Needs)}
	case !d.r.Caller.MayUse(q.pool):
		return verdict{reason: ModelForbidden}
	}
	return verdict{}
}

// serves reports whether the deployment takes the endpoint: in its own
// protocol, by a bridge, or, where no protocol of that name exists, because
// its configuration says so.
func (d *Decision) serves(t *catalog.Target) bool {
	if d.r.Native {
		return true
	}
	if !t.Serves(d.r.Endpoint) {
		return false
	}
	switch d.r.Endpoint {
	case t.Protocol:
		return true
	case catalog.Chat, catalog.Responses, catalog.Messages:
		return d.r.Bridges != nil && d.r.Bridges(d.r.Endpoint, t.Protocol)
	}
	return true
}

// Lack is what a deployment cannot do that a request asks for.
type Lack string

// The capabilities, as the configuration names them.
const (
	Streams    Lack = "stream"
	Tools      Lack = "tools"
	Images     Lack = "images"
	Documents  Lack = "documents"
	JSONSchema Lack = "json_schema"
	Context    Lack = "context" // the request is too long
)

// lacking is the first capability that a deployment is short of, "" for none.
func lacking(t *catalog.Target, n Needs) Lack {
	switch {
	case n.Stream && !t.Stream:
		return Streams
	case n.Tools && !t.Tools:
		return Tools
	case n.Images && !t.Images:
		return Images
	case n.Documents && !t.Documents:
		return Documents
	case n.JSONSchema && !t.JSONSchema:
		return JSONSchema
	case t.Context > 0 && n.Input > t.Context:
		return Context
	}
	return ""
}

// limited answers from a deployment's own limits. Minutes are those of the
// clock, as the counters are.
func limited(now time.Time, l catalog.Limits, c Condition) verdict {
	if l.RPM > 0 && c.Requests >= l.RPM || l.TPM > 0 && c.Tokens >= l.TPM {
		reset := c.Reset
		if reset.IsZero() {
			reset = now.Truncate(time.Minute).Add(time.Minute)
		}
		return verdict{reason: Limit, reset: reset, transient: true}
	}
	if l.Concurrency > 0 && c.InFlight >= l.Concurrency {
		return verdict{reason: Limit, reset: c.Reset, transient: true}
	}
	return verdict{}
}

// weightIn is a deployment's weight in a pool, and whether it is part of it.
func (d *Decision) weightIn(pool *catalog.Pool, deployment string) (float64, bool) {
	i, ok := pool.Position(deployment)
	if !ok {
		return 0, false
	}
	return d.policy.Split(pool).Weights[i], true
}
