// Package httpapi is the data plane's edge: routes, credentials, bodies, and
// every error in the client's own form.
//
// Invariants: every answer has X-Request-Id; a refusal is JSON in the protocol
// of its route, with X-Holdfast-Error; a panic in a handler becomes a 500, or an
// aborted stream where output has begun, and never ends the process; no body
// larger than maxBody is kept.
//
// Concurrency: the handler is shared by all requests.
//
// Errors: none are returned; they are answered.
package httpapi

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/exchange"
	"holdfast/functions/internal/telemetry"
	"holdfast/functions/internal/wire"
)

// Config says what the edge stands before.
type Config struct {
	Exchange      *exchange.Exchange
	Configuration exchange.Configuration
	Callers       *auth.Directory
	Admin         http.Handler // of everything under /admin/
	Console       http.Handler // of everything under /console/; nil: there is none here
	Origins       []string     // that may call from a browser; "*": all
	OriginSecret  string       // what every request must carry, put there by CloudFront; "": none must
	Now           func() time.Time
	Log           *slog.Logger
}

type api struct {
	Config
	started   time.Time
	endpoints map[string]endpoint
}

// New returns the data plane's handler.
func New(c Config) http.Handler {
	a := &api{Config: c, started: c.Now(), endpoints: endpoints()}
	return a.identify(a.recover(a.proven(a.console(cors(c.Origins, http.HandlerFunc(a.route))))))
}

// identify gives every request an id.
func (a *api) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(requestID, "req_"+rand.Text())
		next.ServeHTTP(w, r)
	})
}

// requestID is the header that names an exchange, in answers and in the log.
const requestID = "X-Request-Id"

// recover answers a panic with a 500 where nothing has been sent, and breaks
// the stream where something has: a clean end would look like success.
func (a *api) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &sentinel{ResponseWriter: w}
		defer func() {
			switch caught := recover(); {
			case caught == nil:
			case caught == http.ErrAbortHandler: // meant: the exchange's own line says why
				panic(http.ErrAbortHandler)
			case seen.sent:
				a.Log.ErrorContext(r.Context(), "handler panicked after its answer had begun", "request_id", w.Header().Get(requestID), "at", telemetry.Origin())
				panic(http.ErrAbortHandler)
			default:
				a.Log.ErrorContext(r.Context(), "handler panicked", "request_id", w.Header().Get(requestID), "at", telemetry.Origin())
				refuse(w, r, wire.Refuse(""))
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

// sentinel remembers whether anything was sent.
type sentinel struct {
	http.ResponseWriter
	sent bool
}

// WriteHeader notes that the answer has begun.
func (s *sentinel) WriteHeader(status int) {
	s.sent = s.sent || status >= http.StatusOK
	s.ResponseWriter.WriteHeader(status)
}

// Write notes that the answer has begun.
func (s *sentinel) Write(p []byte) (int, error) {
	s.sent = true
	return s.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the host's writer.
func (s *sentinel) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// endpoint is one route of the data plane.
type endpoint struct {
	methods string // separated by a comma and a space, as Allow lists them
	serve   func(a *api, w http.ResponseWriter, r *http.Request)
}

// endpoints are the routes by their path without /v1.
func endpoints() map[string]endpoint {
	return map[string]endpoint{
		"/chat/completions":      {"POST", generate(wire.EndpointChat)},
		"/responses":             {"POST", generate(wire.EndpointResponses)},
		"/messages":              {"POST", generate(wire.EndpointMessages)},
		"/messages/count_tokens": {"POST", (*api).countTokens},
		"/embeddings":            {"POST", generate(wire.EndpointEmbeddings)},
		"/videos":                {"GET, POST", (*api).videos},
		"/models":                {"GET, HEAD", (*api).models},
		"/healthz":               {"GET, HEAD", alive},
		"/api/hello":             {"GET, HEAD", alive},
		"/":                      {"GET, HEAD", alive},
	}
}

// route finds what serves a path.
func (a *api) route(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/admin/") {
		a.Admin.ServeHTTP(w, r)
		return
	}
	if strings.HasPrefix(r.URL.Path, bypassPath) {
		a.bypass(w, r)
		return
	}
	at := strings.TrimPrefix(r.URL.Path, "/v1")
	if r.URL.Path == "/v1" || r.URL.Path == "" || at != path.Clean(at) {
		refuse(w, r, wire.Refuse(wire.RouteNotFound))
		return
	}
	found, known := a.endpoints[at]
	if !known && strings.HasPrefix(at, modelPath) {
		found, known = endpoint{"GET, HEAD", (*api).model}, true
	}
	if !known {
		found, known = videoRoute(at)
	}
	if !known {
		found, known = response(at)
	}
	switch {
	case !known:
		refuse(w, r, wire.Refuse(wire.RouteNotFound))
	case upgrades(r):
		refuse(w, r, wire.Refuse(wire.UpgradeRequired))
	case !allowed(found.methods, r.Method):
		w.Header().Set("Allow", found.methods)
		refuse(w, r, wire.Refuse(wire.MethodNotAllowed))
	default:
		found.serve(a, w, r)
	}
}

func allowed(methods, method string) bool {
	for one := range strings.SplitSeq(methods, ", ") {
		if one == method {
			return true
		}
	}
	return false
}

// upgrades reports whether the client asks for a WebSocket. One client falls
// back to HTTP at once on 426, and only on that.
func upgrades(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// alive answers liveness probes, without a key.
func alive(_ *api, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":"ok"}` + "\n"))
}

// generate serves an endpoint that asks a model.
func generate(name string) func(*api, http.ResponseWriter, *http.Request) {
	return func(a *api, w http.ResponseWriter, r *http.Request) {
		a.exchange(w, r, exchange.Request{Endpoint: name})
	}
}

// compact shortens a conversation where it is served.
func compact(a *api, w http.ResponseWriter, r *http.Request) {
	a.exchange(w, r, exchange.Request{Endpoint: wire.EndpointResponses, Compact: true})
}

// exchange serves a request with a body.
func (a *api) exchange(w http.ResponseWriter, r *http.Request, in exchange.Request) {
	snapshot, principal, p := a.admit(r) // the exchange reads a stored key along
	if p != nil {
		refuse(w, r, p)
		return
	}
	if in.Body, p = readBody(w, r); p != nil {
		refuse(w, r, p)
		return
	}
	in.Principal, in.Snapshot = principal, snapshot
	in.ID, in.Start = w.Header().Get(requestID), a.Now()
	a.Exchange.Serve(w, r, in)
}
