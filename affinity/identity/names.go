package identity

import (
	"slices"
	"strings"
)

// maxName bounds a header name in bytes.
const maxName = 128

// headerProblem is why a header cannot be configured to carry a session id, or
// "". A session id is answered to the client and kept in records, so whatever
// carries a secret can never be one; and what changes with every request, trace
// or hop would make every request a session of its own.
func headerProblem(h Header) HeaderProblem {
	switch {
	case !fieldName(h.Name):
		return InvalidName
	case requestName(h.Name):
		return PerRequest
	case secretName(h.Name):
		return CarriesSecret
	case h.Transform != "" && h.Transform != sessionUUID:
		return UnknownTransform
	}
	return ""
}

// fieldName reports whether name is an HTTP field name: a token of RFC 9110.
func fieldName(name string) bool {
	for _, c := range []byte(name) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && !('0' <= c && c <= '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// secretName reports whether a header may prove who is calling. The rule goes by
// words, whatever the separators: a name of authorization, cookie, token,
// secret, password, credential, signature or the like; the word auth; the word
// key, unless it is a session's, conversation's, thread's or affinity's.
func secretName(name string) bool {
	squeezed := squeeze(name)
	for _, part := range []string{
		"authoriz", "authentic", "cookie", "token", "secret", "passw", "credential", "signature", "bearer", "apikey",
		"accesskey", "clientcert", "csrf", "xsrf", "dpop", "googiap",
	} {
		if strings.Contains(squeezed, part) {
			return true
		}
	}
	words := words(name)
	for i, word := range words {
		harmless := i > 0 && slices.Contains([]string{"session", "conversation", "thread", "affinity"}, words[i-1])
		if word == "auth" || word == "jwt" || word == "key" && !harmless {
			return true
		}
	}
	return false
}

// requestName reports whether a header's value belongs to one request, one
// trace or one hop, as those that proxies make do.
func requestName(name string) bool {
	squeezed := squeeze(name)
	for _, part := range []string{"requestid", "correlationid", "trace", "spanid", "idempotency", "forwarded"} {
		if strings.Contains(squeezed, part) {
			return true
		}
	}
	return slices.Contains([]string{
		"b3", "baggage", "via", "cfray", "cfconnectingip", "xrealip", "trueclientip", "xamzcfid", "xvercelid", "xb3sampled",
	}, squeezed)
}

// squeeze lowers a name and takes the separators out.
func squeeze(name string) string { return strings.Join(words(name), "") }

// words splits a lowered name at everything that is neither letter nor digit.
func words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
}
