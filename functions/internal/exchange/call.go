package exchange

import (
	"net/http"
	"net/url"
	"strings"

	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// eventStream is the content type of a stream.
const eventStream = "text/event-stream"

// call builds one attempt at a target, anew from the client's own bytes. The
// error is a secret that is not there, or a *wire.Problem where the target's
// protocol cannot say what was asked.
func (e *exchange) call(t *catalog.Target) (upstream.Request, wire.Rewritten, error) {
	at, err := e.address(t)
	if err != nil {
		return upstream.Request{}, wire.Rewritten{}, err
	}
	rewritten, err := e.say(t)
	if err != nil {
		return upstream.Request{}, wire.Rewritten{}, err
	}
	header := e.header(t)
	if err := e.authenticate(t, header); err != nil {
		return upstream.Request{}, wire.Rewritten{}, err
	}
	switch {
	case e.in.Bypass != nil:
		rewritten.Body = e.in.Body
	case e.form != nil:
		header.Set("Content-Type", e.http.Header.Get("Content-Type"))
		rewritten.Body = e.form.Write(map[string]string{"model": t.UpstreamModel}, ourFields()...)
	}
	first := t.TimeoutJSON
	if e.facts.Stream {
		first = t.Timeout
	}
	return upstream.Request{
		Method: http.MethodPost, URL: at, Header: header, Body: rewritten.Body, Sign: e.signer(t),
		AllowPrivate: t.Account.AllowPrivateNetwork || t.Account.Provider == catalog.Simulated,
		FirstByte:    first, Idle: t.IdleTimeout,
	}, rewritten, nil
}

// say returns the client's request as a target is to read it: its own bytes with
// edits, or a translation.
func (e *exchange) say(t *catalog.Target) (wire.Rewritten, error) {
	e.reply.still(func() { e.bridge = nil })
	if !e.native(t) {
		return e.translate(t)
	}
	facts, err := e.body()
	if err != nil {
		return wire.Rewritten{}, err
	}
	return e.codec.rewrite(facts, e.edits(t)), nil
}

// body is the client's own or, after a refused signature, the repaired one.
func (e *exchange) body() (*wire.Facts, error) {
	switch {
	case e.step.Repair:
	case e.history != nil && e.speaksResponses(e.serving.Target): // which does not know the id
		return e.withPast()
	default:
		return e.facts, nil
	}
	if e.repaired == nil {
		stripped, err := e.codec.repair(e.in.Body)
		if err != nil {
			return nil, err
		}
		facts, p := wire.Inspect(e.in.Endpoint, stripped)
		if p != nil {
			return nil, p
		}
		e.repaired = facts
	}
	return e.repaired, nil
}

// address is the URL of the protocol's route at a target. An OpenAI-style base
// URL ends in /v1, an Anthropic one does not; one that does is not doubled.
func (e *exchange) address(t *catalog.Target) (*url.URL, error) {
	base, err := e.BaseURL(t.BaseURL)
	if err != nil {
		return nil, err
	}
	at := *base
	if e.in.Bypass != nil {
		direct, err := below(base, e.in.Bypass.Path)
		if err == nil {
			direct.RawQuery = e.http.URL.RawQuery
		}
		return direct, err
	}
	path := e.speaks(t).path
	if strings.HasSuffix(strings.TrimSuffix(at.Path, "/"), "/v1") {
		path = strings.TrimPrefix(path, "/v1")
	}
	at.Path = strings.TrimSuffix(at.Path, "/") + path
	if e.native(t) {
		at.RawQuery = e.http.URL.RawQuery
	}
	return &at, nil
}

// edits are the changes that the body needs for a target.
func (e *exchange) edits(t *catalog.Target) wire.Edits {
	edits := wire.Edits{
		Model: t.UpstreamModel, Keep: t.Account.Preset.Takes,
		Portable: !e.step.Repair, IncludeUsage: true, Foreign: t.Account.Provider != "anthropic" && t.Account.Provider != catalog.Simulated,
	}
	if hint := e.hint(t); hint != "" && t.Account.Preset.Hint.Body != "" {
		edits.HintField, edits.HintValue = t.Account.Preset.Hint.Body, hint
	}
	return edits
}

// hint is the session's identity as a provider may see it: a keyed hash of
// scope, session and lane. It is "" where there is no session worth a hint.
func (e *exchange) hint(t *catalog.Target) string {
	known := t.Account.Preset.Hint
	if !t.Account.Hints || known == (catalog.Hint{}) || e.session.ID == "" || known.Protocol != "" && known.Protocol != t.Protocol {
		return ""
	}
	return e.Hash("hint", e.in.Principal.Scope.String(), e.session.ID, e.session.Lane)
}

// header builds the headers of an attempt. Of the client's own only those pass
// that belong to the protocol.
func (e *exchange) header(t *catalog.Target) http.Header {
	header := make(http.Header, 12)
	spoken := e.speaks(t)
	for _, name := range spoken.passes {
		if values := e.http.Header[name]; len(values) > 0 {
			header[name] = values
		}
	}
	if spoken.version != "" && header.Get("Anthropic-Version") == "" {
		header.Set("Anthropic-Version", spoken.version)
	}
	accepts := "application/json"
	if e.facts.Stream {
		accepts = eventStream
	}
	asked := header["Accept"]
	put(header, "Content-Type", "application/json", "Accept-Encoding", "identity", "User-Agent", "holdfast", "Accept", accepts)
	if e.in.Bypass != nil && len(asked) > 0 {
		header["Accept"] = asked
	}
	if kind := e.http.Header["Content-Type"]; e.in.Bypass != nil && len(kind) > 0 {
		header["Content-Type"] = kind
	}
	e.addHint(t, header)
	e.giveBack(t, header)
	for name, value := range t.Account.Headers {
		header.Set(name, value)
	}
	return header
}

// ownSession is the gateway's own header for a session, which one provider reads
// too. Its raw value is not for providers: they get the hash.
const ownSession = "X-Session-Id"

// addHint names the session in a provider's own header, unless the client has
// done so in its way: then its value passes as it is.
func (e *exchange) addHint(t *catalog.Target, header http.Header) {
	name := http.CanonicalHeaderKey(t.Account.Preset.Hint.Header)
	if name == "" {
		return
	}
	if own := e.http.Header[name]; len(own) > 0 && name != ownSession {
		header[name] = own
		return
	}
	for _, field := range t.Account.Preset.Takes {
		if e.facts.Value(field).Given() { // the provider finds it there
			return
		}
	}
	if hint := e.hint(t); hint != "" {
		header.Set(name, hint)
	}
}

// authenticate adds the connection's credential. Of several keys of one account
// a session keeps its own.
func (e *exchange) authenticate(t *catalog.Target, header http.Header) error {
	if t.Account.AuthType == catalog.AuthNone || len(t.Account.Keys) == 0 {
		return nil
	}
	secret, err := e.Secrets(t.Account.Keys[e.keyOf(t.Account)])
	if err != nil {
		return err
	}
	switch t.Account.AuthType {
	case catalog.AuthXAPIKey:
		header.Set("X-Api-Key", secret)
	case catalog.AuthAPIKey:
		header.Set("Api-Key", secret)
	default:
		header.Set("Authorization", "Bearer "+secret)
	}
	return nil
}

// signer is who signs the calls of a target; nil where its headers hold the
// credential.
func (e *exchange) signer(t *catalog.Target) *upstream.Signer {
	if t.Account.AuthType != catalog.AuthSigV4 {
		return nil
	}
	return e.Signer
}

// passedBack are the provider's response headers that reach the client.
func passedBack(name string) bool {
	switch name {
	case "Content-Type", "Request-Id", "X-Request-Id", "Retry-After", "Retry-After-Ms", "X-Should-Retry",
		"Openai-Processing-Ms", "Openai-Version", "Openai-Model", "X-Codex-Turn-State", "X-Models-Etag", "X-Reasoning-Included":
		return true
	}
	return strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Anthropic-Ratelimit-") || strings.HasPrefix(name, "X-Codex-")
}

// pass copies what may pass of a provider's headers. Values with line breaks
// never get here: the HTTP client refuses them.
func pass(from http.Header) func(http.Header) {
	return func(to http.Header) {
		for name, values := range from {
			if passedBack(name) {
				to[name] = values
			}
		}
	}
}
