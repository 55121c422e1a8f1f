package budget

import (
	"context"
	"maps"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/affinity/store"
	"holdfast/routing/catalog"
)

// longest is the longest that anybody reserves for, a lagging clock included.
const longest = 35 * time.Minute

// Reservation is what a request holds of strict accounts until it is settled.
type Reservation struct {
	accounts []Account
	estimate Amount
	until    time.Time
}

// Strict are the accounts that are reserved before the call.
func Strict(accounts []Account) []Account {
	var strict []Account
	for _, a := range accounts {
		if a.Strict {
			strict = append(strict, a)
		}
	}
	return strict
}

// Reserve holds an estimate of every strict account, all of them or none, side
// by side in the time of one round trip. Others gives, by account, what was
// booked beside its one counter while it was soft. The reservation lapses after
// until. An error says that it cannot be told whether there is room; what may
// have been reserved lapses.
func Reserve(ctx context.Context, s store.Store, strict []Account, others []map[string]int64, estimate Amount, now, until time.Time) (*Reservation, *Excess, error) {
	if last := now.Add(longest); until.After(last) {
		until = last
	}
	r := &Reservation{estimate: estimate, until: until}
	found := make([]*Excess, len(strict))
	placed := make([]bool, len(strict))
	var all errgroup.Group
	for i, a := range strict {
		all.Go(func() error {
			values, err := s.Add(ctx, a.counter.Key, a.reserve(estimate, now, until), a.keep())
			if err != nil {
				return err
			}
			placed[i] = true
			for name, n := range others[i] {
				values[name] += n
			}
			found[i] = a.judge(a.without(values, estimate, until), estimate, now)
			return nil
		})
	}
	err := all.Wait()
	var worst *Excess
	for i, x := range found {
		if placed[i] {
			r.accounts = append(r.accounts, strict[i])
		}
		worst = Later(worst, x, now)
	}
	if err == nil && worst == nil {
		return r, nil, nil
	}
	r.Settle(context.WithoutCancel(ctx), s, Amount{}, now) // what was placed is given back; what cannot be lapses
	return nil, worst, err
}

// reserve is what is added to hold an estimate. Reservations of others that
// still run are named with nothing added, so that the answer tells them.
func (a Account) reserve(estimate Amount, now, until time.Time) map[string]int64 {
	if a.Period == "" {
		return map[string]int64{requests: estimate.Requests, tokens: estimate.Tokens}
	}
	deltas := map[string]int64{money: 0}
	for span := a.span(now); span <= a.span(now.Add(longest)); span++ {
		deltas[held+strconv.FormatInt(span, 10)] = 0
	}
	deltas[a.hold(until)] = estimate.Nanos
	return deltas
}

// hold names the counter of a reservation.
func (a Account) hold(until time.Time) string { return held + strconv.FormatInt(a.span(until), 10) }

// without takes a reservation out of counters again.
func (a Account) without(values map[string]int64, estimate Amount, until time.Time) map[string]int64 {
	before := maps.Clone(values)
	if a.Period == "" {
		before[requests] -= estimate.Requests
		before[tokens] -= estimate.Tokens
	} else {
		before[a.hold(until)] -= estimate.Nanos
	}
	return before
}

// Settle puts what was used in the place of what was reserved. A minute that is
// over is left alone. It returns the first error; what could not be settled
// lapses.
func (r *Reservation) Settle(ctx context.Context, s store.Store, used Amount, now time.Time) error {
	var all errgroup.Group
	for _, a := range r.accounts {
		deltas := map[string]int64{money: used.Nanos, a.hold(r.until): -r.estimate.Nanos}
		if a.Period == "" {
			if !now.Before(a.Window.End) {
				continue
			}
			deltas = map[string]int64{requests: used.Requests - r.estimate.Requests, tokens: used.Tokens - r.estimate.Tokens}
		}
		all.Go(func() error {
			_, err := s.Add(ctx, a.counter.Key, deltas, a.keep())
			return err
		})
	}
	return all.Wait()
}

// Book counts what was used against a caller's soft accounts, in the windows of
// now. Any n picks the shard. It returns the first error.
func Book(ctx context.Context, s store.Store, caller *catalog.Caller, used Amount, now time.Time, n uint64) error {
	var all errgroup.Group
	for _, a := range Accounts(caller, now) {
		deltas := map[string]int64{requests: used.Requests, tokens: used.Tokens}
		if a.Period != "" {
			deltas = map[string]int64{money: used.Nanos}
		}
		if a.Strict || a.Period != "" && used.Nanos == 0 {
			continue
		}
		all.Go(func() error {
			_, err := s.Add(ctx, a.counter.Shard(n), deltas, a.keep())
			return err
		})
	}
	return all.Wait()
}

// Others are, for each account, the counters of the records beside its own one.
// The handles are those of Account.Keys.
func Others(read []store.Handle) map[string]int64 { return store.Sum(read[1:]...) }
