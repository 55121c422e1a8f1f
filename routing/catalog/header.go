package catalog

import "strings"

// sessionHeaderProblem is why a header cannot carry a session id, or "". A
// session id is written to logs and usage records, so a header that carries a
// credential can never be one.
func sessionHeaderProblem(name string) string {
	switch {
	case name == "":
		return "missing; name the request header that carries the session id"
	case !token(name):
		return "not a valid header name"
	case credentialHeader(name):
		return name + " carries a credential and cannot identify a session; name another header"
	case connectionHeader(name):
		return name + " belongs to one connection and cannot identify a session; name another header"
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

// credentialHeader reports whether a header proves who is calling.
func credentialHeader(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch name {
	case "x-amz-date", "x-amz-content-sha256", "x-csrf", "dpop":
		return true
	}
	for _, word := range []string{
		"authorization", "authenticat", "cookie", "api-key", "apikey", "access-key", "subscription-key", "functions-key",
		"secret", "password", "passwd", "credential", "token", "signature", "x-goog-iap", "client-cert", "-csrf",
	} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
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
