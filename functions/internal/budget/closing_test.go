package budget_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/functions/internal/budget"
	"holdfast/routing/catalog"
)

// What is about to be booked is seen on every level that it belongs to, whatever
// the minute, until it is booked, and on no other.
func TestClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c budget.Closing
		team := catalog.Allowance{Level: catalog.FromTeam, ID: "t", Limits: catalog.Limits{TPM: 5}}
		one := budget.Accounts(&catalog.Caller{Allowances: []catalog.Allowance{{Level: catalog.FromKey, ID: "one", Limits: catalog.Limits{RPM: 2}}, team}}, noon)
		two := budget.Accounts(&catalog.Caller{Allowances: []catalog.Allowance{{Level: catalog.FromKey, ID: "two", Limits: catalog.Limits{RPM: 2}}, team}}, noon.Add(time.Minute))
		if seen := c.Seen(two); seen != nil {
			t.Errorf("%v, though nothing has ended", seen)
		}
		first := c.Begin(one, budget.Amount{Requests: 1, Tokens: 2})
		second := c.Begin(one, budget.Amount{Requests: 1, Tokens: 3})
		seen := c.Seen(two)
		if len(seen) != 2 || seen[0] != (budget.Amount{}) || seen[1] != (budget.Amount{Requests: 2, Tokens: 5}) {
			t.Fatalf("%+v", seen)
		}
		if two[0].Near(nil, seen[0], noon) || !two[1].Near(nil, seen[1], noon) || two[1].Near(nil, budget.Amount{Requests: 9, Tokens: 4}, noon) {
			t.Error("only the team's tokens are used up")
		}
		waited := make(chan time.Duration, 2)
		begun := time.Now()
		wait := func(bound time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			defer cancel()
			c.Wait(ctx, two)
			waited <- time.Since(begun)
		}
		go wait(time.Hour)
		go wait(time.Second)
		if d := <-waited; d != time.Second {
			t.Errorf("bounded by a second, it waited %v", d)
		}
		first()
		synctest.Wait()
		if len(waited) > 0 {
			t.Error("it did not wait for the second")
		}
		second()
		<-waited
		if seen := c.Seen(one); seen != nil {
			t.Errorf("%v after all was booked", seen)
		}
	})
}
