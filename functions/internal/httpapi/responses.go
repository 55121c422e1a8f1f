package httpapi

import (
	"net/http"
	"strings"

	"holdfast/functions/internal/exchange"
	"holdfast/functions/internal/wire"
)

// responsePath is what the paths of single responses begin with.
const responsePath = "/responses/"

// response finds what serves a path below a response, by the path without /v1.
func response(at string) (endpoint, bool) {
	id, found := strings.CutPrefix(at, responsePath)
	if !found {
		return endpoint{}, false
	}
	id, last, nested := strings.Cut(id, "/")
	switch {
	case !nested && id == "compact":
		return endpoint{"POST", compact}, true
	case !nested:
		return endpoint{"GET, DELETE", func(a *api, w http.ResponseWriter, r *http.Request) {
			op := exchange.Retrieve
			if r.Method == http.MethodDelete {
				op = exchange.Delete
			}
			a.stored(w, r, id, op)
		}}, true
	case last == "cancel":
		return endpoint{"POST", about(id, exchange.Cancel)}, true
	case last == "input_items":
		return endpoint{"GET", about(id, exchange.InputItems)}, true
	}
	return endpoint{}, false
}

// about serves one operation on a response.
func about(id string, op exchange.Operation) func(*api, http.ResponseWriter, *http.Request) {
	return func(a *api, w http.ResponseWriter, r *http.Request) { a.stored(w, r, id, op) }
}

// stored serves an operation that needs no body; one that is sent is not read.
func (a *api) stored(w http.ResponseWriter, r *http.Request, id string, op exchange.Operation) {
	snapshot, principal, p := a.enter(r)
	if p != nil {
		refuse(w, r, p)
		return
	}
	drain(w, r)
	a.Exchange.Stored(w, r, exchange.Request{
		Endpoint: wire.EndpointResponses, Principal: principal, Snapshot: snapshot,
		ID: w.Header().Get(requestID), Start: a.Now(),
	}, id, op)
}
