package accounts_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"holdfast/localstack/accounts"
)

// The budget of an account in a benchmark of something else: a small chat
// answer at most about 60 µs, server and client side together.
func BenchmarkChatJSON(b *testing.B) {
	benchmark(b, accounts.Config{Answer: "pong", Journal: -1}, `{"model":"m","messages":[{"role":"user","content":"ping"}]}`)
}

func BenchmarkChatJSONWithJournal(b *testing.B) {
	benchmark(b, accounts.Config{}, `{"model":"m","messages":[{"role":"user","content":"ping"}]}`)
}

func BenchmarkChatStream200(b *testing.B) {
	benchmark(b, accounts.Config{AnswerTokens: 200, Journal: -1}, `{"model":"m","stream":true,"messages":[{"role":"user","content":"ping"}]}`)
}

func BenchmarkLongConversation(b *testing.B) {
	var body bytes.Buffer
	body.WriteString(`{"model":"m","messages":[{"role":"user","content":"start"}`)
	for range 300 {
		body.WriteString(`,{"role":"assistant","content":"`)
		body.Write(bytes.Repeat([]byte("word "), 300))
		body.WriteString(`"},{"role":"user","content":"`)
		body.Write(bytes.Repeat([]byte("more "), 300))
		body.WriteString(`"}`)
	}
	body.WriteString(`]}`)
	benchmark(b, accounts.Config{Journal: -1}, body.String())
}

func benchmark(b *testing.B, c accounts.Config, body string) {
	c.Name = "alpha"
	fleet := accounts.StartConfigT(b, c)
	url := fleet.URL("alpha") + "/v1/chat/completions"
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		resp, err := client.Post(url, "application/json", bytes.NewReader([]byte(body)))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
}

// BenchmarkHandler is what the account itself costs, without sockets.
func BenchmarkHandler(b *testing.B) {
	a := accounts.New(accounts.Config{Answer: "pong", Journal: -1})
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"ping"}]}`)
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		clear(w.header)
		a.ServeHTTP(w, r)
		if w.status != http.StatusOK {
			b.Fatal(w.status)
		}
	}
}

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
