package admin

import (
	"context"
	"net/http"
	"time"

	"holdfast/functions/internal/budget"
	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// Budgets reads what is used up of budgets, in their order; nil where an
// allowance has none. Errors: the store's.
type Budgets func(context.Context, []catalog.Allowance) ([]*budget.Spent, error)

// spending is how much of a budget is used up in the period that runs, as the
// next request will be judged by it. Money is USD.
type spending struct {
	Spent    float64   `json:"spent_usd"`
	Reserved float64   `json:"reserved_usd"` // by what is in flight, where the budget is strict
	From     time.Time `json:"from"`
	Resets   time.Time `json:"resets"`
}

func spendingOf(s *budget.Spent) spending {
	return spending{Spent: float64(s.Booked) / 1e9, Reserved: float64(s.Reserved) / 1e9, From: s.Window.Start, Resets: s.Window.End}
}

// budgeted is a budget of the document with what is used up of it.
type budgeted struct {
	Level  catalog.Source `json:"level"` // organization, team, key
	ID     string         `json:"id"`
	USD    float64        `json:"usd"`
	Period string         `json:"period"`
	Strict bool           `json:"strict"`
	spending
}

// listBudgets lists the budgets of the document's organizations, teams and keys.
// Those of stored keys stand in the list of keys.
func (a *api) listBudgets(w http.ResponseWriter, r *http.Request) {
	var all []catalog.Allowance
	for _, one := range a.Snapshot().Catalog.Allowances() {
		if one.Budget != nil {
			all = append(all, one)
		}
	}
	all, next, p := cut(r, all, func(one catalog.Allowance) string { return string(one.Level) + "/" + one.ID })
	if p != nil {
		refuse(w, p)
		return
	}
	spent, err := a.Budgets(r.Context(), all)
	if err != nil {
		refuse(w, wire.Refuse(wire.ConfigurationUnavailable).Saying("The budgets cannot be read now. Try again as Retry-After says."))
		return
	}
	entries := make([]budgeted, len(all))
	for i, one := range all {
		entries[i] = budgeted{one.Level, one.ID, one.Budget.USD, one.Budget.Period, one.Budget.Strict, spendingOf(spent[i])}
	}
	answerList(w, r, []string{"level", "id", "usd", "period", "strict", "spent_usd", "reserved_usd", "from", "resets"}, entries, next)
}

// spend tells of keys what is used up of their budgets.
func (a *api) spend(ctx context.Context, all []shownKey) error {
	of := make([]catalog.Allowance, len(all))
	for i := range all {
		of[i] = catalog.Allowance{Level: catalog.FromKey, ID: all[i].ID, Budget: all[i].Budget}
	}
	spent, err := a.Budgets(ctx, of)
	for i, s := range spent {
		if s != nil {
			shown := spendingOf(s)
			all[i].Spending = &shown
		}
	}
	return err
}
