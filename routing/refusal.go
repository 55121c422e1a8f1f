package routing

import (
	"time"

	"holdfast/routing/catalog"
)

// Code names a refusal to the client.
type Code string

// The codes of refusals.
const (
	EndpointUnsupportedCode  Code = "endpoint_unsupported"
	CapabilityMissingCode    Code = "capability_missing"
	GuardrailBlocked         Code = "guardrail_blocked"
	ModelForbiddenCode       Code = "model_forbidden"
	ModelNotFound            Code = "model_not_found"
	ContinuationUnavailable  Code = "continuation_unavailable"
	BudgetExceeded           Code = "budget_exceeded"
	DeploymentsCooling       Code = "deployments_cooling"
	UpstreamCredentials      Code = "upstream_credentials"
	UpstreamUnknownOutcome   Code = "upstream_unknown_outcome"
	UpstreamFailed           Code = "upstream_failed"
	NoEligibleDeployment     Code = "no_eligible_deployment"
	ConfigurationUnavailable Code = "configuration_unavailable"
	DeadlineExceeded         Code = "deadline_exceeded"
)

// Refusal is an answer of our own in place of an upstream's.
type Refusal struct {
	Code       Code
	Status     int
	RetryAfter time.Duration // at least a second with 429 and 503; 0: none
	Lacks      Lack          // with CapabilityMissingCode: what somebody could not do
}

// soon is the Retry-After of whoever cannot name a better one.
const soon = time.Second

func refuse(code Code) *Refusal {
	f := &Refusal{Code: code, Status: status(code)}
	if f.Status == 429 || f.Status == 503 {
		f.RetryAfter = soon
	}
	return f
}

// refuseUntil refuses with the time to come back; the zero time is unknown.
func refuseUntil(code Code, now, reset time.Time) *Refusal {
	f := refuse(code)
	f.RetryAfter = max(soon, reset.Sub(now))
	return f
}

// refuseFor refuses because of a verdict that decides.
func refuseFor(v verdict) *Refusal {
	f := refuse(codeOf(v.reason))
	f.Lacks = v.lacks
	return f
}

func status(code Code) int {
	switch code {
	case EndpointUnsupportedCode, CapabilityMissingCode, GuardrailBlocked:
		return 400
	case ModelForbiddenCode:
		return 403
	case ModelNotFound:
		return 404
	case ContinuationUnavailable:
		return 409
	case BudgetExceeded, DeploymentsCooling:
		return 429
	case UpstreamCredentials, UpstreamUnknownOutcome, UpstreamFailed:
		return 502
	case DeadlineExceeded:
		return 504
	}
	return 503
}

// codeOf is the refusal when this reason alone keeps everybody from serving.
func codeOf(reason Reason) Code {
	switch reason {
	case Cooldown, Limit:
		return DeploymentsCooling
	case Budget:
		return BudgetExceeded
	case Guardrail:
		return GuardrailBlocked
	case CapabilityMissing:
		return CapabilityMissingCode
	case EndpointUnsupported:
		return EndpointUnsupportedCode
	case ModelForbidden:
		return ModelForbiddenCode
	}
	return NoEligibleDeployment
}

// nobody says why none of the pools has anybody who may serve. Who only waits
// decides first: 429 with the earliest reset. Then the configuration, where it
// rules out everybody who is switched on; else 503.
func (d *Decision) nobody(now time.Time, pools []*catalog.Pool) *Refusal {
	if reset, waits := d.waiting(now, pools); waits {
		return refuseUntil(DeploymentsCooling, now, reset)
	}
	var decides verdict
	for _, pool := range pools {
		d.each(now, pool, func(v verdict) {
			if precedence(v.reason) > precedence(decides.reason) {
				decides = v
			}
		})
	}
	return refuseFor(decides)
}

// precedence tells which of several reasons the client hears. One that neither
// the configuration of those who are switched on nor the client can help comes
// before all: somebody could have served.
func precedence(reason Reason) int {
	switch reason {
	case "", Deleted, Disabled, ZeroWeight, ChainRemoved: // switched off: nothing to learn
		return 0
	case ModelForbidden:
		return 1
	case EndpointUnsupported:
		return 2
	case CapabilityMissing:
		return 3
	case Guardrail:
		return 4
	case Budget:
		return 5
	}
	return 6
}

// each visits what eligibility says of each deployment of a pool.
func (d *Decision) each(now time.Time, pool *catalog.Pool, visit func(verdict)) {
	weights := d.policy.Split(pool).Weights
	for i, target := range pool.Deployments {
		visit(d.eligible(now, question{target: target, pool: pool, weight: weights[i]}))
	}
}

// waiting returns the earliest reset of all who only wait, the zero time where
// one of them may be free at any moment, and whether anybody waits.
func (d *Decision) waiting(now time.Time, pools []*catalog.Pool) (earliest time.Time, waits bool) {
	for _, pool := range pools {
		d.each(now, pool, func(v verdict) {
			if v.reason.transient() && (!waits || v.reset.Before(earliest)) {
				earliest, waits = v.reset, true
			}
		})
	}
	return earliest, waits
}

// oversize reports whether the request's length is what rules out a pool.
func (d *Decision) oversize(now time.Time, pool *catalog.Pool) bool {
	found, other := false, false
	d.each(now, pool, func(v verdict) {
		found = found || v.lacks == Context
		other = other || v.lacks != Context && v.reason != Disabled && v.reason != ZeroWeight // those are switched off
	})
	return found && !other
}
