package sigv4_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts/sigv4"
)

// The key and the time of AWS's published test suite.
var (
	example = sigv4.Key{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	at      = time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
)

func lookup(id string) (sigv4.Key, bool) { return example, id == example.ID }

// vector is a request of the suite with its signature.
type vector struct {
	name, method, target, body string
	headers                    []string // NAME, VALUE pairs
	signed, signature          string
}

func vectors() []vector {
	return []vector{
		{"get-vanilla", "GET", "/", "", nil, "host;x-amz-date",
			"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"post-vanilla", "POST", "/", "", nil, "host;x-amz-date",
			"5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1", "", nil, "host;x-amz-date",
			"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"post-x-www-form-urlencoded", "POST", "/", "Param1=value1", []string{"Content-Type", "application/x-www-form-urlencoded"}, "content-type;host;x-amz-date",
			"ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	}
}

func (v vector) request(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), v.method, "https://example.amazonaws.com"+v.target, strings.NewReader(v.body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(v.headers); i += 2 {
		r.Header.Set(v.headers[i], v.headers[i+1])
	}
	r.Header.Set("X-Amz-Date", "20150830T123600Z")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders="+v.signed+", Signature="+v.signature)
	return r
}

// TestPublishedVectors holds the algorithm against AWS's own examples.
func TestPublishedVectors(t *testing.T) {
	scope := sigv4.Scope{Region: "us-east-1", Service: "service"}
	for _, v := range vectors() {
		if id, err := sigv4.Check(v.request(t), []byte(v.body), scope, lookup, at); err != nil || id != example.ID {
			t.Errorf("%s: %q, %v", v.name, id, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	scope := sigv4.Scope{Region: "us-east-1", Service: "service"}
	v := vectors()[3]
	rows := []struct {
		name   string
		change func(*http.Request)
		body   string
		scope  sigv4.Scope
		now    time.Time
		want   error
	}{
		{"no signature", func(r *http.Request) { r.Header.Del("Authorization") }, v.body, scope, at, sigv4.ErrMissing},
		{"a bearer", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, v.body, scope, at, sigv4.ErrMissing},
		{"another body", func(*http.Request) {}, "Param1=value2", scope, at, sigv4.ErrSignature},
		{"another path", func(r *http.Request) { r.URL.Path = "/x" }, v.body, scope, at, sigv4.ErrSignature},
		{"another header", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, v.body, scope, at, sigv4.ErrSignature},
		{"another host", func(r *http.Request) { r.Host = "elsewhere.amazonaws.com" }, v.body, scope, at, sigv4.ErrSignature},
		{"another region", func(*http.Request) {}, v.body, sigv4.Scope{Region: "eu-west-1", Service: "service"}, at, sigv4.ErrScope},
		{"another service", func(*http.Request) {}, v.body, sigv4.Scope{Region: "us-east-1", Service: "bedrock"}, at, sigv4.ErrScope},
		{"long ago", func(*http.Request) {}, v.body, scope, at.Add(6 * time.Minute), sigv4.ErrSkew},
		{"a token that is not the key's", func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "t") }, v.body, scope, at, sigv4.ErrKey},
		{"one of AWS's headers unsigned", func(r *http.Request) { r.Header.Set("X-Amz-Target", "t") }, v.body, scope, at, sigv4.ErrHeaders},
		{"another key", func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "AKIDEXAMPLE", "AKIDOTHER", 1))
		}, v.body, scope, at, sigv4.ErrKey},
	}
	for _, row := range rows {
		r := v.request(t)
		row.change(r)
		if _, err := sigv4.Check(r, []byte(row.body), row.scope, lookup, row.now); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
	}
}
