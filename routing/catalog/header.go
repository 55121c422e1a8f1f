package catalog

import (
	"slices"
	"strings"
)

// sessionHeaderProblem is why a header cannot carry a session id, or "". A
// session id is written to logs and usage records, so a header that carries a
// credential can never be one.
func sessionHeaderProblem(name string) string {
	switch {
	case name == "":
		return "missing; name the request header that carries the session id"
	case !token(name):
		return "not a valid header name"
	case credentialHeader(name) || credentialWord(words(name)):
		return name + " carries a credential and cannot identify a session; name another header"
	case connectionHeader(name) || requestHeader(name):
		return name + " belongs to one request or connection and cannot identify a session; name another header"
	}
	return ""
}

// fixedHeaderProblem is why a connection cannot send a fixed header, or "".
func fixedHeaderProblem(name, value string) string {
	switch {
	case !token(name):
		return "not a valid header name"
	case credentialHeader(name):
		return "credentials belong in auth: key, where they may be references"
	case connectionHeader(name):
		return "set by the gateway for each request; remove it"
	case len(value) > maxHeaderValue:
		return "longer than 4096 bytes"
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }):
		return "the value may hold visible ASCII characters and spaces only"
	case value != strings.TrimSpace(value):
		return "the value must not begin or end with white space"
	}
	return ""
}

const maxHeaderValue = 4096

// token reports whether name is a valid HTTP field name.
func token(name string) bool {
	for _, c := range []byte(name) {
		if !letterOrDigit(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != "" && len(name) <= maxID
}

// credentialHeader reports whether a header proves who is calling. Separators
// do not matter: X_Api_Key is X-Api-Key.
func credentialHeader(name string) bool {
	squeezed := strings.Join(words(name), "")
	return slices.ContainsFunc([]string{
		"authoriz", "authentic", "cookie", "apikey", "accesskey", "subscriptionkey", "functionskey", "secret", "passw",
		"credential", "token", "signature", "bearer", "googiap", "clientcert", "csrf", "xsrf", "dpop", "xamzdate", "xamzcontentsha256",
	}, func(part string) bool { return strings.Contains(squeezed, part) })
}

// credentialWord reports whether one of a name's words alone makes it too risky
// to be written down with every request. A session's key is its name.
func credentialWord(words []string) bool {
	for i, word := range words {
		named := i > 0 && slices.Contains([]string{"session", "conversation", "thread", "affinity"}, words[i-1])
		if word == "auth" || word == "jwt" || word == "key" && !named {
			return true
		}
	}
	return false
}

// requestHeader reports whether a header's value changes with every request,
// trace or hop, so that every request would be a session of its own.
func requestHeader(name string) bool {
	squeezed := strings.Join(words(name), "")
	return slices.ContainsFunc([]string{"requestid", "correlationid", "trace", "spanid", "idempotency", "forwarded"},
		func(part string) bool { return strings.Contains(squeezed, part) })
}

// words splits a lowered name at everything that is neither letter nor digit.
func words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
}

// connectionHeader reports whether a header is about one connection or one
// body, so that only whoever sends the request can set it.
func connectionHeader(name string) bool {
	switch strings.ToLower(name) {
	case "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
		"host", "content-length", "content-type", "content-encoding", "accept-encoding", "expect", "date", "forwarded", "via":
		return true
	}
	return false
}
