package httpapi

import (
	"net/http"
	"strings"

	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/exchange"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/form"
)

// videoPath is where one video is found.
const videoPath = "/videos/"

// videoRoute finds what serves a path about one video.
func videoRoute(at string) (endpoint, bool) {
	rest, found := strings.CutPrefix(at, videoPath)
	id, part, parted := strings.Cut(rest, "/")
	if !found || id == "" || len(id) > wire.MaxName {
		return endpoint{}, false
	}
	methods := map[string]string{"": "GET, DELETE", "content": "GET, HEAD", "remix": "POST"}[part]
	if methods == "" || parted && part == "" {
		return endpoint{}, false
	}
	return endpoint{methods, func(a *api, w http.ResponseWriter, r *http.Request) {
		in, p := a.begin(w, r, wire.EndpointVideos, a.enter, part == "remix")
		if p != nil {
			refuse(w, r, p)
			return
		}
		a.Exchange.ServeVideo(w, r, in, exchange.Thing{ID: id, Part: part})
	}}, true
}

// videos begins a video, or lists those of the caller.
func (a *api) videos(w http.ResponseWriter, r *http.Request) {
	makes, enter := r.Method == http.MethodPost, a.enter
	if makes {
		enter = a.admit // the exchange reads a stored key along
	}
	in, p := a.begin(w, r, wire.EndpointVideos, enter, makes)
	switch {
	case p != nil:
		refuse(w, r, p)
	case makes:
		a.Exchange.Serve(w, r, in)
	default:
		a.Exchange.ListVideos(w, r, in)
	}
}

// entrance finds the caller of a request: enter or admit.
type entrance func(*http.Request) (*exchange.Snapshot, auth.Principal, *wire.Problem)

// begin finds the caller and reads the body, JSON or a form, where there is to
// be one.
func (a *api) begin(w http.ResponseWriter, r *http.Request, name string, enter entrance, bodied bool) (exchange.Request, *wire.Problem) {
	snapshot, principal, p := enter(r)
	in := exchange.Request{
		Endpoint: name, Principal: principal, Snapshot: snapshot, ID: w.Header().Get(requestID), Start: a.Now(),
	}
	if p != nil || !bodied {
		return in, p
	}
	if name == wire.EndpointVideos && form.Is(r.Header.Get("Content-Type")) && plain(r.Header) {
		in.Body, p = readBytes(w, r)
	} else {
		in.Body, p = readBody(w, r)
	}
	return in, p
}

// countTokens counts the tokens of a Messages request.
func (a *api) countTokens(w http.ResponseWriter, r *http.Request) {
	in, p := a.begin(w, r, wire.EndpointCountTokens, a.admit, true)
	if p != nil {
		refuse(w, r, p)
		return
	}
	a.Exchange.CountTokens(w, r, in)
}
