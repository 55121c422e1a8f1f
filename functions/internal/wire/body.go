package wire

import (
	"net/http"
	"strconv"

	"holdfast/functions/internal/wire/jsonedit"
)

// ErrorObject is a problem as OpenAI's error object, {"message","type","param",
// "code"}, which chat and responses share with every other OpenAI endpoint.
func ErrorObject(p *Problem) []byte {
	out := append(make([]byte, 0, 256), `{"message":`...)
	out = append(out, jsonedit.Quote(p.Message)...)
	out = append(append(out, `,"type":`...), jsonedit.Quote(openAIType(p.Status))...)
	out = append(out, `,"param":`...)
	if p.Param == "" {
		out = append(out, "null"...)
	} else {
		out = append(out, jsonedit.Quote(p.Param)...)
	}
	out = append(append(out, `,"code":`...), jsonedit.Quote(string(p.Code))...)
	return append(out, '}')
}

// OpenAIError is a problem as the body of an OpenAI endpoint's error answer.
func OpenAIError(p *Problem) []byte {
	return append(append([]byte(`{"error":`), ErrorObject(p)...), '}')
}

// openAIType is OpenAI's error type for a status.
func openAIType(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status == http.StatusNotFound:
		return "not_found_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// RetrySeconds is a problem's Retry-After header: whole seconds, rounded up, ""
// where there is none.
func (p *Problem) RetrySeconds() string {
	if p.RetryAfter <= 0 {
		return ""
	}
	return strconv.FormatInt(int64((p.RetryAfter+1e9-1)/1e9), 10)
}
