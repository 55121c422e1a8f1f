package host

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"golang.org/x/net/http/httpguts"
)

// What an event may be refused for. The texts are for clients.
var (
	errBody   = errors.New("the request body is not valid base64")
	errPath   = errors.New("the request path is not valid")
	errMethod = errors.New("the request method is not valid")
	errHeader = errors.New("a request header is not valid")
)

// newRequest turns a function URL event into the request that net/http would
// have made of the client's own bytes.
func newRequest(ctx context.Context, event *events.LambdaFunctionURLRequest) (*http.Request, error) {
	target, err := requestURI(event)
	if err != nil {
		return nil, err
	}
	at, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, errPath
	}
	method := event.RequestContext.HTTP.Method
	if !httpguts.ValidHeaderFieldName(method) { // both are tokens
		return nil, errMethod
	}
	header, err := requestHeader(event)
	if err != nil {
		return nil, err
	}
	body, length, err := requestBody(event)
	if err != nil {
		return nil, err
	}
	request := &http.Request{
		Method: method, URL: at, RequestURI: target,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: length,
		Host:       orElse(header.Get("Host"), event.RequestContext.DomainName),
		RemoteAddr: net.JoinHostPort(event.RequestContext.HTTP.SourceIP, "0"), // Lambda does not tell the port
	}
	header.Del("Host") // net/http keeps it in the request alone
	return request.WithContext(ctx), nil
}

// requestURI is the request line's target. A question mark in the raw path is
// part of the path: the query is apart.
func requestURI(event *events.LambdaFunctionURLRequest) (string, error) {
	path := orElse(event.RawPath, "/")
	if path[0] != '/' {
		return "", errPath
	}
	target := strings.ReplaceAll(path, "?", "%3F")
	if event.RawQueryString != "" {
		target += "?" + event.RawQueryString
	}
	return target, nil
}

// sessionHeader is the header whose lines mean something one by one: those that
// differ contradict each other.
const sessionHeader = "X-Session-Id"

// requestHeader brings back the header's usual form. An event has cookies apart,
// and one line for each name: a function URL joins repeated lines by a comma. Of
// the session they are taken apart again, since a client that contradicts itself
// is refused.
func requestHeader(event *events.LambdaFunctionURLRequest) (http.Header, error) {
	header := make(http.Header, len(event.Headers)+1)
	for name, value := range event.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, errHeader
		}
		if strings.EqualFold(name, sessionHeader) {
			header[sessionHeader] = append(header[sessionHeader], apart(value)...)
			continue
		}
		header.Add(name, value)
	}
	if len(event.Cookies) > 0 {
		cookies := strings.Join(event.Cookies, "; ")
		if !httpguts.ValidHeaderFieldValue(cookies) {
			return nil, errHeader
		}
		header.Set("Cookie", cookies)
	}
	return header, nil
}

// apart takes lines apart that a function URL has joined. It puts no space behind
// its comma, so an id with a comma and a space stays whole; the price is that one
// with a bare comma cannot be sent in this header (in the body it can).
func apart(joined string) (lines []string) {
	for piece := range strings.SplitSeq(joined, ",") {
		if n := len(lines); n > 0 && strings.HasPrefix(piece, " ") {
			lines[n-1] += "," + piece
			continue
		}
		lines = append(lines, piece)
	}
	return lines
}

// requestBody returns the body with its length in bytes.
func requestBody(event *events.LambdaFunctionURLRequest) (io.ReadCloser, int64, error) {
	text := event.Body
	if event.IsBase64Encoded {
		decoded, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil {
			return nil, 0, errBody
		}
		text = string(decoded)
	}
	if text == "" {
		return http.NoBody, 0, nil
	}
	return io.NopCloser(strings.NewReader(text)), int64(len(text)), nil
}

func orElse(value, other string) string {
	if value != "" {
		return value
	}
	return other
}
