package e2e

import (
	"fmt"
	"testing"
)

// TestOptOut shows that a request which opts out plans as if new and writes
// nothing, that it may do so beside a preference, and that a template or a group
// can do so for all.
func TestOptOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt", func(d *document) {
		d.extra = "groups: [{name: loose, members: [chat], session_affinity: false}]\n"
	})
	url := r.URL + route("chat")
	met := map[string]bool{}
	for range 24 {
		a := post(t, url, ask("chat", false, user("Hello")), "X-Session-Id", "s", "X-Holdfast-Affinity", "off")
		if a.StatusCode != 200 || a.affinity() != "off" || a.Header.Get("X-Session-Id") != "s" {
			t.Fatalf("%d %s %s", a.StatusCode, a.affinity(), a.body)
		}
		met[a.deployment()] = true
	}
	if len(met) != 3 {
		t.Errorf("%v served, want all three: nothing holds the session", met)
	}
	kept := turnOf(t, r.URL, "chat", "s", false)
	if kept.affinity() != "claimed" {
		t.Errorf("an exchange that opted out has written a preference: %s", kept.affinity())
	}
	for range 12 {
		post(t, url, ask("chat", false, user("Hello")), "X-Session-Id", "s", "X-Holdfast-Affinity", "off")
	}
	if a := turnOf(t, r.URL, "chat", "s", false); a.affinity() != "hit" || a.deployment() != kept.deployment() {
		t.Errorf("after exchanges that opted out: %s by %s, want a hit by %s", a.affinity(), a.deployment(), kept.deployment())
	}
	body := ask("chat", false, user("Hello"))
	body["model"] = "loose"
	met = map[string]bool{}
	for range 24 {
		a := post(t, url, body, "X-Session-Id", "s")
		if a.affinity() != "off" {
			t.Fatalf("a group without affinity: %s", a.affinity())
		}
		met[a.deployment()] = true
	}
	if len(met) != 3 {
		t.Errorf("%v served the group, want all three", met)
	}
}

// TestSwitchedOff shows affinity off for everybody, and identification off.
func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	rows := map[string]struct{ extra, affinity, session string }{
		"affinity": {"affinity: {enabled: false}\n", "off", "s"},
		"session":  {"session: {enabled: false}\n", "off", ""},
	}
	for name, row := range rows {
		r := newRig(t, "memory", func(d *document) { d.extra = row.extra })
		met := map[string]bool{}
		for range 24 {
			a := turnOf(t, r.URL, "chat", "s", false)
			if a.StatusCode != 200 || a.affinity() != row.affinity || a.Header.Get("X-Session-Id") != row.session {
				t.Fatalf("%s: %d %s %q", name, a.StatusCode, a.affinity(), a.Header.Get("X-Session-Id"))
			}
			met[a.deployment()] = true
		}
		if len(met) != 3 {
			t.Errorf("%s: %v served, want all three", name, fmt.Sprint(met))
		}
	}
}
