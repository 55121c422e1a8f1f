package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// live is a deployment's state as the admin API tells it.
type live struct {
	Deployment string
	Cooling    *string  `json:"cooling_until"`
	Reason     string   `json:"cooling_reason"`
	Share      *float64 `json:"traffic_share"`
	Hits       *float64 `json:"cache_hit_share"`
	Drained    bool
	Requests   int
}

func deployments(t *testing.T, at string) map[string]live {
	t.Helper()
	by := map[string]live{}
	for _, d := range read[page[live]](t, at+"/admin/deployments").Entries {
		by[d.Deployment] = d
	}
	return by
}

// TestDrain takes a deployment out for new sessions only, in every process, and
// brings it back. Both are on record.
func TestDrain(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "dynamodb")
	other := r.start()
	home := turnOf(t, r.URL, "chat", "old", false).deployment()
	if a := admin(t, "POST", r.URL+"/admin/deployments/"+home+"/drain", ""); a.StatusCode != 200 || a.field("drained") != true {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if !deployments(t, other.URL)[home].Drained {
		t.Error("another process does not know")
	}
	if a := turnOf(t, other.URL, "chat", "old", false); a.affinity() != "hit" || a.deployment() != home {
		t.Errorf("a session that was there: %s by %s", a.affinity(), a.deployment())
	}
	for i := range 12 {
		if a := turnOf(t, other.URL, "chat", fmt.Sprint("new", i), false); a.deployment() == home && a.affinity() != "degraded" {
			t.Error("a new session came to a drained deployment")
		}
	}
	if a := admin(t, "DELETE", other.URL+"/admin/deployments/"+home+"/drain", ""); a.StatusCode != 200 || a.field("drained") != false {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	back := false
	for i := range 30 {
		back = back || turnOf(t, r.URL, "chat", fmt.Sprint("later", i), false).deployment() == home
	}
	if !back {
		t.Error("nothing comes back after the drain")
	}
	if a := admin(t, "POST", r.URL+"/admin/deployments/none/drain", ""); a.StatusCode != 404 {
		t.Errorf("an unknown one: %d", a.StatusCode)
	}
	trail := admin(t, "GET", r.URL+"/admin/audit/changes", "").body
	if !strings.Contains(trail, "deployment.drain") || !strings.Contains(trail, "deployment.undrain") || !strings.Contains(trail, home) {
		t.Errorf("the trail: %s", trail)
	}
}

// TestCooldownByHand lets a deployment rest and wakes it.
func TestCooldownByHand(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	home := turnOf(t, r.URL, "chat", "s", false).deployment()
	for _, bad := range []string{"", `{}`, `{"seconds":0}`, `{"seconds":-1}`, `{"seconds":1e9}`, `{"minutes":1}`} {
		if a := admin(t, "POST", r.URL+"/admin/deployments/"+home+"/cooldown", bad); a.StatusCode != 400 {
			t.Errorf("%s: %d", bad, a.StatusCode)
		}
	}
	if a := admin(t, "POST", r.URL+"/admin/deployments/"+home+"/cooldown", `{"seconds":600}`); a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if d := deployments(t, r.URL)[home]; d.Cooling == nil || d.Reason != "operator" {
		t.Errorf("%+v", d)
	}
	if a := turnOf(t, r.URL, "chat", "s", false); a.deployment() == home {
		t.Error("it serves while it rests")
	}
	if a := admin(t, "DELETE", r.URL+"/admin/deployments/"+home+"/cooldown", ""); a.StatusCode != 200 {
		t.Fatal(a.body)
	}
	if d := deployments(t, r.URL)[home]; d.Cooling != nil {
		t.Errorf("%+v", d)
	}
}

// TestLiveState shows shares of traffic and of cached tokens.
func TestLiveState(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory")
	for range 3 {
		post(t, r.URL+route("chat"), ask("chat", false, user(long(3000)), assistant("Yes."), user("Go on")), "X-Session-Id", "s")
	}
	home := events(t, r.URL, 3)[0].Deployment
	all := deployments(t, r.URL)
	if _, there := all[home]; !there || len(all) != 9 {
		t.Fatalf("%d deployments, %s among them: %v", len(all), home, there)
	}
	for id, d := range all {
		switch {
		case id == home && (d.Requests != 3 || d.Share == nil || *d.Share != 1 || d.Hits == nil || *d.Hits < 0.5):
			t.Errorf("%+v", d)
		case id != home && d.Requests != 0:
			t.Errorf("%+v", d)
		case strings.HasPrefix(id, "messages-") && d.Share != nil:
			t.Errorf("a model without traffic has shares: %+v", d)
		}
	}
}

// preference is a session's, as the admin API tells it.
type preference struct{ Key, Endpoint, Model, Deployment string }

// TestAffinityByHand looks a session up by both of its ids, points it elsewhere,
// and clears it.
func TestAffinityByHand(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "bolt")
	home := turnOf(t, r.URL, "chat", "s", false).deployment()
	turnOf(t, r.URL, "messages", "s", false)
	events(t, r.URL, 2)
	scoped := scopedOf(t, r.URL, "a", "s")
	found := read[page[preference]](t, r.URL+"/admin/affinity?session_id="+scoped).Entries
	raw := read[page[preference]](t, r.URL+"/admin/affinity?raw_session_id=s&key=a").Entries
	if len(found) != 2 || !slices.Equal(found, raw) {
		t.Fatalf("%v by its scoped id, %v by the caller's", found, raw)
	}
	if other := read[page[preference]](t, r.URL+"/admin/affinity?raw_session_id=s&key=b").Entries; len(other) != 0 {
		t.Errorf("another key's session of that id: %v", other)
	}
	mine := found[slices.IndexFunc(found, func(p preference) bool { return p.Endpoint == "chat" })]
	if mine.Deployment != home || mine.Model != "chat" {
		t.Errorf("%+v", mine)
	}
	elsewhere := "chat-alpha"
	if home == elsewhere {
		elsewhere = "chat-bravo"
	}
	at := r.URL + "/admin/affinity/" + mine.Key
	for _, bad := range []string{`{}`, `{"deployment":"none"}`, `{"deployment":"messages-alpha"}`, `[]`} {
		if a := admin(t, "PUT", at, bad); a.StatusCode != 400 {
			t.Errorf("%s: %d %s", bad, a.StatusCode, a.body)
		}
	}
	if a := admin(t, "PUT", at, `{"deployment":"`+elsewhere+`"}`); a.StatusCode != 200 || a.field("deployment") != elsewhere {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if a := turnOf(t, r.URL, "chat", "s", false); a.affinity() != "hit" || a.deployment() != elsewhere {
		t.Errorf("after it was set: %s by %s", a.affinity(), a.deployment())
	}
	if a := admin(t, "DELETE", at, ""); a.StatusCode != http.StatusNoContent {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if a := turnOf(t, r.URL, "chat", "s", false); a.affinity() != "claimed" {
		t.Errorf("after it was cleared: %s", a.affinity())
	}
	for _, gone := range []string{r.URL + "/admin/affinity/none", strings.Replace(at, mine.Key[:4], "ffff", 1)} {
		if a := admin(t, "DELETE", gone, ""); a.StatusCode != 404 {
			t.Errorf("%s: %d", gone, a.StatusCode)
		}
	}
}

// TestGroupsByHand makes, changes and removes a group by compare-and-swap on the
// document's revision.
func TestGroupsByHand(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "bolt")
	at := r.URL + "/admin/groups/smart"
	revision := admin(t, "GET", r.URL+"/admin/groups", "").Header.Get("ETag")
	if a := admin(t, "PUT", at, `{"members":["chat"]}`); a.StatusCode != 428 {
		t.Errorf("without a revision: %d", a.StatusCode)
	}
	for _, bad := range []string{`{"members":["nobody"]}`, `{"members":[]}`, `{"name":"other","members":["chat"]}`, `{"mebers":["chat"]}`, `[`} {
		if a := admin(t, "PUT", at, bad, "If-Match", revision); a.StatusCode != 400 || !strings.Contains(a.body, `"problems"`) {
			t.Errorf("%s: %d %s", bad, a.StatusCode, a.body)
		}
	}
	made := admin(t, "PUT", at, `{"members":["chat"],"session_affinity":true}`, "If-Match", revision)
	if made.StatusCode != 200 {
		t.Fatalf("%d %s", made.StatusCode, made.body)
	}
	if a := admin(t, "PUT", at, `{"members":["chat"]}`, "If-Match", revision); a.StatusCode != 409 || a.code() != "revision_conflict" {
		t.Errorf("at a stale revision: %d %s", a.StatusCode, a.body)
	}
	body := ask("chat", false, user("Hello"))
	body["model"] = "smart"
	if a := post(t, r.URL+route("chat"), body); a.StatusCode != 200 {
		t.Errorf("the group: %d %s", a.StatusCode, a.body)
	}
	one := admin(t, "GET", at, "")
	if one.StatusCode != 200 || one.field("name") != "smart" || one.Header.Get("ETag") != made.Header.Get("ETag") {
		t.Errorf("%d %s", one.StatusCode, one.body)
	}
	again := admin(t, "PUT", at, one.body, "If-Match", one.Header.Get("ETag")) // what was read may be put
	if again.StatusCode != 200 {
		t.Fatalf("%d %s", again.StatusCode, again.body)
	}
	if a := admin(t, "DELETE", at, "", "If-Match", again.Header.Get("ETag")); a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if a := admin(t, "GET", at, ""); a.StatusCode != 404 {
		t.Errorf("after its end: %d", a.StatusCode)
	}
	if a := post(t, r.URL+route("chat"), body); a.StatusCode != 404 {
		t.Errorf("a request for it: %d", a.StatusCode)
	}
	if trail := admin(t, "GET", r.URL+"/admin/audit/changes", "").body; !strings.Contains(trail, "group.put") || !strings.Contains(trail, "group.remove") {
		t.Errorf("the trail: %s", trail)
	}
}
