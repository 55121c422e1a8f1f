package e2e

import (
	"testing"
	"time"

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
