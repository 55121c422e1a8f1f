package affinity

import (
	"context"
	"errors"

	"holdfast/affinity/store"
)

// Word is the value of the X-Holdfast-Affinity response header.
type Word string

// The words.
const (
	WordNew      Word = "new"      // nothing was written: no scope, or a generated session
	WordClaimed  Word = "claimed"  // this exchange's own claim served
	WordHit      Word = "hit"      // an existing record, or another's claim, served
	WordMoved    Word = "moved"    // another target served and is committed
	WordSpilled  Word = "spilled"  // the preferred deployment was at its own limit; its record stays
	WordRequired Word = "required" // only the owner could serve
	WordDegraded Word = "degraded" // the store failed before the call
	WordOff      Word = "off"      // affinity was off for this exchange
)

// Outcome names what became of the session's affinity once served is final; it
// may be asked before Commit, since headers leave first. For an exchange that
// failed, ask with the first planned target, or with the zero Target where there
// was none: the word then says what was planned.
func (p *Plan) Outcome(served Target) Word {
	switch {
	case p.Owner != nil:
		return WordRequired
	case p.off:
		return WordOff
	case p.Degraded:
		return WordDegraded
	case p.held == nil:
		return WordNew
	case served.Deployment != "" && served.Deployment != p.held.Deployment:
		if p.spilled {
			return WordSpilled
		}
		return WordMoved
	case p.mine:
		return WordClaimed
	}
	return WordHit
}

// Foreseen is the Outcome that an exchange would have which claims for served, where
// it may claim at all: for who plans an exchange without running it.
func (p *Plan) Foreseen(served Target) Word {
	word := p.Outcome(served)
	if word == WordNew && served.Deployment != "" && p.claimable() {
		return WordClaimed
	}
	return word
}

// Reason says why an exchange is degraded: few values, fit for a metric.
type Reason string

// The reasons.
const (
	ReasonTimeout     Reason = "timeout"     // the store did not answer in time
	ReasonUnavailable Reason = "unavailable" // the store refused or was not asked
	ReasonUnknown     Reason = "unknown"     // the end of a write could not be told
	ReasonFull        Reason = "full"        // the store's stated cap is reached
	ReasonContention  Reason = "contention"  // the record kept changing under the claim
	ReasonOther       Reason = "other"
)

func reasonOf(err error) Reason {
	switch {
	case errors.Is(err, store.ErrUnknown):
		return ReasonUnknown
	case errors.Is(err, context.DeadlineExceeded):
		return ReasonTimeout
	case errors.Is(err, store.ErrUnavailable):
		return ReasonUnavailable
	case errors.Is(err, store.ErrFull):
		return ReasonFull
	case errors.Is(err, store.ErrConflict):
		return ReasonContention
	}
	return ReasonOther
}

// degrade lets the exchange go on without the store.
func (p *Plan) degrade(cause error) {
	p.Degraded, p.Reason, p.Cause = true, reasonOf(cause), cause
}
