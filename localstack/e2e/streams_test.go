package e2e

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"holdfast/localstack/accounts"
)

// TestP2NoneIsCut shows that of 10,000 streams, over connections that are used
// again and again, none ends before its end.
func TestP2NoneIsCut(t *testing.T) {
	t.Parallel()
	const streams, clients = 10_000, 16
	s := newScene(t, world{accounts: []accounts.Config{{Name: "alpha", Journal: -1}, {Name: "bravo", Journal: -1}}})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	t.Cleanup(client.CloseIdleConnections)
	var next, cut atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for next.Add(1) <= streams {
				if err := oneStream(client, s.URL); err != "" && cut.Add(1) <= 3 {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := cut.Load(); n > 0 {
		t.Errorf("%d of %d streams were cut", n, streams)
	}
}

// oneStream reads a stream to its end and says what is wrong with it.
func oneStream(client *http.Client, url string) string {
	body := `{"model":"chat","stream":true,"messages":[{"role":"user","content":"Hello"}]}`
	request, err := http.NewRequest(http.MethodPost, url+route("chat"), strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	request.Header.Set("Authorization", "Bearer "+keyA)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !bytes.HasSuffix(text, []byte("data: [DONE]\n\n")) {
		return response.Status + " ending with " + string(text[max(0, len(text)-120):])
	}
	return ""
}
