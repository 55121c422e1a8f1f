package identity_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/affinity/identity"
)

// members cuts a body into its top-level members, as the caller of the package
// does after validation.
func members(t testing.TB, body string) func(string) []byte {
	t.Helper()
	cut := map[string]jsontext.Value{}
	if body != "" {
		if err := json.Unmarshal([]byte(body), &cut); err != nil {
			t.Fatalf("the test's own body is not JSON: %v\n%s", err, body)
		}
	}
	return func(name string) []byte { return cut[name] }
}

// resolver compiles the default rules with a random source that counts up, so
// that generated ids are known and all different.
func resolver(t testing.TB, change ...func(*identity.Rules)) *identity.Resolver {
	t.Helper()
	rules := identity.Rules{Enabled: true, AutoDetect: true, Builtin: true, Random: new(counter)}
	for _, c := range change {
		c(&rules)
	}
	r, err := identity.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// counter is a random source for tests.
type counter struct{ n byte }

func (c *counter) Read(p []byte) (int, error) {
	c.n++
	for i := range p {
		p[i] = c.n
	}
	return len(p), nil
}

// headers makes a header map from "Name: value" lines.
func headers(lines ...string) map[string][]string {
	h := map[string][]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		name = http.CanonicalHeaderKey(name)
		h[name] = append(h[name], value)
	}
	return h
}

// session resolves a request that names no previous response.
func session(t testing.TB, r *identity.Resolver, q identity.Request) identity.Session {
	t.Helper()
	signals, err := r.Read(q)
	if err != nil {
		t.Fatal(err)
	}
	s, err := signals.Session(nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refusal returns the code, signal and reason of an *identity.Error, and "" for
// no error. It fails the test if the error shows one of the values.
func refusal(t testing.TB, err error, values ...string) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var refused *identity.Error
	if !errors.As(err, &refused) {
		t.Fatalf("error of another kind: %v", err)
	}
	for _, value := range values {
		if len(value) > 8 && strings.Contains(err.Error(), value) {
			t.Errorf("X3: the error shows the value: %v", err)
		}
	}
	return refused.Code + " " + refused.Signal + " " + string(refused.Reason)
}

// quote makes a JSON string.
func quote(t testing.TB, text string) string {
	t.Helper()
	b, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(b))
}
