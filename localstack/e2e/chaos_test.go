package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
)

// The size of the storm.
const (
	stormSessions = 50
	stormTurns    = 40
	stormGateways = 4
)

// stormFaults is everything that can go wrong at an account, each with its
// chance of striking a call: together about every fourth.
func stormFaults(seed uint64) []accounts.Fault {
	faults := []accounts.Fault{
		{Kind: accounts.RateLimit}, {Kind: accounts.RateLimit, RetryAfterMS: 30}, {Kind: accounts.ServerError}, {Kind: accounts.Overloaded},
		{Kind: accounts.ContextOverflow}, {Kind: accounts.ContentPolicy}, {Kind: accounts.BadSignature}, {Kind: accounts.Redirect},
		{Kind: accounts.ResetBefore}, {Kind: accounts.Empty}, {Kind: accounts.BadUsage},
		{Kind: accounts.ResetAfter}, {Kind: accounts.ResetAfter, After: 3}, {Kind: accounts.Cut}, {Kind: accounts.Cut, After: 3},
		{Kind: accounts.ErrorEvent}, {Kind: accounts.ErrorEvent, After: 3}, {Kind: accounts.Garbage}, {Kind: accounts.Garbage, After: 3},
		{Kind: accounts.SlowFirstByte, Delay: 20 * time.Millisecond}, {Kind: accounts.SlowTokens, Delay: time.Millisecond},
	}
	for i := range faults {
		faults[i].Probability = 0.012
	}
	rare := []accounts.Fault{ // these cost seconds, or rest a deployment for all sessions
		{Kind: accounts.RateLimit, RetryAfter: "3"}, {Kind: accounts.Hang}, {Kind: accounts.Quota}, {Kind: accounts.Billing},
		{Kind: accounts.NotFound}, {Kind: accounts.Unauthorized},
	}
	for i := range rare {
		rare[i].Probability = 0.002
	}
	faults = append(rare, faults...)
	for i := range faults {
		faults[i].Seed = seed + uint64(i)
	}
	return faults
}

// stormy is one turn of the storm and what came of it.
type stormy struct {
	session, number int
	endpoint        string
	stream          bool
	status          int
	header          http.Header
	body            string
	err             error // of reading the body
}

// mark is the text of a turn, and of no other.
func (s stormy) mark() string { return fmt.Sprintf("turn-%d-%d-end", s.session, s.number) }

// TestChaos lets accounts fail at random under many sessions over several
// processes. Every answer is whole and one account's; every failure is one error
// of its protocol; and when the storm is over, one quiet turn of a session is
// enough for all processes to agree on its deployment.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed := stormSeed(t)
	configs := make([]accounts.Config, 3)
	for i, name := range []string{"alpha", "bravo", "charlie"} {
		configs[i] = accounts.Config{Name: name, Answer: strings.Repeat(name+" ", 12), Journal: 100_000}
	}
	s := newScene(t, world{store: "dynamodb", accounts: configs, each: "timeout: 2s, timeout_json: 2s, idle_timeout: 2s",
		template: "allowed_fails: 25, cooldown: 500ms", env: []string{"HOLDFAST_ADMIN_KEY=" + adminKey}})
	gateways := []*process.Gateway{s.Gateway}
	for range stormGateways - 1 {
		gateways = append(gateways, s.start())
	}
	for i, a := range s.fleet.Accounts() {
		for _, f := range stormFaults(seed + uint64(1000*i)) {
			accounts.InjectT(t, a, f)
		}
	}
	begun := time.Now()
	turns := storm(t, seed, gateways)
	lasted := time.Since(begun)
	for _, a := range s.fleet.Accounts() {
		a.ClearFaults()
	}
	lined(t, gateways, len(turns))
	counts := s.judge(turns)
	t.Logf("seed %d: %d turns in %v, %d calls: %v", seed, len(turns), lasted.Round(time.Millisecond), s.calls(), counts)
	if n := answered(turns); n < len(turns)/2 || n == len(turns) {
		t.Errorf("%d of %d turns were answered: no storm to speak of", n, len(turns))
	}
	all := len(turns) + s.calm(gateways, kept(turns))
	lined(t, gateways, all)
	balanced(t, s.URL, all) // U4: the books agree with what was served
}

// stormSeed is taken from the environment to repeat a storm, as far as timing
// lets it be repeated.
func stormSeed(t *testing.T) uint64 {
	text := os.Getenv("HOLDFAST_CHAOS_SEED")
	if text == "" {
		return uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// answered counts the turns that were, wholly or in part.
func answered(turns []stormy) int {
	n := 0
	for _, turn := range turns {
		if turn.status == 200 && turn.err == nil {
			n++
		}
	}
	return n
}

// kept are the sessions whose preference was on record at some time.
func kept(turns []stormy) map[int]bool {
	sessions := map[int]bool{}
	for _, turn := range turns {
		if word := turn.header.Get("X-Holdfast-Affinity"); turn.status == 200 && (word == "claimed" || word == "hit") {
			sessions[turn.session] = true
		}
	}
	return sessions
}

// storm sends all turns: those of a session one after the other, each through
// any of the gateways.
func storm(t *testing.T, seed uint64, gateways []*process.Gateway) []stormy {
	turns := make([]stormy, stormSessions*stormTurns)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: stormSessions}}
	t.Cleanup(client.CloseIdleConnections)
	var all sync.WaitGroup
	for session := range stormSessions {
		random := rand.New(rand.NewPCG(seed, uint64(session)))
		all.Go(func() {
			for n := range stormTurns {
				turn := &turns[session*stormTurns+n]
				*turn = stormy{session: session, number: n, endpoint: protocols()[session%3], stream: random.IntN(3) > 0}
				turn.send(t, client, gateways[random.IntN(len(gateways))].URL)
			}
		})
	}
	all.Wait()
	return turns
}

// send makes the request and keeps all that came back.
func (s *stormy) send(t *testing.T, client *http.Client, url string) {
	body := ask(s.endpoint, s.stream, user(s.mark()))
	request := newRequest(t, t.Context(), url+route(s.endpoint), body)
	request.Header.Set("X-Session-Id", fmt.Sprint("storm-", s.session))
	response, err := client.Do(request)
	if err != nil {
		t.Errorf("%s got no answer: %v", s.mark(), err)
		return
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	s.status, s.header, s.body, s.err = response.StatusCode, response.Header, string(text), err
}

// lined waits until every exchange has written its line: it is the last that an
// exchange does.
func lined(t *testing.T, gateways []*process.Gateway, exchanges int) {
	t.Helper()
	for range 6000 {
		n := 0
		for _, g := range gateways {
			n += strings.Count(g.Log(), `"msg":"exchange"`)
		}
		if n >= exchanges {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("an exchange has no line in the log")
}

// judge holds every turn to the rules and counts how they ended.
func (s *scene) judge(turns []stormy) map[string]int {
	sound := map[string][]string{} // accounts that have answered a turn wholly
	harmless := []accounts.Kind{"", accounts.SlowFirstByte, accounts.SlowTokens, accounts.BadUsage}
	for _, a := range s.fleet.Accounts() {
		for _, c := range a.Calls() {
			_, mark, _ := strings.Cut(string(c.Body), "turn-")
			mark, _, _ = strings.Cut(mark, "-end")
			if c.Status == 200 && c.Finished && slices.Contains(harmless, c.Fault) {
				sound["turn-"+mark+"-end"] = append(sound["turn-"+mark+"-end"], a.Name())
			}
		}
	}
	counts := map[string]int{}
	for _, turn := range turns {
		outcome, fault := turn.judge(s, sound[turn.mark()])
		counts[outcome]++
		if fault != "" {
			s.t.Errorf("%s, %s, stream=%v by %s: %s; sound calls %v\n%.500s", turn.mark(), turn.endpoint, turn.stream,
				turn.header.Get("X-Holdfast-Deployment"), fault, sound[turn.mark()], turn.body)
		}
	}
	return counts
}

// judge names how a turn ended, and what is wrong about it.
func (s stormy) judge(at *scene, sound []string) (outcome, fault string) {
	a := answer{&http.Response{StatusCode: s.status, Header: s.header}, s.body, s.err}
	text := said(s.endpoint, s.stream, s.body)
	switch {
	case s.status == 200 && s.err == nil && (!s.stream || whole(s.endpoint, a)):
		by := at.owner(a.deployment()).Name()
		if len(sound) != 1 || sound[0] != by || text != strings.Repeat(by+" ", 12) {
			return "whole", fmt.Sprintf("the answer is %q, want %s's own, once", text, by)
		}
		return "whole " + a.affinity(), ""
	case s.status == 200 && s.stream:
		by := at.owner(a.deployment()).Name()
		if s.err == nil || errorEvents(s.endpoint, s.body) != 1 || !strings.HasPrefix(strings.Repeat(by+" ", 12), text) || len(sound) > 0 {
			return "cut", fmt.Sprintf("a broken stream of %q ended by %v with %d error events", text, s.err, errorEvents(s.endpoint, s.body))
		}
		return "cut", ""
	}
	message, _ := a.field("error", "message").(string)
	waits := s.status == 429 || s.status == 503
	if message == "" || waits && s.header.Get("Retry-After") == "" || len(sound) > 0 || s.endpoint == "messages" && a.field("type") != "error" {
		return fmt.Sprint(s.status), fmt.Sprintf("%d with the message %q, Retry-After %q", s.status, message, s.header.Get("Retry-After"))
	}
	return strings.TrimSpace(fmt.Sprint(s.status, " ", a.code())), ""
}

// calm shows that no session is stuck: after one quiet turn every process serves
// it by the same deployment, as a hit. A preference that was on record is not
// lost. It returns how many turns that took.
func (s *scene) calm(gateways []*process.Gateway, kept map[int]bool) int {
	words := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for part := range 8 {
		all.Go(func() {
			for session := part; session < stormSessions; session += 8 {
				name, endpoint := fmt.Sprint("storm-", session), protocols()[session%3]
				quiet := s.calmly(gateways[session%len(gateways)].URL, endpoint, name, true)
				mu.Lock()
				words[quiet.affinity()]++
				mu.Unlock()
				if !whole(endpoint, quiet) || kept[session] && quiet.affinity() == "claimed" {
					s.t.Errorf("%s is stuck or lost: %d %s %s", name, quiet.StatusCode, quiet.affinity(), quiet.body)
				}
				for i, g := range gateways {
					if a := s.calmly(g.URL, endpoint, name, i%2 == 0); a.affinity() != "hit" || a.deployment() != quiet.deployment() {
						s.t.Errorf("%s at process %d: %d %s by %s, want a hit by %s", name, i, a.StatusCode, a.affinity(), a.deployment(), quiet.deployment())
					}
				}
			}
		})
	}
	all.Wait()
	s.t.Log("the quiet turns:", words)
	return int(s.calmed.Load())
}

// calmly sends a turn as soon as somebody is there to serve it and, on a busy
// machine, as soon as the store answers in time. It counts what it sends.
func (s *scene) calmly(url, endpoint, session string, stream bool) answer {
	for range 10 {
		s.calmed.Add(1)
		a := turnOf(s.t, url, endpoint, session, stream)
		if a.StatusCode != 429 && a.affinity() != "degraded" {
			return a
		}
		time.Sleep(500 * time.Millisecond)
	}
	s.calmed.Add(1)
	return turnOf(s.t, url, endpoint, session, stream)
}
