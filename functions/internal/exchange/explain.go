package exchange

import (
	"context"
	"net/http"
	"net/url"

	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/wire"
	"holdfast/routing"
)

// Question is a request that is to be planned and not sent.
type Question struct {
	Endpoint  string
	Principal auth.Principal
	Snapshot  *Snapshot
	Header    http.Header
	Body      []byte
}

// Explanation is how a request would be served, and why.
type Explanation struct {
	Session struct {
		ID     string `json:"session_id,omitempty"` // scoped: no caller's raw id
		Source string `json:"session_source,omitempty"`
		Signal string `json:"session_signal,omitempty"`
		Lane   bool   `json:"lane,omitempty"` // it is a sub-agent's
	} `json:"session"`
	Affinity string `json:"affinity"` // what an answer would say
	Revision string `json:"revision"` // of the preference record; "" for none
	routing.Explanation
}

// Explain plans a request under the current configuration, reading what an
// exchange reads, writing nothing and calling nobody.
func (x *Exchange) Explain(ctx context.Context, q Question) (Explanation, *wire.Problem) {
	known, serves := x.codecs[q.Endpoint]
	if !serves {
		return Explanation{}, wire.Refuse(wire.InvalidRequest).About("endpoint").Saying("endpoint must be chat, responses or messages.")
	}
	e := &exchange{Exchange: x, codec: known,
		http: &http.Request{Method: http.MethodPost, Header: q.Header, URL: &url.URL{}},
		in:   Request{Endpoint: q.Endpoint, Principal: q.Principal, Snapshot: q.Snapshot, Body: q.Body, ID: "explain", Start: x.Now()},
	}
	var p *wire.Problem
	if e.facts, p = wire.Inspect(q.Endpoint, q.Body); p != nil {
		return Explanation{}, p
	}
	if p = e.look(ctx); p != nil {
		return Explanation{}, p
	}
	e.route(ctx)
	found := Explanation{Affinity: string(e.plan.Foreseen(e.first())), Revision: e.plan.Revision(), Explanation: e.decision.Explain()}
	found.Session.Source, found.Session.Signal = string(e.session.Source), e.session.Signal
	found.Session.Lane = e.session.Lane != ""
	if e.session.ID != "" {
		found.Session.ID = "scoped-" + e.Hash("session", e.in.Principal.Scope.String(), e.session.ID)
	}
	return found, nil
}
