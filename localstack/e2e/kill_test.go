package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

// kills is how often the gateway is killed on each store.
const kills = 200

// announced is what answers have told clients before a kill.
type announced struct {
	mu          sync.Mutex
	preferences map[string]string // session → deployment
	responses   map[string]string // response id → deployment
	first       chan struct{}     // closed with the first response
}

func newAnnounced() *announced {
	return &announced{preferences: map[string]string{}, responses: map[string]string{}, first: make(chan struct{})}
}

// TestKill shows that what an answer has announced survives kill -9 at random
// moments of a busy gateway: preferences that were claimed, ownership of
// responses. A record that was being written is whole or not there.
func TestKill(t *testing.T) {
	for _, store := range rigs("bolt", "dynamodb") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store)
			random := rand.New(rand.NewPCG(1, 2))
			preferences, responses := 0, 0
			for round := range kills {
				told := r.busy(round, time.Duration(5+random.IntN(40))*time.Millisecond)
				preferences, responses = preferences+len(told.preferences), responses+len(told.responses)
				r.Gateway = r.start()
				r.verify(round, told)
				if t.Failed() {
					return
				}
			}
			if preferences < kills/2 || responses < kills/2 {
				t.Errorf("in %d rounds %d preferences and %d responses were announced: this proves little", kills, preferences, responses)
			}
			if code := r.Stop(); code != 0 {
				t.Errorf("exit code %d after SIGTERM, want 0", code)
			}
		})
	}
}

// busy lets clients talk to the gateway until it is killed after a while: in every
// second round once a response has been announced, so that some are to be kept.
func (r *rig) busy(round int, after time.Duration) *announced {
	told := newAnnounced()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	url := r.URL
	for c := range 3 {
		all.Go(func() {
			for n := c; ; n++ {
				if !told.turn(client, url, fmt.Sprintf("%d-%d-%d", round, c, n), n%2 == 1) {
					return
				}
			}
		})
	}
	if round%2 == 1 {
		select {
		case <-told.first:
		case <-time.After(30 * time.Second):
			r.t.Fatalf("round %d: no response was announced", round)
		}
	}
	time.Sleep(after) // a moment of the victim's life, chosen at random
	r.Kill()
	all.Wait()
	return told
}

// turn sends a session's first turn and remembers what its whole answer has
// announced. It reports whether the gateway still answers.
func (a *announced) turn(client *http.Client, url, session string, responses bool) bool {
	endpoint := "chat"
	if responses {
		endpoint = "responses"
	}
	body, _ := json.Marshal(ask(endpoint, false, user("Hello")))
	request, err := http.NewRequest(http.MethodPost, url+route(endpoint), bytes.NewReader(body))
	if err != nil {
		return false
	}
	request.Header.Set("Authorization", "Bearer "+keyA)
	request.Header.Set("X-Session-Id", session)
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var answered struct{ ID string }
	text, err := io.ReadAll(response.Body)
	if err != nil || json.Unmarshal(text, &answered) != nil || response.StatusCode != http.StatusOK {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	deployment := response.Header.Get("X-Holdfast-Deployment")
	if response.Header.Get("X-Holdfast-Affinity") == "degraded" {
		return true // nothing was promised
	}
	a.preferences[endpoint+" "+session] = deployment
	if responses {
		if len(a.responses) == 0 {
			close(a.first)
		}
		a.responses[answered.ID] = deployment
	}
	return true
}

// verify holds the next process to what the killed one has announced.
func (r *rig) verify(round int, told *announced) {
	for key, deployment := range told.preferences {
		var endpoint, session string
		fmt.Sscan(key, &endpoint, &session)
		if a := turnOf(r.t, r.URL, endpoint, session, false); a.affinity() != "hit" || a.deployment() != deployment {
			r.t.Errorf("round %d, %s: %s by %s, want a hit by %s", round, key, a.affinity(), a.deployment(), deployment)
		}
	}
	for id, deployment := range told.responses {
		next := map[string]any{"model": "responses", "previous_response_id": id, "input": "And then?"}
		if a := post(r.t, r.URL+route("responses"), next); a.StatusCode != 200 || a.deployment() != deployment {
			r.t.Errorf("round %d, %s: %d by %s, want its creator %s\n%s", round, id, a.StatusCode, a.deployment(), deployment, a.body)
		}
	}
}
