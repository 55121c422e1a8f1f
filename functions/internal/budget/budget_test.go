package budget_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/affinity/store"
	"holdfast/functions/internal/budget"
	"holdfast/routing/catalog"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func caller(level catalog.Source, limits catalog.Limits, b *catalog.Budget) *catalog.Caller {
	return &catalog.Caller{ID: "k", Allowances: []catalog.Allowance{{Level: level, ID: "x", Limits: limits, Budget: b}}}
}

func read(t testing.TB, s store.Store, a budget.Account) []store.Handle {
	t.Helper()
	handles, err := s.Read(t.Context(), a.Keys()...)
	if err != nil {
		t.Fatal(err)
	}
	return handles
}

func memory(now *time.Time) *store.Memory {
	return store.NewMemory(store.MemoryConfig{Now: func() time.Time { return *now }})
}

func TestNanos(t *testing.T) {
	for usd, want := range map[float64]int64{0: 0, 1: 1e9, 0.1: 1e8, 0.3: 3e8, 1e-10: 1, 2.5e-9: 3, 1e300: 1 << 61} {
		if got := budget.Nanos(usd); got < want-1 || got > want {
			t.Errorf("%g USD are %d, want %d", usd, got, want)
		}
	}
}

// A refusal says which limit, the amount, and when it resets.
func TestMessages(t *testing.T) {
	now := noon
	for _, row := range []struct {
		limits catalog.Limits
		budget *catalog.Budget
		used   budget.Amount
		needs  budget.Amount
		want   string
	}{
		{limits: catalog.Limits{RPM: 2}, used: budget.Amount{Requests: 1}},
		{limits: catalog.Limits{RPM: 2}, used: budget.Amount{Requests: 2}, want: "The limit of team x is reached: 2 of 2 requests this minute are used. It resets at 2026-11-30T12:01:00Z."},
		{limits: catalog.Limits{TPM: 100}, used: budget.Amount{Requests: 9, Tokens: 130}, want: "The limit of team x is reached: 130 of 100 tokens this minute are used. It resets at 2026-11-30T12:01:00Z."},
		{limits: catalog.Limits{RPM: 9, TPM: 100}, used: budget.Amount{Requests: 8, Tokens: 99}},
		{budget: &catalog.Budget{USD: 10, Period: "daily"}, used: budget.Amount{Nanos: 9_999_999_999}},
		{budget: &catalog.Budget{USD: 10, Period: "daily"}, used: budget.Amount{Nanos: 10_000_000_000},
			want: "The daily budget of team x is used up: 10.00 of 10.00 USD are spent. It renews at 2026-12-01T00:00:00Z (UTC). Wait until then or ask the operator for more."},
		{budget: &catalog.Budget{USD: 0.5, Period: "weekly"}, used: budget.Amount{Nanos: 501_234_000},
			want: "The weekly budget of team x is used up: 0.501234 of 0.50 USD are spent. It renews at 2026-12-07T00:00:00Z (UTC). Wait until then or ask the operator for more."},
		{budget: &catalog.Budget{USD: 0, Period: "monthly"},
			want: "The monthly budget of team x is used up: 0.00 of 0.00 USD are spent. It renews at 2026-12-01T00:00:00Z (UTC). Wait until then or ask the operator for more."},
	} {
		s, c := memory(&now), caller(catalog.FromTeam, row.limits, row.budget)
		if err := budget.Book(t.Context(), s, c, row.used, now, 7); err != nil {
			t.Fatal(err)
		}
		a := budget.Accounts(c, now)[0]
		got := ""
		if x := a.Check(read(t, s, a), row.needs, now); x != nil {
			got = x.Message()
		}
		if got != row.want {
			t.Errorf("%+v %+v: %q, want %q", row.limits, row.budget, got, row.want)
		}
	}
}

// What a strict limit refuses says what the request would need, and what to do
// where it never fits or where only running requests stand in the way: then soon.
func TestStrictMessages(t *testing.T) {
	now := noon
	s, c := memory(&now), caller(catalog.FromKey, catalog.Limits{TPM: 100, Strict: true}, &catalog.Budget{USD: 1, Period: "daily", Strict: true})
	accounts := budget.Accounts(c, now)
	if _, x, err := budget.Reserve(t.Context(), s, accounts[1:], make([]map[string]int64, 1), budget.Amount{Nanos: 4e8}, now, now.Add(time.Minute)); x != nil || err != nil {
		t.Fatal(x, err)
	}
	const never = "That is more than the whole limit: bound the answer's length (max_tokens), shorten the request, or ask the operator for more."
	for _, row := range []struct {
		account int
		needs   budget.Amount
		want    string
		wait    time.Duration
	}{
		{0, budget.Amount{Tokens: 101}, "The limit of key x is reached: 0 of 100 tokens this minute are used and this request may need 101. It resets at 2026-11-30T12:01:00Z. " + never, time.Minute},
		{1, budget.Amount{Nanos: 15e8}, "The daily budget of key x is used up: 0.40 of 1.00 USD are spent or reserved and this request may cost up to 1.50. It renews at 2026-12-01T00:00:00Z (UTC). " + never, 12 * time.Hour},
		{1, budget.Amount{Nanos: 7e8}, "The daily budget of key x is used up: 0.40 of 1.00 USD are spent or reserved and this request may cost up to 0.70. It renews at 2026-12-01T00:00:00Z (UTC). " +
			"Requests that run now hold a part of it and may give some back: wait as long as Retry-After says and try again.", 5 * time.Second},
	} {
		a := accounts[row.account]
		x := a.Check(read(t, s, a), row.needs, now)
		if x == nil || x.Message() != row.want || x.Wait(now) != row.wait {
			t.Errorf("%+v: %v after %v, want %q after %v", row.needs, x.Message(), x.Wait(now), row.want, row.wait)
		}
	}
}

// Soft counters that many share are spread; keys' and strict ones are exact, and
// a budget that becomes strict keeps what was booked.
func TestShards(t *testing.T) {
	now := noon
	s := memory(&now)
	soft := caller(catalog.FromOrganization, catalog.Limits{}, &catalog.Budget{USD: 1, Period: "daily"})
	for n := range uint64(2) {
		if err := budget.Book(t.Context(), s, soft, budget.Amount{Nanos: 4e8}, now, n); err != nil {
			t.Fatal(err)
		}
	}
	a := budget.Accounts(soft, now)[0]
	if len(a.Keys()) != 2 || len(budget.Accounts(caller(catalog.FromKey, catalog.Limits{RPM: 1}, nil), now)[0].Keys()) != 1 {
		t.Errorf("%d records", len(a.Keys()))
	}
	hard := budget.Accounts(caller(catalog.FromOrganization, catalog.Limits{}, &catalog.Budget{USD: 1, Period: "daily", Strict: true}), now)
	others := []map[string]int64{budget.Others(read(t, s, hard[0]))}
	estimate := budget.Amount{Nanos: 3e8}
	if _, x, err := budget.Reserve(t.Context(), s, hard, others, estimate, now, now.Add(time.Minute)); err != nil || x == nil || x.Used != 8e8 {
		t.Errorf("%+v %v: 0.3 of the 0.2 that are left were given", x, err)
	}
}

// 64 at once: a strict budget is never overshot, and all that fit are let in.
func TestStrictUnderRaces(t *testing.T) {
	now := noon
	s := memory(&now)
	strict := budget.Accounts(caller(catalog.FromKey, catalog.Limits{RPM: 64, Strict: true}, &catalog.Budget{USD: 1, Period: "daily", Strict: true}), now)
	estimate, used := budget.Amount{Requests: 1, Nanos: 4e7}, budget.Amount{Requests: 1, Nanos: 4e7}
	var served sync.Map
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			held, x, err := budget.Reserve(t.Context(), s, strict, make([]map[string]int64, 2), estimate, now, now.Add(time.Minute))
			if err != nil || (held == nil) == (x == nil) {
				t.Errorf("%v %v %v", held, x, err)
				return
			}
			if held != nil {
				served.Store(i, true)
				if err := held.Settle(t.Context(), s, used, now); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	n := 0
	served.Range(func(any, any) bool { n++; return true })
	if n != 25 {
		t.Errorf("%d were served, want the 25 that 1 USD pays for", n)
	}
	for i, want := range []int64{25, 1e9} {
		sums := store.Sum(read(t, s, strict[i])...)
		if sums["requests"] != want && sums["nanousd"] != want {
			t.Errorf("counters %v, want %d", sums, want)
		}
	}
}

// failing fails additions: before they are applied, or after.
type failing struct {
	store.Store
	applied bool
	on      bool
}

func (f *failing) Add(ctx context.Context, key store.Key, deltas map[string]int64, expires time.Time) (map[string]int64, error) {
	if !f.on {
		return f.Store.Add(ctx, key, deltas, expires)
	}
	if f.applied {
		_, _ = f.Store.Add(ctx, key, deltas, expires)
		return nil, store.ErrUnknown
	}
	return nil, store.ErrUnavailable
}

// A reservation whose outcome is not known is refused and lapses, whether or not
// it was applied.
func TestLostReservations(t *testing.T) {
	for _, applied := range []bool{false, true} {
		now := noon
		s := &failing{Store: memory(&now), applied: applied, on: true}
		strict := budget.Accounts(caller(catalog.FromKey, catalog.Limits{}, &catalog.Budget{USD: 1, Period: "daily", Strict: true}), now)
		estimate := budget.Amount{Nanos: 6e8}
		none := make([]map[string]int64, 1)
		if held, x, err := budget.Reserve(t.Context(), s, strict, none, estimate, now, now.Add(time.Minute)); err == nil || held != nil || x != nil {
			t.Fatalf("%v %v %v", held, x, err)
		}
		s.on = false
		_, x, err := budget.Reserve(t.Context(), s, strict, none, estimate, now, now.Add(time.Minute))
		if err != nil || (x != nil) != applied {
			t.Errorf("applied %t: then %v %v", applied, x, err)
		}
		now = now.Add(16 * time.Minute)
		if _, x, err := budget.Reserve(t.Context(), s, strict, none, estimate, now, now.Add(time.Minute)); err != nil || x != nil {
			t.Errorf("applied %t: it has not lapsed: %v %v", applied, x, err)
		}
	}
}

// Whatever is reserved, settled or left to lapse, a strict budget's sum never
// exceeds it, and equals what a plain model says.
func TestStrictModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		now := noon
		s := memory(&now)
		period := rapid.SampledFrom([]string{budget.Daily, budget.Weekly, budget.Monthly}).Draw(r, "period")
		c := caller(catalog.FromKey, catalog.Limits{}, &catalog.Budget{USD: 1, Period: period, Strict: true})
		grain := map[string]time.Duration{budget.Daily: 15 * time.Minute, budget.Weekly: time.Hour, budget.Monthly: 4 * time.Hour}[period]
		type hold struct {
			r     *budget.Reservation
			n     int64
			until time.Time // when it has lapsed for certain
		}
		var holds []hold
		spent := int64(0)
		window := budget.Period(period, now)
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			if budget.Period(period, now) != window {
				return
			}
			live := int64(0)
			for _, h := range holds {
				if h.until.After(now) {
					live += h.n
				}
			}
			switch rapid.IntRange(0, 2).Draw(r, "do") {
			case 0:
				n := rapid.Int64Range(0, 5e8).Draw(r, "estimate")
				until := now.Add(time.Duration(rapid.IntRange(0, 30).Draw(r, "minutes")) * time.Minute)
				held, x, err := budget.Reserve(r.Context(), s, budget.Accounts(c, now), make([]map[string]int64, 1), budget.Amount{Nanos: n}, now, until)
				if err != nil {
					r.Fatal(err)
				}
				fits := spent+live < 1e9 && spent+live+n <= 1e9
				if (x == nil) != fits {
					r.Fatalf("%d spent, %d held, %d asked for: %v", spent, live, n, x)
				}
				if held != nil {
					holds = append(holds, hold{held, n, until.Truncate(grain).Add(grain)})
				}
			case 1:
				if len(holds) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(holds)-1).Draw(r, "which")
				if !holds[i].until.After(now) {
					continue // its exchange was over long before
				}
				n := rapid.Int64Range(0, holds[i].n).Draw(r, "used")
				if err := holds[i].r.Settle(r.Context(), s, budget.Amount{Nanos: n}, now); err != nil {
					r.Fatal(err)
				}
				spent += n
				holds = append(holds[:i], holds[i+1:]...)
			case 2:
				now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(r, "later")) * time.Minute)
			}
			if spent > 1e9 {
				r.Fatalf("%d spent", spent)
			}
		}
	})
}
