package messages

import (
	"net/http"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
)

// ErrorBody is the JSON body of an error answer.
func ErrorBody(p *wire.Problem, requestID string) []byte {
	return envelope(p, errorType(p.Status), requestID)
}

// Failure is the event by which a broken stream ends. What may pass by itself is
// called overloaded_error there: clients try that again at once, and have no
// status to go by.
func (s *Stream) Failure(p *wire.Problem, by wire.Stamp) []byte {
	kind := errorType(p.Status)
	if p.Status > http.StatusInternalServerError {
		kind = "overloaded_error"
	}
	return sse.AppendEvent(nil, "error", envelope(p, kind, by.RequestID))
}

// envelope is Anthropic's error object with the gateway's code beside the type.
func envelope(p *wire.Problem, kind, requestID string) []byte {
	out := append(make([]byte, 0, 320), `{"type":"error","error":{"type":`...)
	out = append(out, jsonedit.Quote(kind)...)
	out = append(append(out, `,"message":`...), jsonedit.Quote(p.Message)...)
	out = append(append(out, `,"code":`...), jsonedit.Quote(string(p.Code))...)
	out = append(append(out, `},"request_id":`...), jsonedit.Quote(requestID)...)
	return append(out, '}')
}

// errorType is Anthropic's error type for a status.
func errorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusConflict:
		return "conflict_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	case http.StatusServiceUnavailable, 529:
		return "overloaded_error"
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

// Heartbeat keeps the connection alive between events: this protocol has an
// event for it.
func Heartbeat() []byte { return sse.AppendEvent(nil, "ping", []byte(`{"type":"ping"}`)) }

// Last is the terminal event.
func Last() []byte { return sse.AppendEvent(nil, "message_stop", []byte(`{"type":"message_stop"}`)) }
