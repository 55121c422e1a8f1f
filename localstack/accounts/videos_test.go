package accounts_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

func TestVideo(t *testing.T) {
	fleet := accounts.StartConfigT(t, accounts.Config{Name: "alpha", VideoPolls: 2}, accounts.Config{Name: "bravo"})
	url := fleet.URL("alpha") + "/v1/videos"
	made := ok(t, http.MethodPost, url, `{"model":"sora-2","prompt":"a boat"}`)
	id := made.text("id")
	if made.text("status") != "queued" || made.text("seconds") != "4" || made.at("completed_at") != nil {
		t.Errorf("%v", made)
	}
	if early := must(t, http.MethodGet, url+"/"+id+"/content", ""); early.status != 400 {
		t.Errorf("content of an unfinished video: %d", early.status)
	}
	if first := ok(t, http.MethodGet, url+"/"+id, ""); first.text("status") != "queued" {
		t.Errorf("after one poll of two: %v", first)
	}
	if second := ok(t, http.MethodGet, url+"/"+id, ""); second.text("status") != "completed" || second.number("progress") != 100 {
		t.Errorf("after two polls: %v", second)
	}
	whole := must(t, http.MethodGet, url+"/"+id+"/content", "")
	part := must(t, http.MethodGet, url+"/"+id+"/content", "", "Range", "bytes=100-199")
	if whole.status != 200 || len(whole.body) != 64<<10 || whole.header.Get("Content-Type") != "video/mp4" {
		t.Errorf("%d, %d bytes, %v", whole.status, len(whole.body), whole.header)
	}
	if part.status != http.StatusPartialContent || string(part.body) != string(whole.body[100:200]) {
		t.Errorf("%d, %d bytes", part.status, len(part.body))
	}
	if calls := fleet.Account("alpha").Calls(); calls[len(calls)-1].Status != http.StatusPartialContent || calls[len(calls)-1].Operation != "content" {
		t.Errorf("%+v", calls[len(calls)-1])
	}
	for _, path := range []string{"GET /", "DELETE /", "GET //content"} {
		method, path, _ := strings.Cut(path, " ")
		path = "/" + id + strings.TrimPrefix(path, "/")
		if foreign := must(t, method, fleet.URL("bravo")+"/v1/videos"+path, ""); foreign.status != 404 {
			t.Errorf("%s %s at another account: %d", method, path, foreign.status)
		}
	}
	if got := must(t, http.MethodPost, url, `{"model":"sora-2"}`); got.status != 400 {
		t.Errorf("without a prompt: %d", got.status)
	}
	if got := must(t, http.MethodPost, url, "--b\r\nbroken", "Content-Type", "multipart/form-data; boundary=b"); got.status != 400 {
		t.Errorf("a broken form: %d", got.status)
	}
	accounts.InjectT(t, fleet.Account("alpha"), accounts.Fault{Kind: accounts.Cut, AfterBytes: 10, Operation: "content", Times: 1})
	if torn, err := call(t, http.MethodGet, url+"/"+id+"/content", ""); err == nil && len(torn.body) > 10 {
		t.Errorf("torn content: %d bytes, %v", len(torn.body), err)
	}
	fault := accounts.Fault{Kind: accounts.ServerError, Protocol: accounts.Videos, Operation: "create"}
	accounts.InjectT(t, fleet.Account("alpha"), fault)
	if got := must(t, http.MethodPost, url, `{"prompt":"x"}`); got.status != 500 {
		t.Errorf("with a fault: %d", got.status)
	}
	ok(t, http.MethodGet, url+"/"+id, "")
}

// SDKs send a form; lists, remixes and deletions come with it.
func TestVideoForm(t *testing.T) {
	_, base := start(t, accounts.Config{})
	url := base + "/v1/videos"
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for _, field := range [][2]string{{"prompt", "a boat"}, {"model", "sora-2-pro"}, {"seconds", "8"}, {"other", "ignored"}} {
		if err := w.WriteField(field[0], field[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	first := ok(t, http.MethodPost, url, form.String(), "Content-Type", w.FormDataContentType())
	if first.text("model") != "sora-2-pro" || first.text("prompt") != "a boat" || first.text("seconds") != "8" || first.text("size") == "" {
		t.Errorf("%v", first)
	}
	remix := ok(t, http.MethodPost, url+"/"+first.text("id")+"/remix", `{"prompt":"a ship"}`)
	if remix.text("remixed_from_video_id") != first.text("id") || remix.text("prompt") != "a ship" || remix.text("model") != "sora-2-pro" {
		t.Errorf("%v", remix)
	}
	if got := must(t, http.MethodPost, url+"/video_1/remix", `{"prompt":"x"}`); got.status != 404 {
		t.Errorf("a remix of nothing: %d", got.status)
	}
	list := ok(t, http.MethodGet, url, "")
	if list.text("data", 0, "id") != remix.text("id") || list.text("data", 1, "id") != first.text("id") || list.text("last_id") != first.text("id") {
		t.Errorf("%v", list)
	}
	ok(t, http.MethodDelete, url+"/"+first.text("id"), "")
	if got := must(t, http.MethodGet, url+"/"+first.text("id"), ""); got.status != 404 {
		t.Errorf("after deletion: %d", got.status)
	}
	if list := ok(t, http.MethodGet, url, ""); list.text("last_id") != remix.text("id") || list.at("data", 1) != nil {
		t.Errorf("%v", list)
	}
}
