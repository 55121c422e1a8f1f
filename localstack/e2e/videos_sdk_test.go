//lint:file-ignore SA1019 one provider ends its videos; the routes stay, and this is the client that speaks them

package e2e

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"

	"holdfast/localstack/accounts"
)

// TestVideoForm shows the form in which OpenAI's SDK sends a creation, its bounds,
// and that the same rules hold in it.
func TestVideoForm(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", withVideos)
	client := openai.NewClient(openaioption.WithBaseURL(r.URL+"/v1"), openaioption.WithAPIKey(keyA), openaioption.WithHeader("X-Session-Id", "s"))
	image := strings.Repeat("\x89PNG\r\n", 1000)
	made, err := client.Videos.New(t.Context(), openai.VideoNewParams{
		Prompt: secretWord, Model: "film", Seconds: "8", InputReference: openai.VideoNewParamsInputReferenceUnion{OfFile: strings.NewReader(image)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var sent accounts.Call
	for _, a := range r.fleet.Accounts() {
		if a.Count() > 0 {
			sent = a.Calls()[0]
		}
	}
	if !bytes.Contains(sent.Body, []byte(image)) || sent.Model != "sora-2" || made.Seconds != "8" {
		t.Errorf("the provider was sent %d bytes for %q", len(sent.Body), sent.Model)
	}
	polled, err := client.Videos.Get(t.Context(), made.ID)
	if err != nil || polled.Status != "completed" {
		t.Errorf("poll: %v %v", err, polled)
	}
	content, err := client.Videos.DownloadContent(t.Context(), made.ID, openai.VideoDownloadContentParams{})
	if err != nil {
		t.Fatal(err)
	}
	defer content.Body.Close()
	if all, err := io.ReadAll(content.Body); err != nil || len(all) != 64<<10 {
		t.Errorf("content: %d bytes, %v", len(all), err)
	}
	remix, err := client.Videos.Remix(t.Context(), made.ID, openai.VideoRemixParams{Prompt: "again"})
	if err != nil || remix.RemixedFromVideoID != made.ID {
		t.Errorf("remix: %v", err)
	}
	n := 0
	for page := client.Videos.ListAutoPaging(t.Context(), openai.VideoListParams{Limit: openai.Int(1)}); page.Next(); n++ {
		if _, err := client.Videos.Delete(t.Context(), page.Current().ID); err != nil {
			t.Error(err)
		}
	}
	if n != 2 {
		t.Errorf("%d videos listed and deleted, want 2", n)
	}
	before := r.calls()
	for name, fields := range map[string][]string{
		"two models": {"model", "film", "model", "film", "prompt", "x"}, "an address": {"model", "film", "api_base", "http://127.0.0.1"},
		"no model": {"prompt", "x"}, "two sessions": {"model", "film", "session_id", "other"}, "a bad session": {"model", "film", "session_id", " s"},
	} {
		if a := postForm(t, r.URL+"/v1/videos", "s", fields...); a.StatusCode != 400 {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
	if a := post(t, r.URL+"/v1/videos", "--b\r\nbroken", "Content-Type", "multipart/form-data; boundary=b"); a.StatusCode != 400 {
		t.Errorf("a broken form: %d", a.StatusCode)
	}
	if a := postForm(t, r.URL+"/v1/videos", "s", "model", "film", "prompt", strings.Repeat("x", 21<<20)); a.StatusCode != 413 {
		t.Errorf("too large: %d", a.StatusCode)
	}
	if got := r.calls() - before; got != 0 {
		t.Errorf("%d calls for what is refused", got)
	}
}
