package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

// Reference says where a secret is kept. The zero Scheme is a literal: the text
// is the secret itself.
type Reference struct {
	Scheme string // env, ssm, secretsmanager, local
	Name   string // of the variable, parameter, secret or connection
	Index  int    // of one among several, from 0; -1 for the whole
}

// The places where a secret may be kept.
const (
	SchemeEnv     = "env"            // env:NAME, or env:NAME[1] for the second of several between commas
	SchemeSSM     = "ssm"            // ssm:/path
	SchemeManager = "secretsmanager" // secretsmanager:arn
	SchemeLocal   = "local"          // local:CONNECTION, a literal that one process holds and no store may
)

// ParseReference reads a secret as a document writes it. The error says what is
// wrong with a reference; a literal is never wrong.
func ParseReference(text string) (Reference, error) {
	scheme, name, found := strings.Cut(text, ":")
	if !found || (scheme != SchemeEnv && scheme != SchemeSSM && scheme != SchemeManager && scheme != SchemeLocal) {
		return Reference{Index: -1}, nil
	}
	ref := Reference{Scheme: scheme, Name: name, Index: -1}
	if at := strings.LastIndexByte(name, '['); at > 0 && strings.HasSuffix(name, "]") {
		index, err := strconv.Atoi(name[at+1 : len(name)-1])
		if err != nil || index < 0 || index > maxKeys {
			return ref, fmt.Errorf("%s: the number in brackets must be 0 to %d", scheme, maxKeys)
		}
		ref.Name, ref.Index = name[:at], index
	}
	return ref, ref.check()
}

// check says what is wrong with a reference.
func (r Reference) check() error {
	switch {
	case r.Name == "" || len(r.Name) > 2048 || !visible(r.Name):
		return fmt.Errorf("%s: needs a name after the colon, without spaces", r.Scheme)
	case r.Scheme == SchemeEnv && strings.Trim(r.Name, envChars) != "":
		return fmt.Errorf("env: must name a variable, as in env:OPENAI_API_KEY")
	case r.Scheme == SchemeSSM && r.Name[0] != '/':
		return fmt.Errorf("ssm: must name a parameter by its path, as in ssm:/holdfast/openai")
	}
	return nil
}

const envChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

// Literal reports whether the text was the secret itself.
func (r Reference) Literal() bool { return r.Scheme == "" }

// FromEnv takes an env: reference's secret from the environment that lookup
// reads. The error names the variable, never a value.
func (r Reference) FromEnv(lookup func(string) (string, bool)) (string, error) {
	value, ok := lookup(r.Name)
	if !ok || strings.TrimSpace(value) == "" {
		return "", fmt.Errorf("%s is not set", r.Name)
	}
	if r.Index < 0 {
		return strings.TrimSpace(value), nil
	}
	values := several(value)
	if r.Index >= len(values) {
		return "", fmt.Errorf("%s holds %d values, there is no number %d", r.Name, len(values), r.Index)
	}
	return values[r.Index], nil
}

// several splits a variable that holds several values between commas.
func several(value string) []string {
	var values []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			values = append(values, part)
		}
	}
	return values
}

// Secrets resolves the reference of a caller's key. The error must not hold a
// secret.
type Secrets func(ref string) (string, error)
