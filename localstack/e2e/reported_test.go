package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// Faults that users met, each as it was reported.

// TestNamesDoNotOutrankStatus: a provider's 400 that is called a server error
// cools nobody, and its 401 stays our credential's trouble (R9, R10).
func TestNamesDoNotOutrankStatus(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	for _, endpoint := range []string{"chat", "messages", "responses"} {
		for _, a := range r.fleet.Accounts() {
			accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Status: 400})
		}
		for i := range 4 {
			calls := r.calls()
			a := turnOf(t, r.URL, endpoint, fmt.Sprint("bad", i), false)
			if a.StatusCode != 400 || r.calls() != calls+1 {
				t.Errorf("%s: %d after %d calls", endpoint, a.StatusCode, r.calls()-calls)
			}
		}
		for _, a := range r.fleet.Accounts() {
			a.ClearFaults()
		}
		if a := post(t, r.URL+route(endpoint), ask(endpoint, false, user("Hello")), "Authorization", "Bearer "+keyB); a.StatusCode != 200 {
			t.Errorf("%s: another tenant gets %d %s", endpoint, a.StatusCode, a.body)
		}
		for _, a := range r.fleet.Accounts() {
			accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ServerError, Status: 401})
		}
		if a := turnOf(t, r.URL, endpoint, "refused", false); a.StatusCode != 502 || a.code() != "upstream_credentials" {
			t.Errorf("%s: all credentials refused: %d %s", endpoint, a.StatusCode, a.code())
		}
		for _, a := range r.fleet.Accounts() {
			a.ClearFaults()
		}
	}
}

// TestCooldownIsThereWithTheAnswer: who has read a 429 finds the deployment
// resting with the next request, on a store that takes its time as well.
func TestCooldownIsThereWithTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt")
	for _, endpoint := range []string{"chat", "responses", "messages"} {
		for _, a := range r.fleet.Accounts() {
			accounts.InjectT(t, a, accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "60"})
		}
		if a := turnOf(t, r.URL, endpoint, "s", false); a.StatusCode != 429 {
			t.Fatalf("%s: %d %s", endpoint, a.StatusCode, a.body)
		}
		for _, a := range r.fleet.Accounts() {
			a.ClearFaults()
		}
		calls := r.calls()
		if a := turnOf(t, r.URL, endpoint, "s", true); a.StatusCode != 429 || a.code() != "deployments_cooling" || r.calls() != calls {
			t.Errorf("%s: the next request: %d %s after %d calls", endpoint, a.StatusCode, a.code(), r.calls()-calls)
		}
	}
}

// TestHalfClosed: a client that closes its side while it is being planned for
// has left; it never gets a 500.
func TestHalfClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt")
	for i := range 20 {
		c, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		body := `{"model":"chat","messages":[{"role":"user","content":"Hello"}]}`
		fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nX-Session-Id: h%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			keyA, i, len(body), body)
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			text, _ := io.ReadAll(answer.Body)
			if answer.StatusCode != 200 {
				t.Errorf("%d %s", answer.StatusCode, text)
			}
		}
		c.Close()
	}
}

// TestCheckWarns: what the environment lacks, and what has no effect, is
// said once.
func TestCheckWarns(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "holdfast.yaml", `connections: [{id: one, provider: openai, auth: {key: "env:TYPO_KEY"}}]
deployments: [{id: d, model: m, connection: one, protocol: chat}]
keys: [{id: me, key: literal-secret, limits: {rpm: 3, concurrency: 2}}]
`)
	out, code := command(t, folder, nil, "-check")
	for _, want := range []string{"connections[0].auth.key", "TYPO_KEY", "keys[0].limits.concurrency", "keys[0].key"} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%d times %q in\n%s", strings.Count(out, want), want, out)
		}
	}
	if code != 0 || strings.Contains(out, "literal-secret") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
