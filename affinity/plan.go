package affinity

import (
	"context"
	"errors"
	"time"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
)

// Reference names an account-bound thing that a request mentions.
type Reference struct {
	Kind Kind
	ID   string // empty with Ciphertext: this request's own session, unless inherited from a parent
}

// Request is what a Plan is made from.
type Request struct {
	Scope    identity.Scope   // zero: no trusted caller; identity only
	Signals  identity.Signals // as read from the request before any translation
	Model    string           // the requested model or group by its configured name, aliases resolved
	Endpoint string           // the route by which the request came in
	Off      bool             // affinity is off: plan as if new, write no preference
	Bindings []Reference      // account-bound things whose owners are needed, read in the same trip
	Also     []store.Key      // records that the caller wants from the same trip; 25 keys in all
}

// Bound is the answer to one Reference.
type Bound struct {
	Owner Owner
	Found bool
}

// Plan is what is known about one exchange before any upstream is contacted. It
// belongs to that exchange and is not safe for concurrent use.
type Plan struct {
	Session    identity.Session
	Preference *Target // where the session last succeeded: a wish, to be validated; nil without one
	Owner      *Owner  // set on a continuation: the only candidate, no claim, no fallback, no move
	Degraded   bool    // the store failed: plan by Seed; Preference is this process's own memory
	Reason     Reason  // why Degraded, for logs and counters
	Cause      error   // the store's error behind Reason

	state           *State
	scope           identity.Scope
	model, endpoint string
	off, spilled    bool
	tracked         bool     // this exchange has a preference record to look up and write
	seed            [32]byte // over the preference's range
	seeded          bool

	// The record this exchange compares with: as Plan read it, or as a Claim
	// wrote or lost it. Invalid while the store has not answered.
	handle  store.Handle
	known   bool
	held    *Target   // what that record says; nil: absent, or not readable
	chosen  string    // the switch that chose held; renewals do not change it
	expires time.Time // when it lapses; zero: never, or absent
	mine    bool      // it is this exchange's own claim

	bound  []Bound
	also   []store.Handle
	looked bool // the store has answered
}

// Plan finds the session and, by one store read, either the preference or, with
// a previous response, its owner; Request.Bindings and Request.Also ride along.
//
// The Plan is never nil: beside an error its Also handles are what was read, so
// that a caller can judge the key before the identity. Errors: *identity.Error;
// ErrParentNotFound; ErrOwnershipUnavailable where the store failed and an
// owner is needed; the context's error; store.ErrInvalid for too many keys. Any
// other store failure makes the Plan Degraded instead.
func (s *State) Plan(ctx context.Context, r Request) (*Plan, error) {
	p := &Plan{state: s, scope: r.Scope, model: r.Model, endpoint: r.Endpoint, off: r.Off}
	parent := r.Signals.ParentResponse
	var refusal error
	switch {
	case parent == "":
		p.Session, refusal = r.Signals.Session(nil)
	case r.Scope.IsZero():
		refusal = ErrParentNotFound // nobody owns what nobody asked for
	}
	keys := p.keys(r, refusal)
	handles, err := s.read(ctx, keys)
	if err != nil {
		p.also = absentAll(r.Also)
		return p, p.withoutStore(ctx, r, refusal, err)
	}
	p.also, p.looked = handles[len(handles)-len(r.Also):], true
	if refusal != nil {
		return p, refusal
	}
	p.bound = s.decodeBound(handles[len(keys)-len(r.Also)-len(r.Bindings):][:len(r.Bindings)])
	if parent != "" {
		return p, p.continueFrom(handles[0], r.Signals)
	}
	if p.tracked {
		p.hold(handles[0], false)
		p.Preference = p.held
	}
	return p, nil
}

// keys lists what to read, in the order: preference or owner, bindings, also. A
// refused request reads the caller's own keys only.
func (p *Plan) keys(r Request, refusal error) []store.Key {
	if refusal != nil {
		return r.Also
	}
	keys := make([]store.Key, 0, 1+len(r.Bindings)+len(r.Also))
	switch {
	case r.Signals.ParentResponse != "":
		keys = append(keys, ownerKey(r.Scope, Response, r.Signals.ParentResponse))
	case p.follows():
		p.tracked = true
		keys = append(keys, preferenceKey(r.Scope, p.Session, r.Model, r.Endpoint))
	}
	for _, ref := range r.Bindings {
		keys = append(keys, p.bindingKey(ref))
	}
	return append(keys, r.Also...)
}

// follows reports whether this exchange has a preference at all. A generated id
// is new by construction: there is nothing to look up, and nobody will come back
// for what would be written.
func (p *Plan) follows() bool {
	return !p.off && !p.scope.IsZero() && p.Session.ID != "" && p.Session.Source != identity.Generated
}

func (p *Plan) bindingKey(ref Reference) store.Key {
	if ref.Kind == Ciphertext && ref.ID == "" {
		ref.ID = p.Session.ID
	}
	return ownerKey(p.scope, ref.Kind, ref.ID)
}

// read asks the store once, and not at all for nothing.
func (s *State) read(ctx context.Context, keys []store.Key) ([]store.Handle, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return s.store.Read(ctx, keys...)
}

// withoutStore decides what a failed read means. It is never a miss.
func (p *Plan) withoutStore(ctx context.Context, r Request, refusal, cause error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(cause, store.ErrInvalid):
		return cause
	case refusal != nil:
		return refusal
	case r.Signals.ParentResponse != "" || len(r.Bindings) > 0:
		return unavailable(cause)
	}
	p.degrade(cause)
	if p.tracked {
		if t, ok := p.state.local.get(p.tuple(), p.state.now()); ok {
			p.Preference = &t
		}
	}
	return nil
}

// continueFrom makes this a continuation of the response whose owner was read.
func (p *Plan) continueFrom(h store.Handle, signals identity.Signals) error {
	owner, ok := p.state.decodeOwner(h)
	if !ok || owner.Model != p.model || owner.Endpoint != p.endpoint || !owner.continuable() {
		return ErrParentNotFound
	}
	session, err := signals.Session(&identity.Parent{Session: owner.Session})
	if err != nil {
		return err
	}
	p.Session, p.Owner = session, &owner
	return nil
}

// hold takes a record as the one to compare with from now on.
func (p *Plan) hold(h store.Handle, mine bool) {
	p.handle, p.known, p.mine = h, true, mine
	p.held, p.chosen, p.expires = p.follow(h)
}

// follow reads a record and lets this process's own memory follow it. The
// target is nil where there is none to follow.
func (p *Plan) follow(h store.Handle) (t *Target, chosen string, expires time.Time) {
	record, live := h.Record()
	if live {
		if found, by, ok := p.state.decodePreference(record.Value); ok {
			p.state.local.put(p.tuple(), found, record.Expires)
			return &found, by, record.Expires
		}
	}
	p.state.local.drop(p.tuple())
	return nil, "", record.Expires
}

// Require turns this exchange into one that only the given owner may serve:
// for account-bound references other than a previous response. Nothing is
// claimed or committed for it.
func (p *Plan) Require(o Owner) { p.Owner = &o }

// Bound returns the owners of Request.Bindings, in their order. Whether an
// unknown one is a refusal is the caller's to say.
func (p *Plan) Bound() []Bound { return p.bound }

// Also returns the handles of Request.Also, in their order. Where the store
// failed they are those of absent records.
func (p *Plan) Also() []store.Handle { return p.also }

// Looked reports whether the store has answered: only then do absent records of
// Also say that there are none.
func (p *Plan) Looked() bool { return p.looked }

// Revision marks the preference record that this exchange compares with; ""
// where there is no live one. For explanations.
func (p *Plan) Revision() string { return p.handle.Revision() }

// SessionKey names the session's preference records, for Preferences. It tells
// nothing of the session; "" without scope or session.
func (p *Plan) SessionKey() string {
	if p.scope.IsZero() || p.Session.ID == "" {
		return ""
	}
	if p.known { // its preference was read
		return partitionKey(p.handle.Key().Partition)
	}
	return SessionKey(p.scope, p.Session.ID)
}

// Seed returns the 32 bytes that rendezvous hashing starts from: equal in every
// process for the same scope, session, lane, model and endpoint, so that two
// racing first turns agree before they claim, and processes agree while the
// store is down. Random, but constant within the Plan, where affinity is off or
// there is no session; a generated session's seed is random as its id is.
func (p *Plan) Seed() []byte {
	if p.off || p.Session.ID == "" {
		if !p.seeded {
			a, b := p.state.nonce(), p.state.nonce()
			copy(p.seed[:16], a[:])
			copy(p.seed[16:], b[:])
			p.seeded = true
		}
		return p.seed[:]
	}
	p.tuple()
	return p.seed[:]
}

// tuple is the hash of the preference's range.
func (p *Plan) tuple() [32]byte {
	if !p.seeded {
		p.seed = identity.Hash("preference", p.scope.String(), p.Session.ID, p.Session.Lane, p.model, p.endpoint)
		p.seeded = true
	}
	return p.seed
}

func absentAll(keys []store.Key) []store.Handle {
	handles := make([]store.Handle, len(keys))
	for i, key := range keys {
		handles[i] = absent(key)
	}
	return handles
}
