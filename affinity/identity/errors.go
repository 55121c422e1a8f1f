package identity

import "strconv"

// Codes of an Error, as answered to the client; all are refusals with 400.
const (
	CodeInvalid        = "invalid_session_id"
	CodeConflict       = "session_conflict"
	CodeParentNotFound = "previous_response_not_found"
)

// Reason says why a value was refused or passed over, without the value.
type Reason string

// Reasons that concern an id.
const (
	Empty            Reason = "empty"
	TooLong          Reason = "too_long"
	NotUTF8          Reason = "not_utf8"
	ControlCharacter Reason = "control_character"
	WhiteSpace       Reason = "white_space"
	NotString        Reason = "not_a_string"
	NoSessionUUID    Reason = "no_session_uuid"
	Differs          Reason = "differs"
	Unknown          Reason = "unknown"
)

// Reasons why an opening has no fingerprint.
const (
	NoUserTurn      Reason = "no_user_turn"
	UnknownContent  Reason = "unknown_content"
	UnreadableMedia Reason = "unreadable_media"
	Malformed       Reason = "malformed"
)

// Error refuses a request for what it says about its session. It never holds
// the value that was sent.
type Error struct {
	Code   string // one of the Code constants
	Signal string // the header or field that is to blame
	Reason Reason
}

// Error says what to do next.
func (e *Error) Error() string {
	switch e.Code {
	case CodeConflict:
		text := "this request names more than one session (" + e.Signal + " differs): send one session id, or the same one everywhere"
		if e.Signal == sessionHeader { // some hosts join its lines by commas, and they are taken apart again
			text += "; send an id that holds a comma as session_id in the body"
		}
		return text
	case CodeParentNotFound:
		return e.Signal + " names no response that can be continued: send the whole conversation instead"
	}
	return e.Signal + " is not a valid session id (" + string(e.Reason) + "): send a non-empty UTF-8 string of at most " +
		strconv.Itoa(maxID) + " bytes without control characters or surrounding white space, or leave it out"
}

// HeaderProblem says why a header cannot be configured as a session header.
type HeaderProblem string

// The problems of a configured header.
const (
	InvalidName      HeaderProblem = "is not a valid header name"
	CarriesSecret    HeaderProblem = "carries credentials"
	PerRequest       HeaderProblem = "carries an id of one request, trace or proxy hop, not of a session"
	UnknownTransform HeaderProblem = "has an unknown transform; leave it out or use " + sessionUUID
)

// HeaderError refuses a configured session header.
type HeaderError struct {
	Header  string // the name as configured
	Problem HeaderProblem
}

// Error names the header.
func (e *HeaderError) Error() string {
	shown := e.Header
	if len(shown) > maxName {
		shown = shown[:maxName]
	}
	return "session header " + strconv.Quote(shown) + " " + string(e.Problem) + "; configure another session header"
}
