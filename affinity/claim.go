package affinity

import (
	"context"
	"encoding/hex"
	"errors"

	"holdfast/affinity/store"
)

// claimTries bounds how often one Claim meets a record that vanishes again
// between the conflict and the next write.
const claimTries = 3

// Claim reserves the preference for candidate before the first call, by one
// conditional write, and returns whom to follow: candidate, or the winner of a
// race that was lost.
//
// Who follows a winner validates it by the same eligibility as any candidate; a
// second Claim replaces an ineligible winner by comparing with it, and may in
// turn meet a newer one. Where Plan read a live preference, or a claim of this
// exchange already stands, nothing is written: Commit moves such a record after
// success. Without a preference to write (no scope, generated, off,
// continuation, degraded) it returns candidate.
//
// A store that fails never blocks the exchange: the Plan becomes Degraded and
// candidate is returned. Whether an unknown write took place is then decided by
// Commit, which still compares with what Plan read. The only error is the
// context's.
func (p *Plan) Claim(ctx context.Context, candidate Target) (Target, error) {
	if !p.claimable() {
		return candidate, nil
	}
	cause := store.ErrConflict
	for range claimTries {
		h, err := p.swap(ctx, p.handle, candidate, p.state.choice())
		if err == nil {
			p.hold(h, true)
			return candidate, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			cause = err
			break
		}
		p.hold(h, false)
		if p.held != nil {
			return *p.held, nil
		}
	}
	if ctx.Err() != nil {
		return candidate, ctx.Err()
	}
	p.degrade(cause)
	return candidate, nil
}

func (p *Plan) claimable() bool {
	return p.tracked && p.known && p.Owner == nil && p.Preference == nil && !p.mine && !p.Degraded
}

// swap writes a target where the record is still as h saw it.
func (p *Plan) swap(ctx context.Context, h store.Handle, t Target, chosen string) (store.Handle, error) {
	return p.state.store.Swap(ctx, h, store.Record{
		Value:   encodePreference(t, p.endpoint, chosen),
		Expires: p.state.expiry(t.TTL, p.state.ttl),
	})
}

// choice marks one claim or move, so that a renewal of it can be told from
// another switch, even one to the same target.
func (s *State) choice() string {
	n := s.nonce()
	return hex.EncodeToString(n[:8])
}
