package wire

import "strconv"

// UpstreamError is what a provider said of a failure, bounded and cleaned.
type UpstreamError struct {
	Status  int    // HTTP status; 0 where the error came inside a stream
	Type    string // the provider's error type or status name
	Code    string // the provider's error code, numbers as text
	Param   string
	Message string // the provider's words
}

// Error names status, type and code only: a provider's words may quote what
// the client sent.
func (e *UpstreamError) Error() string {
	return "upstream error " + strconv.Itoa(e.Status) + " " + e.Type + " " + e.Code
}

// Class is what an upstream error means for the attempts that may follow.
type Class uint8

// The classes, most telling first.
const (
	ClassOther          Class = iota // a 4xx about the request itself: returned as it is
	ClassContextWindow               // the prompt is too long for the model
	ClassContentPolicy               // the provider refused the content
	ClassExhausted                   // quota or credit is used up, billing is in disorder
	ClassCredential                  // 401, 402, 403
	ClassModelUnknown                // the upstream model is not there
	ClassSignature                   // a thinking block's signature does not hold
	ClassParentNotFound              // previous_response_id is unknown to the upstream
	ClassRateLimited                 // 429
	ClassOverloaded                  // 503, 529, overloaded_error
	ClassServer                      // other 5xx
	ClassTimeout                     // 408
)
