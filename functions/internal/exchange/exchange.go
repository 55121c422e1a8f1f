// Package exchange serves one client request from end to end. It alone sees the
// whole flow, and reads like it: everything is read once, decided in memory,
// asked of an upstream, and written once.
//
// Invariants: at most one answer reaches the client, and all of it comes from
// one target; what a client can see is durable before it sees it: a moved
// preference before the end of the answer, ownership before the id; a failure,
// a cancellation or a cut stream writes nothing; one store read stands before
// the first upstream call, and one write more on a session's first turn.
//
// Concurrency: an Exchange is shared; what Serve makes belongs to one request,
// except for its reply, which heartbeats write to as well.
//
// Errors: every failure becomes one wire.Problem or the provider's own error
// body, in the client's protocol. A stream that has begun ends with the
// protocol's error event and an aborted connection.
package exchange

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/budget"
	"holdfast/functions/internal/ledger"
	"holdfast/functions/internal/telemetry"
	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/bridge"
	"holdfast/functions/internal/wire/form"
	"holdfast/functions/internal/wire/responses"
	"holdfast/routing"
	"holdfast/routing/catalog"
	"holdfast/routing/cooldown"
)

// Config says what an Exchange works with. All fields are required.
type Config struct {
	Configuration Configuration
	Callers       *auth.Directory
	Affinity      *affinity.State
	Store         store.Store // the same as Affinity's, for cooldowns
	Upstream      *upstream.Client
	Secrets       func(reference string) (string, error)
	Signer        *upstream.Signer                    // of connections that AWS signatures open
	SecretRefused func(reference string)              // nil, or told of a secret that a provider did not take
	BaseURL       func(base string) (*url.URL, error) // where a connection's base URL leads
	Hash          func(parts ...string) string        // 32 hex digits, keyed: sessions in logs and hints
	After         func(context.Context, func(context.Context))
	Ledger        Ledger
	Watch         func(*telemetry.Exchange)                  // told of every exchange that has ended
	Trace         func(context.Context, *telemetry.Exchange) // sends it to others; nil: there are none
	Now           func() time.Time
	Log           *slog.Logger
}

// Exchange serves client requests.
type Exchange struct {
	Config
	codecs map[string]*codec
	turns  atomic.Uint64  // round-robin plans of this process
	ending budget.Closing // what is about to be booked to callers' limits
	rooms  sync.Pool      // *room
}

// New returns an Exchange.
func New(c Config) *Exchange { return &Exchange{Config: c, codecs: codecs()} }

// Request is a client's request as the edge hands it over.
type Request struct {
	ID        string // of the exchange
	Endpoint  string
	Compact   bool // of responses: shorten the conversation instead of answering
	Principal auth.Principal
	Snapshot  *Snapshot
	Body      []byte
	Start     time.Time
	Bypass    *Bypass // where to, past the unified routes; nil: it is one of those
}

// route names the codec that serves the request.
func (r Request) route() string {
	if r.Compact {
		return wire.EndpointCompact
	}
	return r.Endpoint
}

// maxExchange bounds an exchange where the host sets no deadline.
const maxExchange = 30 * time.Minute

// exchange is one request on its way.
type exchange struct {
	*Exchange
	in    Request
	http  *http.Request
	codec *codec
	reply *reply
	line  telemetry.Exchange

	facts    *wire.Facts
	session  identity.Session
	pool     *catalog.Pool
	plan     *affinity.Plan
	pooled   []string           // models whose cooldowns are read
	ringed   []*catalog.Account // whose keys' rests are read
	resting  map[string]cooldown.Pool
	load     load
	health   health
	turn     uint64 // of the round-robin counter
	issuer   string // deployment of the turn state that the client sends back; "" for unknown
	decision routing.Decision

	attempts  routing.Run
	step      routing.Step
	learned   int                 // failures that the store has been told of
	planned   routing.Candidate   // the first that was to be tried and could be asked
	asked     bool                // it has been tried
	serving   routing.Candidate   // tried now, or served
	shift     int                 // keys of the connection that were passed over
	places    []place             // that this exchange holds at deployments; nil: it never did
	repaired  *wire.Facts         // of the body whose signatures were refused; nil: not repaired
	following failing             // the answer that is relayed
	bridge    *bridge.Translation // of the current attempt; nil: the target speaks the client's protocol
	answerID  string              // that a bridge gives its answer
	seen      int                 // bytes of the request's text that guardrails have looked at
	barred    *wire.Problem       // why a guardrail keeps the answer from the client; nil: it does not
	allowed   allowances          // limits and budgets of the caller
	caches    bool                // the response cache is asked and told
	cached    store.Handle        // of the answer that it has for this request
	found     *kept               // that answer; nil: none
	form      *form.Form          // the body, where it is one; nil: it is JSON
	sent      int                 // calls of errands
	bound     references          // account-bound things that the request mentions
	history   []byte              // items before the input, for a target that cannot go on by itself; nil: none
	record    *responses.Record   // of what the current attempt's answer leaves behind
	spoken    int64               // tokens of output that were seen, about
	charged   *ledger.Cost        // by part; nil: nothing was used, or no price is known
	saved     *float64            // USD, by cached tokens
	unpaid    bool                // the exchange itself costs nothing
	awaited   string              // the id of a response in the background, billed when its end is seen; "": none
	sealed    bool                // the body holds ciphertext that one account can read
	booked    bool                // the current attempt is counted in its deployment's minute
	pending   []func(context.Context)
	rest      []func(context.Context)
}

// Serve answers one request. It panics with http.ErrAbortHandler where an
// answer that has begun must not look whole.
func (x *Exchange) Serve(w http.ResponseWriter, r *http.Request, in Request) {
	ctx, leave := attached(r.Context(), x.codecs[in.Endpoint].task != "")
	defer leave()
	e := &exchange{Exchange: x, in: in, http: r, codec: x.codecs[in.route()]}
	e.reply = newReply(w, e.codec.beat, e.headers)
	e.line = telemetry.Exchange{Start: in.Start, RequestID: in.ID, Endpoint: in.Endpoint, KeyID: in.Principal.Caller.ID, UserPath: in.Principal.Caller.UserPath}
	defer e.settleLater(ctx)
	if p := e.prepare(ctx); p != nil {
		e.turnAway(ctx, p)
		return
	}
	if e.found != nil {
		e.replay()
		return
	}
	e.run(ctx)
}

// attached returns a context that ends when the client leaves or the exchange's
// time is up, with what ended it as its cause. Calling leave ends it. One that
// stays does not end with the client: what it begins elsewhere is to be known
// here.
func attached(request context.Context, stays bool) (ctx context.Context, leave func()) {
	deadline, set := request.Deadline()
	if !set {
		deadline = time.Now().Add(maxExchange)
	}
	if stays {
		request = context.WithoutCancel(request)
	}
	return context.WithDeadline(request, deadline)
}
