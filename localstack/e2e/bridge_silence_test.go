package e2e

import (
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// silent is a little longer than a client is left without a sign of life.
const silent = 16 * time.Second

// TestSilence shows an upstream that says nothing for a while, native or over a
// bridge: the client is kept by what its own protocol has for that, and gets its
// answer, of the second attempt where the first one fails before any output; where
// none comes, its own error event and a torn connection, not another deployment's
// answer under the first one's name.
func TestSilence(t *testing.T) {
	t.Parallel()
	once := patient + ", retry_policy: {max_attempts: 1}"
	rows := []struct {
		name   string
		fault  accounts.Fault
		world  world
		served bool
	}{
		{"slow", accounts.Fault{Kind: accounts.SlowFirstByte, Delay: silent}, world{}, true},
		{"fails first", accounts.Fault{Kind: accounts.ErrorEvent, After: -1, Delay: silent, Times: 1}, world{}, true},
		{"fails behind a beginning", accounts.Fault{Kind: accounts.ErrorEvent, Delay: silent, Times: 1}, world{}, true},
		{"dead", accounts.Fault{Kind: accounts.Hang}, world{each: "timeout: 16s", template: once}, false},
		{"cut behind a beginning", accounts.Fault{Kind: accounts.Cut, Delay: silent}, world{template: once}, false},
		{"an error behind a beginning", accounts.Fault{Kind: accounts.ErrorEvent, Delay: silent}, world{template: once}, false},
	}
	var turns sync.WaitGroup
	for _, row := range rows {
		row.world.accounts = []accounts.Config{{Name: "alpha"}}
		s := newScene(t, row.world)
		for _, client := range protocols() {
			for _, target := range protocols() {
				p := pair{client, target}
				row.fault.Match = p.String() // so that each pair has its own
				accounts.InjectT(t, s.fleet.Account("alpha"), row.fault)
				turns.Go(func() {
					a := post(t, s.URL+route(client), p.ask(true, user(p.String())), "X-Session-Id", p.String())
					quiet(t, row.name+", "+p.String(), p, a, row.served)
				})
			}
		}
	}
	turns.Wait()
}

// quiet checks a streamed answer that has begun with one heartbeat.
func quiet(t *testing.T, row string, p pair, a answer, served bool) {
	t.Helper()
	beat := ": keep-alive\n\n"
	if p.client == "messages" {
		beat = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	}
	rest, first := strings.CutPrefix(a.body, beat)
	if a.StatusCode != 200 || !first || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("%s: %d, it begins with %.60q", row, a.StatusCode, a.body)
	}
	switch {
	case served && (!whole(p.client, a) || starts(p.client, rest) != 1 || errorEvents(p.client, rest) != 0):
		t.Errorf("%s: %d answers, %d errors, %v\n%s", row, starts(p.client, rest), errorEvents(p.client, rest), a.err, rest)
	case !served && (a.err == nil || errorEvents(p.client, rest) != 1):
		t.Errorf("%s: %d errors, %v\n%s", row, errorEvents(p.client, rest), a.err, rest)
	}
	events := eventsOf(t, row, rest)
	if p.client == "responses" && len(events) > 0 && events[0].data["sequence_number"] != 0.0 {
		t.Errorf("%s: the first number is %v\n%s", row, events[0].data["sequence_number"], rest)
	}
	if served && p.client != p.target {
		follow(t, row, p.client, rest)
	}
}
