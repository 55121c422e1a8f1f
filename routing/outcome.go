package routing

import (
	"time"

	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// Class is how an attempt ended, as far as routing cares.
type Class uint8

// The classes of outcomes.
const (
	Success           Class = iota
	RateLimited             // 429
	ServerError             // 5xx, 408, an error event in a 200 stream before output
	Unreachable             // the connection failed and nothing was sent: the provider cannot have acted
	Broken                  // no definite answer to what was sent: the provider may have acted
	Stale                   // died on a reused connection before any byte of an answer
	ContextExceeded         // the prompt is too long for the model
	ContentRefused          // the upstream's content policy
	CredentialRefused       // 401, 402, 403 of the upstream
	Exhausted               // insufficient_quota, credit balance, billing
	UnknownModel            // 404 for the upstream's model
	Rejected                // any other 4xx
	Repairable              // an error that one changed resend to the same deployment may cure
	LocalRefusal            // our own permission, budget, guardrail or caller's limit, found at the attempt
	AtLimit                 // the deployment's own limit had no room: nothing was sent
	Incapable               // the request cannot be said in the deployment's protocol: nothing was sent
	Cancelled               // the client left
	Expired                 // the exchange's deadline came
	classes
)

// String returns the class's name in logs and usage events.
func (c Class) String() string {
	if c >= classes {
		return "unknown"
	}
	return [classes]string{"success", "rate_limited", "server_error", "unreachable", "broken", "stale", "context_exceeded",
		"content_refused", "credential_refused", "exhausted", "unknown_model", "rejected", "repairable", "local_refusal",
		"at_limit", "incapable", "cancelled", "deadline_exceeded"}[c]
}

// Outcome is what came of one attempt.
type Outcome struct {
	Class      Class
	RetryAfter time.Duration // as the provider said; 0: it did not
	Output     bool          // text, reasoning or tool deltas have reached the client
	OtherKey   bool          // the connection has another key that is neither refused nor limited
	Unsent     bool          // nobody was called: what opens the deployment is not here
}

// Counts reports whether the outcome tells something about the deployment's
// health: rate limits, server errors, network and credential failures do.
// Client errors, content policy, context errors and cancellations never do.
func (c Class) Counts() bool {
	switch c {
	case RateLimited, ServerError, Unreachable, Broken, Stale, CredentialRefused, Exhausted, UnknownModel:
		return true
	}
	return false
}

// transient reports whether the same deployment is likely to serve soon.
func (c Class) transient() bool {
	switch c {
	case RateLimited, ServerError, Unreachable, Broken, Stale:
		return true
	}
	return false
}

// called reports whether something was sent, so that there was a call.
func (c Class) called() bool { return c != AtLimit && c != LocalRefusal && c != Incapable }

// Keyed reports whether the failure may be one of the key, not of the account.
func (c Class) Keyed() bool { return c == RateLimited || c == CredentialRefused || c == Exhausted }

// chain is the class of fallback chain that an outcome goes to at once.
func (c Class) chain() (catalog.Class, bool) {
	switch c {
	case ContextExceeded:
		return catalog.ContextWindow, true
	case ContentRefused:
		return catalog.ContentPolicy, true
	}
	return catalog.General, false
}

// cause is what a cooldown after the outcome is put down to.
func (c Class) cause() cooldown.Cause {
	switch c {
	case CredentialRefused:
		return cooldown.Refused
	case Exhausted, UnknownModel:
		return cooldown.Exhausted
	}
	return cooldown.Failing
}
