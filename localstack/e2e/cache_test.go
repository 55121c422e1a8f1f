package e2e

import (
	"maps"
	"testing"
)

// cached switches the response cache on for everybody.
func cached(d *document) {
	d.extra = "templates: [{id: t, response_cache: {enabled: true, ttl: 10m}}]\nplatform: {template: t}\n"
}

// TestResponseCache shows an exact repetition answered without a call, byte for
// byte, on every endpoint and in both forms, and who never gets such an answer.
func TestResponseCache(t *testing.T) {
	t.Parallel()
	for _, kind := range rigs("memory", "dynamodb") {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind, cached)
			for _, endpoint := range []string{"chat", "responses", "messages"} {
				for _, stream := range []bool{false, true} {
					r.repeats(t, endpoint, stream)
				}
			}
		})
	}
}

// repeats asks the same twice and looks at the second answer.
func (r *rig) repeats(t *testing.T, endpoint string, stream bool) {
	t.Helper()
	url := r.URL + route(endpoint)
	body := ask(endpoint, stream, user("Say it again"))
	first := post(t, url, body, "X-Session-Id", "one")
	if first.StatusCode != 200 || first.Header.Get("X-Holdfast-Cache") != "" {
		t.Fatalf("%s: %d %s", endpoint, first.StatusCode, first.body)
	}
	r.settled()
	before := r.calls()
	second := post(t, url, body, "X-Session-Id", "two")
	if second.Header.Get("X-Holdfast-Cache") != "hit" || r.calls() != before {
		t.Fatalf("%s, stream %v: the cache says %q after %d calls", endpoint, stream, second.Header.Get("X-Holdfast-Cache"), r.calls()-before)
	}
	if second.body != first.body || second.Header.Get("Content-Type") != first.Header.Get("Content-Type") {
		t.Errorf("%s, stream %v: another answer: %q, then %q", endpoint, stream, first.body, second.body)
	}
	if second.deployment() != "" || second.affinity() != "new" || second.Header.Get("X-Session-Id") != "two" {
		t.Errorf("a hit names %q, affinity %q, session %q", second.deployment(), second.affinity(), second.Header.Get("X-Session-Id"))
	}
	changed := maps.Clone(body)
	changed["temperature"] = 0.5
	for name, ask := range map[string]func() answer{
		"another caller":      func() answer { return post(t, url, body, "Authorization", "Bearer "+keyB) },
		"no-store":            func() answer { return post(t, url, body, "Cache-Control", "no-store") },
		"another temperature": func() answer { return post(t, url, changed) },
	} {
		before := r.calls()
		if a := ask(); a.StatusCode != 200 || a.Header.Get("X-Holdfast-Cache") != "" || a.deployment() == "" || r.calls() != before+1 || stream && !whole(endpoint, a) {
			t.Errorf("%s, stream %v, %s: %d, the cache says %q after %d calls", endpoint, stream, name, a.StatusCode, a.Header.Get("X-Holdfast-Cache"), r.calls()-before)
		}
	}
}

// TestResponseCacheRefuses shows what is never kept: what the client asked not to
// be stored, continuations, answers that a limit has cut, and failures; and that
// a first hit leaves no preference behind.
func TestResponseCacheRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt", cached)
	url := r.URL + route("responses")
	private := ask("responses", false, user("Keep nothing"))
	private["store"] = false
	root := post(t, url, ask("responses", false, user("A root")))
	r.settled()
	next := ask("responses", false, user("And then"))
	next["previous_response_id"] = root.field("id")
	short := ask("responses", false, user("Tell me a long story"))
	short["max_output_tokens"] = 1
	for name, body := range map[string]map[string]any{"store: false": private, "a continuation": next, "a cut answer": short} {
		for range 2 {
			a := post(t, url, body)
			if a.StatusCode != 200 || a.Header.Get("X-Holdfast-Cache") == "hit" {
				t.Errorf("%s: %d %q %s", name, a.StatusCode, a.Header.Get("X-Holdfast-Cache"), a.body)
			}
			r.settled()
		}
	}
	known := ask("chat", false, user("Once"))
	post(t, r.URL+route("chat"), known, "X-Session-Id", "teacher")
	r.settled()
	if a := post(t, r.URL+route("chat"), known, "X-Session-Id", "pupil"); a.Header.Get("X-Holdfast-Cache") != "hit" {
		t.Fatalf("no hit: %s", a.body)
	}
	known["seed"] = 1
	if a := post(t, r.URL+route("chat"), known, "X-Session-Id", "pupil"); a.affinity() != "claimed" {
		t.Errorf("after a hit the session's first own turn is %q, want claimed", a.affinity())
	}
}
