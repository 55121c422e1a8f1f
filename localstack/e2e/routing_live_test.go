package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// TestS4Live makes the changes of TestS4 on running processes: the very next
// request to another process obeys, and taking a change back brings nobody back.
func TestS4Live(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "dynamodb", env: []string{"HOLDFAST_ADMIN_KEY=" + adminKey}})
	other := s.start()
	changes := []struct {
		name   string
		change func(document, home string) string
	}{
		{"disabled", func(d, home string) string { return entry(t, d, "deployments", home, "enabled", false) }},
		{"weight 0", func(d, home string) string { return entry(t, d, "deployments", home, "weight", 0) }},
		{"weight 0 in the template", func(d, home string) string {
			return entry(t, d, "templates", "t", "model_rules", turn{"chat": turn{"weights": turn{home: 0}}})
		}},
		{"endpoint removed", func(d, home string) string {
			return entry(t, d, "deployments", home, "endpoints", []string{"messages"})
		}},
		{"no streams any more", func(d, home string) string {
			return entry(t, d, "deployments", home, "capabilities", turn{"stream": false})
		}},
		{"deleted", func(d, home string) string { return without(t, d, "deployments", home) }},
	}
	for _, c := range changes {
		home, _ := s.home("chat", c.name)
		before := admin(t, "GET", s.URL+"/admin/config", "")
		s.put(c.name, c.change(before.body, home), before.Header.Get("ETag"))
		for _, url := range []string{other.URL, s.URL} {
			a, trail := s.trail(func() answer { return turnOf(t, url, "chat", c.name, true) })
			if a.StatusCode != 200 || len(trail) != 1 || trail[0] == home {
				t.Errorf("%s: %d by %v, want one call elsewhere than %s", c.name, a.StatusCode, trail, home)
			}
		}
		for n := range 4 {
			if a := turnOf(t, other.URL, "chat", fmt.Sprint(c.name, n), true); a.StatusCode != 200 || a.deployment() == home {
				t.Errorf("%s: a new session: %d by %s", c.name, a.StatusCode, a.deployment())
			}
		}
		moved := turnOf(t, other.URL, "chat", c.name, true)
		s.put(c.name+" taken back", before.body, admin(t, "GET", s.URL+"/admin/config", "").Header.Get("ETag"))
		if a := turnOf(t, other.URL, "chat", c.name, false); a.affinity() != "hit" || a.deployment() != moved.deployment() {
			t.Errorf("%s taken back: %s by %s, want a hit by %s", c.name, a.affinity(), a.deployment(), moved.deployment())
		}
	}
}

// put makes a document the configuration in force.
func (s *scene) put(row, document, tag string) {
	s.t.Helper()
	if a := admin(s.t, "PUT", s.URL+"/admin/config", document, "If-Match", tag); a.StatusCode != 200 {
		s.t.Fatalf("%s: %d %s", row, a.StatusCode, a.body)
	}
}

// without takes an entry out of a document's list.
func without(t *testing.T, document, list, id string) string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		t.Fatal(err)
	}
	doc[list] = slices.DeleteFunc(doc[list].([]any), func(one any) bool { return one.(map[string]any)["id"] == id })
	changed, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(changed)
}
