package admin

import (
	"errors"
	"net/http"

	"holdfast/functions/internal/wire"
)

// ErrNoRevision says that no document was stored under a name.
var ErrNoRevision = errors.New("admin: there is no such revision")

// getRevision answers the document of a revision, to be compared with the one in
// force or to be put again. It never changes.
func (a *api) getRevision(w http.ResponseWriter, r *http.Request) {
	document, err := a.Configuration.Revision(r.Context(), r.PathValue("name"))
	switch {
	case errors.Is(err, ErrNoRevision):
		refuse(w, wire.Refuse(wire.RouteNotFound).Saying("There is no such revision. GET /admin/config/revisions lists them."))
	case err != nil:
		refuse(w, wire.Refuse(wire.ConfigurationUnavailable))
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document)
	}
}
