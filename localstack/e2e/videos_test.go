package e2e

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/wirefault"
)

// withVideos adds deployments on every account that make videos and embeddings.
func withVideos(d *document) {
	for _, a := range d.fleet.Accounts() {
		d.more += "  - {id: film-" + a.Name() + ", model: film, upstream_model: sora-2, connection: " + a.Name() + ", endpoints: [videos]}\n" +
			"  - {id: vector-" + a.Name() + ", model: vector, upstream_model: embed-3, connection: " + a.Name() + ", endpoints: [embeddings]}\n"
	}
}

// film begins a video of a session.
func film(t *testing.T, url, session string) answer {
	t.Helper()
	return post(t, url+"/v1/videos", map[string]any{"model": "film", "prompt": secretWord, "seconds": "8", "session_id": session})
}

// call makes a request without a body.
func call(t *testing.T, method, url, key string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return do(t, request)
}

// TestC9 shows a video from its creation to its end: at its owner, whatever has
// become of the session's preference and of the process; to its caller only.
func TestC9(t *testing.T) {
	for _, store := range rigs("memory", "bolt", "dynamodb") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store, withVideos)
			made := film(t, r.URL, "s")
			id, _ := made.field("id").(string)
			if made.StatusCode != 200 || id == "" || made.affinity() != "claimed" || made.Header.Get("X-Session-Id") != "s" {
				t.Fatalf("%d %s: %s", made.StatusCode, made.affinity(), made.body)
			}
			owner := r.owner(made.deployment())
			sent := owner.Calls()[owner.Count()-1]
			if got := string(sent.Body); !strings.Contains(got, `"model":"sora-2"`) || strings.Contains(got, "session_id") {
				t.Errorf("the provider was sent %s", got)
			}

			fault := accounts.InjectT(t, owner, accounts.Fault{Kind: accounts.RateLimit, Protocol: accounts.Videos, Operation: "create"})
			moved := film(t, r.URL, "s")
			if moved.StatusCode != 200 || moved.affinity() != "moved" || moved.deployment() == made.deployment() {
				t.Fatalf("a limit: %d %s by %s", moved.StatusCode, moved.affinity(), moved.deployment())
			}
			owner.Remove(fault)

			url := r.URL
			if store == "bolt" || store == "dynamodb" {
				r.Kill()
				url = r.start().URL
			}
			before := r.calls()
			for _, row := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"GET", "/content"}, {"POST", "/remix"}} {
				foreign := call(t, row[0], url+"/v1/videos/"+id+row[1], keyB)
				if row[0] == "POST" {
					foreign = post(t, url+"/v1/videos/"+id+row[1], `{"prompt":"x"}`, "Authorization", "Bearer "+keyB)
				}
				if foreign.StatusCode != 404 || foreign.code() != "task_not_found" {
					t.Errorf("a foreign %s %s: %d %s", row[0], row[1], foreign.StatusCode, foreign.body)
				}
				unknown := call(t, "GET", url+"/v1/videos/video_unknown", keyA)
				if row[0] == "GET" && unknown.body != foreign.body {
					t.Errorf("unknown and foreign differ: %s %s", unknown.body, foreign.body)
				}
			}
			if n := r.calls() - before; n != 0 {
				t.Errorf("%d calls for videos of others", n)
			}

			polled := call(t, "GET", url+"/v1/videos/"+id, keyA)
			if polled.StatusCode != 200 || polled.field("status") != "completed" || polled.affinity() != "required" || polled.deployment() != made.deployment() ||
				polled.Header.Get("X-Session-Id") != "s" || polled.Header.Get("X-Holdfast-Attempts") != "1" {
				t.Fatalf("poll: %d %s by %s: %s", polled.StatusCode, polled.affinity(), polled.deployment(), polled.body)
			}
			whole := call(t, "GET", url+"/v1/videos/"+id+"/content?variant=video", keyA)
			part := call(t, "GET", url+"/v1/videos/"+id+"/content", keyA, "Range", "bytes=100-299", "If-Range", whole.Header.Get("Etag"))
			other := call(t, "GET", url+"/v1/videos/"+id+"/content", keyA, "Range", "bytes=100-299", "If-Range", `"other"`)
			if whole.StatusCode != 200 || len(whole.body) != 64<<10 || whole.Header.Get("Content-Type") != "video/mp4" || whole.deployment() != made.deployment() {
				t.Errorf("content: %d, %d bytes, %v", whole.StatusCode, len(whole.body), whole.Header)
			}
			if part.StatusCode != 206 || part.body != whole.body[100:300] || part.Header.Get("Content-Range") != "bytes 100-299/65536" || other.StatusCode != 200 || other.body != whole.body {
				t.Errorf("a range: %d, %v; of another version: %d", part.StatusCode, part.Header, other.StatusCode)
			}
			if calls := owner.Calls(); !strings.HasSuffix(calls[len(calls)-3].Path, "/content?variant=video") {
				t.Errorf("the provider was asked for %s", calls[len(calls)-3].Path)
			}
			if beyond := call(t, "GET", url+"/v1/videos/"+id+"/content", keyA, "Range", "bytes=99999-"); beyond.StatusCode != 416 {
				t.Errorf("beyond the end: %d", beyond.StatusCode)
			}
			remix := post(t, url+"/v1/videos/"+id+"/remix", `{"prompt":"again"}`)
			remixed, _ := remix.field("id").(string)
			if remix.StatusCode != 200 || remix.field("remixed_from_video_id") != id || remix.deployment() != made.deployment() {
				t.Fatalf("remix: %d by %s: %s", remix.StatusCode, remix.deployment(), remix.body)
			}
			if p := call(t, "GET", url+"/v1/videos/"+remixed, keyA); p.StatusCode != 200 || p.deployment() != made.deployment() {
				t.Errorf("a remix is polled: %d by %s", p.StatusCode, p.deployment())
			}
			listed(t, url, keyA, remixed, moved.field("id").(string), id)
			listed(t, url, keyB)
			if gone := call(t, "DELETE", url+"/v1/videos/"+id, keyA); gone.StatusCode != 200 || gone.field("deleted") != true {
				t.Errorf("delete: %d %s", gone.StatusCode, gone.body)
			}
			listed(t, url, keyA, remixed, moved.field("id").(string))
			if again := call(t, "GET", url+"/v1/videos/"+id, keyA); again.StatusCode != 404 || again.code() != "task_not_found" {
				t.Errorf("after deletion: %d %s", again.StatusCode, again.body)
			}
		})
	}
}

// listed checks a caller's own list, page by page.
func listed(t *testing.T, url, key string, want ...string) {
	t.Helper()
	var got []string
	for after := ""; ; {
		page := call(t, "GET", url+"/v1/videos?limit=2"+after, key)
		data, _ := page.field("data").([]any)
		for _, one := range data {
			video := one.(map[string]any)
			if video["object"] != "video" || video["created_at"].(float64) == 0 || video["model"] != "sora-2" || video["seconds"] != "8" {
				t.Errorf("listed as %v", video)
			}
			got = append(got, video["id"].(string))
		}
		last, more := page.field("last_id").(string)
		if page.field("has_more") != true {
			break
		}
		if !more || len(data) != 2 {
			t.Fatalf("a page: %s", page.body)
		}
		after = "&after=" + last
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("listed %v, want %v", got, want)
	}
}

// TestC9Unknown shows that a creation is asked for once where nobody knows what
// came of it, however it was lost, and is tried elsewhere only where it cannot
// have begun.
func TestC9Unknown(t *testing.T) {
	for _, kind := range []accounts.Kind{accounts.ServerError, accounts.Overloaded, accounts.ResetBefore, accounts.ResetAfter, accounts.Cut, accounts.Garbage, accounts.Empty, accounts.Redirect} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "memory", withVideos)
			for _, a := range r.fleet.Accounts() {
				accounts.InjectT(t, a, accounts.Fault{Kind: kind, Protocol: accounts.Videos})
			}
			a := film(t, r.URL, "s")
			if a.StatusCode != 502 || a.code() != "upstream_unknown_outcome" || r.calls() != 1 {
				t.Errorf("%d %s after %d calls: %s", a.StatusCode, a.code(), r.calls(), a.body)
			}
			listed(t, r.URL, keyA)
		})
	}
	t.Run("not begun", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, "memory", withVideos)
		if err := r.fleet.Down("alpha"); err != nil {
			t.Fatal(err)
		}
		accounts.InjectT(t, r.fleet.Account("bravo"), accounts.Fault{Kind: accounts.RateLimit})
		for i := range 6 {
			if a := film(t, r.URL, fmt.Sprint("s", i)); a.StatusCode != 200 || a.deployment() != "film-charlie" {
				t.Errorf("%d by %s: %s", a.StatusCode, a.deployment(), a.body)
			}
		}
	})
	t.Run("remix", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, "memory", withVideos)
		made := film(t, r.URL, "s")
		url := r.URL + "/v1/videos/" + made.field("id").(string) + "/remix"
		accounts.InjectT(t, r.owner(made.deployment()), accounts.Fault{Kind: accounts.ServerError, Operation: "remix"})
		before := r.calls()
		if a := post(t, url, `{"prompt":"x"}`); a.StatusCode != 502 || a.code() != "upstream_unknown_outcome" || r.calls() != before+1 {
			t.Errorf("%d %s after %d calls", a.StatusCode, a.code(), r.calls()-before)
		}
		if a := post(t, url, `{"prompt":"x","api_base":"http://x"}`); a.StatusCode != 400 || r.calls() != before+1 {
			t.Errorf("X1: %d", a.StatusCode)
		}
	})
}

// TestC9Store shows that without the store nothing is begun, a poll is refused
// rather than taken for a miss, and an id that could not be kept is not shown.
func TestC9Store(t *testing.T) {
	t.Run("away", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, "dynamodb", withVideos)
		id := film(t, r.URL, "s").field("id").(string)
		before := r.calls()
		r.front.Decide(func(wirefault.Request) wirefault.Fault { return wirefault.Fault{Kind: wirefault.Error} })
		if a := film(t, r.URL, "t"); a.StatusCode != 503 || a.code() != "ownership_unavailable" || a.Header.Get("Retry-After") == "" {
			t.Errorf("creation: %d %s", a.StatusCode, a.code())
		}
		for _, path := range []string{"/v1/videos/" + id, "/v1/videos/" + id + "/content", "/v1/videos"} {
			if a := call(t, "GET", r.URL+path, keyA); a.StatusCode != 503 || a.code() != "ownership_unavailable" {
				t.Errorf("%s: %d %s", path, a.StatusCode, a.code())
			}
		}
		if n := r.calls() - before; n != 0 {
			t.Errorf("%d calls", n)
		}
	})
	for _, applied := range []bool{false, true} {
		for _, times := range []int{1, -1} {
			t.Run(fmt.Sprintf("writes applied=%v times=%d", applied, times), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, "dynamodb", withVideos)
				for _, operation := range []string{"PutItem", "UpdateItem"} {
					r.front.Inject(wirefault.Rule{Operation: operation, Table: "state", Times: times, Fault: wirefault.Fault{Kind: wirefault.Drop, Applied: applied}})
				}
				a := film(t, r.URL, "s")
				id, _ := a.field("id").(string)
				if lost := times < 0 && !applied; lost != (a.StatusCode == 503 && a.code() == "ownership_unavailable" && id == "") || !lost && a.StatusCode != 200 || r.calls() != 1 {
					t.Fatalf("%d %s after %d calls: %s", a.StatusCode, a.code(), r.calls(), a.body)
				}
				r.front.Clear()
				if id != "" {
					if p := call(t, "GET", r.URL+"/v1/videos/"+id, keyA); p.StatusCode != 200 {
						t.Errorf("poll: %d %s", p.StatusCode, p.body)
					}
				}
			})
		}
	}
}

// postForm sends text fields as a form.
func postForm(t *testing.T, url, session string, fields ...string) answer {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = w.WriteField(fields[i], fields[i+1])
	}
	_ = w.Close()
	return post(t, url, b.String(), "Content-Type", w.FormDataContentType(), "X-Session-Id", session)
}

// TestVideoOwner shows that a video's owner is validated again for every request,
// that its own trouble is told as it is, and that no poll cools anybody.
func TestVideoOwner(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", withVideos)
	made := film(t, r.URL, "s")
	url, owner := r.URL+"/v1/videos/"+made.field("id").(string), r.owner(made.deployment())
	for _, fault := range []accounts.Fault{{Kind: accounts.NotFound}, {Kind: accounts.ServerError}, {Kind: accounts.RateLimit, RetryAfter: "60"}, {Kind: accounts.Unauthorized}} {
		id := accounts.InjectT(t, owner, fault)
		want := map[accounts.Kind]int{accounts.NotFound: 404, accounts.ServerError: 500, accounts.RateLimit: 429, accounts.Unauthorized: 502}[fault.Kind]
		for range 5 {
			before := owner.Count()
			if a := call(t, "GET", url, keyA); a.StatusCode != want || owner.Count() != before+1 {
				t.Errorf("%s: %d after %d calls: %s", fault.Kind, a.StatusCode, owner.Count()-before, a.body)
			}
		}
		owner.Remove(id)
	}
	if a := film(t, r.URL, "s"); a.StatusCode != 200 || a.affinity() != "hit" || a.deployment() != made.deployment() {
		t.Errorf("after polls that failed: %d %s by %s", a.StatusCode, a.affinity(), a.deployment())
	}
	if err := r.fleet.Down(owner.Name()); err != nil {
		t.Fatal(err)
	}
	if a := call(t, "GET", url, keyA); a.StatusCode != 502 || strings.Contains(a.body, "127.0.0.1") {
		t.Errorf("owner away: %d %s", a.StatusCode, a.body)
	}
}

// TestVideoCut shows that content whose provider breaks off does not look whole,
// and that one that nobody reads is not read to its end.
func TestVideoCut(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", withVideos)
	made := film(t, r.URL, "s")
	id := made.field("id").(string)
	call(t, "GET", r.URL+"/v1/videos/"+id, keyA)
	owner := r.owner(made.deployment())
	for _, kind := range []accounts.Kind{accounts.Cut, accounts.ResetAfter} { // a reset may throw away what was sent before it
		fault := accounts.InjectT(t, owner, accounts.Fault{Kind: kind, AfterBytes: 1000, Operation: "content"})
		if a := call(t, "GET", r.URL+"/v1/videos/"+id+"/content", keyA); a.StatusCode != 502 && a.err == nil || kind == accounts.Cut && len(a.body) != 1000 {
			t.Errorf("%s: %d, %d bytes look whole", kind, a.StatusCode, len(a.body))
		}
		owner.Remove(fault)
	}
	accounts.InjectT(t, owner, accounts.Fault{Kind: accounts.Hang, Operation: "content", Times: 1})
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+"/v1/videos/"+id+"/content", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+keyA)
	ended := make(chan error, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			response.Body.Close()
		}
		ended <- err
	}()
	reached, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := owner.Await(reached, func(calls []accounts.Call) bool { return calls[len(calls)-1].Open }); err != nil {
		t.Fatal(err)
	}
	leave()
	if err := owner.Await(reached, func(calls []accounts.Call) bool { return calls[len(calls)-1].Cancelled }); err != nil {
		t.Errorf("the provider goes on for a client that has left: %v", err)
	}
	<-ended
}

// TestVideoBill shows that a video's success is noted once, with what prices it, in
// whatever way and however often it is seen.
func TestVideoBill(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt", withVideos)
	made := film(t, r.URL, "s")
	id := made.field("id").(string)
	for range 3 {
		call(t, "GET", r.URL+"/v1/videos/"+id, keyA)
		call(t, "GET", r.URL+"/v1/videos/"+id+"/content", keyA)
	}
	if code := r.Stop(); code != 0 {
		t.Fatal(code)
	}
	begun, finished := 0, 0
	for line := range strings.Lines(r.Log()) {
		if !strings.Contains(line, `"task":{"kind":"video","id":"`+id+`"`) {
			continue
		}
		if !strings.Contains(line, `"seconds":"8"`) || !strings.Contains(line, `"size":"720x1280"`) || !strings.Contains(line, `"upstream_model":"sora-2"`) {
			t.Errorf("without what prices it: %s", line)
		}
		if strings.Contains(line, `"finished":true`) {
			finished++
		} else {
			begun++
		}
	}
	if begun != 1 || finished != 1 {
		t.Errorf("begun %d times, finished %d times\n%s", begun, finished, r.Log())
	}
}
