package e2e

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// TestBridgesOnLambda shows every bridge through the gateway's own bootstrap: two
// turns are a claim and a hit, the first word comes while the upstream still
// speaks, a break before output is not seen, one after it ends in the client's
// error event and leaves the preference.
func TestBridgesOnLambda(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: onLambda, template: patient + ", retry_policy: {max_attempts: 1}"})
	for _, p := range bridges() {
		home, account := s.bridged(p, "s")
		served(t, p.String(), p.client, true, s.over(p, "s", true), "hit")

		slow := accounts.InjectT(t, account, accounts.Fault{Kind: accounts.SlowTokens, Delay: 20 * time.Millisecond})
		request := newRequest(t, t.Context(), s.URL+route(p.client), p.ask(true, user("Hello")))
		request.Header.Set("X-Session-Id", "s")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(response.Body)
		for seen := ""; !strings.Contains(seen, "On "); {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v after %s", p, err, seen)
			}
			seen += line
		}
		if !last(t, account).Open {
			t.Errorf("%s: the first word came when the upstream had finished", p)
		}
		_, _ = lines.WriteTo(new(strings.Builder))
		response.Body.Close()
		account.Remove(slow)

		a, _ := s.strike(account, accounts.Fault{Kind: accounts.ErrorEvent, After: 3}, func() answer { return s.over(p, "s", true) })
		if follow(t, p.String(), p.client, a.body); a.err == nil || errorEvents(p.client, a.body) != 1 {
			t.Errorf("%s, after output: %v\n%s", p, a.err, a.body)
		}
		s.keeps("after output", p, "s", home)
		a, trail := s.strike(account, accounts.Fault{Kind: accounts.ErrorEvent}, func() answer { return s.over(p, "s", true) })
		if served(t, p.String(), p.client, true, a, "moved"); len(trail) != 2 {
			t.Errorf("%s, before output: calls %v", p, trail)
		}
		s.keeps("before output", p, "s", a.deployment())
	}
}
