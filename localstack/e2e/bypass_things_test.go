package e2e

import "testing"

// TestBypassThings shows things of an account being their maker's: conversations as
// an example of all that are made by one path and found by another.
func TestBypassThings(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb", withVideos)
	made := post(t, r.URL+"/bypass/alpha/v1/conversations", `{"metadata":{"a":"b"}}`)
	id, _ := made.field("id").(string)
	if made.StatusCode != 200 || id == "" {
		t.Fatalf("%d %s", made.StatusCode, made.body)
	}
	at := "/bypass/alpha/v1/conversations/" + id
	before := r.calls()
	for name, a := range map[string]answer{
		"foreign": call(t, "GET", r.URL+at, keyB), "unknown": call(t, "GET", r.URL+"/bypass/alpha/v1/conversations/conv_1", keyA),
		"elsewhere": call(t, "DELETE", r.URL+"/bypass/bravo/v1/conversations/"+id, keyA), "another kind": call(t, "GET", r.URL+"/bypass/alpha/v1/files/"+id, keyA),
		"a foreign part": call(t, "GET", r.URL+at+"/items", keyB), "a file of nobody": post(t, r.URL+"/bypass/alpha/v1/batches", `{"input_file_id":"file_1"}`),
	} {
		if a.StatusCode != 404 || a.code() != "task_not_found" {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
	if a := call(t, "GET", r.URL+"/bypass/alpha/v1/conversations", keyA); a.StatusCode != 404 || a.code() != "route_not_found" {
		t.Errorf("a list: %d %s", a.StatusCode, a.body)
	}
	if n := r.calls() - before; n != 0 {
		t.Errorf("%d calls", n)
	}
	if a := call(t, "GET", r.URL+at+"/items", keyA); a.StatusCode != 200 || a.affinity() != "required" {
		t.Errorf("items: %d %s", a.StatusCode, a.body)
	}
	said := map[string]any{"model": "responses", "input": "Hello", "conversation": id}
	if a := post(t, r.URL+"/bypass/alpha/v1/responses", said); a.StatusCode != 200 || a.affinity() != "required" {
		t.Errorf("a turn of it: %d %s", a.StatusCode, a.body)
	}
	before = r.calls()
	for name, a := range map[string]answer{
		"foreign": post(t, r.URL+"/bypass/alpha/v1/responses", said, "Authorization", "Bearer "+keyB), "elsewhere": post(t, r.URL+"/bypass/bravo/v1/responses", said),
		"foreign, unified": post(t, r.URL+"/v1/responses", said, "Authorization", "Bearer "+keyB),
	} {
		if a.StatusCode != 409 || a.code() != "continuation_unavailable" || r.calls() != before {
			t.Errorf("a turn, %s: %d %s", name, a.StatusCode, a.body)
		}
	}
	if a := call(t, "DELETE", r.URL+at, keyA); a.StatusCode != 200 {
		t.Errorf("delete: %d %s", a.StatusCode, a.body)
	}
	if a := call(t, "GET", r.URL+at, keyA); a.StatusCode != 404 || a.code() != "task_not_found" {
		t.Errorf("after deletion: %d %s", a.StatusCode, a.body)
	}

	video := postForm(t, r.URL+"/bypass/bravo/v1/videos", "s", "model", "sora-2", "prompt", "x", "seconds", "8")
	film, _ := video.field("id").(string)
	if video.StatusCode != 200 || video.deployment() != "film-bravo" {
		t.Fatalf("a video: %d %s", video.StatusCode, video.body)
	}
	for _, path := range []string{"/bypass/bravo/v1/videos/" + film, "/v1/videos/" + film, "/bypass/bravo/v1/videos/" + film + "/content"} {
		if a := call(t, "GET", r.URL+path, keyA); a.StatusCode != 200 || a.deployment() != "film-bravo" {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.body)
		}
		if a := call(t, "GET", r.URL+path, keyB); a.StatusCode != 404 {
			t.Errorf("foreign %s: %d", path, a.StatusCode)
		}
	}
	listed(t, r.URL, keyA, film)
	r.front.Decide(failing)
	before = r.calls()
	if a := post(t, r.URL+"/bypass/alpha/v1/conversations", `{}`); a.StatusCode != 503 || r.calls() != before {
		t.Errorf("without the store: %d", a.StatusCode)
	}
	if a := call(t, "GET", r.URL+"/bypass/bravo/v1/videos/"+film, keyA); a.StatusCode != 503 || a.code() != "ownership_unavailable" {
		t.Errorf("without the store: %d %s", a.StatusCode, a.code())
	}
}
