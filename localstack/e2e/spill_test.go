package e2e

import (
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/wirefault"
)

// TestS7Race shows that the preference stays where the last place of its
// deployment is taken by another process between planning and calling: the plan
// saw room, the lease found none, and whoever served instead is no move.
func TestS7Race(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(map[bool]string{false: "json", true: "sse"}[stream], func(t *testing.T) {
			t.Parallel()
			s := newScene(t, world{store: "dynamodb", each: "limits: {concurrency: 1}"})
			other := s.start()
			home, account := s.home("chat", "mine")
			neighbour := s.neighbour("chat", home, "neighbour")
			s.settledAll(other)
			accounts.InjectT(t, account, accounts.Fault{Kind: accounts.SlowTokens, Delay: 30 * time.Millisecond, Times: 1})

			held, release := make(chan struct{}), make(chan struct{})
			mineFront := wirefault.New(wirefault.Config{Target: s.endpoint})
			server := httptest.NewServer(mineFront)
			t.Cleanup(server.Close)
			env := s.env
			s.env = append(slices.Clone(env), "AWS_ENDPOINT_URL_DYNAMODB="+server.URL)
			late := s.start()
			s.env = env
			var first sync.Once
			mineFront.Decide(func(r wirefault.Request) wirefault.Fault {
				if r.Operation == "PutItem" { // it has read that there is room
					first.Do(func() { close(held) })
					<-release
				}
				return wirefault.Fault{}
			})
			mine, theirs := make(chan answer, 1), make(chan answer, 1)
			before := account.Count()
			go func() { mine <- turnOf(t, late.URL, "chat", "mine", stream) }()
			<-held
			go func() { theirs <- turnOf(t, other.URL, "chat", neighbour, true) }()
			if err := account.Await(t.Context(), func(calls []accounts.Call) bool { return len(calls) > before }); err != nil {
				t.Fatal(err)
			}
			close(release)
			a := <-mine
			if a.StatusCode != 200 || a.deployment() == home {
				t.Errorf("without a place: %d by %s", a.StatusCode, a.deployment())
			}
			if !stream && a.affinity() != "spilled" {
				t.Errorf("without a place: %s, want spilled", a.affinity())
			}
			if b := <-theirs; b.StatusCode != 200 || b.deployment() != home {
				t.Errorf("who took the place: %d by %s", b.StatusCode, b.deployment())
			}
			s.settledAll(other, late)
			s.stays("the place is free again", "chat", "mine", home)
		})
	}
}
