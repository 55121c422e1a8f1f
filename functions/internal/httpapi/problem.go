package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/exchange"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/chat"
	"holdfast/functions/internal/wire/messages"
)

// enter finds the caller, and the configuration under which it was found. A
// stored key is asked for, so that a change rules at once.
func (a *api) enter(r *http.Request) (*exchange.Snapshot, auth.Principal, *wire.Problem) {
	snapshot, principal, p := a.admit(r)
	if p != nil {
		return snapshot, principal, p
	}
	principal, err := a.Callers.Confirm(r.Context(), snapshot.Catalog, principal)
	return snapshot, principal, exchange.NotLetIn(err)
}

// admit is enter for who reads a stored key along in a read of his own: one that
// was seen a moment ago is taken as it was. A key that is not known, or no longer
// good, may be so in a newer revision.
func (a *api) admit(r *http.Request) (*exchange.Snapshot, auth.Principal, *wire.Problem) {
	snapshot := a.Configuration.Current()
	principal, err := a.Callers.Find(r.Context(), snapshot.Catalog, r.Header)
	if err != nil && !errors.Is(err, auth.ErrMissing) && !errors.Is(err, auth.ErrUnavailable) {
		fresh, unread := a.Configuration.Refresh(r.Context())
		if unread != nil && errors.Is(err, auth.ErrUnknown) { // nobody can say that it is not known
			return snapshot, principal, wire.Refuse(wire.ConfigurationUnavailable)
		}
		if fresh != snapshot {
			snapshot = fresh
			principal, err = a.Callers.Find(r.Context(), snapshot.Catalog, r.Header)
		}
	}
	return snapshot, principal, exchange.NotLetIn(err)
}

// refuse answers a problem in the protocol of the request's route, once the
// client has stopped sending.
func refuse(w http.ResponseWriter, r *http.Request, p *wire.Problem) {
	drain(w, r)
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("X-Holdfast-Error", string(p.Code))
	if text := p.RetrySeconds(); text != "" {
		header.Set("Retry-After", text)
	}
	if p.Status == http.StatusUpgradeRequired {
		header.Set("Connection", "close")
	}
	body := chat.ErrorBody(p, "")
	if speaksMessages(r) {
		header.Set("Request-Id", header.Get(requestID)) // where this protocol's clients look for it
		body = messages.ErrorBody(p, header.Get(requestID))
	}
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// speaksMessages reports whether a client expects Anthropic's error form.
func speaksMessages(r *http.Request) bool {
	at := strings.TrimPrefix(r.URL.Path, "/v1")
	return at == "/messages" || strings.HasPrefix(at, "/messages/") || r.Header.Get("Anthropic-Version") != ""
}
