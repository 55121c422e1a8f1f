package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/wirefault"
)

// TestLimitsInTurn: a client that asks again as soon as it has its answer is
// judged by what that answer has used, however long its booking takes: a soft
// limit does not let one more through, and a strict one gives back what was
// reserved too much.
func TestLimitsInTurn(t *testing.T) {
	for name, c := range map[string]struct {
		limits string
		served int // of six
	}{
		"soft requests":   {"limits: {rpm: 3}", 3},
		"soft tokens":     {"limits: {tpm: 1}", 1},
		"soft budget":     {"budget: {usd: 0.0000001, period: daily}", 1},
		"strict tokens":   {"limits: {tpm: 6000, strict: true}", 6},
		"strict budget":   {"budget: {usd: 0.1, period: daily, strict: true}", 6},
		"strict requests": {"limits: {rpm: 3, strict: true}", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "dynamodb", func(d *document) { d.key = ", " + c.limits })
			if !deployed() { // there the next request may be another process's
				r.front.Inject(wirefault.Rule{Operation: "UpdateItem", Times: -1, Fault: wirefault.Fault{Kind: wirefault.Slow, Delay: 100 * time.Millisecond}})
			}
			began := time.Now()
			served := 0
			for i := range 6 {
				a := turnOf(t, r.URL, []string{"chat", "responses", "messages"}[i%3], "s", i%2 == 0)
				switch a.StatusCode {
				case 200:
					served++
				case 429:
				default:
					t.Errorf("%d %s", a.StatusCode, a.body)
				}
				if deployed() {
					r.settled()
				}
			}
			border := began.Truncate(time.Minute) != time.Now().Truncate(time.Minute)
			if served != c.served && (!border || served < c.served) {
				t.Errorf("%d were served, want %d", served, c.served)
			}
		})
	}
}

// TestStrictInFlight: what only a running request keeps from fitting is to be
// tried again soon and then fits; what never fits says so.
func TestStrictInFlight(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) {
		d.key = ", budget: {usd: 0.1, period: monthly, strict: true}" // an answer without a bound may cost 0.0615
	})
	home := r.owner(turnOf(t, r.URL, "chat", "s", false).deployment())
	r.settled() // another environment may be the next
	accounts.InjectT(t, home, accounts.Fault{Kind: accounts.SlowTokens, Delay: 100 * time.Millisecond, Times: 1})
	slow := make(chan answer, 1)
	go func() { slow <- turnOf(t, r.URL, "chat", "s", true) }()
	if err := home.Await(t.Context(), func(calls []accounts.Call) bool { return len(calls) == 2 }); err != nil {
		t.Fatal(err)
	}
	a := turnOf(t, r.URL, "chat", "t", false)
	if wait, _ := strconv.Atoi(a.Header.Get("Retry-After")); a.StatusCode != 429 || a.code() != "budget_exceeded" || wait < 1 || wait > 5 || !strings.Contains(a.body, "Requests that run now") {
		t.Errorf("beside a running one: %d, Retry-After %q, %s", a.StatusCode, a.Header.Get("Retry-After"), a.body)
	}
	if a := <-slow; a.StatusCode != 200 {
		t.Errorf("the running one: %d %s", a.StatusCode, a.body)
	}
	r.settled()
	if a := turnOf(t, r.URL, "chat", "t", false); a.StatusCode != 200 {
		t.Errorf("after it: %d %s", a.StatusCode, a.body)
	}
	body := ask("chat", false, user("Hello"))
	body["max_tokens"] = 100_000
	if a := post(t, r.URL+route("chat"), body); a.StatusCode != 429 || !strings.Contains(a.body, "more than the whole limit") {
		t.Errorf("what never fits: %d %s", a.StatusCode, a.body)
	}
}
