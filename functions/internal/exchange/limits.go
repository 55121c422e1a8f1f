package exchange

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"holdfast/affinity/store"
	"holdfast/functions/internal/budget"
	"holdfast/functions/internal/wire"
	"holdfast/routing/catalog"
)

// allowances are what an exchange's caller may use up: read in the one trip,
// checked before routing, booked after the answer.
type allowances struct {
	accounts []budget.Account
	read     [][]store.Handle // by account
	held     *budget.Reservation
	estimate budget.Amount
	ending   []budget.Amount // by account: about to be booked when they were read; nil: nothing
	granted  bool            // the exchange is to be booked
	booked   func()          // ends what closing began; nil: it has not yet
}

// allowanceKeys lists the counters of the caller's limits: none for a caller
// without any, ten at most.
func (e *exchange) allowanceKeys() []store.Key {
	e.allowed = allowances{accounts: budget.Accounts(e.in.Principal.Caller, e.Now())}
	e.allowed.ending = e.ending.Seen(e.allowed.accounts)
	return e.allowed.keys()
}

func (a *allowances) keys() []store.Key {
	var keys []store.Key
	for _, account := range a.accounts {
		keys = append(keys, account.Keys()...)
	}
	return keys
}

// takeAllowances notes what was read by allowanceKeys and returns the rest.
func (e *exchange) takeAllowances(read []store.Handle) []store.Handle {
	e.allowed.read = nil
	for _, a := range e.allowed.accounts {
		n := len(a.Keys())
		e.allowed.read = append(e.allowed.read, read[:n])
		read = read[n:]
	}
	return read
}

// allow refuses a caller whose limits leave no room, and books what the exchange
// uses once it is over. Without the store soft limits let everybody in and strict
// ones nobody.
func (e *exchange) allow(ctx context.Context) *wire.Problem {
	accounts := e.allowed.accounts
	if len(accounts) == 0 {
		return nil
	}
	strict := budget.Strict(accounts)
	if e.plan.Degraded {
		if len(strict) > 0 {
			return uncounted()
		}
		e.grant()
		return nil
	}
	if len(strict) > 0 {
		e.allowed.estimate = e.estimate()
		if e.strictMoney() && e.allowed.estimate.Nanos < 0 {
			return wire.Refuse(wire.BudgetExceeded).Saying("A strict budget is in force and no price is known for this model, so that its cost cannot be reserved. " +
				"Use another model or ask the operator for a price.").After(time.Hour)
		}
	}
	if e.near(e.Now()) {
		e.caughtUp(ctx)
	}
	worst, p := e.admit(ctx, strict)
	if worst != nil && e.caughtUp(ctx) { // what is settled for less makes room
		worst, p = e.admit(ctx, strict)
	}
	if worst != nil {
		p = e.exceeded(worst)
	}
	if p == nil {
		e.grant()
	}
	return p
}

// grant lets the exchange use up what it was allowed, which is booked afterwards.
func (e *exchange) grant() {
	e.allowed.granted = true
	e.later(e.bookAllowances)
}

// admit judges all limits by what was read, and reserves the strict ones.
func (e *exchange) admit(ctx context.Context, strict []budget.Account) (*budget.Excess, *wire.Problem) {
	var worst *budget.Excess
	now := e.Now()
	for i, a := range e.allowed.accounts {
		worst = budget.Later(worst, a.Check(e.allowed.read[i], e.allowed.estimate, now), now)
	}
	if worst != nil || len(strict) == 0 {
		return worst, nil
	}
	return e.reserve(ctx, strict)
}

// reserve holds the estimate of all strict limits: one round trip more.
func (e *exchange) reserve(ctx context.Context, strict []budget.Account) (*budget.Excess, *wire.Problem) {
	var others []map[string]int64
	for i, a := range e.allowed.accounts {
		if a.Strict {
			others = append(others, budget.Others(e.allowed.read[i]))
		}
	}
	now := e.Now()
	until := now.Add(maxExchange)
	if deadline, bounded := ctx.Deadline(); bounded {
		until = now.Add(time.Until(deadline))
	}
	held, excess, err := budget.Reserve(ctx, e.Store, strict, others, e.allowed.estimate, now, until)
	switch {
	case err != nil:
		e.Log.WarnContext(ctx, "a strict limit cannot be reserved", "request_id", e.in.ID, "error", err)
		return nil, uncounted()
	case excess != nil:
		return excess, nil
	}
	e.allowed.held = held
	return nil, nil
}

// uncounted refuses who is under a strict limit that nobody can count.
func uncounted() *wire.Problem {
	return wire.Refuse(wire.NoEligibleDeployment).Saying("A strict limit of this key cannot be checked now. Wait as long as Retry-After says and try again.")
}

// exceeded is a limit's refusal, with the time until it counts anew.
func (e *exchange) exceeded(x *budget.Excess) *wire.Problem {
	code := wire.RateLimited
	if x.Money() {
		code = wire.BudgetExceeded
	}
	e.line.Limit = string(x.Level) + "/" + x.What
	return wire.Refuse(code).Saying(x.Message()).After(x.Wait(e.Now()))
}

// bookAllowances counts what the exchange has used. Where an answer was begun
// and nobody knows what it has used, strict limits are charged the estimate.
func (e *exchange) bookAllowances(ctx context.Context) {
	e.closing()
	defer e.allowed.booked()
	used := e.consumed()
	if e.line.Usage != nil && e.line.Cost == nil && e.hasBudget() {
		e.Log.WarnContext(ctx, "a budget was not charged: no price is known", "request_id", e.in.ID, "deployment", e.line.Deployment)
	}
	now := e.Now()
	if err := budget.Book(ctx, e.Store, e.in.Principal.Caller, used, now, rand.Uint64()); err != nil {
		e.Log.WarnContext(ctx, "a limit was not charged", "request_id", e.in.ID, "error", err)
	}
	if e.allowed.held == nil {
		return
	}
	if e.line.Usage == nil && e.line.FirstByte > 0 {
		used = e.allowed.estimate
	}
	if err := e.allowed.held.Settle(ctx, e.Store, used, now); err != nil {
		e.Log.WarnContext(ctx, "a reservation lapses instead of being settled", "request_id", e.in.ID, "error", err)
	}
}

// total is what counts towards tokens a minute.
func total(u wire.Usage) int64 {
	return u.Input + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h + u.Output
}

func (e *exchange) hasBudget() bool {
	return slices.ContainsFunc(e.allowed.accounts, func(a budget.Account) bool { return a.Period != "" })
}

// strictMoney reports whether a strict budget is in force: then nobody serves
// whose price is not known.
func (e *exchange) strictMoney() bool {
	return slices.ContainsFunc(e.allowed.accounts, func(a budget.Account) bool { return a.Strict && a.Period != "" })
}

// supposedOutput is what an answer may have, in tokens, where the client sets no
// bound.
const supposedOutput = 4096

// estimate is what this request may use at most, as far as its body tells: the
// prompt with its restored history, a quarter more than it seems, at the dearest price of a fresh or
// written token; the output as far as it is bounded. Nanos is -1 where no
// deployment that may serve has a price.
func (e *exchange) estimate() budget.Amount {
	input := (e.facts.EstimatedTokens()+int64(len(e.history))/bytesPerToken)*5/4 + 16
	output := e.facts.MaxTokens
	if output == 0 {
		output = supposedOutput
	}
	if e.in.Endpoint == wire.EndpointEmbeddings {
		output = 0
	}
	if n, given := e.facts.Value("n").Int(); given && n > 1 {
		output *= min(n, 128)
	}
	output = min(output, 1<<30)
	dearest := -1.0
	for _, model := range e.pooled {
		for _, t := range e.in.Snapshot.Catalog.Pool(model).Deployments {
			if p := t.Price; p != nil {
				dearest = max(dearest, (float64(input)*max(p.Input, p.CacheWrite, p.CacheWrite1h)+float64(output)*p.Output)/1e6)
			}
		}
	}
	amount := budget.Amount{Requests: 1, Tokens: input + output, Nanos: -1}
	if dearest >= 0 {
		amount.Nanos = budget.Nanos(dearest)
	}
	return amount
}

// priced reports whether a deployment may serve under the caller's budgets: a
// strict one cannot be kept where no price is known.
func priced(known *catalog.Catalog, deployment string) bool {
	t := known.Deployment(deployment)
	return t != nil && t.Price != nil
}
