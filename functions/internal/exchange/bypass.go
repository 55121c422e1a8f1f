package exchange

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"holdfast/affinity"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/form"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/routing"
	"holdfast/routing/catalog"
)

// The bypass speaks to a provider natively: the client's bytes go there as they
// are and the answer's come back as they are. Its endpoints are named after the
// unified ones, so that the two share no preference: an upstream's model is not a
// public one.
//
// What is asked of a model goes through the same flow as everywhere: permission,
// limits, session, preference, retries on the same name, usage. All else is one
// errand. Things that belong to an account go by their owner: see owned.go.
const (
	bypassing       = "bypass/"
	bypassOther     = bypassing + "other"
	bypassResponses = bypassing + wire.EndpointResponses
	bypassCompact   = bypassing + wire.EndpointCompact
	bypassTokens    = bypassing + "input_tokens" // of a Responses request: counted, not answered
	bypassVideos    = bypassing + wire.EndpointVideos
)

// ServeBypass serves a request past the unified routes; in.Bypass says where to. It
// panics with http.ErrAbortHandler where an answer that has begun must not look
// whole.
func (x *Exchange) ServeBypass(w http.ResponseWriter, r *http.Request, in Request) {
	in.Endpoint = in.Bypass.endpoint(r)
	if !x.codecs[in.Endpoint].errand {
		x.Serve(w, r, in)
		return
	}
	creates := in.Bypass.creates(r.Method)
	if in.Bypass.Owned(r.Method) {
		thing, _ := in.Bypass.thing()
		x.serveThing(w, r, in, thing)
		return
	}
	ctx, leave := attached(r.Context(), creates)
	defer leave()
	e := x.errands(w, r, in)
	defer e.settleLater(ctx)
	if p := e.chooseNative(ctx); p != nil {
		e.turnAway(ctx, p)
		return
	}
	e.unpaid = safe(r.Method) // what the provider charges for the rest is not known
	answer, t := e.send(ctx, e.asIs())
	switch {
	case answer == nil:
		e.undone(t)
	case creates:
		e.create(ctx, answer)
	default:
		e.deliver(answer, describesContent)
	}
}

// chooseNative plans an errand. What an account is to make is not asked for while
// nobody could record whose it is.
func (e *exchange) chooseNative(ctx context.Context) *wire.Problem {
	if p := e.prepare(ctx); p != nil {
		return p
	}
	if e.plan.Degraded && e.in.Bypass.creates(e.http.Method) {
		return wire.Refuse(wire.OwnershipUnavailable)
	}
	if p := e.referred(ctx); p != nil {
		return p
	}
	_, first := e.decision.Start(e.Now())
	if first.Action != routing.Try {
		return wire.Refuse(wire.Code(first.Refusal.Code)).After(first.Refusal.RetryAfter)
	}
	e.planned, e.serving = first.Candidate, first.Candidate
	return nil
}

// endpoint names what a path asks for, as far as it is known here.
func (b *Bypass) endpoint(r *http.Request) string {
	if r.Method != http.MethodPost {
		return bypassOther
	}
	switch strings.Join(b.at, "/") {
	case "chat/completions":
		return bypassing + wire.EndpointChat
	case "responses":
		return bypassResponses
	case "responses/compact":
		return bypassCompact
	case "responses/input_tokens":
		return bypassTokens
	case "messages":
		return bypassing + wire.EndpointMessages
	case "embeddings":
		return bypassing + wire.EndpointEmbeddings
	case "videos":
		return bypassVideos
	}
	return bypassOther
}

// asIs is the client's own request as an errand.
func (e *exchange) asIs() errand {
	return errand{
		method: e.http.Method, path: e.in.Bypass.Path, query: e.http.URL.RawQuery, headers: bypassHeaders(),
		body: e.in.Body, kind: e.http.Header.Get("Content-Type"), safe: safe(e.http.Method),
	}
}

// safe reports whether a method may be sent twice.
func safe(method string) bool {
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions}, method)
}

// bypassHeaders are the request headers that pass: those of the protocols, and
// those that say which part or form of a thing is wanted.
func bypassHeaders() []string {
	return slices.Concat(openAIHeaders(), anthropicHeaders(), []string{
		"Accept", "Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
	})
}

// bypassCodecs are the endpoints of the bypass: the protocols' own readings of an
// answer, without any change on the way.
func bypassCodecs(known map[string]*codec) map[string]*codec {
	all := map[string]*codec{
		bypassOther:  {problem: known[wire.EndpointChat].problem, errand: true},
		bypassTokens: {problem: known[wire.EndpointChat].problem, errand: true},
	}
	for _, endpoint := range [...]string{wire.EndpointChat, wire.EndpointResponses, wire.EndpointMessages, wire.EndpointEmbeddings, wire.EndpointVideos} {
		native := *known[endpoint]
		native.passes, native.rewrite, native.repair = bypassHeaders(), asItIs, nil
		native.beat = func() []byte { return nil }
		all[bypassing+endpoint] = &native
	}
	compact := *all[bypassResponses]
	compact.follow, compact.publishes = nil, false
	all[bypassCompact] = &compact
	return all
}

// asItIs leaves a body alone.
func asItIs(f *wire.Facts, _ wire.Edits) wire.Rewritten { return wire.Rewritten{Body: f.Body()} }

// shape is the protocol endpoint whose form a request has, for identity.
func (e *exchange) shape() string {
	if e.in.Endpoint == bypassCompact || e.in.Endpoint == bypassTokens {
		return wire.EndpointResponses
	}
	return strings.TrimPrefix(e.in.Endpoint, bypassing)
}

// counting is how the answer that is read counts cached tokens.
func (e *exchange) counting() wire.Counting {
	if t := e.serving.Target; e.in.Bypass == nil || t.Protocol == e.shape() {
		return counting(t)
	}
	return wire.ByProtocol // the protocol's own way: what is known is of another
}

// inspectBypass reads what it can of a body of any kind. What is JSON or a form is
// checked as strictly as everywhere; what is neither says nothing, its model
// included.
func (e *exchange) inspectBypass() (p *wire.Problem) {
	kind, body := e.http.Header.Get("Content-Type"), e.in.Body
	switch {
	case form.Is(kind):
		parsed, err := form.Parse(kind, body)
		if err != nil {
			return notForm()
		}
		e.form, body = parsed, parsed.JSON()
	case len(body) == 0 || !isJSON(kind, body):
		body = []byte("{}")
	}
	if e.facts, p = wire.Inspect(e.in.Endpoint, body); p != nil {
		return p
	}
	if e.codec.follow == nil {
		e.facts.Stream = false
	}
	if !e.codec.errand && e.facts.Model == "" {
		return wire.Refuse(wire.InvalidRequest).About("model").Saying("model must be the provider's own name of a model.")
	}
	e.sealed = e.in.Endpoint == bypassResponses || e.in.Endpoint == bypassCompact
	e.sealed = e.sealed && holdsCiphertext(e.facts.Value("input"))
	return nil
}

// isJSON reports whether a body is, or may be taken for, JSON.
func isJSON(contentType string, body []byte) bool {
	return strings.Contains(contentType, "json") || contentType == "" && jsonedit.Read(body).Kind() == '{'
}

// holdsCiphertext reports whether some item of the input can be read by one
// account only: reasoning and compactions in encrypted form.
func holdsCiphertext(input jsonedit.Value) bool {
	for each := input.Each(); each.Next(); {
		if each.Value().Get("encrypted_content").Filled() {
			return true
		}
	}
	return false
}

// permitBypass finds the deployments that a name and an upstream's model stand for,
// if the caller may use what they serve.
func (e *exchange) permitBypass() *wire.Problem {
	pool, known := e.in.Snapshot.Catalog.Native(e.in.Principal.Caller, e.in.Bypass.Name, e.facts.Model, e.shape())
	switch {
	case !known:
		return wire.Refuse(wire.RouteNotFound).Saying("There is no connection or provider of that name. Check the path after /bypass/.")
	case pool == nil && e.facts.Model == "":
		return wire.Refuse(wire.ModelForbidden).Saying("A request that names no model may use any of this connection's. This key may not use all of them.")
	case pool == nil:
		return wire.Refuse(wire.ModelForbidden).About("model").Saying("No deployment of this connection serves this upstream model under a name that this key may use. model is the provider's own name here.")
	}
	e.pool = pool
	if e.facts.Model != "" {
		e.line.Model = pool.Deployments[0].Model
	}
	return nil
}

// publicModels are the models of the pool's deployments, whose cooldowns rule here
// too.
func publicModels(pool *catalog.Pool) []string {
	var names []string
	for _, t := range pool.Deployments {
		if !slices.Contains(names, t.Model) && len(names) < maxPools {
			names = append(names, t.Model)
		}
	}
	return names
}

// caller is who asks, as routing judges it: the pool of a bypass holds only what
// the caller may use.
func (e *exchange) caller() *catalog.Caller {
	if e.in.Bypass != nil {
		return e.in.Principal.Caller.Unrestricted()
	}
	return e.in.Principal.Caller
}

// seals are the references that the one read finds the owners of.
func (e *exchange) seals() []affinity.Reference {
	if !e.sealed {
		return nil
	}
	return []affinity.Reference{{Kind: affinity.Ciphertext}}
}

// unseal sends ciphertext to the account that made it, under the name that the
// client has given, or nowhere. A previous response says itself who that is.
func (e *exchange) unseal() *wire.Problem {
	if !e.sealed {
		return nil
	}
	all := e.plan.Bound()
	bound := all[len(all)-1]
	if !bound.Found {
		if e.plan.Owner != nil {
			return nil
		}
		return wire.Refuse(wire.StartNewConversation)
	}
	owner := bound.Owner
	if _, here := e.pool.Position(owner.Deployment); !here {
		peer := e.peer(owner)
		if peer == nil {
			return wire.Refuse(wire.StartNewConversation)
		}
		owner.Deployment, owner.Connection, owner.BaseURL = peer.ID, peer.Account.ID, peer.BaseURL
	}
	return e.require(owner, wire.StartNewConversation)
}

// peer is a deployment of the pool in the owner's account, nil for none.
func (e *exchange) peer(o affinity.Owner) *catalog.Target {
	for _, t := range e.pool.Deployments {
		if o.SameAccount(t.Account.Boundary) {
			return t
		}
	}
	return nil
}

// bypassed records, before the client sees the end, who made what the client may
// come back with: its conversation, the response by its id, and the session's
// ciphertext.
func (e *exchange) bypassed(ctx context.Context, answer wire.Answer) error {
	if e.in.Endpoint != bypassResponses && e.in.Endpoint != bypassCompact || e.in.Principal.Scope.IsZero() {
		return nil
	}
	owner := e.ownerOf(e.serving.Target)
	if id := e.bound.conversation; id != "" {
		if err := e.Affinity.Bind(ctx, e.in.Principal.Scope, affinity.Conversation, id, owner, e.retention()); err != nil {
			return err
		}
		if err := e.claimConversation(ctx); err != nil {
			return err
		}
	}
	if e.codec.publishes && answer.ID != "" {
		p := affinity.Publication{Scope: e.in.Principal.Scope, ID: answer.ID, Owner: owner, Retention: e.retention()}
		if e.record != nil {
			p.Items = e.record.IDs()
		}
		if err := e.Affinity.Publish(ctx, p); err != nil {
			return err
		}
	}
	return e.Affinity.Bind(ctx, e.in.Principal.Scope, affinity.Ciphertext, e.session.ID, owner, e.retention())
}
