package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"

	"holdfast/localstack/accounts"
)

// streamEvents is how many output events a streamed answer has.
const streamEvents = 200

// serveUpstream runs one simulated account without a journal.
func serveUpstream() error {
	return serve(accounts.New(accounts.Config{Name: "bench", Journal: -1, AnswerTokens: streamEvents}))
}

// serveProxy runs a reverse proxy that does nothing else.
func serveProxy(target string) error {
	to, err := url.Parse(target)
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 256 // as the gateway has
	return serve(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(os.Stderr, "", 0),
	})
}

// serve listens on a free port, says where, and serves until it is killed.
func serve(h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", l.Addr())
	return http.Serve(l, h)
}
