package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// Sizes of bodies, in bytes.
const (
	largest = 20 << 20 // that is taken
	vast    = 64 << 20 // more than is ever read
)

// dialled is a connection without an HTTP client, to send what none would.
type dialled struct {
	t *testing.T
	*net.TCPConn
	reader *bufio.Reader
}

// wireLimit bounds every wait on a raw connection.
const wireLimit = 30 * time.Second

// dial connects to a gateway.
func dial(t *testing.T, base string) *dialled {
	t.Helper()
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.DialTimeout("tcp", to.Host, wireLimit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(wireLimit)); err != nil {
		t.Fatal(err)
	}
	return &dialled{t, c.(*net.TCPConn), bufio.NewReader(c)}
}

// put sends bytes; a gateway that has hung up already is no failure of the test.
func (d *dialled) put(text string) { _, _ = io.WriteString(d, text) }

// answer reads the next answer.
func (d *dialled) answer() answer {
	d.t.Helper()
	response, err := http.ReadResponse(d.reader, nil)
	if err != nil {
		d.t.Fatalf("no answer: %v", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	response.Request = &http.Request{Method: http.MethodPost}
	return answer{response, string(body), err}
}

// closed reports whether the gateway hangs up without another byte.
func (d *dialled) closed() bool {
	n, err := d.reader.Read(make([]byte, 1))
	return n == 0 && err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// head is the start of a POST with caller a's key and further header lines.
func head(path string, lines ...string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nAuthorization: Bearer " + keyA + "\r\n" +
		strings.Join(append(lines, "\r\n"), "\r\n")
}

// TestX5Size shows the bound on a body: to the byte, announced or chunked.
func TestX5Size(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	sized := func(endpoint string, n int) []byte {
		start, end := `{"model":"`+endpoint+`","max_tokens":9,"messages":[{"role":"user","content":"`, `"}],"input":"x"}`
		return slicesOf(start, n-len(start)-len(end), end)
	}
	for _, chunked := range []bool{false, true} {
		for _, endpoint := range protocols() {
			for _, size := range []int{largest, largest + 1} {
				if size == largest && endpoint != "chat" {
					continue // once is enough for what takes long
				}
				body := io.Reader(bytes.NewReader(sized(endpoint, size)))
				if chunked {
					body = io.MultiReader(body) // of unknown length
				}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+route(endpoint), body)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Authorization", "Bearer "+keyA)
				a := do(t, request)
				if size == largest {
					if a.StatusCode != http.StatusOK {
						t.Errorf("%s, chunked %v: %d %s for the largest body", endpoint, chunked, a.StatusCode, a.body)
					}
					continue
				}
				refusalOf(t, endpoint, a)
				if a.code() != "request_too_large" || !strings.Contains(a.body, "20 MiB") {
					t.Errorf("%s, chunked %v: %d %s, want 413 with the limit", endpoint, chunked, a.StatusCode, a.body)
				}
			}
		}
	}
	if n := r.calls(); n != 2 {
		t.Errorf("%d calls reached the accounts, want those of the largest bodies", n)
	}
}

// slicesOf is text between a start and an end, filled up to n bytes.
func slicesOf(start string, n int, end string) []byte {
	b := append(make([]byte, 0, len(start)+n+len(end)), start...)
	b = append(b, bytes.Repeat([]byte("x"), n)...)
	return append(b, end...)
}

// TestX5AnswerWhileWriting shows that a client which is still sending a body
// that is refused can read why.
func TestX5AnswerWhileWriting(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	unknown := strings.ReplaceAll(head("/v1/messages", fmt.Sprint("Content-Length: ", vast)), keyA, "sk-unknown")
	for code, start := range map[string]string{
		"request_too_large":      head("/v1/messages", fmt.Sprint("Content-Length: ", vast)),
		"invalid_api_key":        unknown,
		"unsupported_media_type": head("/v1/messages", "Content-Encoding: gzip", fmt.Sprint("Content-Length: ", vast)),
	} {
		d := dial(t, r.URL)
		d.put(start)
		written := make(chan struct{})
		go func() {
			defer close(written)
			chunk := bytes.Repeat([]byte("x"), 1<<20)
			for range vast / len(chunk) {
				if _, err := d.Write(chunk); err != nil {
					return
				}
			}
		}()
		a := d.answer()
		refusalOf(t, "messages", a)
		if a.code() != code || a.err != nil {
			t.Errorf("%d %s %v, want %s", a.StatusCode, a.code(), a.err, code)
		}
		_ = d.Close()
		<-written
	}
	if n := r.calls(); n != 0 {
		t.Errorf("%d calls reached the accounts", n)
	}
}

// TestX5Expect shows that a client which asks first is told at once, before it
// has sent a body in vain.
func TestX5Expect(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	expect := "Expect: 100-continue"
	for code, start := range map[string]string{
		"request_too_large":      head("/v1/responses", expect, fmt.Sprint("Content-Length: ", largest+1)),
		"invalid_api_key":        strings.ReplaceAll(head("/v1/responses", expect, "Content-Length: 500"), keyA, "sk-unknown"),
		"unsupported_media_type": head("/v1/responses", expect, "Content-Encoding: br", "Content-Length: 500"),
	} {
		d := dial(t, r.URL)
		d.put(start)
		a := d.answer()
		refusalOf(t, "responses", a)
		if a.code() != code {
			t.Errorf("%d %s, want %s", a.StatusCode, a.code(), code)
		}
	}
	d := dial(t, r.URL)
	body := `{"model":"responses","input":"Hello"}`
	d.put(head("/v1/responses", expect, fmt.Sprint("Content-Length: ", len(body))))
	if a := d.answer(); a.StatusCode != http.StatusContinue {
		t.Fatalf("a body that is taken: %d", a.StatusCode)
	}
	d.put(body)
	if a := d.answer(); a.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %d %s", a.StatusCode, a.body)
	}
}

// TestX5Framing sends bodies whose announced length is a lie, and broken chunks.
func TestX5Framing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	body := `{"model":"chat","messages":[{"role":"user","content":"Hello"}]}`
	rows := map[string]struct{ sent, code string }{
		"length too long":      {head("/v1/chat/completions", fmt.Sprint("Content-Length: ", len(body)+50)) + body, "invalid_request"},
		"length too short":     {head("/v1/chat/completions", "Content-Length: 20") + body, "invalid_json"},
		"no length":            {head("/v1/chat/completions"), "invalid_json"},
		"chunks without end":   {head("/v1/chat/completions", "Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n", len(body), body), "invalid_request"},
		"a chunk of no size":   {head("/v1/chat/completions", "Transfer-Encoding: chunked") + "zz\r\n" + body + "\r\n0\r\n\r\n", "invalid_request"},
		"a chunk of a lie":     {head("/v1/chat/completions", "Transfer-Encoding: chunked") + "5\r\n" + body + "\r\n0\r\n\r\n", "invalid_request"},
		"a chunk beyond count": {head("/v1/chat/completions", "Transfer-Encoding: chunked") + "fffffffffffffffff\r\n" + body, "invalid_request"},
		"only the end":         {head("/v1/chat/completions", "Transfer-Encoding: chunked") + "0\r\n\r\n", "invalid_json"},
	}
	for name, row := range rows {
		d := dial(t, r.URL)
		d.put(row.sent)
		if err := d.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		a := d.answer()
		refusalOf(t, "chat", a)
		if a.code() != row.code {
			t.Errorf("%s: %d %s, want %s", name, a.StatusCode, a.code(), row.code)
		}
	}
	if n := r.calls(); n != 0 {
		t.Errorf("%d calls reached the accounts", n)
	}
	d := dial(t, r.URL)
	half := len(body) / 2
	d.put(head("/v1/chat/completions", "Transfer-Encoding: chunked") + fmt.Sprintf("%x;a=b\r\n%s\r\n%x\r\n%s\r\n0\r\nX-Trailer: x\r\n\r\n", half, body[:half], len(body)-half, body[half:]))
	if a := d.answer(); a.StatusCode != http.StatusOK {
		t.Errorf("an honest body in chunks: %d %s", a.StatusCode, a.body)
	}
}
