// Package refusal is an account's "no", in the shape of either provider.
//
// A codec refuses with the status, the code and the wording that the real
// provider uses, since clients and gateways branch on them.
package refusal

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/emit"
)

// Refusal is one error answer. An empty Param or Code is null on the wire.
type Refusal struct {
	Status  int
	Type    string // OpenAI's
	Code    string
	Param   string
	Message string

	AnthropicType string // overrides the type that the status gives
	Plain         bool   // in a Responses stream: an "error" event instead of response.failed
}

// Invalid is a 400 of the request's own making.
func Invalid(param, code, format string, args ...any) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error",
		Param: param, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Missing is a 404.
func Missing(param, code, format string, args ...any) *Refusal {
	r := Invalid(param, code, format, args...)
	r.Status = http.StatusNotFound
	return r
}

// Body says why a request's JSON could not be read.
func Body(err error) *Refusal {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		param := Param(semantic.JSONPointer)
		return Invalid(param, "invalid_type", "Invalid type for '%s'.", param)
	}
	return Invalid("", "", "We could not parse the JSON body of your request.")
}

// Param writes a JSON pointer as providers name parameters: messages[2].role.
func Param(pointer jsontext.Pointer) string {
	var b strings.Builder
	for token := range pointer.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			b.WriteString("[" + token + "]")
		case b.Len() == 0:
			b.WriteString(token)
		default:
			b.WriteString("." + token)
		}
	}
	return b.String()
}

// OpenAI is the body in OpenAI's shape.
func (r *Refusal) OpenAI() []byte {
	b := emit.String(nil, `{"error":{"message":`, r.Message)
	b = emit.String(b, `,"type":`, r.Type)
	b = emit.OrNull(append(b, `,"param":`...), r.Param)
	b = emit.OrNull(append(b, `,"code":`...), r.Code)
	return append(b, "}}"...)
}

// OpenAIEvent is the event that ends a Chat Completions stream.
func (r *Refusal) OpenAIEvent() []byte {
	b := append([]byte("data: "), r.OpenAI()...)
	return append(b, '\n', '\n')
}

// Anthropic is the body in Anthropic's shape.
func (r *Refusal) Anthropic(requestID string) []byte {
	b := emit.String(nil, `{"type":"error","error":{"type":`, r.anthropicType())
	b = emit.String(b, `,"message":`, r.Message)
	b = emit.String(b, `},"request_id":`, requestID)
	return append(b, '}')
}

// AnthropicEvent is the event that ends a Messages stream.
func (r *Refusal) AnthropicEvent(requestID string) []byte {
	b := append([]byte("event: error\ndata: "), r.Anthropic(requestID)...)
	return append(b, '\n', '\n')
}

func (r *Refusal) anthropicType() string {
	if r.AnthropicType != "" {
		return r.AnthropicType
	}
	switch r.Status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	}
	if r.Status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}
