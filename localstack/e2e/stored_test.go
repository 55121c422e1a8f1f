package e2e

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
	"holdfast/localstack/wirefault"
)

// TestStoredResponse shows what can be done with a response that was made
// before, on its owner's route and on our own, with and without /v1.
func TestStoredResponse(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		for _, model := range []string{"responses", "chat", "messages"} {
			t.Run(store+"/"+model, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, store)
				other := r.second()
				for _, prefix := range []string{"/v1", ""} {
					for _, stream := range []bool{false, true} {
						r.oneStored(other+prefix+"/responses/", model, stream)
					}
				}
			})
		}
	}
}

// oneStored takes one response through its life; at is what ids follow.
func (r *rig) oneStored(at, model string, stream bool) {
	t := r.t
	t.Helper()
	native := model == "responses"
	first := post(t, r.URL+"/v1/responses", turn{"model": model, "stream": stream, "input": []turn{user("One."), assistant("Yes."), user("Two.")}})
	id := responseID(t, first)
	calls := r.fleet.Count()
	expect := func(n int) {
		t.Helper()
		if !native {
			n = 0
		}
		if got := r.fleet.Count() - calls; got != n {
			t.Errorf("%s: %d calls, want %d", model, got, n)
		}
	}
	got := send(t, "GET", at+id, keyA)
	if got.StatusCode != 200 || got.field("id") != id || got.field("object") != "response" || got.field("status") != "completed" || len(got.field("output").([]any)) == 0 {
		t.Errorf("%s: %d %s", model, got.StatusCode, got.body)
	}
	items := send(t, "GET", at+id+"/input_items?order=asc", keyA)
	if data, _ := items.field("data").([]any); items.StatusCode != 200 || items.field("object") != "list" || len(data) != 3 || items.field("has_more") != false {
		t.Errorf("%s: %d %s", model, items.StatusCode, items.body)
	}
	last, _ := items.field("last_id").(string)
	page := send(t, "GET", at+id+"/input_items?limit=1&after="+last, keyA) // newest first
	if data, _ := page.field("data").([]any); page.StatusCode != 200 || len(data) != 1 || page.field("has_more") != true {
		t.Errorf("%s, a page: %d %s", model, page.StatusCode, page.body)
	}
	if a := send(t, "GET", at+id+"/input_items?limit=0", keyA); a.StatusCode != 400 {
		t.Errorf("%s, no page: %d %s", model, a.StatusCode, a.body)
	}
	if a := send(t, "POST", at+id+"/cancel", keyA); a.StatusCode != 400 || !strings.Contains(a.body, "ancel") {
		t.Errorf("%s, cancel: %d %s", model, a.StatusCode, a.body)
	}
	expect(5)
	gone := send(t, "DELETE", at+id, keyA)
	if gone.StatusCode != 200 || gone.field("deleted") != true || gone.field("id") != id {
		t.Errorf("%s, delete: %d %s", model, gone.StatusCode, gone.body)
	}
	expect(6)
	notFound(t, model+" deleted", send(t, "GET", at+id, keyA))
	notFound(t, model+" continued", post(t, r.URL+"/v1/responses", after(model, id, stream, "More")))
	expect(6)
}

// TestStoredGone shows a response that its account has dropped: like one that
// never was, and deleted for whoever wants that.
func TestStoredGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	first := post(t, r.URL+"/v1/responses", ask("responses", false, user("Hello")))
	id := responseID(t, first)
	r.lose(r.owner(first.deployment()), id)
	notFound(t, "dropped", send(t, "GET", r.URL+"/v1/responses/"+id, keyA))
	notFound(t, "dropped, items", send(t, "GET", r.URL+"/v1/responses/"+id+"/input_items", keyA))
	if a := send(t, "DELETE", r.URL+"/v1/responses/"+id, keyA); a.StatusCode != 200 || a.field("deleted") != true {
		t.Errorf("delete: %d %s", a.StatusCode, a.body)
	}
	calls := r.fleet.Count()
	notFound(t, "deleted", send(t, "DELETE", r.URL+"/v1/responses/"+id, keyA))
	if r.fleet.Count() != calls {
		t.Error("a deleted response is asked for")
	}
}

// TestStoredFailures shows what an owner's failures become, and that none of
// them lets it rest: asking about a response says nothing about generation.
func TestStoredFailures(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{template: "allowed_fails: 1, cooldown: 1h"})
	first := post(t, s.URL+"/v1/responses", ask("responses", false, user("Hello")), "X-Session-Id", "mine")
	at := s.URL + "/v1/responses/" + responseID(t, first)
	home := s.owner(first.deployment())
	for _, row := range []struct {
		fault  accounts.Fault
		status int
		code   string
	}{
		{accounts.Fault{Kind: accounts.ServerError}, 500, "upstream_failed"},
		{accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "7"}, 429, "upstream_failed"},
		{accounts.Fault{Kind: accounts.Unauthorized}, 502, "upstream_credentials"},
		{accounts.Fault{Kind: accounts.ResetBefore}, 502, "upstream_failed"},
		{accounts.Fault{Kind: accounts.Garbage}, 502, "upstream_failed"},
		{accounts.Fault{Kind: accounts.ResetAfter}, 502, "upstream_failed"},
	} {
		armed := accounts.InjectT(t, home, row.fault)
		a := send(t, "GET", at, keyA)
		home.Remove(armed)
		if a.StatusCode != row.status || a.code() != row.code || a.deployment() == "" && row.status != 502 {
			t.Errorf("%s: %d %s by %q, want %d %s\n%s", row.fault.Kind, a.StatusCode, a.code(), a.deployment(), row.status, row.code, a.body)
		}
		if strings.Contains(a.body, home.Name()+".") || strings.Contains(a.body, "127.0.0.1") {
			t.Errorf("%s tells of the account: %s", row.fault.Kind, a.body)
		}
	}
	if a := post(t, s.URL+"/v1/responses", ask("responses", false, user("Hello")), "X-Session-Id", "mine"); a.affinity() != "hit" || a.deployment() != first.deployment() {
		t.Errorf("afterwards: %s by %s", a.affinity(), a.deployment())
	}
}

// TestC4Stored holds C4 for what is asked about a response: a creator that is
// disabled, or is another one by now, is not asked; one of the same account is,
// and where the store is down nobody knows.
func TestC4Stored(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt")
	first := post(t, r.URL+"/v1/responses", ask("responses", false, user("Hello")))
	id, home := responseID(t, first), first.deployment()
	config, account := r.config, r.owner(home).Name()
	disabled := strings.Replace(config, "  - id: "+home+"\n", "  - id: "+home+"\n    enabled: false\n", 1)
	peer := "  - id: peer\n    model: other\n    connection: " + account + "\n    protocol: responses\n"
	for name, row := range map[string]struct {
		config string
		status int
	}{
		"disabled":       {disabled, 409},
		"new address":    {strings.ReplaceAll(config, r.fleet.URL(account)+"/v1", r.fleet.URL(account)+"/v1/v1"), 409},
		"new boundary":   {strings.Replace(config, "{id: "+account+",", "{id: "+account+", boundary: elsewhere,", 1), 409},
		"removed":        {strings.Replace(config, "  - id: "+home+"\n    model: responses\n", "  - id: "+home+"-gone\n    model: responses\n    enabled: false\n", 1), 409},
		"a peer serves":  {strings.Replace(disabled, "deployments:\n", "deployments:\n"+peer, 1), 200},
		"all as before ": {config, 200},
	} {
		r.Stop()
		r.config = row.config
		r.Gateway = r.start("-config-force")
		for _, at := range []string{"", "/input_items"} {
			calls := r.fleet.Count()
			a := send(t, "GET", r.URL+"/v1/responses/"+id+at, keyA)
			if a.StatusCode != row.status || row.status == 409 && (a.code() != "continuation_unavailable" || r.fleet.Count() != calls) {
				t.Errorf("%s%s: %d %s after %d calls", name, at, a.StatusCode, a.body, r.fleet.Count()-calls)
			}
		}
	}
}

// TestC4StoreDown shows that without the store nobody is told that something
// does not exist, and nobody is asked.
func TestC4StoreDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb")
	first := post(t, r.URL+"/v1/responses", reasoned(false, "Hello"))
	id := responseID(t, first)
	compacted := post(t, r.URL+"/v1/responses/compact", turn{"model": "responses", "input": []turn{user("Hello"), assistant("Hi"), user("More")}})
	r.front.Inject(wirefault.Rule{Times: -1, Fault: wirefault.Fault{Kind: wirefault.Error}})
	calls := r.fleet.Count()
	for name, a := range map[string]answer{
		"continuation": post(t, r.URL+"/v1/responses", after("responses", id, false, "More")),
		"retrieve":     send(t, "GET", r.URL+"/v1/responses/"+id, keyA),
		"delete":       send(t, "DELETE", r.URL+"/v1/responses/"+id, keyA),
		"cancel":       send(t, "POST", r.URL+"/v1/responses/"+id+"/cancel", keyA),
		"items":        send(t, "GET", r.URL+"/v1/responses/"+id+"/input_items", keyA),
		"conversation": post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": "x", "conversation": "conv_1"}),
		"reference":    post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": []turn{{"type": "item_reference", "id": "msg_1"}}}),
		"compaction":   post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": compacted.field("output")}),
	} {
		if a.StatusCode != http.StatusServiceUnavailable || a.code() != "ownership_unavailable" || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
	if r.fleet.Count() != calls {
		t.Errorf("%d calls without knowing the owner", r.fleet.Count()-calls)
	}
	r.front.Clear()
}

// TestBackground shows a response that goes on without its client: owned as soon
// as its id can be seen, asked about and cancelled at its owner alone.
func TestBackground(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store)
			other := r.second()
			body := turn{"model": "responses", "input": "Hello", "background": true}
			first := post(t, r.URL+"/v1/responses", body)
			at := other + "/v1/responses/" + responseID(t, first)
			if first.StatusCode != 200 || first.field("status") != "queued" {
				t.Fatalf("%d %s", first.StatusCode, first.body)
			}
			notFound(t, "foreign", send(t, "GET", at, keyB))
			if done := send(t, "GET", at, keyA); done.field("status") != "completed" || done.deployment() != first.deployment() {
				t.Errorf("polled: %d %s", done.StatusCode, done.body)
			}
			if next := post(t, other+"/v1/responses", after("responses", responseID(t, first), true, "More")); next.StatusCode != 200 {
				t.Errorf("continued: %d %s", next.StatusCode, next.body)
			}
			second := post(t, r.URL+"/v1/responses", body)
			if stopped := send(t, "POST", other+"/v1/responses/"+responseID(t, second)+"/cancel", keyA); stopped.field("status") != "cancelled" || stopped.deployment() != second.deployment() {
				t.Errorf("cancelled: %d %s", stopped.StatusCode, stopped.body)
			}
		})
	}
}

// TestBackgroundCut shows that who is cut off in the middle of such a stream may
// ask for it again: the id was usable before it was seen.
func TestBackgroundCut(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb")
	other := r.start()
	for _, a := range r.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.Cut, After: 2})
	}
	cut := post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": "Hello", "background": true, "stream": true})
	if cut.err == nil {
		t.Fatalf("the stream came whole: %s", cut.body)
	}
	id := responseID(t, cut)
	calls := r.fleet.Count()
	a := send(t, "GET", other.URL+"/v1/responses/"+id, keyA)
	if a.deployment() != cut.deployment() || a.affinity() != "required" || r.fleet.Count() != calls+1 {
		t.Errorf("%d by %s after %d calls, the stream was %s's: %s", a.StatusCode, a.deployment(), r.fleet.Count()-calls, cut.deployment(), a.body)
	}
}
