package httpapi

import (
	"net/http"
	"time"

	"holdfast/functions/internal/wire"
)

// soon is when a gateway that has no configuration may be asked again.
const soon = time.Second

// Unready returns the handler of a gateway that has no configuration yet: it
// refuses every request in the client's protocol.
func Unready(origins []string) http.Handler {
	a := &api{}
	return a.identify(cors(origins, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, wire.Refuse(wire.ConfigurationUnavailable).After(soon))
	})))
}
