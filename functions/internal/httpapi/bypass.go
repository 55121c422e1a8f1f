package httpapi

import (
	"net/http"
	"strings"

	"holdfast/functions/internal/exchange"
	"holdfast/functions/internal/wire"
)

// bypassPath begins the paths that lead to a provider natively.
const bypassPath = "/bypass/"

// bypass serves a request past the unified routes, whatever its method and body.
func (a *api) bypass(w http.ResponseWriter, r *http.Request) {
	if upgrades(r) {
		refuse(w, r, wire.Refuse(wire.UpgradeRequired))
		return
	}
	where, sound := exchange.ParseBypass(r.URL.EscapedPath())
	if !sound {
		refuse(w, r, wire.Refuse(wire.RouteNotFound).Saying(
			"The path must be /bypass/, a connection or provider, and a path of plain segments: no dots alone, no empty ones, no encoded slashes."))
		return
	}
	enter := a.admit // the exchange reads a stored key along
	if where.Owned(r.Method) {
		enter = a.enter
	}
	snapshot, principal, p := enter(r)
	if p != nil {
		refuse(w, r, p)
		return
	}
	body, p := anyBody(w, r)
	if p != nil {
		refuse(w, r, p)
		return
	}
	a.Exchange.ServeBypass(w, r, exchange.Request{
		Principal: principal, Snapshot: snapshot, Body: body, Bypass: &where,
		ID: w.Header().Get(requestID), Start: a.Now(),
	})
}

// anyBody returns a request's body as it is; nil where it has none. What is
// compressed cannot be checked, so it is not taken.
func anyBody(w http.ResponseWriter, r *http.Request) ([]byte, *wire.Problem) {
	if r.Body == nil || r.ContentLength == 0 {
		return nil, nil
	}
	if !plain(r.Header) {
		return nil, wire.Refuse(wire.UnsupportedMediaType).Saying("Compressed request bodies are not taken. Send the body without Content-Encoding.")
	}
	if strings.Contains(r.Header.Get("Content-Type"), "json") {
		if p := acceptable(r.Header); p != nil {
			return nil, p
		}
	}
	body, p := readBytes(w, r)
	if p != nil && p.Code == wire.InvalidJSON { // announced without a length, and empty
		return nil, nil
	}
	return body, p
}
