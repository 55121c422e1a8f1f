package wire

import "time"

// Code names a refusal: the value of X-Holdfast-Error and of the error's code.
type Code string

// The codes.
const (
	InvalidJSON              Code = "invalid_json"
	InvalidRequest           Code = "invalid_request"
	InvalidSessionID         Code = "invalid_session_id"
	SessionConflict          Code = "session_conflict"
	PreviousResponseNotFound Code = "previous_response_not_found"
	GuardrailBlocked         Code = "guardrail_blocked"
	EndpointUnsupported      Code = "endpoint_unsupported"
	CapabilityMissing        Code = "capability_missing"
	InvalidAPIKey            Code = "invalid_api_key"
	ModelForbidden           Code = "model_forbidden"
	KeyDisabled              Code = "key_disabled"
	KeyExpired               Code = "key_expired"
	ModelNotFound            Code = "model_not_found"
	TaskNotFound             Code = "task_not_found"
	RouteNotFound            Code = "route_not_found"
	MethodNotAllowed         Code = "method_not_allowed"
	UnsupportedMediaType     Code = "unsupported_media_type"
	UpgradeRequired          Code = "upgrade_required"
	ContinuationUnavailable  Code = "continuation_unavailable"
	StartNewConversation     Code = "start_new_conversation"
	RevisionConflict         Code = "revision_conflict"
	RequestTooLarge          Code = "request_too_large"
	BudgetExceeded           Code = "budget_exceeded"
	RateLimited              Code = "rate_limited"
	DeploymentsCooling       Code = "deployments_cooling"
	UpstreamCredentials      Code = "upstream_credentials"
	UpstreamUnknownOutcome   Code = "upstream_unknown_outcome"
	UpstreamFailed           Code = "upstream_failed"
	NoEligibleDeployment     Code = "no_eligible_deployment"
	OwnershipUnavailable     Code = "ownership_unavailable"
	ConfigurationUnavailable Code = "configuration_unavailable"
	DeadlineExceeded         Code = "deadline_exceeded"
)

// Codes lists every code.
func Codes() []Code {
	return []Code{
		InvalidJSON, InvalidRequest, InvalidSessionID, SessionConflict,
		PreviousResponseNotFound, GuardrailBlocked, EndpointUnsupported, CapabilityMissing,
		InvalidAPIKey, ModelForbidden, KeyDisabled, KeyExpired,
		ModelNotFound, TaskNotFound, RouteNotFound, MethodNotAllowed,
		UnsupportedMediaType, UpgradeRequired, ContinuationUnavailable, StartNewConversation,
		RevisionConflict, RequestTooLarge, BudgetExceeded, RateLimited,
		DeploymentsCooling, UpstreamCredentials, UpstreamUnknownOutcome, UpstreamFailed,
		NoEligibleDeployment, OwnershipUnavailable, ConfigurationUnavailable, DeadlineExceeded,
	}
}

// Problem is a refusal in words for the client. It becomes the client's own
// error form at the edge, once.
type Problem struct {
	Status     int
	Code       Code
	Message    string        // says what to do next
	Param      string        // the body member or header at fault, "" where there is none
	RetryAfter time.Duration // 0: no Retry-After; set on every 429 and 503
}

// Error implements error. The text holds no content of a request.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Message }

// retrySoon is the Retry-After of a 429 or 503 whose end is not known: some
// clients give up at once without one.
const retrySoon = time.Second

// Refuse returns the problem of a code with its status and its own words. A
// code that is not in the table is a failure of ours: 500.
func Refuse(code Code) *Problem {
	row := describe(code)
	p := &Problem{Status: row.status, Code: code, Message: row.message}
	if p.Status == 429 || p.Status == 503 {
		p.RetryAfter = retrySoon
	}
	return p
}

// Saying replaces the words. They must hold no content of the request.
func (p *Problem) Saying(message string) *Problem {
	p.Message = message
	return p
}

// About names the body member or header at fault, bounded and cleaned.
func (p *Problem) About(param string) *Problem {
	p.Param = Clean(param, 64)
	return p
}

// After sets when trying again makes sense; what is less than a moment away
// counts as a second on a 429 and a 503.
func (p *Problem) After(wait time.Duration) *Problem {
	if wait > 0 {
		p.RetryAfter = wait
	}
	return p
}

type row struct {
	status  int
	message string
}

// describe is the table of codes.
func describe(code Code) row {
	switch code {
	case InvalidJSON:
		return row{400, "The request body is not valid JSON. Send one JSON object in UTF-8, each key once."}
	case InvalidRequest:
		return row{400, "The request is not valid. Correct the parameter that is named and send it again."}
	case InvalidSessionID:
		return row{400, "The session id is not valid. Send 1 to 256 bytes of UTF-8 without control characters or surrounding white space, or none."}
	case SessionConflict:
		return row{400, "The request names different sessions. Send one session id, or the same one everywhere."}
	case PreviousResponseNotFound:
		return row{400, "The previous response was not found. Send the whole conversation as input, without previous_response_id."}
	case GuardrailBlocked:
		return row{400, "A guardrail of this gateway refused the content. Change the request or ask the operator about the rule."}
	case EndpointUnsupported:
		return row{400, "No deployment of this model serves this endpoint. Use another endpoint or another model."}
	case CapabilityMissing:
		return row{400, "No deployment of this model can take this request. Leave out the part that is named or use another model."}
	case InvalidAPIKey:
		return row{401, "The API key is missing or unknown. Send a valid key as Authorization: Bearer, x-api-key or api-key."}
	case ModelForbidden:
		return row{403, "This key may not use this model. GET /v1/models lists those that it may; the operator can grant more."}
	case KeyDisabled:
		return row{403, "This key is disabled. Ask the operator to enable it or use another key."}
	case KeyExpired:
		return row{403, "This key has expired. Ask the operator for a new one."}
	case ModelNotFound:
		return row{404, "There is no such model. GET /v1/models lists those that this key may use."}
	case TaskNotFound:
		return row{404, "There is no such task for this key. Check the id and the key that created it."}
	case RouteNotFound:
		return row{404, "There is no such route. Check the path and the base URL."}
	case MethodNotAllowed:
		return row{405, "This route does not take this method. Check the method."}
	case UnsupportedMediaType:
		return row{415, "The body must be JSON. Send Content-Type: application/json."}
	case UpgradeRequired:
		return row{426, "WebSocket is not served here. Send the request by HTTP POST."}
	}
	return describeLater(code)
}

// describeLater is the table of codes from 409 on.
func describeLater(code Code) row {
	switch code {
	case ContinuationUnavailable:
		return row{409, "The deployment that holds this conversation cannot be used. Send the whole conversation as input, without previous_response_id."}
	case StartNewConversation:
		return row{409, "The account that made this encrypted content is not known or not usable. Start a new conversation."}
	case RevisionConflict:
		return row{409, "The configuration has changed meanwhile. Read it again and repeat the change."}
	case RequestTooLarge:
		return row{413, "The request is too large. Send media by URL or file id, or shorten the conversation."}
	case BudgetExceeded:
		return row{429, "The budget is used up. Wait until it renews or ask the operator for more."}
	case RateLimited:
		return row{429, "The rate limit is reached. Wait as long as Retry-After says and try again."}
	case DeploymentsCooling:
		return row{429, "All deployments of this model are resting. Wait as long as Retry-After says and try again."}
	case UpstreamCredentials:
		return row{502, "The provider refused the gateway's credentials. The operator must check the connection."}
	case UpstreamUnknownOutcome:
		return row{502, "The provider's answer was lost, so the outcome is unknown. Check for a result before you send it again."}
	case UpstreamFailed:
		return row{502, "The provider failed to answer. Try again."}
	case NoEligibleDeployment:
		return row{503, "No deployment can serve this request now. Wait as long as Retry-After says and try again, or ask the operator."}
	case OwnershipUnavailable:
		return row{503, "The record of who holds this conversation cannot be read now. Wait as long as Retry-After says and try again."}
	case ConfigurationUnavailable:
		return row{503, "The gateway's configuration cannot be read now. Wait as long as Retry-After says and try again."}
	case DeadlineExceeded:
		return row{504, "The time for this request ran out. Try again, or ask for less."}
	}
	return row{500, "The gateway failed. Try again; if it goes on, give the operator the request id."}
}
