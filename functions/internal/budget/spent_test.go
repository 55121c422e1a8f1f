package budget_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/affinity/store"
	"holdfast/functions/internal/budget"
	"holdfast/routing/catalog"
)

// reads counts the round trips that read.
type reads struct {
	store.Store
	count int
	err   error
}

func (r *reads) Read(ctx context.Context, keys ...store.Key) ([]store.Handle, error) {
	r.count++
	if r.err != nil {
		return nil, r.err
	}
	return r.Store.Read(ctx, keys...)
}

// What is spent is told for each budget in its place, with what is reserved
// apart, by as few round trips as the keys allow.
func TestSpending(t *testing.T) {
	now := noon
	s := &reads{Store: memory(&now)}
	var all []catalog.Allowance
	for i := range 30 {
		of := catalog.Allowance{Level: catalog.FromTeam, ID: fmt.Sprint("team-", i), Budget: &catalog.Budget{USD: 5, Period: budget.Daily}}
		if i%10 == 3 {
			of.Budget = nil
		}
		all = append(all, of)
		if err := budget.Book(t.Context(), s, &catalog.Caller{Allowances: []catalog.Allowance{of}}, budget.Amount{Nanos: int64(i) * 1e6}, now, uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	strict := catalog.Allowance{Level: catalog.FromKey, ID: "k", Budget: &catalog.Budget{USD: 5, Period: budget.Weekly, Strict: true}}
	all = append(all, strict)
	held := budget.Strict(budget.Accounts(&catalog.Caller{Allowances: []catalog.Allowance{strict}}, now))
	if _, excess, err := budget.Reserve(t.Context(), s, held, []map[string]int64{nil}, budget.Amount{Nanos: 7e8}, now, now.Add(time.Minute)); excess != nil || err != nil {
		t.Fatal(excess, err)
	}
	s.count = 0
	spent, err := budget.Spending(t.Context(), s, all, now)
	if err != nil || len(spent) != len(all) || s.count != 3 { // 27 teams of two records and a key, 25 records a trip
		t.Fatalf("%d of %d by %d round trips, %v", len(spent), len(all), s.count, err)
	}
	for i, one := range spent {
		switch {
		case all[i].Budget == nil:
			if one != nil {
				t.Errorf("%s has no budget and %+v", all[i].ID, one)
			}
		case i == 30:
			if one.Booked != 0 || one.Reserved != 7e8 || one.Window.End.Weekday() != time.Monday {
				t.Errorf("the key: %+v", one)
			}
		case one.Booked != int64(i)*1e6 || one.Reserved != 0 || !one.Window.End.Equal(noon.Add(12*time.Hour)):
			t.Errorf("%s: %+v", all[i].ID, one)
		}
	}
	now = now.Add(8 * 24 * time.Hour) // another week: nothing is spent, nothing held
	if spent, err = budget.Spending(t.Context(), s, all[29:], now); err != nil || spent[0].Booked != 0 || spent[1].Reserved != 0 {
		t.Errorf("a week later: %+v %+v %v", spent[0], spent[1], err)
	}
	if spent, err = budget.Spending(t.Context(), s, []catalog.Allowance{{ID: "none"}}, now); err != nil || len(spent) != 1 || spent[0] != nil {
		t.Errorf("without budgets: %v %v", spent, err)
	}
	s.err = store.ErrUnavailable
	if _, err = budget.Spending(t.Context(), s, all, now); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the store is away: %v", err)
	}
}
