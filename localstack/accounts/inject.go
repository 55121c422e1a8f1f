package accounts

import (
	"fmt"
	"net/http"
	"strconv"

	"holdfast/localstack/accounts/internal/refusal"
)

// inject lets the fault act that strikes before an answer. It is false when
// that has ended the call.
func (x *exchange) inject() bool {
	f := &x.fault.Fault
	if f.Kind != SlowTokens && !x.pause(f.Delay) {
		return false
	}
	switch f.Kind {
	case Hang:
		select {
		case <-x.r.Context().Done():
		case <-x.account.life.Done():
			panic(http.ErrAbortHandler) // no header may come
		}
		return false
	case ResetBefore:
		x.reset()
		return false
	case Empty:
		x.plain(http.StatusOK, nil)
		return false
	case Redirect:
		x.w.Header().Set("Location", "/redirected"+x.r.URL.RequestURI())
		x.plain(http.StatusTemporaryRedirect, nil)
		return false
	case SlowFirstByte, SlowTokens, BadUsage, Mislabelled:
		return true
	}
	if f.within() {
		return true
	}
	x.limitHeaders(f)
	return x.refuse(x.refusal(f))
}

func (x *exchange) limitHeaders(f *Fault) {
	if f.RetryAfter != "" {
		x.w.Header().Set("Retry-After", f.RetryAfter)
	}
	if f.RetryAfterMS > 0 {
		x.w.Header().Set("Retry-After-Ms", strconv.Itoa(f.RetryAfterMS))
	}
	if x.anthropic {
		retry := f.Kind == RateLimit || f.Kind == Overloaded || f.Kind == ServerError
		x.w.Header().Set("X-Should-Retry", strconv.FormatBool(retry))
	}
}

// refusal is what the provider says in the case of a fault.
func (x *exchange) refusal(f *Fault) *refusal.Refusal {
	r := x.openAIRefusal(f)
	if x.anthropic {
		r = x.anthropicRefusal(f)
	}
	if f.Status != 0 {
		r.Status, r.AnthropicType = f.Status, ""
	}
	if f.Code != "" {
		r.Code = f.Code
	}
	if f.Message != "" {
		r.Message = f.Message
	}
	r.Plain = f.PlainError
	return r
}

func (x *exchange) openAIRefusal(f *Fault) *refusal.Refusal {
	switch f.Kind {
	case RateLimit:
		return refused(429, "requests", "rate_limit_exceeded", "Rate limit reached for %s in organization org-%s on requests per min (RPM): Limit %s, Used %s, Requested 1. Please try again in %s.", x.model, x.account.tag, claimedRequests, claimedRequests, tryAgain(f))
	case Quota:
		return refused(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.")
	case Billing:
		return refused(429, "billing_not_active", "billing_not_active", "Your account is not active, please check your billing details on our website.")
	case Overloaded:
		return refused(503, "server_error", "server_is_overloaded", "That model is currently overloaded with other requests. You can retry your request, or contact us through our help center at help.openai.com if the error persists.")
	case ErrorEvent:
		if f.Status == http.StatusTooManyRequests {
			return x.openAIRefusal(&Fault{Kind: RateLimit, RetryAfter: f.RetryAfter})
		}
	case Unauthorized:
		return x.unauthorized(false)
	case NotFound:
		return x.unknownModel()
	case ContextOverflow:
		return refusal.Invalid(x.inputParam(), "context_length_exceeded", "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens. Please reduce the length of the messages.")
	case ContentPolicy:
		return refusal.Invalid("", "content_policy_violation", "Your request was rejected as a result of our safety system. Your prompt may contain text that is not allowed by our safety system.")
	case BadSignature:
		return refusal.Invalid("", "invalid_encrypted_content", "The encrypted content gAAA...DQ== could not be verified. Reason: Encrypted content could not be decrypted or parsed.")
	}
	return refused(500, "server_error", "", "The server had an error while processing your request. Sorry about that! Please contact us through our help center at help.openai.com if the error persists. (Please include the request ID %s in your message.)", x.id)
}

func (x *exchange) anthropicRefusal(f *Fault) *refusal.Refusal {
	switch f.Kind {
	case RateLimit:
		return refused(429, "", "", "This request would exceed your account's rate limit. Please try again later.")
	case Quota:
		return refusal.Invalid("", "", "You have reached your specified API usage limits. You will regain access on %s at 00:00 UTC.", x.began.UTC().AddDate(0, 1, 0).Format("2006-01-02"))
	case Billing:
		return refusal.Invalid("", "", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.")
	case Overloaded:
		return refused(529, "", "", "Overloaded")
	case ErrorEvent:
		if f.Status == http.StatusTooManyRequests {
			return x.anthropicRefusal(&Fault{Kind: RateLimit})
		}
		return refused(529, "", "", "Overloaded")
	case Unauthorized:
		return x.unauthorized(false)
	case NotFound:
		return x.unknownModel()
	case ContextOverflow:
		return refusal.Invalid("", "", "prompt is too long: 208310 tokens > 200000 maximum")
	case ContentPolicy:
		return refusal.Invalid("", "", "Output blocked by content filtering policy")
	case BadSignature:
		return refusal.Invalid("", "", "messages.1.content.0: Invalid `signature` in `thinking` block")
	}
	return refused(500, "", "", "Internal server error")
}

// refused is an error of a status, in either shape.
func refused(status int, kind, code, format string, args ...any) *refusal.Refusal {
	return &refusal.Refusal{Status: status, Type: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// unauthorized says that the credential is missing or wrong.
func (x *exchange) unauthorized(missing bool) *refusal.Refusal {
	switch {
	case x.anthropic && missing:
		return refused(401, "", "", "x-api-key header is required")
	case x.anthropic:
		return refused(401, "", "", "invalid x-api-key")
	case missing:
		return refused(401, "invalid_request_error", "", "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).")
	}
	return refused(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: ********. You can find your API key at https://platform.openai.com/account/api-keys.")
}

// unknownModel says that the account does not serve the model.
func (x *exchange) unknownModel() *refusal.Refusal {
	if x.anthropic {
		return refusal.Missing("", "", "model: %s", x.model)
	}
	return refusal.Missing("", "model_not_found", "The model `%s` does not exist or you do not have access to it.", x.model)
}

func (x *exchange) inputParam() string {
	if x.protocol == "responses" {
		return "input"
	}
	return "messages"
}

// tryAgain puts the wait of a rate limit into words, as clients read it there.
func tryAgain(f *Fault) string {
	switch {
	case f.RetryAfterMS > 0:
		return strconv.Itoa(f.RetryAfterMS) + "ms"
	case f.RetryAfter != "":
		return f.RetryAfter + "s"
	}
	return "20s"
}
