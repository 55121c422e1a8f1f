package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// refusedAbout holds an answer to a refusal that names a parameter.
func refusedAbout(t *testing.T, what string, a answer, parameter string) {
	t.Helper()
	if a.StatusCode != 400 || a.code() != "invalid_request" || a.field("error", "param") != parameter {
		t.Errorf("%s: %d %s %s, want a refusal of %s", what, a.StatusCode, a.code(), a.body, parameter)
	}
}

// TestListsTakeWhatTheySay: a list honours each parameter that it takes and
// refuses all others, by name; none is passed over in silence.
func TestListsTakeWhatTheySay(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	const of = "session_id user_path key model provider deployment label status from to days limit cursor format offset"
	takes := map[string]string{
		"usage/sessions": of, "audit/sessions": of,
		"usage/summary":    "session_id user_path key model provider deployment label status from to days format",
		"audit/log":        "session_id user_path key model provider deployment label status from to days limit cursor format",
		"audit/changes":    "session_id key deployment from to days limit cursor format",
		"affinity":         "session_id key model provider deployment limit cursor format",
		"deployments":      "model provider deployment from to days limit cursor format",
		"groups":           "model provider deployment limit cursor format",
		"keys":             "user_path key model from to days limit cursor format",
		"config/revisions": "from to days limit cursor format",
	}
	good := map[string]string{
		"session_id": "scoped-0123456789abcdef0123456789abcdef", "user_path": "/acme", "key": "a", "model": "chat", "provider": "openai", "deployment": "chat-alpha",
		"label": "x", "status": "4xx", "from": time.Now().AddDate(0, 0, -100).Format(time.DateOnly), "to": "2026-01-01T00:00:00Z", "days": "3", "limit": "1", "format": "csv", "offset": "1",
	}
	bad := map[string]string{
		"session_id": "s", "status": "20", "from": "yesterday", "to": "2026-13-01", "days": "0", "limit": "201", "cursor": "nonsense", "format": "xml", "offset": "-1",
	}
	for list, taken := range takes {
		at := r.URL + "/admin/" + list + "?"
		if list == "affinity" {
			at += "session_id=" + good["session_id"] + "&"
		}
		for _, name := range append(strings.Fields(of), "nope", "Limit", "sort") {
			if list == "affinity" && name == "session_id" {
				continue
			}
			known := strings.Contains(" "+taken+" ", " "+name+" ")
			if value, given := good[name]; given || !known {
				a := admin(t, "GET", at+name+"="+url.QueryEscape(value), "")
				if !known {
					refusedAbout(t, list+" by "+name, a, name)
				} else if a.StatusCode != 200 {
					t.Errorf("%s by %s: %d %s", list, name, a.StatusCode, a.body)
				}
			}
			if value, given := bad[name]; known && given {
				refusedAbout(t, list+" by a bad "+name, admin(t, "GET", at+name+"="+url.QueryEscape(value), ""), name)
			}
			if known && name != "cursor" {
				refusedAbout(t, list+" by two of "+name, admin(t, "GET", at+name+"="+good[name]+"&"+name+"="+good[name], ""), name)
			}
		}
		if strings.Contains(taken, " to ") {
			refusedAbout(t, list+" backwards", admin(t, "GET", at+"from=2026-02-01&to=2026-02-01", ""), "to")
			refusedAbout(t, list+" from and days", admin(t, "GET", at+"from=2026-02-01&days=1", ""), "days")
		}
		if a := admin(t, "GET", at+"limit=%zz", ""); a.StatusCode != 400 || a.code() != "invalid_request" {
			t.Errorf("%s, no percent-encoding: %d %s", list, a.StatusCode, a.body)
		}
	}
}

// TestSessionTotals: a filtered report of more than one page says how many
// sessions there are, on every page.
func TestSessionTotals(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "bolt")
	const sessions = 7
	for i := range sessions {
		post(t, r.URL+route("chat"), ask("chat", false, user("Hello")), "X-Session-Id", fmt.Sprint("s", i), "X-Holdfast-Label", "x")
		post(t, r.URL+route("chat"), ask("chat", false, user("Hello")), "X-Session-Id", fmt.Sprint("s", i), "Authorization", "Bearer "+keyB)
	}
	r.settledLine(2 * sessions) // sums are written after the events
	for _, report := range []string{"usage", "audit"} {
		for _, filter := range []string{"key=a", "label=x", "key=a&model=chat&status=2xx", "days=1&user_path=/ann", "user_path=ann", "key=a&to=2126-01-01"} {
			at, seen := r.URL+"/admin/"+report+"/sessions?limit=3&"+filter, 0
			for next := ""; ; {
				p := read[page[map[string]any]](t, at+"&cursor="+url.QueryEscape(next))
				if seen += len(p.Entries); p.Total == nil || *p.Total != sessions {
					t.Errorf("%s by %s after %d: total %v", report, filter, seen, p.Total)
				}
				if next = p.Next; next == "" {
					break
				}
			}
			p := read[page[map[string]any]](t, at+"&offset=5")
			if seen != sessions || p.Total == nil || *p.Total != sessions || len(p.Entries) != sessions-5 {
				t.Errorf("%s by %s: %d of %d sessions; from 5: %d", report, filter, seen, sessions, len(p.Entries))
			}
		}
	}
	if a := admin(t, "GET", r.URL+"/admin/usage/sessions?from=2026-01-31T18:00:00.5+01:00", ""); a.StatusCode != 200 {
		t.Errorf("a zone with a plus: %d %s", a.StatusCode, a.body)
	}
	inside := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	if p := read[page[map[string]any]](t, r.URL+"/admin/usage/sessions?limit=3&from="+inside); p.Total == nil || *p.Total != 2*sessions {
		t.Errorf("from within an hour: total %v, want %d", p.Total, 2*sessions)
	}
}

// namedBy are the named members of a list's entries, page by page.
func namedBy(t *testing.T, at, member string) (all []string) {
	t.Helper()
	for _, one := range paged[map[string]any](t, at) {
		all = append(all, fmt.Sprint(one[member]))
	}
	return all
}

// TestListsOfConfigurationArePaged: deployments, groups, revisions, changes and
// preferences are lists like any other.
func TestListsOfConfigurationArePaged(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory", func(d *document) {
		d.extra += "groups:\n"
		for i := range 5 {
			d.extra += fmt.Sprintf("  - {name: g%d, members: [%s]}\n", i, []string{"chat", "messages"}[i%2])
		}
	})
	at := r.URL + "/admin/"
	for _, row := range []struct{ list, member, want string }{
		{"groups?limit=2", "name", "[g0 g1 g2 g3 g4]"}, {"groups?limit=1&model=messages", "name", "[g1 g3]"}, {"groups?model=g2&limit=1", "name", "[g2]"},
		{"groups?deployment=messages-bravo&limit=200", "name", "[g1 g3]"}, {"groups?provider=nobody&limit=1", "name", "[]"},
		{"deployments?limit=2&model=chat", "deployment", "[chat-alpha chat-bravo chat-charlie]"}, {"deployments?limit=1&deployment=chat-bravo", "deployment", "[chat-bravo]"},
		{"deployments?model=g1&limit=1", "deployment", "[messages-alpha messages-bravo messages-charlie]"}, {"deployments?model=none&limit=1", "deployment", "[]"},
	} {
		if got := fmt.Sprint(namedBy(t, at+row.list, row.member)); got != row.want {
			t.Errorf("%s: %s, want %s", row.list, got, row.want)
		}
	}
	first := read[page[map[string]any]](t, at+"groups?limit=2")
	if a := admin(t, "GET", at+"groups?model=chat&cursor="+first.Next, ""); a.StatusCode != 400 {
		t.Errorf("another list's cursor: %d %s", a.StatusCode, a.body)
	}
	table := admin(t, "GET", at+"groups?limit=2&format=csv", "")
	if strings.Count(table.body, "\n") != 3 || table.Header.Get("X-Holdfast-Next-Cursor") != first.Next {
		t.Errorf("a table: %s %v", table.body, table.Header)
	}
	for i := range 3 {
		admin(t, "POST", at+"keys", fmt.Sprintf(`{"id":"k%d","models":["%s"]}`, i, []string{"chat", "messages"}[i%2]))
		admin(t, "POST", at+"deployments/chat-alpha/drain", "")
		admin(t, "DELETE", at+"deployments/chat-bravo/cooldown", "")
	}
	today, tomorrow := time.Now().UTC().Format(time.DateOnly), time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	for list, want := range map[string]int{
		"audit/changes?limit=2": 9, "audit/changes?limit=1&key=k1": 1, "audit/changes?limit=2&deployment=chat-alpha": 3, "audit/changes?limit=2&days=2": 9,
		"audit/changes?limit=5&to=" + today: 0, "audit/changes?limit=5&from=" + tomorrow: 0, "audit/changes?limit=5&days=1&to=" + tomorrow: 9,
		"keys?limit=1&model=chat": 4, "keys?limit=3&model=messages": 3, "keys?limit=1&key=k2": 1, "keys?limit=1&key=b": 1, "keys?limit=1&key=none": 0, "keys?limit=1&days=1": 3, "keys?limit=1&to=" + today: 0,
		"keys?limit=1&user_path=/acme": 0,
	} { // the configuration has two keys, which may use every model
		if got := paged[json.RawMessage](t, at+list); len(got) != want {
			t.Errorf("%s: %d entries, want %d", list, len(got), want)
		}
	}
	if p := read[page[map[string]any]](t, at+"keys?limit=1&model=messages"); len(p.Entries) != 1 || p.Entries[0]["id"] != "k1" {
		t.Errorf("a page is filled as far as it may be: %v", p)
	}
}

// TestListsBySession: preferences and changes of them are found by session, and
// only under the key that it belongs to.
func TestListsBySession(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	at := r.URL + "/admin/"
	for _, model := range []string{"chat", "messages", "responses"} {
		post(t, r.URL+route("chat"), strings.Replace(encoded(t, ask("chat", false, user("Hello"))), `"chat"`, `"`+model+`"`, 1), "X-Session-Id", "s")
	}
	events(t, r.URL, 3)
	scoped := scopedOf(t, r.URL, "a", "s")
	all := paged[map[string]any](t, at+"affinity?limit=1&session_id="+scoped)
	if len(all) != 3 {
		t.Fatalf("%d preferences", len(all))
	}
	home := fmt.Sprint(all[0]["deployment"])
	for query, want := range map[string]int{
		"session_id=" + scoped + "&model=chat": 1, "session_id=" + scoped + "&deployment=" + home: 1, "session_id=" + scoped + "&provider=openai-compatible": 3,
		"session_id=" + scoped + "&provider=x": 0, "session_id=" + scoped + "&key=a": 3, "session_id=" + scoped + "&key=b": 0, "raw_session_id=s&key=a": 3, "raw_session_id=s&key=b": 0,
	} {
		if got := paged[map[string]any](t, at+"affinity?limit=2&"+query); len(got) != want {
			t.Errorf("%s: %d preferences, want %d", query, len(got), want)
		}
	}
	if a := admin(t, "DELETE", at+"affinity/"+fmt.Sprint(all[0]["key"]), ""); a.StatusCode != 204 {
		t.Fatal(a.body)
	}
	for query, want := range map[string]int{"session_id=" + scoped: 1, "raw_session_id=s&key=a": 1, "raw_session_id=s&key=b": 0, "deployment=" + home: 0} {
		if got := paged[map[string]any](t, at+"audit/changes?limit=2&"+query); len(got) != want {
			t.Errorf("changes by %s: %d, want %d", query, len(got), want)
		}
	}
}

// TestExplainTells: every member is there whatever is known, and a key that may not
// be used gets the refusal that its request would.
func TestExplainTells(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory", func(d *document) {
		d.extra += "teams: [{id: core}]\n"
		d.key = ", enabled: false"
	})
	question := `{"endpoint":"chat","key":"%s","headers":{"X-Session-Id":"s"},"body":{"model":"chat","messages":[{"role":"user","content":"Hello"}]}}`
	if a := admin(t, "POST", r.URL+"/admin/explain", fmt.Sprintf(question, "a")); a.StatusCode != 403 || a.code() != "key_disabled" {
		t.Errorf("a disabled key: %d %s", a.StatusCode, a.body)
	}
	a := admin(t, "POST", r.URL+"/admin/explain", fmt.Sprintf(question, "b"))
	for _, member := range []string{`"session":`, `"preference":null`, `"template":`, `"candidates":[`, `"reason":`, `"rank":`, `"scores":{`} {
		if a.StatusCode != 200 || !strings.Contains(a.body, member) {
			t.Errorf("%s is missing: %d %s", member, a.StatusCode, a.body)
		}
	}
}

// TestAttemptsAreCalls: an exchange that has called nobody says so.
func TestAttemptsAreCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", cached, func(d *document) { d.key += ", limits: {rpm: 2}" })
	body := ask("chat", false, user("Hello"))
	want := []string{"1", "0", "0"} // served, from the cache, over the limit
	untilEarly()
	for i, status := range []int{200, 200, 429} {
		a := post(t, r.URL+route("chat"), body)
		if n := a.Header.Get("X-Holdfast-Attempts"); a.StatusCode != status || n != want[i] {
			t.Errorf("request %d: %d after %s attempts, want %d after %s: %s", i+1, a.StatusCode, n, status, want[i], a.body)
		}
		r.settledLine(i + 1)
	}
}
