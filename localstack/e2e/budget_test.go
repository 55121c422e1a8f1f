package e2e

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/localstack/wirefault"
)

// spent sums what the gateways' logs say was paid.
func spent(t *testing.T, logs ...string) (usd float64) {
	t.Helper()
	for _, log := range logs {
		for line := range strings.SplitSeq(log, "\n") {
			var entry struct {
				Cost float64 `json:"cost_usd"`
			}
			if strings.Contains(line, `"cost_usd"`) {
				if err := json.Unmarshal([]byte(line), &entry); err != nil {
					t.Fatal(err)
				}
				usd += entry.Cost
			}
		}
	}
	return usd
}

// burst sends n requests at once, spread over the gateways, and returns how many
// were served, and how many were turned away because the store did not answer in
// time, as a busy one may. All others must be refused with the code.
func burst(t *testing.T, n int, code string, urls ...string) (served, uncounted int) {
	t.Helper()
	answers := make([]answer, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			body := ask("chat", i%2 == 0, user("Hello"))
			body["max_tokens"] = 32
			answers[i] = post(t, urls[i%len(urls)]+route("chat"), body, "X-Session-Id", fmt.Sprint("burst", i))
		})
	}
	all.Wait()
	for _, a := range answers {
		switch {
		case a.StatusCode == 200:
			served++
		case a.StatusCode == 503 && strings.Contains(a.body, "cannot be checked now"):
			uncounted++
		case a.StatusCode != 429 || a.code() != code || a.Header.Get("Retry-After") == "":
			t.Errorf("a refusal: %d %s %s", a.StatusCode, a.Header.Get("Retry-After"), a.body)
		}
	}
	return served, uncounted
}

// TestBudgetsUnderRaces: of 64 requests at once, in two processes where the store
// is shared, a strict budget lets in what it can pay for; a soft one is overshot
// by what was in flight, and by nothing after that.
func TestBudgetsUnderRaces(t *testing.T) {
	for _, store := range rigs("memory", "dynamodb") {
		for _, strict := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/strict=%v", store, strict), func(t *testing.T) {
				t.Parallel()
				const usd = 0.004
				r := newRig(t, store, func(d *document) {
					d.key = ", team: core"
					d.extra = fmt.Sprintf("organizations: [{id: acme, budget: {usd: 500, period: monthly}}]\n"+
						"teams: [{id: core, organization: acme, budget: {usd: %g, period: daily, strict: %v}}]\n", usd, strict)
				})
				urls := []string{r.URL}
				second := r.Gateway
				if store == "dynamodb" {
					second = r.start()
					urls = append(urls, second.URL)
				}
				served, uncounted := burst(t, 64, "budget_exceeded", urls...)
				r.settledAll(second)
				paid := spent(t, r.Log())
				if second != r.Gateway {
					paid += spent(t, second.Log())
				}
				switch {
				case r.calls() != served || served+uncounted == 0 || uncounted > 0 && r.store == "memory":
					t.Fatalf("%d served, %d not counted, %d calls", served, uncounted, r.calls())
				case strict && paid > usd:
					t.Errorf("%d were served for %g USD of %g", served, paid, usd)
				case !strict && paid < usd: // nobody is refused before it is used up; those in flight by then are served
					t.Fatalf("%d served for %g USD", served, paid)
				}
				lost := strings.Count(r.Log()+second.Log(), "a limit was not charged") + strings.Count(r.Log()+second.Log(), "lapses instead")
				a := turnOf(t, r.URL, "messages", "s", false)
				for i := 0; i < 64 && a.StatusCode != 429 && (strict || lost > 0); i++ { // a strict budget has what estimates were too high
					r.settledAll(second)
					a = turnOf(t, r.URL, "messages", "s", false)
				}
				if a.StatusCode != 429 || a.field("error", "type") != "rate_limit_error" || a.field("error", "code") != "budget_exceeded" ||
					!strings.Contains(a.body, "daily budget of team core") || !strings.Contains(a.body, "0.004 USD") || !strings.Contains(a.body, "T00:00:00Z") {
					t.Errorf("%d %s", a.StatusCode, a.body)
				}
				if wait, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 24*3600 {
					t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
				}
				if a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello")), "Authorization", "Bearer "+keyB); a.StatusCode != 200 {
					t.Errorf("another team: %d %s", a.StatusCode, a.body)
				}
			})
		}
	}
}

// TestRateLimits: requests and tokens a minute, soft and strict, are refused in
// every protocol with the end of the minute.
func TestRateLimits(t *testing.T) {
	for name, limits := range map[string]string{
		"requests": "{rpm: 3}", "tokens": "{tpm: 60}", "strict requests": "{rpm: 3, strict: true}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "bolt", func(d *document) { d.key = ", limits: " + limits })
			refused := map[string]bool{}
			for i := 0; len(refused) < 3 && i < 60; i++ { // a minute may end meanwhile
				endpoint := []string{"chat", "responses", "messages"}[i%3]
				calls := r.calls()
				a := turnOf(t, r.URL, endpoint, "s", i%2 == 0)
				r.settled()
				if a.StatusCode == 200 {
					continue
				}
				refused[endpoint] = true
				wait, err := strconv.Atoi(a.Header.Get("Retry-After"))
				if a.StatusCode != 429 || a.code() != "rate_limited" || err != nil || wait < 1 || wait > 60 || r.calls() != calls {
					t.Errorf("%s: %d %s", endpoint, a.StatusCode, a.body)
				}
				if !strings.Contains(a.body, "The limit of key a is reached") || !strings.Contains(a.body, strings.TrimPrefix(name, "strict ")+" this minute") {
					t.Errorf("%s: %s", endpoint, a.body)
				}
			}
			if len(refused) < 3 {
				t.Errorf("only %v were refused after %d calls", refused, r.calls())
			}
		})
	}
}

// TestStrictRequestsUnderRaces: of 64 at once no more are let in than a minute
// may have.
func TestStrictRequestsUnderRaces(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb", func(d *document) { d.key = ", limits: {rpm: 10, strict: true}" })
	second := r.start()
	if left := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)); left < 10*time.Second {
		time.Sleep(left) // the counted minute is the clock's
	}
	if served, uncounted := burst(t, 64, "rate_limited", r.URL, second.URL); served > 10 || served < 10-uncounted {
		t.Errorf("%d were served, want 10", served)
	}
}

// TestLimitsWithoutStore: soft limits let everybody in while the store is away,
// strict ones nobody.
func TestLimitsWithoutStore(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprint("strict=", strict), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "dynamodb", func(d *document) {
				d.key = fmt.Sprintf(", limits: {rpm: 1000, strict: %v}, budget: {usd: 5, period: weekly}", strict)
			})
			turnOf(t, r.URL, "chat", "s", false)
			r.settled()
			r.front.Decide(func(wirefault.Request) wirefault.Fault { return wirefault.Fault{Kind: wirefault.Error} })
			calls := r.calls()
			a := turnOf(t, r.URL, "chat", "s", false)
			switch {
			case !strict && (a.StatusCode != 200 || a.affinity() != "degraded"):
				t.Errorf("soft: %d %s", a.StatusCode, a.body)
			case strict && (a.StatusCode != 503 || a.Header.Get("Retry-After") == "" || r.calls() != calls):
				t.Errorf("strict: %d %s", a.StatusCode, a.body)
			}
		})
	}
}

// TestStrictReservationIsLost: a strict limit whose reservation is lost refuses
// with 503 and calls nobody; one that is there, though its answer was lost,
// counts.
func TestStrictReservationIsLost(t *testing.T) {
	for _, applied := range []bool{false, true} {
		t.Run(fmt.Sprint("applied=", applied), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "dynamodb", func(d *document) { d.key = ", budget: {usd: 5, period: monthly, strict: true}" })
			r.front.Inject(wirefault.Rule{Operation: "UpdateItem", Times: -1, Fault: wirefault.Fault{Kind: wirefault.Drop, Applied: applied}})
			want := map[bool]int{true: 200, false: 503}[applied]
			if a := turnOf(t, r.URL, "chat", "s", false); a.StatusCode != want || (r.calls() > 0) != applied {
				t.Errorf("%d %s after %d calls, want %d", a.StatusCode, a.body, r.calls(), want)
			}
			r.front.Clear()
			if a := turnOf(t, r.URL, "chat", "s", false); a.StatusCode != 200 {
				t.Errorf("afterwards: %d %s", a.StatusCode, a.body)
			}
		})
	}
}

// TestP4Limits: limits cost no round trip before the call, strict ones one.
func TestP4Limits(t *testing.T) {
	for strict, want := range map[bool]string{false: "map[BatchGetItem:1 PutItem:1 UpdateItem:3]", true: "map[BatchGetItem:1 PutItem:1 UpdateItem:5]"} {
		t.Run(fmt.Sprint("strict=", strict), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "dynamodb", func(d *document) {
				d.key = fmt.Sprintf(", team: core, limits: {rpm: 1000, strict: %v}, budget: {usd: 5, period: daily, strict: %v}", strict, strict)
				d.extra = "organizations: [{id: acme}]\nteams: [{id: core, organization: acme, limits: {tpm: 1000000}}]\n"
			})
			turnOf(t, r.URL, "chat", "s", false)
			r.settled()
			r.front.ResetCounts()
			turnOf(t, r.URL, "chat", "s", false)
			r.settled()
			if got := fmt.Sprint(r.front.Counts()); got != want {
				t.Errorf("a hit: %s, want %s", got, want)
			}
		})
	}
}

// TestUnknownPriceUnderBudgets: without a price a strict budget refuses, and a
// soft one lets through what it cannot charge, and says so.
func TestUnknownPriceUnderBudgets(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprint("strict=", strict), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "memory", func(d *document) {
				d.key = fmt.Sprintf(", budget: {usd: 5, period: daily, strict: %v}", strict)
			})
			r.Stop()
			r.config = strings.ReplaceAll(r.config, "    price: {input: 3, cached_input: 0.3, cache_write: 3.75, output: 15}\n", "")
			r.Gateway = r.start()
			a := turnOf(t, r.URL, "chat", "s", false)
			switch {
			case strict && (a.StatusCode != 429 || a.code() != "budget_exceeded" || !strings.Contains(a.body, "no price is known") || r.calls() != 0):
				t.Errorf("strict: %d %s", a.StatusCode, a.body)
			case !strict && a.StatusCode != 200:
				t.Errorf("soft: %d %s", a.StatusCode, a.body)
			case !strict:
				r.settled()
				if !strings.Contains(r.Log(), "a budget was not charged") {
					t.Error("nothing says that the budget was not charged")
				}
			}
		})
	}
}
