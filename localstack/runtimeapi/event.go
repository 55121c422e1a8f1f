package runtimeapi

import (
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// event is what a function URL makes of a request: payload format 2.0.
type event struct {
	Version    string            `json:"version"`
	RouteKey   string            `json:"routeKey"`
	RawPath    string            `json:"rawPath"`
	RawQuery   string            `json:"rawQueryString"`
	Cookies    []string          `json:"cookies,omitempty"`
	Headers    map[string]string `json:"headers"`
	Parameters map[string]string `json:"queryStringParameters,omitempty"`
	Context    eventContext      `json:"requestContext"`
	Body       string            `json:"body,omitempty"`
	Base64     bool              `json:"isBase64Encoded"`
}

type eventContext struct {
	AccountID    string    `json:"accountId"`
	APIID        string    `json:"apiId"`
	DomainName   string    `json:"domainName"`
	DomainPrefix string    `json:"domainPrefix"`
	HTTP         eventHTTP `json:"http"`
	RequestID    string    `json:"requestId"`
	RouteKey     string    `json:"routeKey"`
	Stage        string    `json:"stage"`
	Time         string    `json:"time"`
	TimeEpoch    int64     `json:"timeEpoch"` // milliseconds
}

type eventHTTP struct {
	Method    string `json:"method"`
	Path      string `json:"path"`
	Protocol  string `json:"protocol"`
	SourceIP  string `json:"sourceIp"`
	UserAgent string `json:"userAgent"`
}

// What a function URL calls itself.
const (
	domainPrefix = "holdfast"
	domainName   = domainPrefix + ".lambda-url.local.on.aws"
	defaultRoute = "$default"
)

// maxDrain bounds what is read of a body that is too large, in bytes: a client
// that is cut off while it writes never sees why.
const maxDrain = 64 << 20

// Why a request does not become an event.
var (
	errEvent   = errors.New("runtimeapi: the event is larger than an invocation may be")
	errRequest = errors.New("runtimeapi: the request did not arrive whole")
)

// newEvent turns a request into an event's JSON.
func newEvent(r *http.Request, id, trace string, now time.Time) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxEvent+1))
	if err != nil {
		return nil, errors.Join(errRequest, err)
	}
	e := event{
		Version: "2.0", RouteKey: defaultRoute, RawPath: r.URL.EscapedPath(), RawQuery: r.URL.RawQuery,
		Cookies: cookies(r.Header), Headers: headers(r, trace), Parameters: parameters(r.URL.Query()),
		Context: eventContext{
			AccountID: "anonymous", APIID: domainPrefix, DomainName: domainName, DomainPrefix: domainPrefix,
			HTTP:      eventHTTP{Method: r.Method, Path: r.URL.Path, Protocol: r.Proto, SourceIP: sourceIP(r), UserAgent: r.UserAgent()},
			RequestID: id, RouteKey: defaultRoute, Stage: defaultRoute,
			Time: now.UTC().Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli(),
		},
	}
	e.Body, e.Base64 = encoded(r.Header, body)
	text, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	if len(body) > MaxEvent || len(text) > MaxEvent {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return nil, errEvent
	}
	return text, nil
}

// cookies are taken apart, and out of the headers.
func cookies(h http.Header) []string {
	var all []string
	for _, line := range h["Cookie"] {
		for one := range strings.SplitSeq(line, ";") {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, one)
			}
		}
	}
	return all
}

// headers are in lower case, one line for each name.
func headers(r *http.Request, trace string) map[string]string {
	all := make(map[string]string, len(r.Header)+5)
	for name, values := range r.Header {
		switch name {
		case "Cookie", "Connection", "Keep-Alive", "Te", "Transfer-Encoding", "Expect", "Proxy-Connection":
			continue
		}
		all[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ","), "\uFFFD")
	}
	all["host"] = r.Host
	all["x-forwarded-for"] = sourceIP(r)
	all["x-forwarded-port"] = "443"
	all["x-forwarded-proto"] = "https"
	all["x-amzn-trace-id"] = trace
	return all
}

func parameters(query url.Values) map[string]string {
	all := make(map[string]string, len(query))
	for name, values := range query {
		all[strings.ToValidUTF8(name, "\uFFFD")] = strings.ToValidUTF8(strings.Join(values, ","), "\uFFFD")
	}
	return all
}

func sourceIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// encoded is a body as it stands in an event: text as it is, all else in
// base64.
func encoded(h http.Header, body []byte) (text string, base64Encoded bool) {
	if len(body) == 0 || h.Get("Content-Encoding") == "" && textual(h.Get("Content-Type")) && utf8.Valid(body) {
		return string(body), false
	}
	return base64.StdEncoding.EncodeToString(body), true
}

// textual reports whether a content type is one that is taken for text.
func textual(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript":
		return true
	}
	return strings.HasPrefix(kind, "text/")
}
