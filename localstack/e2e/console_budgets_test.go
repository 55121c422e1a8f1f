package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// shownBudget is a budget as the admin API tells it.
type shownBudget struct {
	Level    string    `json:"level"`
	ID       string    `json:"id"`
	USD      float64   `json:"usd"`
	Period   string    `json:"period"`
	Spent    *float64  `json:"spent_usd"`
	Reserved *float64  `json:"reserved_usd"`
	Resets   time.Time `json:"resets"`
}

// entriesOf decodes the entries of a list.
func entriesOf[T any](t *testing.T, a answer) (entries []T, next string) {
	t.Helper()
	var page struct {
		Entries []T    `json:"entries"`
		Next    string `json:"next_cursor"`
	}
	if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.StatusCode != 200 {
		t.Fatalf("a list: %d %v %s", a.StatusCode, err, a.body)
	}
	return page.Entries, page.Next
}

// TestBudgetsAreTold shows what is used up of the budgets of organization, team
// and key: the very numbers by which the next request is refused.
func TestBudgetsAreTold(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"bolt", "dynamodb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newAdminRig(t, store, func(d *document) {
				d.key = ", team: core, budget: {usd: 2, period: weekly, strict: true}"
				d.extra = "organizations: [{id: acme, budget: {usd: 5, period: monthly}}, {id: idle}]\n" +
					"teams: [{id: core, organization: acme, budget: {usd: 0.004, period: daily}}, {id: quiet, budget: {usd: 1, period: daily}}]\n"
			})
			made := admin(t, "POST", r.URL+"/admin/keys", `{"id":"ci","team":"core","budget":{"usd":1,"period":"monthly"}}`)
			if made.StatusCode != 201 || strings.Contains(made.body, "spending") {
				t.Fatalf("making a key: %d %s", made.StatusCode, made.body)
			}
			secret, _ := made.field("key").(string)
			for i := range 4 { // both keys pay for the team
				key := []string{keyA, secret}[i%2]
				a := post(t, r.URL+route("chat"), ask("chat", false, user("Hello "+strings.Repeat("budget ", 40))), "Authorization", "Bearer "+key)
				if a.StatusCode != 200 {
					t.Fatalf("%d %s", a.StatusCode, a.body)
				}
			}
			r.Stop() // all is booked
			paid := spent(t, r.Log())
			r.Gateway = r.start()
			all, next := entriesOf[shownBudget](t, admin(t, "GET", r.URL+"/admin/budgets", ""))
			var names []string
			for _, b := range all {
				names = append(names, b.Level+"/"+b.ID)
				if b.Spent == nil || b.Reserved == nil || *b.Reserved != 0 || !b.Resets.After(time.Now()) {
					t.Errorf("%+v", b)
				}
			}
			if got := strings.Join(names, " "); got != "organization/acme team/core team/quiet key/a" || next != "" {
				t.Fatalf("the budgets are %s, then %q", got, next)
			}
			keys, _ := entriesOf[struct {
				ID       string
				Spending *shownBudget
			}](t, admin(t, "GET", r.URL+"/admin/keys", ""))
			if len(keys) != 3 || keys[0].ID != "ci" || keys[0].Spending == nil || *keys[0].Spending.Spent <= 0 {
				t.Fatalf("the stored key: %+v", keys)
			}
			if keys[1].ID != "a" || keys[1].Spending == nil || *keys[1].Spending.Spent != *all[3].Spent || keys[2].Spending != nil {
				t.Errorf("the configured ones: %+v", keys[1:])
			}
			ci := *keys[0].Spending.Spent
			if org, team, idle, key := *all[0].Spent, *all[1].Spent, *all[2].Spent, *all[3].Spent; math.Abs(org-paid) > 1e-7 || org != team || idle != 0 || math.Abs(key+ci-team) > 1e-9 {
				t.Errorf("%g were paid; the organization has %g, its team %g, the other one %g, the keys %g and %g", paid, org, team, idle, key, ci)
			}
			page, next := entriesOf[shownBudget](t, admin(t, "GET", r.URL+"/admin/budgets?limit=3", ""))
			rest, end := entriesOf[shownBudget](t, admin(t, "GET", r.URL+"/admin/budgets?limit=3&cursor="+next, ""))
			if len(page) != 3 || len(rest) != 1 || rest[0].ID != "a" || end != "" {
				t.Errorf("by pages: %d, then %+v", len(page), rest)
			}
			table := admin(t, "GET", r.URL+"/admin/budgets?format=csv", "")
			if !strings.HasPrefix(table.body, "level,id,usd,period,strict,spent_usd,reserved_usd,from,resets\norganization,acme,5,monthly,false,") {
				t.Errorf("as a table: %s", table.body)
			}
			told, refused := "", answer{}
			for range 400 { // until the team has nothing left, and what was served last is booked
				refused = post(t, r.URL+route("chat"), ask("chat", false, user("Hello")))
				all, _ = entriesOf[shownBudget](t, admin(t, "GET", r.URL+"/admin/budgets", ""))
				told = "daily budget of team core is used up: " + strings.TrimRight(fmt.Sprintf("%.6f", *all[1].Spent), "0")
				if refused.StatusCode == 429 && strings.Contains(refused.body, told) {
					break
				}
			}
			if refused.StatusCode != 429 || !strings.Contains(refused.body, told) {
				t.Errorf("the refusal says %q, the list %q", refused.body, told)
			}
		})
	}
	r := newAdminRig(t, "memory")
	for _, query := range []string{"cursor=x", "cursor=-1", "limit=0", "key=a"} {
		if a := admin(t, "GET", r.URL+"/admin/budgets?"+query, ""); a.StatusCode != 400 {
			t.Errorf("%s: %d", query, a.StatusCode)
		}
	}
}
