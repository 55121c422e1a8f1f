package e2e

import (
	"fmt"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// billsOf waits until so many events are there and returns those that book a
// response in the background, and what all others cost together.
func billsOf(t *testing.T, at string, n int) (bills []billed, others float64) {
	t.Helper()
	events(t, at, n)
	for _, e := range paged[billed](t, at+"/admin/audit/log?limit=200") {
		switch {
		case e.Task != nil && e.Task.Kind == "response":
			bills = append(bills, e)
		case e.Cost != nil:
			others += e.Cost.Total
		}
	}
	return bills, others
}

// TestBackgroundIsBookedOnce: a response in the background is booked when its end
// is first seen, with what its account has reported, however often and by whichever
// process it is asked for.
func TestBackgroundIsBookedOnce(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newAdminRig(t, store)
			other := r.second()
			first := post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": long(300), "background": true}, "X-Session-Id", "s", "X-Holdfast-Label", "night")
			if first.field("status") != "queued" {
				t.Fatalf("%d %s", first.StatusCode, first.body)
			}
			if bills, others := billsOf(t, r.URL, 1); len(bills) != 0 || others != 0 {
				t.Errorf("before its end: %d bills, %f USD", len(bills), others)
			}
			id := responseID(t, first)
			for i := range 4 {
				at := []string{r.URL, other}[i%2] + "/v1/responses/" + id
				if done := send(t, "GET", at, keyA); done.field("status") != "completed" {
					t.Fatalf("%d %s", done.StatusCode, done.body)
				}
			}
			events(t, r.URL, 6)
			time.Sleep(200 * time.Millisecond) // a second bill would have come by then
			bills, others := billsOf(t, r.URL, 6)
			if len(bills) != 1 || others != 0 {
				t.Fatalf("%d bills, others cost %f", len(bills), others)
			}
			b := bills[0]
			var call accounts.Usage
			for _, c := range r.owner(first.deployment()).Calls() {
				call = accounts.Usage{Input: call.Input + c.Usage.Input, CacheWrite5m: call.CacheWrite5m + c.Usage.CacheWrite5m, Output: call.Output + c.Usage.Output}
			}
			if b.Usage == nil || b.Usage.Input != call.Input || b.Usage.Output != call.Output || b.Usage.Estimated || b.Cost == nil || b.Cost.Total == 0 ||
				b.Endpoint != "responses" || b.Model != "responses" || b.Deployment != first.deployment() || !b.Task.Succeeded || b.Task.ID != id ||
				b.SessionID != scopedOf(t, r.URL, "a", "s") || fmt.Sprint(b.Labels) != "[night]" {
				t.Errorf("booked %+v %+v, the account has reported %+v", b.booked, b.Usage, call)
			}
			balanced(t, r.URL, 6)
		})
	}
}

// TestBackgroundStreams: one that was followed to its end is booked by its stream
// alone; one that was cut, when somebody sees its end, by a poll or a second stream.
func TestBackgroundStreams(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	body := turn{"model": "responses", "input": "Hello", "background": true, "stream": true}
	whole := post(t, r.URL+"/v1/responses", body)
	id := responseID(t, whole)
	for range 2 {
		if a := send(t, "GET", r.URL+"/v1/responses/"+id, keyA); a.StatusCode != 200 {
			t.Fatal(a.body)
		}
	}
	send(t, "GET", r.URL+"/v1/responses/"+id+"?stream=true", keyA)
	bills, others := billsOf(t, r.URL, 4)
	if len(bills) != 0 || others == 0 {
		t.Errorf("followed to its end: %d bills, others cost %f", len(bills), others)
	}
	cost := others
	for i, query := range []string{"", "?stream=true"} {
		for _, a := range r.fleet.Accounts() {
			accounts.InjectT(t, a, accounts.Fault{Kind: accounts.Cut, After: 2, Times: 1, Operation: "create"})
		}
		cut := post(t, r.URL+"/v1/responses", body)
		if cut.err == nil {
			t.Fatalf("the stream came whole: %s", cut.body)
		}
		for _, a := range r.fleet.Accounts() {
			a.ClearFaults()
		}
		for range 2 {
			if a := send(t, "GET", r.URL+"/v1/responses/"+responseID(t, cut)+query, keyA); a.StatusCode != 200 {
				t.Errorf("cut, then asked for by %q: %d %s", query, a.StatusCode, a.body)
			}
		}
		bills, others = billsOf(t, r.URL, 4+4*(i+1))
		if len(bills) != i+1 || !near(others, cost) || bills[0].Usage == nil || bills[0].Usage.Output == 0 || bills[0].Usage.Estimated {
			t.Errorf("cut, then asked for by %q: %d bills, others cost %f, want %f", query, len(bills), others, cost)
		}
	}
}

// TestBackgroundCountsAgainstBudgets: what was seen to be used up is used up.
func TestBackgroundCountsAgainstBudgets(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory", func(d *document) { d.key = ", budget: {usd: 0.000001, period: daily}" })
	first := post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": "Hello", "background": true})
	if a := post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": "Hello", "background": true}); a.StatusCode != 200 {
		t.Fatalf("nothing is used up yet: %d %s", a.StatusCode, a.body)
	}
	send(t, "GET", r.URL+"/v1/responses/"+responseID(t, first), keyA)
	billsOf(t, r.URL, 4)
	a := post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": "Hello"})
	for n := 0; a.StatusCode == 200 && n < 3; n++ { // the limit is charged beside the event
		a = post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": "Hello", "background": true})
	}
	if a.StatusCode != 429 || a.code() != "budget_exceeded" {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}
