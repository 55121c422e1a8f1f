package admin

import (
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/affinity/identity"
	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/exchange"
	"holdfast/functions/internal/wire"
)

// maxQuestion bounds a request to explain, in bytes.
const maxQuestion = 21 << 20

// question is the body of POST /admin/explain.
type question struct {
	Endpoint string            `json:"endpoint"`
	Key      string            `json:"key"` // the caller's id, never the key itself
	Headers  map[string]values `json:"headers"`
	Body     jsontext.Value    `json:"body"`
}

// values are those of one header: a text, or a list where it stands on several lines.
type values []string

// UnmarshalJSON reads either form.
func (v *values) UnmarshalJSON(text []byte) error {
	var one string
	if err := json.Unmarshal(text, &one); err == nil {
		*v = values{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(v))
}

// explain plans a request without sending it.
func (a *api) explain(w http.ResponseWriter, r *http.Request) {
	text, p := body(r, maxQuestion)
	if p != nil {
		refuse(w, p)
		return
	}
	var q question
	if err := json.Unmarshal(text, &q, json.RejectUnknownMembers(true)); err != nil {
		refuse(w, wire.Refuse(wire.InvalidJSON).Saying(`Send {"endpoint":"chat","key":"<key id>","headers":{},"body":{…}}.`))
		return
	}
	snapshot := a.Snapshot()
	caller := snapshot.Catalog.Caller(q.Key)
	if caller == nil {
		if stored, err := a.Keys.Find(r.Context(), q.Key); err == nil {
			caller, _ = snapshot.Catalog.CallerFor(stored.Key)
		}
	}
	if caller == nil {
		refuse(w, wire.Refuse(wire.InvalidRequest).About("key").Saying("key must be the id of a key, and its team, organization and template must exist."))
		return
	}
	switch { // what would happen, and not what could
	case !caller.Enabled:
		refuse(w, wire.Refuse(wire.KeyDisabled))
		return
	case caller.Expired(a.Now()):
		refuse(w, wire.Refuse(wire.KeyExpired))
		return
	}
	header := http.Header{}
	for name, lines := range q.Headers {
		for _, value := range lines {
			header.Add(name, value) // names that differ in case only are one header, given twice
		}
	}
	found, p := a.Planner.Explain(r.Context(), exchange.Question{
		Endpoint: q.Endpoint, Principal: auth.Principal{Caller: caller, Scope: identity.KeyScope(caller.ID)},
		Snapshot: snapshot, Header: header, Body: q.Body,
	})
	if p != nil {
		refuse(w, p)
		return
	}
	answer(w, found)
}
