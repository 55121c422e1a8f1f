package e2e

import "testing"

// TestOwnersChange shows that who made a video or ciphertext is judged by the
// configuration in force, on the next request of another process: gone, switched
// off or at another address it is not asked, and neither is anybody else.
func TestOwnersChange(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "dynamodb", withVideos)
	other := r.start()
	made := film(t, r.URL, "s")
	path, owner := "/v1/videos/"+made.field("id").(string), r.owner(made.deployment()).Name()
	first := post(t, r.URL+"/bypass/"+owner+"/v1/responses", nativeBody("responses", true, user("Hello")))
	sealed := nativeBody("responses", false, append(append([]turn{user("Hello")}, outputItems(t, first)...), user("More"))...)
	conversation := "/bypass/" + owner + "/v1/conversations/" + post(t, r.URL+"/bypass/"+owner+"/v1/conversations", `{}`).field("id").(string)

	read := admin(t, "GET", r.URL+"/admin/config", "")
	match := read.Header.Get("ETag")
	put := func(document string) {
		t.Helper()
		a := admin(t, "PUT", r.URL+"/admin/config", document, "If-Match", match)
		if match = a.Header.Get("ETag"); a.StatusCode != 200 {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
	}
	switchedOff := entry(t, read.body, "deployments", "film-"+owner, "enabled", false)
	switchedOff = entry(t, switchedOff, "deployments", "responses-"+owner, "enabled", false)
	for name, document := range map[string]string{
		"switched off":     switchedOff,
		"another address":  entry(t, read.body, "connections", owner, "base_url", r.fleet.URL(owner)),
		"another boundary": entry(t, read.body, "connections", owner, "boundary", "moved"),
	} {
		put(document)
		before := r.calls()
		for _, row := range [][2]string{{"GET", ""}, {"GET", "/content"}, {"DELETE", ""}} {
			if a := call(t, row[0], other.URL+path+row[1], keyA); a.StatusCode != 409 || a.code() != "continuation_unavailable" {
				t.Errorf("%s: %s %s: %d %s", name, row[0], row[1], a.StatusCode, a.body)
			}
		}
		if a := post(t, other.URL+path+"/remix", `{"prompt":"x"}`); a.StatusCode != 409 {
			t.Errorf("%s: remix: %d", name, a.StatusCode)
		}
		if a := post(t, other.URL+"/bypass/"+owner+"/v1/responses", sealed); a.StatusCode != 409 || a.code() != "start_new_conversation" {
			t.Errorf("%s: ciphertext: %d %s", name, a.StatusCode, a.body)
		}
		if n := r.calls() - before; n != 0 {
			t.Errorf("%s: %d calls", name, n)
		}
		put(read.body)
		if a := call(t, "GET", other.URL+path, keyA); a.StatusCode != 200 {
			t.Errorf("%s, and back: %d %s", name, a.StatusCode, a.body)
		}
	}
	put(entry(t, read.body, "keys", "a", "models", []string{"chat"}))
	before := r.calls()
	if a := call(t, "GET", other.URL+path, keyA); a.StatusCode != 403 || a.code() != "model_forbidden" || r.calls() != before {
		t.Errorf("a key that may not use the model any more: %d %s", a.StatusCode, a.body)
	}
	put(entry(t, read.body, "keys", "a", "enabled", false))
	for _, at := range []string{path, "/v1/videos", conversation} {
		if a := call(t, "GET", other.URL+at, keyA); a.StatusCode != 403 || a.code() != "key_disabled" {
			t.Errorf("%s of a key that is switched off: %d %s", at, a.StatusCode, a.body)
		}
	}
	if n := r.calls() - before; n != 0 {
		t.Errorf("%d calls", n)
	}
}
