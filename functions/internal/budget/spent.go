package budget

import (
	"context"
	"time"

	"holdfast/affinity/store"
	"holdfast/routing/catalog"
)

// Spent is how much of a budget is used up in the period that runs.
type Spent struct {
	Window   Window
	Booked   int64 // billionths of a US dollar
	Reserved int64 // by requests in flight, or by such as have died lately
}

// Spending reads what is used up of the budgets of some allowances, in their
// order; nil where one has no budget. It is what the next request is judged by.
// It makes a round trip for each 25 counters.
func Spending(ctx context.Context, s store.Store, of []catalog.Allowance, now time.Time) ([]*Spent, error) {
	all := make([]*Spent, len(of))
	var accounts []Account
	var places []int
	var keys []store.Key
	read := func() error {
		handles, err := s.Read(ctx, keys...)
		if err != nil {
			return err
		}
		for i, a := range accounts {
			n := len(a.Keys())
			sums := store.Sum(handles[:n]...)
			handles = handles[n:]
			all[places[i]] = &Spent{Window: a.Window, Booked: sums[money], Reserved: a.live(sums, now)}
		}
		accounts, places, keys = nil, nil, nil
		return nil
	}
	for i, allowance := range of {
		if allowance.Budget == nil {
			continue
		}
		a := moneyOf(allowance, now)
		if len(keys)+len(a.Keys()) > store.MaxReadKeys {
			if err := read(); err != nil {
				return nil, err
			}
		}
		accounts, places, keys = append(accounts, a), append(places, i), append(keys, a.Keys()...)
	}
	if len(keys) == 0 {
		return all, nil
	}
	return all, read()
}
