package wire

import "strings"

// Class is what an upstream error means for the attempts that may follow.
type Class uint8

// The classes.
const (
	ClassOther          Class = iota // about the request itself: returned as it is
	ClassContextWindow               // the prompt is too long for the model
	ClassContentPolicy               // the provider refused the content
	ClassExhausted                   // quota or credit is used up, or billing is in disorder
	ClassCredential                  // 401, 402, 403 and what says the same
	ClassModelUnknown                // the upstream model is not there
	ClassSignature                   // a thinking block's signature does not hold
	ClassParentNotFound              // previous_response_id is unknown to the upstream
	ClassRateLimited                 // 429
	ClassOverloaded                  // 503, 529 and what says the same
	ClassServer                      // other 5xx; inside a stream whatever is not known better
	ClassTimeout                     // 408
)

// String returns the class's name in logs.
func (c Class) String() string {
	return [...]string{"other", "context_window", "content_policy", "exhausted", "credential", "model_unknown",
		"signature", "parent_not_found", "rate_limited", "overloaded", "server", "timeout"}[c]
}

// Class tells what the error means: by its code, then its type, then, only
// where providers have neither for the case, their documented words, then its
// status.
func (e *UpstreamError) Class() Class {
	for _, name := range [...]string{e.Code, e.Type} {
		if c, known := named(strings.ToLower(name)); known && e.plausible(c) {
			return c
		}
	}
	if c := e.spoken(); c != ClassOther {
		return c
	}
	return e.numbered()
}

// NamesModel reports whether the error itself says that a model is not there. A
// bare 404 may as well be about the path that was asked for.
func (e *UpstreamError) NamesModel() bool {
	said := *e
	said.Status = 400
	return said.Class() == ClassModelUnknown
}

// plausible reports whether a status lets a name mean what it says. A 4xx is no
// failure of the server, whatever it is called, and a refused credential is no
// rate limit; throttling comes as a 400 from some.
func (e *UpstreamError) plausible(c Class) bool {
	switch c {
	case ClassServer, ClassOverloaded, ClassTimeout:
		return e.Status < 400 || e.Status >= 500 || e.Status == 408 || e.Status == 429
	case ClassRateLimited:
		return e.Status != 401 && e.Status != 402 && e.Status != 404
	}
	return true
}

// named classes a code or type; the names of all providers live together, as
// none of them means different things.
func named(name string) (Class, bool) {
	switch name {
	case "context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded",
		"exceed_context_size_error", "string_above_max_length":
		return ClassContextWindow, true
	case "content_filter", "content_policy_violation", "responsibleaipolicyviolation", "invalid_prompt",
		"moderation_blocked", "data_inspection_failed", "datainspectionfailed", "bio_policy",
		"misalignment_policy_violation", "image_content_policy_violation":
		return ClassContentPolicy, true
	case "insufficient_quota", "billing_error", "billing_not_active", "billing_hard_limit_reached",
		"exceeded_current_quota_error", "usage_limit_reached", "credit_limit", "insufficient_balance":
		return ClassExhausted, true
	case "invalid_api_key", "authentication_error", "permission_error", "account_deactivated",
		"permission_denied", "unauthenticated", "accessdeniedexception", "unrecognizedclientexception",
		"expiredtokenexception", "invalidsignatureexception":
		return ClassCredential, true
	case "model_not_found", "deploymentnotfound", "model_decommissioned", "invalid_model":
		return ClassModelUnknown, true
	case "previous_response_not_found":
		return ClassParentNotFound, true
	case "rate_limit_exceeded", "rate_limit_error", "rate_limit_reached", "too_many_requests",
		"throttlingexception", "resource_exhausted":
		return ClassRateLimited, true
	case "overloaded_error", "server_is_overloaded", "engine_overloaded_error", "slow_down",
		"serviceunavailableexception", "modelnotreadyexception", "unavailable":
		return ClassOverloaded, true
	case "api_error", "server_error", "internal_server_error", "internalservererror", "internalserverexception", "internal":
		return ClassServer, true
	case "timeout_error", "modeltimeoutexception":
		return ClassTimeout, true
	}
	return ClassOther, false
}

// spoken classes by words, for providers that have one code for many things.
// Each line names whose words they are.
func (e *UpstreamError) spoken() Class {
	if e.Status >= 500 || e.Message == "" {
		return ClassOther
	}
	words := strings.ToLower(e.Message)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if !strings.Contains(words, part) {
				return false
			}
		}
		return true
	}
	switch {
	case has("credit balance is too low"), has("api usage limits"), // Anthropic, both as a 400
		has("insufficient balance"),                               // DeepSeek
		has("requires more credits"), has("insufficient credits"), // OpenRouter
		has("used all available credits"): // xAI
		return ClassExhausted
	case e.Status == 429:
		return ClassRateLimited
	case has("signature", "thinking"), // Anthropic, Vertex, Bedrock, with or without back-ticks
		has("thinking", "blocks", "cannot be modified"): // Anthropic
		return ClassSignature
	case e.Param == "previous_response_id" && has("not found"), has("previous response", "not found"), // OpenAI
		has("invalid `previous_response_id`"): // the Codex backend
		return ClassParentNotFound
	case tooLong(has):
		return ClassContextWindow
	case has("content filtering policy"), // Anthropic
		has("content management policy"), // Azure
		has("content exists risk"),       // DeepSeek
		has("usage guidelines"),          // xAI
		has("input was flagged"):         // OpenRouter
		return ClassContentPolicy
	case has("api key not valid"), has("incorrect api key"): // Google and xAI, both as a 400
		return ClassCredential
	case strings.EqualFold(e.Type, "not_found_error") && has("model:"), // Anthropic
		has("model not exist"),                      // DeepSeek
		has("not a valid model id"),                 // OpenRouter
		has("provided model identifier is invalid"), // Bedrock
		has("invalid model:"),                       // Mistral
		has("model", "does not exist"):              // vLLM, Groq, SiliconFlow
		return ClassModelUnknown
	}
	return ClassOther
}

// tooLong recognises the providers' words for a prompt beyond the context.
func tooLong(has func(...string) bool) bool {
	return has("prompt is too long") || // Anthropic
		has("exceed context limit") || // Anthropic, with max_tokens
		has("maximum context length") || // OpenAI, DeepSeek, OpenRouter, Mistral, vLLM
		has("exceeds the context window") || // OpenAI Responses
		has("input is too long") || // Bedrock
		has("input token count", "exceeds") || // Google
		has("maximum prompt length") || // xAI
		has("reduce the length of the messages") || // Groq
		has("exceeds the available context size") // llama.cpp
}

// numbered classes by status. A 404 is about the model unless it names
// something that the request refers to.
func (e *UpstreamError) numbered() Class {
	switch s := e.Status; {
	case s == 401, s == 402, s == 403:
		return ClassCredential
	case s == 404 && !e.aboutReference():
		return ClassModelUnknown
	case s == 408:
		return ClassTimeout
	case s == 429:
		return ClassRateLimited
	case s == 503, s == 529:
		return ClassOverloaded
	case s >= 500:
		return ClassServer
	case s == 0 && e.Type != "invalid_request_error":
		return ClassServer
	}
	return ClassOther
}

// aboutReference reports whether something that the body refers to by id was
// not found: an item, a file, a conversation.
func (e *UpstreamError) aboutReference() bool {
	words := strings.ToLower(e.Message)
	for _, thing := range [...]string{"item with id", "no such file", "file with id", "conversation with id", "container with id", "prompt with id", "vector store", "response with id"} {
		if strings.Contains(words, thing) {
			return true
		}
	}
	return e.Param != "" && e.Param != "model"
}
