package accounts_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/localstack/accounts"
)

func TestControlFaults(t *testing.T) {
	a, url := start(t, accounts.Config{})
	created := must(t, http.MethodPost, url+"/control/faults", `{"kind":"slow_tokens","times":3,"match":"x","delay":"250ms","after":-1,"stream":true,"probability":0.5,"seed":7}`)
	if created.status != http.StatusCreated || created.object(t).text("id") != "f1" {
		t.Fatalf("%d %s", created.status, created.body)
	}
	stream := true
	want := []accounts.Armed{{ID: "f1", Fault: accounts.Fault{Kind: accounts.SlowTokens, Times: 3, Match: "x", Delay: 250e6, After: -1, Stream: &stream, Probability: 0.5, Seed: 7}}}
	if diff := cmp.Diff(want, a.Faults()); diff != "" {
		t.Error(diff)
	}
	list := ok(t, http.MethodGet, url+"/control/faults", "")
	if list.text("faults", 0, "fault", "delay") != "250ms" || list.text("faults", 0, "id") != "f1" {
		t.Errorf("%v", list)
	}
	if gone := must(t, http.MethodDelete, url+"/control/faults/f9", ""); gone.status != 404 {
		t.Errorf("an unknown fault: %d", gone.status)
	}
	ok(t, http.MethodDelete, url+"/control/faults/f1", "")
	must(t, http.MethodPost, url+"/control/faults", `{"kind":"hang"}`)
	must(t, http.MethodPost, url+"/control/faults", `{"kind":"hang"}`)
	if removed := ok(t, http.MethodDelete, url+"/control/faults", ""); removed.number("removed") != 2 || len(a.Faults()) != 0 {
		t.Errorf("%v, left %v", removed, a.Faults())
	}
}

// A mistake is told where it is.
func TestControlMistakes(t *testing.T) {
	a, url := start(t, accounts.Config{})
	for _, tc := range []struct{ name, body, want string }{
		{"empty", ``, "the body is not JSON"},
		{"not an object", `[]`, "a fault is a JSON object"},
		{"cut", `{"kind":`, "the body is not JSON"},
		{"two values", `{"kind":"hang"}{}`, "the body is not JSON"},
		{"no kind", `{}`, `kind: "" is none of [rate_limit `},
		{"an unknown kind", `{"kind":"flood"}`, `kind: "flood" is none of`},
		{"an unknown member", `{"kind":"hang","time":1}`, "time: a fault has no such member"},
		{"a member twice", `{"kind":"hang","kind":"cut"}`, "the body is not JSON"},
		{"a wrong type", `{"kind":"hang","times":"one"}`, "times: "},
		{"a number for a duration", `{"kind":"hang","delay":250}`, `delay: a duration is a string such as "250ms"`},
		{"a word for a duration", `{"kind":"hang","delay":"soon"}`, `delay: a duration is a string such as "250ms"`},
		{"negative times", `{"kind":"hang","times":-1}`, "times: must not be negative"},
		{"a chance above one", `{"kind":"hang","probability":2}`, "probability: must be between 0 and 1"},
		{"slow without a delay", `{"kind":"slow_tokens"}`, "delay: must be positive"},
		{"a good status", `{"kind":"server_error","status":200}`, "status: must be an error status"},
		{"after", `{"kind":"cut","after":-2}`, "after: must be -1 or more"},
		{"bytes", `{"kind":"cut","after_bytes":-2}`, "after_bytes: must not be negative"},
		{"milliseconds", `{"kind":"rate_limit","retry_after_ms":-2}`, "retry_after_ms: must not be negative"},
		{"too large", `{"kind":"hang","match":"` + strings.Repeat("x", 1<<20) + `"}`, "could not be read"},
	} {
		got := must(t, http.MethodPost, url+"/control/faults", tc.body)
		if got.status/100 != 4 || !strings.Contains(got.object(t).text("error"), tc.want) {
			t.Errorf("%s: %d %s, want %q", tc.name, got.status, got.body, tc.want)
		}
	}
	if len(a.Faults()) != 0 {
		t.Errorf("armed: %v", a.Faults())
	}
	if got := must(t, http.MethodGet, url+"/control/nothing", ""); got.status != 404 || !strings.Contains(got.object(t).text("error"), "/control/faults") {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, query := range []string{"after=x", "after=-1", "limit=1.5"} {
		if got := must(t, http.MethodGet, url+"/control/calls?"+query, ""); got.status != 400 {
			t.Errorf("%s: %d", query, got.status)
		}
	}
}

func TestControlCallsAndCache(t *testing.T) {
	a, url := start(t, accounts.Config{})
	body := `{"model":"m","messages":[{"role":"user","content":"` + words("long", 1200) + `"}]}`
	for range 3 {
		must(t, http.MethodPost, url+"/v1/chat/completions?x=1", body, "Authorization", "Bearer sk-secret-one")
	}
	must(t, http.MethodPost, url+"/v1/chat/completions", "\xff")
	list := ok(t, http.MethodGet, url+"/control/calls?after=1&limit=2", "")
	if list.number("count") != 4 || len(list.at("calls").([]any)) != 2 || list.number("calls", 0, "seq") != 2 {
		t.Errorf("count %d, first %d", list.number("count"), list.number("calls", 0, "seq"))
	}
	if list.text("calls", 0, "body") != body || list.text("calls", 0, "path") != "/v1/chat/completions?x=1" || list.number("calls", 0, "usage", "cache_read") != 1152 {
		t.Errorf("%v", list.at("calls", 0, "usage"))
	}
	binary := ok(t, http.MethodGet, url+"/control/calls?after=3", "")
	if binary.text("calls", 0, "body_base64") != "/w==" || binary.number("calls", 0, "status") != 400 {
		t.Errorf("%v", binary)
	}
	if whole := must(t, http.MethodGet, url+"/control/calls", ""); strings.Contains(string(whole.body), "sk-secret") {
		t.Error("a credential is in the journal")
	}
	cache := ok(t, http.MethodGet, url+"/control/cache", "")
	if cache.number("hits") != 2 || cache.number("cold") != 1 || cache.number("writes") != 1 || cache.number("tokens_read") != 2304 {
		t.Errorf("%v", cache)
	}
	ok(t, http.MethodDelete, url+"/control/cache", "")
	ok(t, http.MethodDelete, url+"/control/calls", "")
	if a.Count() != 0 || len(a.Calls()) != 0 || a.CacheStats().Entries != 0 {
		t.Errorf("after clearing: %d calls, %+v", a.Count(), a.CacheStats())
	}
	if health := ok(t, http.MethodGet, url+"/control/healthz", ""); health.text("account") != "alpha" || health.at("ok") != true {
		t.Errorf("%v", health)
	}
}
