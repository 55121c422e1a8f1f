package exchange

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdfast/affinity"
	"holdfast/affinity/identity"
	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/responses"
	"holdfast/functions/internal/wire/sse"
	"holdfast/routing"
	"holdfast/routing/catalog"
)

// Operation is what is to be done with a response that was made before.
type Operation uint8

// The operations.
const (
	Retrieve Operation = iota
	Delete
	Cancel
	InputItems
)

// String is the operation's name in logs.
func (o Operation) String() string {
	return [...]string{"retrieve", "delete", "cancel", "input_items"}[o]
}

// errand is the call that asks an owner for it.
func (o Operation) errand(id string) errand {
	q := errand{method: http.MethodGet, path: "/responses/" + url.PathEscape(id), headers: append(openAIHeaders(), "Accept"), safe: true}
	switch o {
	case Delete:
		q.method = http.MethodDelete
	case Cancel:
		q.method, q.path = http.MethodPost, q.path+"/cancel"
	case InputItems:
		q.path += "/input_items"
	}
	return q
}

// inquiry is an exchange about one response.
type inquiry struct {
	*exchange
	id string
	op Operation
}

// Stored does something with a response that this caller had made: at its owner
// and nowhere else, or from our own history where the owner keeps none. Whoever
// does not own it, and whatever the reason, gets the one refusal.
func (x *Exchange) Stored(w http.ResponseWriter, r *http.Request, in Request, id string, op Operation) {
	ctx, leave := attached(r.Context(), false)
	defer leave()
	e := x.errands(w, r, in)
	e.facts.Stream = op == Retrieve && r.URL.Query().Get("stream") == "true"
	e.reply.beat = e.codec.beat
	e.line.Endpoint, e.line.Stream = in.Endpoint+"/"+op.String(), e.facts.Stream
	defer e.settleLater(ctx)
	s := &inquiry{e, id, op}
	if p := s.serve(ctx); p != nil {
		e.turnAway(ctx, p)
	}
}

// serve finds the owner by one read and asks it.
func (s *inquiry) serve(ctx context.Context) *wire.Problem {
	if !askable(s.id) {
		return noResponse()
	}
	owner, p := s.find(ctx)
	if p != nil {
		return p
	}
	s.plan = &affinity.Plan{Owner: &owner}
	s.session = identity.Session{ID: owner.Session, Source: identity.Inherited, Lane: owner.Lane}
	s.facts.Model, s.line.Model = owner.Model, owner.Model
	s.describe()
	if !owner.Native {
		return s.ours(ctx, owner)
	}
	target := s.holder(owner)
	if target == nil {
		return wire.Refuse(wire.ContinuationUnavailable)
	}
	s.serving = routing.Candidate{Target: target, Pool: target.Model, Pinned: true}
	s.planned = s.serving
	return s.theirs(ctx)
}

// noResponse is the one refusal for whoever does not own a response.
func noResponse() *wire.Problem {
	return wire.Refuse(wire.PreviousResponseNotFound).About("previous_response_id")
}

// askable reports whether an id can be one of a response, and stands for itself
// in a path.
func askable(id string) bool {
	if id == "" || len(id) > wire.MaxResponseIDBytes || id == "." || id == ".." {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f && r <= 0x9f || r == '/' || r == '\\' }) < 0
}

// find reads who made the response, under the configuration that is in force.
func (s *inquiry) find(ctx context.Context) (affinity.Owner, *wire.Problem) {
	for range maxRevisions {
		var err error
		s.plan, err = s.Affinity.Plan(ctx, affinity.Request{
			Scope: s.in.Principal.Scope, Endpoint: s.in.Endpoint, Off: true,
			Bindings: []affinity.Reference{{Kind: affinity.Response, ID: s.id}}, Also: s.Configuration.Keys(),
		})
		if err != nil {
			s.plan = nil
			return affinity.Owner{}, refusal(err)
		}
		newer, unread := s.newer(ctx)
		switch {
		case unread != nil:
			return affinity.Owner{}, wire.Refuse(wire.ConfigurationUnavailable)
		case newer != nil:
			s.in.Snapshot = newer
			if p := s.again(ctx); p != nil {
				return affinity.Owner{}, p
			}
			continue
		}
		if bound := s.plan.Bound()[0]; bound.Found {
			return bound.Owner, nil
		}
		s.plan = nil
		return affinity.Owner{}, noResponse()
	}
	return affinity.Owner{}, wire.Refuse(wire.ConfigurationUnavailable)
}

// holder is the deployment that can be asked about a response: its creator, as
// long as that is still the same one, else another of the same account, where
// the provider's own id is as good.
func (s *inquiry) holder(o affinity.Owner) *catalog.Target {
	c := s.in.Snapshot.Catalog
	t := c.Deployment(o.Deployment)
	if t != nil && t.Enabled && t.Protocol == catalog.Responses && o.SameOrigin(t.Account.ID, t.BaseURL, t.Account.Boundary) {
		return t
	}
	pools := c.Public()
	if p := c.Pool(o.Model); p != nil {
		pools = append([]*catalog.Pool{p}, pools...)
	}
	for _, p := range pools {
		for _, t := range p.Deployments {
			if t.ID != o.Deployment && t.Enabled && t.Protocol == catalog.Responses && o.SameAccount(t.Account.Boundary) {
				return t
			}
		}
	}
	return nil
}

// ours serves a response that only the gateway keeps.
func (s *inquiry) ours(ctx context.Context, o affinity.Owner) *wire.Problem {
	switch {
	case s.op == Cancel:
		return wire.Refuse(wire.InvalidRequest).Saying("Only a response in the background can be cancelled. This one is complete.")
	case s.facts.Stream:
		return wire.Refuse(wire.InvalidRequest).About("stream").Saying("Only a response in the background can be streamed again. Ask for it without stream.")
	case s.op == Delete:
		return s.forget(ctx)
	}
	turn, err := s.Affinity.Turn(ctx, o)
	if err != nil {
		return s.unread(err)
	}
	if s.op == Retrieve {
		body, p := s.inspectAnswer(turn.Output)
		if p == nil {
			s.answer(body, nil)
		}
		return p
	}
	page, p := s.page()
	if p == nil {
		s.answer(responses.List(s.id, turn.Input, page), nil)
	}
	return p
}

// unread is why something of our own cannot be shown.
func (s *inquiry) unread(err error) *wire.Problem {
	if errors.Is(err, affinity.ErrNotFound) {
		return noResponse()
	}
	return refusal(err)
}

// forget removes the response from our history and answers as the protocol does.
func (s *inquiry) forget(ctx context.Context) *wire.Problem {
	if err := s.Affinity.Forget(ctx, s.in.Principal.Scope, s.id); err != nil && !errors.Is(err, affinity.ErrNotFound) {
		return refusal(err)
	}
	s.answer(responses.Deleted(s.id), nil)
	return nil
}

// page reads which items are asked for.
func (s *inquiry) page() (responses.Page, *wire.Problem) {
	query := s.http.URL.Query()
	page := responses.Page{Ascending: query.Get("order") == "asc", After: query.Get("after"), Limit: 20}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			return page, wire.Refuse(wire.InvalidRequest).About("limit").Saying("limit must be a number from 1 to 100.")
		}
		page.Limit = n
	}
	return page, nil
}

// theirs asks the owner.
func (s *inquiry) theirs(ctx context.Context) *wire.Problem {
	q := s.op.errand(s.id)
	q.query = s.http.URL.RawQuery
	answer, t := s.send(ctx, q)
	if answer == nil {
		return s.missed(ctx, t)
	}
	defer answer.Body.Close()
	if !s.facts.Stream {
		return s.read(ctx, answer)
	}
	events := sse.NewReader(answer.Body, 0)
	if !isStream(answer.Header) && onePiece(events.First(), answer.Header) {
		answer.Body = begun{events.Rest(), answer.Body}
		return s.read(ctx, answer)
	}
	return s.resume(answer, events)
}

// missed tells the client why the owner has not answered. One that no longer
// knows the response is like one that never did; to a client that deletes it,
// that is what was asked for.
func (s *inquiry) missed(ctx context.Context, t tried) *wire.Problem {
	switch {
	case t.status == http.StatusNotFound && s.op == Delete:
		return s.forget(ctx)
	case t.status == http.StatusNotFound:
		return noResponse()
	}
	s.undone(t)
	return nil
}

// read passes a whole answer on.
func (s *inquiry) read(ctx context.Context, from *upstream.Response) *wire.Problem {
	body, err := readAnswer(from)
	if err != nil {
		if ctx.Err() != nil && ended(ctx) == routing.Cancelled {
			s.left()
		}
		return wire.Refuse(wire.UpstreamFailed)
	}
	if jsonedit.Whole(body).Kind() != '{' {
		return wire.Refuse(wire.UpstreamFailed)
	}
	if s.op == Delete {
		if err := s.Affinity.Forget(ctx, s.in.Principal.Scope, s.id); err != nil && !errors.Is(err, affinity.ErrNotFound) {
			return refusal(err)
		}
	}
	if s.op == Retrieve || s.op == Cancel {
		background, said := jsonedit.Read(body).Get("background").Bool()
		if answer, err := responses.ReadResponse(body, counting(s.serving.Target)); err == nil && (background || !said) {
			s.seen(answer)
		}
	}
	body, p := s.inspectAnswer(new(responses.Teller).Body(body))
	if p == nil {
		s.answer(body, from.Header)
	}
	return p
}

// answer sends a JSON answer; from are the provider's headers, if it is one's.
func (s *inquiry) answer(body []byte, from http.Header) {
	s.line.Status, s.line.FirstByte = http.StatusOK, s.Now().Sub(s.in.Start)
	_ = s.reply.body(body, http.StatusOK, func(h http.Header) {
		pass(from)(h)
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", strconv.Itoa(len(body)))
	})
}
