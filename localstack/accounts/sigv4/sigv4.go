// Package sigv4 checks AWS signatures, version 4, as a service of AWS does. It
// is written from the published algorithm and shares no code with what signs,
// so that the two prove each other.
//
// Concurrency: everything here is a pure function.
//
// Errors: Check says which step does not fit, never with a secret in it.
package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Key is an access key.
type Key struct {
	ID, Secret string
	Token      string // of the session; "" for a key that lasts
}

// Scope is what a signature is good for.
type Scope struct{ Region, Service string }

// What can be wrong with a signature.
var (
	ErrMissing   = errors.New("sigv4: the request is not signed")
	ErrScope     = errors.New("sigv4: the signature is for another day, region or service")
	ErrKey       = errors.New("sigv4: the access key or its session token is not known")
	ErrSkew      = errors.New("sigv4: the time is more than five minutes away")
	ErrHeaders   = errors.New("sigv4: a header that must be signed is not")
	ErrSignature = errors.New("sigv4: the signature does not match")
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	stamp     = "20060102T150405Z"
	skew      = 5 * time.Minute
)

// Check verifies the signature of a request with a body, made by a key that
// lookup finds by its id, and returns that id.
func Check(r *http.Request, body []byte, want Scope, lookup func(id string) (Key, bool), now time.Time) (string, error) {
	s, err := parse(r.Header.Get("Authorization"))
	if err != nil {
		return "", err
	}
	at, err := time.Parse(stamp, r.Header.Get("X-Amz-Date"))
	if err != nil {
		return s.id, fmt.Errorf("%w: X-Amz-Date", ErrHeaders)
	}
	if d := now.Sub(at); d > skew || d < -skew {
		return s.id, ErrSkew
	}
	if s.day != at.Format("20060102") || s.scope != want {
		return s.id, ErrScope
	}
	key, known := lookup(s.id)
	if !known || r.Header.Get("X-Amz-Security-Token") != key.Token {
		return s.id, ErrKey
	}
	if err := s.covers(r.Header); err != nil {
		return s.id, err
	}
	if !hmac.Equal([]byte(s.signature), []byte(s.compute(key.Secret, r, body))) {
		return s.id, ErrSignature
	}
	return s.id, nil
}

// signature is an Authorization header, taken apart.
type signature struct {
	id, day   string
	scope     Scope
	headers   []string // names in lower case, sorted
	signature string
}

// parse reads "AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…".
func parse(text string) (signature, error) {
	rest, found := strings.CutPrefix(text, algorithm+" ")
	if !found {
		return signature{}, ErrMissing
	}
	var s signature
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			c := strings.Split(value, "/")
			if len(c) != 5 || c[4] != "aws4_request" {
				return s, ErrScope
			}
			s.id, s.day, s.scope = c[0], c[1], Scope{c[2], c[3]}
		case "SignedHeaders":
			s.headers = strings.Split(value, ";")
		case "Signature":
			s.signature = value
		}
	}
	if s.id == "" || s.signature == "" || !slices.IsSorted(s.headers) {
		return s, ErrMissing
	}
	return s, nil
}

// covers reports whether everything is signed that AWS wants signed: the host,
// the type of a body and all of its own headers.
func (s signature) covers(h http.Header) error {
	must := []string{"host"}
	for name := range h {
		if name = strings.ToLower(name); name == "content-type" || strings.HasPrefix(name, "x-amz-") {
			must = append(must, name)
		}
	}
	for _, name := range must {
		if !slices.Contains(s.headers, name) {
			return fmt.Errorf("%w: %s", ErrHeaders, name)
		}
	}
	return nil
}

// compute makes the signature that belongs here, in lower case hex.
func (s signature) compute(secret string, r *http.Request, body []byte) string {
	canonical := sha256.Sum256([]byte(s.canonical(r, body)))
	scope := strings.Join([]string{s.day, s.scope.Region, s.scope.Service, "aws4_request"}, "/")
	text := strings.Join([]string{algorithm, r.Header.Get("X-Amz-Date"), scope, hex.EncodeToString(canonical[:])}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range []string{s.day, s.scope.Region, s.scope.Service, "aws4_request"} {
		key = sum(key, part)
	}
	return hex.EncodeToString(sum(key, text))
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonical is the request as it is signed.
func (s signature) canonical(r *http.Request, body []byte) string {
	var headers strings.Builder
	for _, name := range s.headers {
		headers.WriteString(name + ":" + value(r, name) + "\n")
	}
	payload := sha256.Sum256(body)
	return strings.Join([]string{r.Method, path(r.URL), query(r.URL), headers.String(), strings.Join(s.headers, ";"), hex.EncodeToString(payload[:])}, "\n")
}

// value is a header's lines, trimmed, runs of blanks as one.
func value(r *http.Request, name string) string {
	switch name {
	case "host":
		return r.Host
	case "content-length":
		return fmt.Sprint(r.ContentLength)
	}
	lines := slices.Clone(r.Header[http.CanonicalHeaderKey(name)])
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	return strings.Join(lines, ",")
}

// path is the escaped path, escaped once more, as all services but S3 want it.
func path(u *url.URL) string {
	if u.EscapedPath() == "" {
		return "/"
	}
	parts := strings.Split(u.EscapedPath(), "/")
	for i := range parts {
		parts[i] = escape(parts[i])
	}
	return strings.Join(parts, "/")
}

// query is sorted by name, then by value, both escaped.
func query(u *url.URL) string {
	var pairs []string
	for name, values := range u.Query() {
		for _, v := range values {
			pairs = append(pairs, escape(name)+"="+escape(v))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escape is percent-encoding as RFC 3986 has it: everything but letters, digits
// and "-._~".
func escape(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
