// Package budget says what a caller may still use up: requests and tokens a
// minute, and money a day, week or month, on key, team and organization.
//
// Invariants: amounts are whole numbers (requests, tokens, billionths of a US
// dollar) and change only by the store's atomic additions; a soft limit is
// checked on what was booked, so that it is overshot at most by what was in
// flight; a strict one is reserved by one addition whose answer is the true
// value after it, so that it is never overshot by more than an estimate was
// short; a reservation that nobody settles lapses by itself.
//
// Soft counters of teams and organizations, which many requests share, are
// spread over two records each; those of keys, and strict ones, are one record.
// Minutes live in the affinity table, money in the ledger.
//
// Concurrency: everything here is a value or a call on the store, safe for use
// by many goroutines; a Reservation belongs to one request.
//
// Errors: those of the store. An Excess is an answer, not an error.
package budget

import (
	"encoding/hex"
	"math"
	"strconv"
	"time"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/routing/catalog"
)

// The counters of an account.
const (
	requests = "requests"
	tokens   = "tokens"
	money    = "nanousd"
	held     = "held:" // followed by the number of the span in which it lapses
)

// sharedBy is how many records a soft counter of a team or an organization is
// spread over.
const sharedBy = 2

// Amount is what a request has used, or may use.
type Amount struct {
	Requests int64
	Tokens   int64
	Nanos    int64 // billionths of a US dollar
}

// Nanos is an amount of US dollars in billionths, rounded up: what is charged
// is never less than what it cost.
func Nanos(usd float64) int64 {
	return int64(math.Min(math.Ceil(usd*1e9-1e-3), math.MaxInt64/4))
}

// Account is what one level of a caller may use up in one window: a minute's
// requests and tokens, or a period's money.
type Account struct {
	Level  catalog.Source // key, team, organization
	ID     string
	Window Window
	Strict bool
	Period string // of money; "" for a minute

	Requests int64 // a minute; 0: no limit
	Tokens   int64 // a minute; 0: no limit
	Nanos    int64 // a period, where Period is set

	counter store.Counter
}

// Accounts are those of a caller's levels that have limits, at a time.
func Accounts(caller *catalog.Caller, now time.Time) []Account {
	var all []Account
	for _, a := range caller.Allowances {
		if a.Limits.RPM > 0 || a.Limits.TPM > 0 {
			all = append(all, newAccount(a, Account{
				Window: Minute(now), Strict: a.Limits.Strict, Requests: int64(a.Limits.RPM), Tokens: int64(a.Limits.TPM),
			}, store.Affinity))
		}
		if a.Budget != nil {
			all = append(all, moneyOf(a, now))
		}
	}
	return all
}

// moneyOf is the account of an allowance's budget.
func moneyOf(a catalog.Allowance, now time.Time) Account {
	return newAccount(a, Account{
		Window: Period(a.Budget.Period, now), Strict: a.Budget.Strict, Period: a.Budget.Period, Nanos: Nanos(a.Budget.USD),
	}, store.Ledger)
}

func newAccount(of catalog.Allowance, a Account, table store.Table) Account {
	a.Level, a.ID = of.Level, of.ID
	sum := identity.Hash("allowance", string(of.Level), of.ID)
	a.counter.Key = store.Key{Table: table, Partition: "allowance/" + hex.EncodeToString(sum[:16]), Sort: a.Window.Name}
	if of.Level != catalog.FromKey {
		a.counter.Shards = sharedBy
	}
	return a
}

// Keys are the records that Check wants, to be read together. A strict account
// has the same ones, so that what was booked while it was soft still counts.
func (a Account) Keys() []store.Key { return a.counter.Keys() }

// keep is how long an account's counters are kept: until no clock that lags
// behind asks for them and, for money, until nobody looks back at the period.
func (a Account) keep() time.Time {
	if a.Period == "" {
		return a.Window.End.Add(2 * time.Minute)
	}
	return a.Window.End.AddDate(0, 0, 40)
}

// Check says whether what was read leaves room for needs more. A soft limit
// only asks whether it is used up. The handles are those of Keys.
func (a Account) Check(read []store.Handle, needs Amount, now time.Time) *Excess {
	return a.judge(store.Sum(read...), needs, now)
}

// Near reports whether a soft limit that what was read leaves room under is used
// up once ending, which may or may not be in it yet, is booked. Strict limits are
// counted before the call and are never near.
func (a Account) Near(read []store.Handle, ending Amount, now time.Time) bool {
	if a.Strict || ending == (Amount{}) {
		return false
	}
	sums := store.Sum(read...)
	sums[requests] += ending.Requests
	sums[tokens] += ending.Tokens
	sums[money] += ending.Nanos
	return a.judge(sums, Amount{}, now) != nil
}

// judge compares counters, which do not hold needs yet, with the limits.
func (a Account) judge(sums map[string]int64, needs Amount, now time.Time) *Excess {
	if !a.Strict {
		needs = Amount{}
	}
	if a.Period != "" {
		held := a.live(sums, now)
		x := a.over("USD", sums[money]+held, a.Nanos, needs.Nanos)
		if x != nil {
			x.Held = held
		}
		return x
	}
	if x := a.over(requests, sums[requests], a.Requests, needs.Requests); a.Requests > 0 && x != nil {
		return x
	}
	if x := a.over(tokens, sums[tokens], a.Tokens, needs.Tokens); a.Tokens > 0 && x != nil {
		return x
	}
	return nil
}

func (a Account) over(what string, used, limit, needs int64) *Excess {
	if used < limit && used+needs <= limit {
		return nil
	}
	return &Excess{Account: a, What: what, Used: used, Limit: limit, Needs: needs}
}

// span is the number of the span of time in which a reservation lapses.
func (a Account) span(until time.Time) int64 {
	return until.Unix() / int64(lapse(a.Period)/time.Second)
}

// live sums the reservations that have not lapsed.
func (a Account) live(sums map[string]int64, now time.Time) (all int64) {
	for name, n := range sums {
		if len(name) <= len(held) || name[:len(held)] != held {
			continue
		}
		if span, err := strconv.ParseInt(name[len(held):], 10, 64); err == nil && span >= a.span(now) {
			all += n
		}
	}
	return all
}
