package accounts

import (
	"net/http"
	"strconv"
	"time"
)

// Limits that every account claims to have, a minute.
const (
	claimedRequests = "10000"
	claimedTokens   = "2000000"
)

func (x *exchange) openAIHeaders(h http.Header) {
	h["X-Request-Id"] = []string{x.id}
	h["Openai-Organization"] = []string{"org-" + x.account.tag}
	h["Openai-Version"] = []string{"2020-10-01"}
	h["Openai-Processing-Ms"] = []string{strconv.FormatInt(x.account.config.Now().Sub(x.began).Milliseconds(), 10)}
	h["X-Ratelimit-Limit-Requests"] = []string{claimedRequests}
	h["X-Ratelimit-Limit-Tokens"] = []string{claimedTokens}
	remaining, tokens, reset := "9999", "1999000", "6ms"
	if x.limited() {
		remaining, tokens, reset = "0", "0", "1s"
	}
	h["X-Ratelimit-Remaining-Requests"] = []string{remaining}
	h["X-Ratelimit-Remaining-Tokens"] = []string{tokens}
	h["X-Ratelimit-Reset-Requests"] = []string{reset}
	h["X-Ratelimit-Reset-Tokens"] = []string{reset}
	if x.protocol == "responses" && x.account.config.TurnState {
		h["X-Codex-Turn-State"] = []string{x.turnState()}
	}
}

func (x *exchange) anthropicHeaders(h http.Header) {
	h["Request-Id"] = []string{x.id}
	h["Anthropic-Organization-Id"] = []string{"org-" + x.account.tag}
	remaining, tokens := "9999", "1999000"
	if x.limited() {
		remaining, tokens = "0", "0"
	}
	reset := x.began.UTC().Add(time.Second).Format(time.RFC3339)
	h["Anthropic-Ratelimit-Requests-Limit"] = []string{claimedRequests}
	h["Anthropic-Ratelimit-Requests-Remaining"] = []string{remaining}
	h["Anthropic-Ratelimit-Requests-Reset"] = []string{reset}
	h["Anthropic-Ratelimit-Tokens-Limit"] = []string{claimedTokens}
	h["Anthropic-Ratelimit-Tokens-Remaining"] = []string{tokens}
	h["Anthropic-Ratelimit-Tokens-Reset"] = []string{reset}
}

// limited tells whether the call is answered by a rate limit.
func (x *exchange) limited() bool { return x.fault != nil && x.fault.Kind == RateLimit }

// turnState keeps the state that the client echoes, as long as it is this
// account's; another account's is replaced.
func (x *exchange) turnState() string {
	if v := x.r.Header.Get("X-Codex-Turn-State"); v != "" {
		if _, own := x.account.box.Open("turn", v); own {
			return v
		}
	}
	return x.account.box.Seal("turn", x.id)
}
