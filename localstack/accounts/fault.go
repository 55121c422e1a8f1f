package accounts

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kind is what goes wrong.
type Kind string

// The kinds of faults. The first group answers with an error; a status given
// with the fault replaces the usual one.
const (
	RateLimit       Kind = "rate_limit"       // 429, with Retry-After where the fault has one
	Quota           Kind = "quota"            // the account is used up: 429 insufficient_quota, Anthropic 400
	ServerError     Kind = "server_error"     // 500
	Overloaded      Kind = "overloaded"       // 529 on Messages, else 503
	Unauthorized    Kind = "unauthorized"     // 401
	Billing         Kind = "billing"          // 429 billing_not_active, Anthropic's 400 about the credit balance
	NotFound        Kind = "not_found"        // 404, the model is unknown
	ContextOverflow Kind = "context_overflow" // 400
	ContentPolicy   Kind = "content_policy"   // 400
	BadSignature    Kind = "bad_signature"    // 400 about a thinking block, or about encrypted content
	Redirect        Kind = "redirect"         // 307 to /redirected on the same account

	Hang        Kind = "hang"         // headers never come
	ResetBefore Kind = "reset_before" // TCP reset before any byte
	Empty       Kind = "empty_body"   // 200 and no byte

	// These strike within the answer, where After says.
	ResetAfter Kind = "reset_after" // TCP reset
	Cut        Kind = "cut"         // a clean end without the protocol's own
	ErrorEvent Kind = "error_event" // the protocol's error event, then a clean end; 500 on JSON
	Garbage    Kind = "garbage"     // broken JSON

	SlowFirstByte Kind = "slow_first_byte" // Delay before the headers
	SlowTokens    Kind = "slow_tokens"     // Delay before each output event, or between headers and JSON
	BadUsage      Kind = "bad_usage"       // usage of wrong types
	Mislabelled   Kind = "mislabelled"     // the usual answer under ContentType
)

// kinds lists all of them, for errors and for checking.
func kinds() []Kind {
	return []Kind{RateLimit, Quota, ServerError, Overloaded, Unauthorized, Billing, NotFound, ContextOverflow,
		ContentPolicy, BadSignature, Redirect, Hang, ResetBefore, Empty, ResetAfter, Cut, ErrorEvent, Garbage,
		SlowFirstByte, SlowTokens, BadUsage, Mislabelled}
}

// Fault is what is to go wrong, and for whom. A call is struck by the first
// armed fault that fits it. Unset conditions fit every call.
type Fault struct {
	Kind  Kind `json:"kind"`
	Times int  `json:"times,omitzero"` // how often it strikes; 0: until it is removed

	Match       string  `json:"match,omitzero"` // text anywhere in the request body
	Model       string  `json:"model,omitzero"`
	Protocol    string  `json:"protocol,omitzero"`    // as in Call
	Operation   string  `json:"operation,omitzero"`   // as in Call
	Key         string  `json:"key,omitzero"`         // KeyHash of the credential
	Stream      *bool   `json:"stream,omitzero"`      // only streams, or only JSON
	Probability float64 `json:"probability,omitzero"` // of striking a call that fits; 0: always
	Seed        uint64  `json:"seed,omitzero"`        // of that chance

	After        int           `json:"after,omitzero"`          // output events before it; 0: after the preamble, -1: before any event
	AfterBytes   int           `json:"after_bytes,omitzero"`    // bytes before it instead, in the middle of an event or of JSON; default there: half
	RetryAfter   string        `json:"retry_after,omitzero"`    // value of the Retry-After header
	RetryAfterMS int           `json:"retry_after_ms,omitzero"` // value of the retry-after-ms header
	Delay        time.Duration `json:"delay,omitzero"`          // before it, or as the slow kinds say; "250ms" in JSON
	Status       int           `json:"status,omitzero"`         // instead of the usual one
	Code         string        `json:"code,omitzero"`           // instead of the usual error code
	Message      string        `json:"message,omitzero"`        // instead of the usual wording
	ContentType  string        `json:"content_type,omitzero"`   // of mislabelled; "": the header is left out
	PlainError   bool          `json:"plain_error,omitzero"`    // error_event on Responses: the event "error", not response.failed
}

// ErrFault is what every refused fault wraps.
var ErrFault = errors.New("invalid fault")

var errNoJournal = errors.New("the account keeps no journal")

// check refuses what could not strike as it was meant.
func (f *Fault) check() error {
	slow := f.Kind == SlowFirstByte || f.Kind == SlowTokens
	switch {
	case !slices.Contains(kinds(), f.Kind):
		return fmt.Errorf("%w: kind: %q is none of %v", ErrFault, f.Kind, kinds())
	case f.Times < 0:
		return fmt.Errorf("%w: times: must not be negative", ErrFault)
	case f.Probability < 0 || f.Probability > 1:
		return fmt.Errorf("%w: probability: must be between 0 and 1", ErrFault)
	case f.After < -1:
		return fmt.Errorf("%w: after: must be -1 or more", ErrFault)
	case f.AfterBytes < 0:
		return fmt.Errorf("%w: after_bytes: must not be negative", ErrFault)
	case f.RetryAfterMS < 0:
		return fmt.Errorf("%w: retry_after_ms: must not be negative", ErrFault)
	case f.Delay < 0 || slow && f.Delay == 0:
		return fmt.Errorf("%w: delay: must be positive, for example \"250ms\"", ErrFault)
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("%w: status: must be an error status", ErrFault)
	}
	return nil
}

// within tells whether the fault strikes while an answer is being sent.
func (f *Fault) within() bool {
	switch f.Kind {
	case ResetAfter, Cut, ErrorEvent, Garbage:
		return true
	}
	return false
}
