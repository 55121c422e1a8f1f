package affinity

import (
	"context"
	"errors"

	"holdfast/affinity/store"
)

// Commit is what a Plan.Commit did.
type Commit uint8

const (
	Nothing   Commit = iota // there was nothing to write: no scope, generated, off, continuation, spilled, degraded
	Committed               // a different record was written
	Renewed                 // the same target was written again, with a fresh lifetime
	Stale                   // a newer record stands; nothing was written or renewed
)

// String returns the word for logs and usage events.
func (c Commit) String() string {
	switch c {
	case Committed:
		return "committed"
	case Renewed:
		return "renewed"
	case Stale:
		return "stale"
	}
	return "nothing"
}

// Spill says that the preferred deployment was passed over only for being at
// its own configured limit: the preference is then neither moved nor renewed by
// whoever else serves this exchange.
func (p *Plan) Spill() { p.spilled = true }

// Changes reports whether Commit would write a different record. Such a commit
// must be durable before the client sees the end of its answer, since the next
// turn may already be on its way to another process; a mere renewal may follow.
func (p *Plan) Changes(served Target) bool {
	return p.commits(served) && p.known && (p.held == nil || !p.held.same(served))
}

// Commit records, after success only, what actually served: it compares with
// the record that this exchange read or claimed, and writes a new revision with
// a fresh lifetime. Where another record stands it writes and renews nothing,
// so that a late success never undoes a newer switch; a mere renewal of what was
// read is no switch, and does not keep a move from being made. A record that merely
// lapsed while the exchange ran, and was replaced by nobody, is written anew.
//
// While the store has not answered this exchange only this process's own memory
// is kept up to date. An error is the store's; with store.ErrUnknown the record
// may or may not have been written. It never concerns the answer to the client.
func (p *Plan) Commit(ctx context.Context, served Target) (Commit, error) {
	if !p.commits(served) {
		return Nothing, nil
	}
	if !p.known {
		p.remember(served)
		return Nothing, nil
	}
	done, chosen := Renewed, p.chosen
	if p.Changes(served) {
		done, chosen = Committed, p.state.choice()
	}
	h, err := p.swap(ctx, p.handle, served, chosen)
	for range renewalTries {
		if done == Renewed || !errors.Is(err, store.ErrConflict) || !p.renewedOnly(h) {
			break
		}
		h, err = p.swap(ctx, h, served, chosen)
	}
	if errors.Is(err, store.ErrConflict) && p.lapsed(h) {
		done = Committed
		h, err = p.swap(ctx, h, served, p.state.choice())
	}
	switch {
	case err == nil:
		p.handle = h
		p.remember(served)
		return done, nil
	case errors.Is(err, store.ErrConflict):
		p.follow(h)
		return Stale, nil
	}
	p.remember(served)
	return Nothing, err
}

// commits reports whether a success by served is this exchange's to record.
func (p *Plan) commits(served Target) bool {
	return p.tracked && p.Owner == nil && served.Deployment != "" && !p.overflows(served)
}

// overflows reports whether served only stands in for a preference at its limit.
func (p *Plan) overflows(served Target) bool {
	holder := p.held
	if holder == nil {
		holder = p.Preference // this process's own memory, while degraded
	}
	return p.spilled && holder != nil && holder.Deployment != served.Deployment
}

// renewalTries bounds how often one move meets a record that was renewed
// meanwhile: by turns of the session that ended while this one failed over.
const renewalTries = 4

// renewedOnly reports whether the record that stands is the one compared with,
// renewed since. Nobody has switched, so a move may still be made: what it read
// of the old target is newer than the success that renewed it.
func (p *Plan) renewedOnly(current store.Handle) bool {
	record, live := current.Record()
	if !live || p.chosen == "" {
		return false
	}
	_, chosen, ok := p.state.decodePreference(record.Value)
	return ok && chosen == p.chosen
}

// lapsed reports whether the record compared with has expired meanwhile and
// nothing stands in its place. One that was cleared before its time is left
// alone, as is one that was replaced.
func (p *Plan) lapsed(current store.Handle) bool {
	return current.Revision() == "" && !p.expires.IsZero() && !p.expires.After(p.state.now())
}

// remember keeps what worked in this process's own memory.
func (p *Plan) remember(served Target) {
	p.state.local.put(p.tuple(), served, p.state.expiry(served.TTL, p.state.ttl))
}
