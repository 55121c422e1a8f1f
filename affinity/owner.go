package affinity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

// Owner is who made an account-bound thing. It is binding, not a wish, and does
// not change when the session's preference moves.
type Owner struct {
	Model      string    `json:"model,omitzero"`      // the requested model or group, by its configured name
	Endpoint   string    `json:"endpoint,omitzero"`   // the route by which the request came in
	Deployment string    `json:"deployment"`          // who made it
	Connection string    `json:"connection,omitzero"` // over which account
	BaseURL    string    `json:"base_url,omitzero"`   // of that connection at the time
	Boundary   string    `json:"boundary,omitzero"`   // within which the id stays valid
	Session    string    `json:"session,omitzero"`    // inherited by a continuation
	Lane       string    `json:"lane,omitzero"`
	Created    time.Time `json:"created,omitzero"` // zero on Publish, Bind and CreateTask: now
	Native     bool      `json:"native,omitzero"`  // the id is the provider's own: its account can continue from it
	Stored     bool      `json:"stored,omitzero"`  // the turn's content is in our history; set by Publish

	place place // where that content lies
}

// SameOrigin reports whether a connection, as configured now, is the creator's:
// one whose base URL or boundary has changed since is another creator.
func (o Owner) SameOrigin(connection, baseURL, boundary string) bool {
	return o.Connection == connection && o.BaseURL == baseURL && o.Boundary == boundary
}

// SameAccount reports whether another deployment in this boundary may stand in
// for an unusable creator: only for an id of the provider's own, which is valid
// in the whole account.
func (o Owner) SameAccount(boundary string) bool {
	return o.Native && o.Boundary != "" && o.Boundary == boundary
}

// Restorable reports whether the whole chain up to this response is in our
// history.
func (o Owner) Restorable() bool { return o.Stored && o.place.Whole }

// Content names the stored turn of the response: equal for all items of one
// answer, "" where no content is kept.
func (o Owner) Content() string {
	if !o.Stored {
		return ""
	}
	return o.place.Partition + "/" + o.place.Link
}

// continuable reports whether anybody can continue from this response: its
// account, or the gateway from its history.
func (o Owner) continuable() bool { return o.Native || o.Restorable() }

// ownership is the stored form of an Owner.
type ownership struct {
	Owner
	Place place `json:"place,omitzero"`
}

func encodeOwner(o Owner) []byte { return encode(ownership{Owner: o, Place: o.place}) }

func (s *State) decodeOwner(h store.Handle) (Owner, bool) {
	record, live := h.Record()
	if !live {
		return Owner{}, false
	}
	var o ownership
	if err := json.Unmarshal(record.Value, &o); err != nil || o.Deployment == "" {
		s.log.Warn("affinity: an ownership record cannot be read")
		return Owner{}, false
	}
	o.Owner.place = o.Place
	return o.Owner, true
}

func (s *State) decodeBound(handles []store.Handle) []Bound {
	bound := make([]Bound, len(handles))
	for i, h := range handles {
		bound[i].Owner, bound[i].Found = s.decodeOwner(h)
	}
	return bound
}

// Owner returns who made a response: for retrieve, cancel and delete, which need
// only the id. ErrNotFound, ErrOwnershipUnavailable.
func (s *State) Owner(ctx context.Context, scope identity.Scope, responseID string) (Owner, error) {
	return s.Bound(ctx, scope, Response, responseID)
}

// Bind writes the owner of an account-bound thing, durable on return, for the
// given retention (0: the default, or Forever). A later owner of the same id
// replaces an earlier one: the last success wins. Without a scope or an id
// nothing is written.
func (s *State) Bind(ctx context.Context, scope identity.Scope, kind Kind, id string, o Owner, retention time.Duration) error {
	if scope.IsZero() || id == "" {
		return nil
	}
	if o.Created.IsZero() {
		o.Created = s.now().UTC()
	}
	return s.put(ctx, ownerKey(scope, kind, id), store.Record{
		Value:   encodeOwner(o),
		Expires: s.expiry(retention, s.retention),
	})
}

// Bound returns the owner of an account-bound thing. ErrNotFound where it is
// unknown, expired or another scope's; ErrOwnershipUnavailable.
func (s *State) Bound(ctx context.Context, scope identity.Scope, kind Kind, id string) (Owner, error) {
	o, _, err := s.owned(ctx, scope, kind, id)
	return o, err
}

// BoundAll returns the owners of several things, in their order, by one read for
// each 25 of them: for more than the one read of Plan has room for.
// ErrOwnershipUnavailable.
func (s *State) BoundAll(ctx context.Context, scope identity.Scope, refs []Reference) ([]Bound, error) {
	all := make([]Bound, 0, len(refs))
	if scope.IsZero() {
		return all[:len(refs)], nil
	}
	for some := range slices.Chunk(refs, store.MaxReadKeys) {
		keys := make([]store.Key, len(some))
		for i, ref := range some {
			keys[i] = ownerKey(scope, ref.Kind, ref.ID)
		}
		handles, err := s.store.Read(ctx, keys...)
		if err != nil {
			return nil, unavailable(err)
		}
		all = append(all, s.decodeBound(handles)...)
	}
	return all, nil
}

// Unbind forgets the owner of a thing that was deleted. ErrNotFound,
// ErrOwnershipUnavailable.
func (s *State) Unbind(ctx context.Context, scope identity.Scope, kind Kind, id string) error {
	_, h, err := s.owned(ctx, scope, kind, id)
	if err != nil {
		return err
	}
	return s.remove(ctx, h, anything)
}

// owned reads an ownership record with its handle.
func (s *State) owned(ctx context.Context, scope identity.Scope, kind Kind, id string) (Owner, store.Handle, error) {
	if scope.IsZero() || id == "" {
		return Owner{}, store.Handle{}, ErrNotFound
	}
	handles, err := s.store.Read(ctx, ownerKey(scope, kind, id))
	if err != nil {
		return Owner{}, store.Handle{}, unavailable(err)
	}
	o, ok := s.decodeOwner(handles[0])
	if !ok {
		return Owner{}, handles[0], ErrNotFound
	}
	return o, handles[0], nil
}

// swapTries bounds how often a last-writer-wins write meets a newer record.
const swapTries = 8

// put writes a record whatever stands there, still by compare-and-swap: it
// assumes absence, as is usual for a new id, and on a conflict compares with
// what it was shown.
func (s *State) put(ctx context.Context, key store.Key, r store.Record) error {
	h := absent(key)
	for range swapTries {
		current, err := s.store.Swap(ctx, h, r)
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return unavailable(err)
		}
		h = current
	}
	return unavailable(store.ErrConflict)
}

// anything lets remove delete whatever stands there by now.
func anything(store.Handle) bool { return true }

// remove deletes a record, and whatever has replaced it if that is still meant.
func (s *State) remove(ctx context.Context, h store.Handle, meant func(store.Handle) bool) error {
	for range swapTries {
		if h.Revision() == "" || !meant(h) {
			return nil
		}
		current, err := s.store.Swap(ctx, h, store.Delete())
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return unavailable(err)
		}
		h = current
	}
	return unavailable(store.ErrConflict)
}
