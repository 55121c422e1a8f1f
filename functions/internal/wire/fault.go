package wire

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"holdfast/functions/internal/wire/jsonedit"
)

// Bounds on what is kept of a provider's error, in bytes.
const (
	maxErrorName    = 128
	maxErrorMessage = 2048
	maxErrorNesting = 6 // errors wrapped in errors, as resellers do
)

// UpstreamError is what a provider said of a failure, bounded and cleaned.
type UpstreamError struct {
	Status  int    // HTTP status; inside a stream the provider's numeric code, 0 where it gave none
	Type    string // the provider's error type or status name
	Code    string // the provider's error code, numbers as text
	Param   string
	Message string // the provider's words; may quote what the client sent
}

// Error names status, type and code only: a provider's words may quote what
// the client sent.
func (e *UpstreamError) Error() string {
	return "upstream error " + strings.TrimRight(strconv.Itoa(e.Status)+" "+e.Type+" "+e.Code, " ")
}

// ParseError reads a provider's error body, in whatever of the usual forms it
// comes: OpenAI's and its imitators', Anthropic's, Google's (a list of one),
// AWS's, FastAPI's. A body that is no JSON says nothing but its status.
func ParseError(status int, body []byte) *UpstreamError {
	return ErrorIn(status, jsonedit.Read(body))
}

// ErrorIn is ParseError for a value inside a stream's event or a JSON answer.
func ErrorIn(status int, v jsonedit.Value) *UpstreamError {
	e := &UpstreamError{Status: status}
	e.read(v, maxErrorNesting)
	if e.Status == 0 {
		if n, err := strconv.Atoi(e.Code); err == nil && n >= 400 && n < 600 {
			e.Status = n
		}
	}
	return e
}

// read takes in an error object, or what holds one. Inner errors say more than
// their wrapping: what they say stands.
func (e *UpstreamError) read(v jsonedit.Value, depth int) {
	if v.Kind() == '[' {
		each := v.Each()
		each.Next()
		v = each.Value()
	}
	if depth == 0 || v.Kind() != '{' {
		return
	}
	for each := v.Each(); each.Next(); {
		e.nested(string(each.Name()), each.Value(), depth)
	}
	for each := v.Each(); each.Next(); {
		e.member(string(each.Name()), each.Value())
	}
}

// nested follows the members that hold a further error.
func (e *UpstreamError) nested(name string, v jsonedit.Value, depth int) {
	switch name {
	case "error", "innererror", "upstream_error", "metadata":
		e.read(v, depth-1)
	case "message", "raw": // an error as JSON inside a string
		if v.Kind() == '"' && strings.HasPrefix(v.Head(16), "{") {
			e.read(jsonedit.Read([]byte(v.Head(16<<10))), depth-1)
		}
	}
}

// member takes in one plain member.
func (e *UpstreamError) member(name string, v jsonedit.Value) {
	switch name {
	case "type", "__type", "status":
		if !v.Is("error") { // the envelope's own type
			keep(&e.Type, v, maxErrorName)
		}
	case "code":
		keep(&e.Code, v, maxErrorName)
		if n, ok := v.Int(); ok && e.Code == "" {
			e.Code = strconv.FormatInt(n, 10)
		}
	case "param":
		keep(&e.Param, v, maxErrorName)
	case "message", "Message", "detail", "error":
		keep(&e.Message, v, maxErrorMessage)
	}
}

// keep fills what is still empty with a string.
func keep(into *string, v jsonedit.Value, limit int) {
	if *into == "" && v.Kind() == '"' {
		*into = Clean(v.Head(limit), limit)
	}
}

// Problem is the error in our words, for a client of another protocol. It
// names neither provider nor account; of a refusal that is about the request
// itself it repeats the provider's words without addresses and ids.
func (e *UpstreamError) Problem() *Problem {
	switch e.Class() {
	case ClassContextWindow:
		return &Problem{Status: 400, Code: "context_length_exceeded", Param: e.Param,
			// Clients shorten a conversation on their own where they read the first or the second half of it.
			Message: "The prompt is too long: the input exceeds the context window of this model. Shorten the conversation or use a model with a larger one."}
	case ClassContentPolicy:
		return &Problem{Status: 400, Code: "content_policy_violation", Param: e.Param,
			Message: "The provider's content policy refused the request. Change its content."}
	case ClassParentNotFound:
		return Refuse(PreviousResponseNotFound)
	case ClassCredential:
		return Refuse(UpstreamCredentials)
	case ClassRateLimited, ClassExhausted:
		return Refuse(RateLimited)
	case ClassOther, ClassSignature:
		if e.Status >= 400 && e.Status < 500 {
			return &Problem{Status: e.Status, Code: InvalidRequest, Param: Clean(e.Param, 64), Message: e.words()}
		}
	}
	return Refuse(UpstreamFailed)
}

// words are the provider's own, without what points at an account.
func (e *UpstreamError) words() string {
	if e.Message == "" {
		return "The provider refused the request. Check its parameters."
	}
	return pointers().ReplaceAllString(strings.Join(strings.Fields(e.Message), " "), "[removed]")
}

// pointers are what points at an account or at where it is served, wherever it
// stands in a text: addresses of every scheme, IP addresses, resource names of
// cloud providers, ids of organizations, projects, workspaces and keys. It is
// compiled when it is first needed: a start would have to wait for it.
var pointers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'` + "`" + `<>()\[\]{},;\\]*` +
		`|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b` +
		`|\b(?:arn:|projects/)[^\s"'` + "`" + `<>()\[\]{},;\\]*` +
		`|\b(?:org|proj|acct|wrkspc|sk|key)[-_][A-Za-z0-9_-]{6,}`)
})
