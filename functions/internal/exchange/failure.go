package exchange

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/routing"
)

// maxFault bounds what is read of a provider's error body, in bytes.
const maxFault = 1 << 20

// failed is an attempt without an answer.
func failed(err error) tried {
	class := routing.Broken
	var f *upstream.Failure
	if errors.As(err, &f) {
		switch f.Kind {
		case upstream.Connect, upstream.Refused:
			class = routing.Unreachable
		case upstream.Unsigned:
			class = routing.CredentialRefused
		case upstream.Stale:
			class = routing.Stale
		case upstream.Cancelled:
			class = routing.Cancelled
		case upstream.Expired:
			class = routing.Expired
		}
	}
	return tried{outcome: routing.Outcome{Class: class}}
}

// rejected is an attempt that the provider has answered with an error. What is
// neither an answer nor an error of the protocol (a redirect, an empty 204) is
// the provider's failure and nothing to show.
func (e *exchange) rejected(answer *upstream.Response) tried {
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxFault))
	if err != nil {
		if t := failed(err); t.outcome.Class == routing.Cancelled || t.outcome.Class == routing.Expired {
			return t
		}
	}
	t := tried{status: answer.Status, header: answer.Header}
	if answer.Status < http.StatusBadRequest {
		t.outcome.Class = routing.ServerError
		return t
	}
	body = e.withoutKeys(body)
	t.fault = wire.ParseError(answer.Status, body)
	if e.bridge == nil && jsonedit.Whole(body).Kind() == '{' { // a proxy's page is no error of the protocol
		t.body = body
	}
	t.outcome = routing.Outcome{Class: e.classOf(t.fault), RetryAfter: retryAfter(answer.Header, e.Now())}
	return t
}

// withoutKeys takes the connection's own credentials out of what a provider
// says: some quote them.
func (e *exchange) withoutKeys(body []byte) []byte {
	for _, reference := range e.serving.Target.Account.Keys {
		if secret, err := e.Secrets(reference); err == nil && secret != "" {
			body = bytes.ReplaceAll(body, []byte(secret), []byte("[key]"))
		}
	}
	return body
}

// inside is an error that a provider reports inside of a 200 answer before any
// output.
func (e *exchange) inside(header http.Header, fault *wire.UpstreamError) tried {
	if fault == nil {
		fault = &wire.UpstreamError{}
	}
	class := e.classOf(fault)
	switch {
	case class != routing.Rejected || fault.Status != 0:
	case fault.Type == "" && fault.Code == "":
		class = routing.ServerError // it says nothing: try elsewhere
	default:
		fault.Status = http.StatusBadRequest // about the request, as it would have been without a 200
	}
	return tried{outcome: routing.Outcome{Class: class, RetryAfter: retryAfter(header, e.Now())}, header: header, fault: fault}
}

// classOf is what an error of a provider means for further attempts.
func (e *exchange) classOf(fault *wire.UpstreamError) routing.Class {
	switch fault.Class() {
	case wire.ClassContextWindow:
		return routing.ContextExceeded
	case wire.ClassContentPolicy:
		return routing.ContentRefused
	case wire.ClassExhausted:
		return routing.Exhausted
	case wire.ClassCredential:
		return routing.CredentialRefused
	case wire.ClassModelUnknown:
		// Where path or query are the client's, what is not found there is no fault
		// of a deployment that others use.
		if e.in.Bypass == nil && !addressed(e.http.URL.RawQuery) || fault.NamesModel() {
			return routing.UnknownModel
		}
	case wire.ClassSignature:
		if e.codec.repair != nil {
			return routing.Repairable
		}
	case wire.ClassRateLimited:
		return routing.RateLimited
	case wire.ClassOverloaded, wire.ClassServer, wire.ClassTimeout:
		return routing.ServerError
	}
	return routing.Rejected
}

// addressed reports whether a client's query may decide what a provider finds. One
// client's is on every request of its and chooses nothing.
func addressed(query string) bool { return query != "" && query != "beta=true" }

// retryAfter is the pause that a provider asks for; 0 where it does not.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 {
		return bounded(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return bounded(float64(at.Sub(now)))
	}
	return 0
}

// bounded keeps a provider's pause within a day.
func bounded(pause float64) time.Duration {
	return time.Duration(min(pause, float64(24*time.Hour)))
}

// isStream reports whether an answer is an event stream. A provider that does
// not say is taken at the client's word.
func isStream(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json")
}

// account matches what names an account in the words of OpenAI-style providers. It
// is compiled when it is first needed: a start would have to wait for it.
var account = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:org|proj|user|acct|sk)[-_][A-Za-z0-9_-]{6,}|https?://[^\s"\\]+`)
})

// presentable is a provider's error body as the client may see it. Errors about
// the request itself pass as they are, and so does all that Anthropic says, whose
// wording clients match; where the account is at fault, its name is left out.
func (e *exchange) presentable(t tried) []byte {
	if e.shape() == wire.EndpointMessages || aboutRequest(t.outcome.Class) {
		return t.body
	}
	return account().ReplaceAll(t.body, []byte("[account]"))
}

// aboutRequest reports whether an outcome is the client's to mend: the provider
// has not failed.
func aboutRequest(class routing.Class) bool {
	switch class {
	case routing.Rejected, routing.Repairable, routing.ContextExceeded, routing.ContentRefused:
		return true
	}
	return false
}

// told is the problem that stands for a provider's failure where its own body
// cannot be shown.
func told(t tried) *wire.Problem {
	switch {
	case t.problem != nil:
		return t.problem
	case t.fault == nil:
		return wire.Refuse(wire.UpstreamFailed)
	}
	return t.fault.Problem().After(t.outcome.RetryAfter)
}
