package host

import (
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

// TestRequest shows the request that a handler sees.
func TestRequest(t *testing.T) {
	event := newEvent("POST", "/v1/a%2Fb", base64.StdEncoding.EncodeToString([]byte("\x00body")))
	event.IsBase64Encoded = true
	event.RawQueryString = "x=1&y=%20"
	event.Headers["x-one"] = "1,2"
	event.Headers["accept-encoding"] = "gzip"
	event.Cookies = []string{"a=1", "b=2"}
	invoke(t, event, func(_ http.ResponseWriter, r *http.Request) {
		type seen struct {
			Method, URI, Path, Raw, Query, Host, Remote, Header, Encoding, Cookie string
			Length                                                                int64
		}
		cookie, err := r.Cookie("b")
		if err != nil {
			t.Error("no cookie")
			return
		}
		got := seen{r.Method, r.RequestURI, r.URL.Path, r.URL.EscapedPath(), r.URL.RawQuery, r.Host, r.RemoteAddr,
			r.Header.Get("X-One"), r.Header.Get("Accept-Encoding"), cookie.Value, r.ContentLength}
		want := seen{"POST", "/v1/a%2Fb?x=1&y=%20", "/v1/a/b", "/v1/a%2Fb", "x=1&y=%20", "here.example", "192.0.2.7:0", "1,2", "", "2", 5}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		body, err := io.ReadAll(r.Body)
		if string(body) != "\x00body" || err != nil {
			t.Errorf("body %q %v", body, err)
		}
		if r.Header.Get("Host") != "" || r.URL.Host != "" {
			t.Errorf("host in %v or %v", r.Header, r.URL)
		}
	})
}

// TestRequestForms shows what becomes of unusual events.
func TestRequestForms(t *testing.T) {
	rows := []struct {
		name   string
		change func(*events.LambdaFunctionURLRequest)
		check  func(*http.Request) bool
		status int
	}{
		{"no path", func(e *events.LambdaFunctionURLRequest) { e.RawPath = "" }, func(r *http.Request) bool { return r.URL.Path == "/" }, 200},
		{"two slashes", func(e *events.LambdaFunctionURLRequest) { e.RawPath = "//evil/x" }, func(r *http.Request) bool { return r.URL.Path == "//evil/x" && r.URL.Host == "" }, 200},
		{"a question mark in the path", func(e *events.LambdaFunctionURLRequest) { e.RawPath = "/a?b" }, func(r *http.Request) bool { return r.URL.Path == "/a?b" && r.URL.RawQuery == "" }, 200},
		{"a space in the path", func(e *events.LambdaFunctionURLRequest) { e.RawPath = "/a b" }, func(r *http.Request) bool { return r.URL.Path == "/a b" }, 200},
		{"IPv6", func(e *events.LambdaFunctionURLRequest) { e.RequestContext.HTTP.SourceIP = "2001:db8::1" }, func(r *http.Request) bool { return r.RemoteAddr == "[2001:db8::1]:0" }, 200},
		{"no host header", func(e *events.LambdaFunctionURLRequest) { e.Headers = nil; e.RequestContext.DomainName = "url.example" }, func(r *http.Request) bool { return r.Host == "url.example" }, 200},
		{"lines of the session's header", func(e *events.LambdaFunctionURLRequest) { e.Headers["x-session-id"] = "a, b,,a" }, func(r *http.Request) bool {
			return cmp.Equal(r.Header.Values("X-Session-Id"), []string{"a, b", "", "a"})
		}, 200},
		{"one line of the session's header", func(e *events.LambdaFunctionURLRequest) { e.Headers["X-Session-ID"] = "a b;c" }, func(r *http.Request) bool { return cmp.Equal(r.Header.Values("X-Session-Id"), []string{"a b;c"}) }, 200},
		{"no body", func(e *events.LambdaFunctionURLRequest) { e.Body = "" }, func(r *http.Request) bool { return r.Body == http.NoBody && r.ContentLength == 0 }, 200},
		{"a text body", func(e *events.LambdaFunctionURLRequest) { e.Body = "é" }, func(r *http.Request) bool { return r.ContentLength == 2 }, 200},
		{"bad escape", func(e *events.LambdaFunctionURLRequest) { e.RawPath = "/%zz" }, nil, 400},
		{"no slash", func(e *events.LambdaFunctionURLRequest) { e.RawPath = "http://evil/" }, nil, 400},
		{"control character", func(e *events.LambdaFunctionURLRequest) { e.RawPath = "/\n" }, nil, 400},
		{"control character in the query", func(e *events.LambdaFunctionURLRequest) { e.RawQueryString = "\x01" }, nil, 400},
		{"bad base64", func(e *events.LambdaFunctionURLRequest) { e.Body, e.IsBase64Encoded = "%%%", true }, nil, 400},
		{"short base64", func(e *events.LambdaFunctionURLRequest) { e.Body, e.IsBase64Encoded = "YQ", true }, nil, 400},
		{"bad method", func(e *events.LambdaFunctionURLRequest) { e.RequestContext.HTTP.Method = "A B" }, nil, 400},
		{"no method", func(e *events.LambdaFunctionURLRequest) { e.RequestContext.HTTP.Method = "" }, nil, 400},
		{"bad header", func(e *events.LambdaFunctionURLRequest) { e.Headers["x"] = "a\r\nb: c" }, nil, 400},
		{"bad cookie", func(e *events.LambdaFunctionURLRequest) { e.Cookies = []string{"a\n"} }, nil, 400},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			event := newEvent("POST", "/", "x")
			row.change(event)
			called := false
			got := invoke(t, event, func(_ http.ResponseWriter, r *http.Request) {
				called = true
				if row.check != nil && !row.check(r) {
					t.Errorf("%s %q %q %d", r.RemoteAddr, r.URL.Path, r.Host, r.ContentLength)
				}
			})
			if got.StatusCode != row.status || called != (row.status == 200) {
				t.Errorf("status %d, called %v: %s", got.StatusCode, called, got.body)
			}
			if row.status == 400 && (got.Headers["Content-Type"] != "application/json" || !strings.Contains(got.body, `"error"`)) {
				t.Errorf("refused with %v %s", got.Headers, got.body)
			}
		})
	}
	l := &Lambda{Handler: http.NotFoundHandler(), Log: slog.New(slog.DiscardHandler)}
	if a, err := l.Invoke(t.Context(), nil); err != nil || a.StatusCode != 400 {
		t.Errorf("no event: %v %v", a, err)
	}
}
