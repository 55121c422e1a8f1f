package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// world describes a configuration for tests of routing. Every account serves the
// models chat, responses and messages in the protocol of that name, by the
// deployments MODEL-ACCOUNT, and likewise further models named NAME-PROTOCOL.
// Fields are YAML in flow style.
type world struct {
	store    string            // default memory
	accounts []accounts.Config // default alpha, bravo and charlie
	further  []string          // more models: big serves as big-chat, big-responses, big-messages
	template string            // fields of the template in force; default: nothing cools
	affinity string            // fields of that section
	each     string            // more fields of every deployment
	only     map[string]string // of single ones instead; "-" leaves it out
	auth     map[string]string // of single connections
	base     map[string]string // of single connections: another server than the account's
	key      string            // more fields of caller a's key
	extra    string            // more sections
	env      []string
}

// patient is the default template: failures are counted but nothing cools.
const patient = "allowed_fails: 200"

// document renders the document over the accounts' addresses.
func (w world) document(fleet *accounts.Fleet) string {
	var b strings.Builder
	b.WriteString("connections:\n")
	for _, a := range fleet.Accounts() {
		auth := w.auth[a.Name()]
		if auth == "" {
			auth = `{type: bearer, key: "env:UPSTREAM_KEY"}`
		}
		base := w.base[a.Name()]
		if base == "" {
			base = fleet.URL(a.Name())
		}
		fmt.Fprintf(&b, "  - {id: %s, provider: openai-compatible, base_url: %q, auth: %s, allow_private_network: true}\n",
			a.Name(), base+"/v1", auth)
	}
	b.WriteString("deployments:\n")
	for _, protocol := range protocols() {
		for _, prefix := range append([]string{""}, w.further...) {
			model := strings.TrimPrefix(prefix+"-"+protocol, "-")
			for _, a := range fleet.Accounts() {
				b.WriteString(w.deployment(model, protocol, a.Name()))
			}
		}
	}
	template := w.template
	if template == "" {
		template = patient
	}
	fmt.Fprintf(&b, "templates: [{id: t, %s}]\nplatform: {template: t}\naffinity: {%s}\n", template, w.affinity)
	fmt.Fprintf(&b, "keys:\n  - {id: a, key: %q, user: ann%s}\n  - {id: b, key: %q, user: bob}\n%s", keyA, comma(w.key), keyB, w.extra)
	return b.String()
}

func (w world) deployment(model, protocol, account string) string {
	id := model + "-" + account
	more, own := w.only[id]
	switch {
	case !own:
		more = w.each
	case more == "-":
		return ""
	}
	return fmt.Sprintf("  - {id: %s, model: %s, connection: %s, protocol: %s%s}\n", id, model, account, protocol, comma(more))
}

func comma(fields string) string {
	if fields == "" {
		return ""
	}
	return ", " + fields
}

// scene is a rig with a world, which may change.
type scene struct {
	*rig
	world  world
	past   int          // calls made for gateways that have ended
	calmed atomic.Int64 // turns that calmly has sent
}

// newScene starts a gateway in a world.
func newScene(t *testing.T, w world) *scene {
	t.Helper()
	if w.accounts == nil {
		w.accounts = []accounts.Config{{Name: "alpha"}, {Name: "bravo"}, {Name: "charlie"}}
	}
	if w.store == "" {
		w.store = "memory"
	}
	asked := w.store
	w.store = placed(w.store)
	fleet := accounts.StartConfigT(t, w.accounts...)
	s := &scene{world: w, rig: &rig{t: t, fleet: fleet, config: w.document(fleet), store: w.store, data: t.TempDir(), forgetful: asked == "memory"}}
	s.env = append(w.env, "UPSTREAM_KEY="+upstreamKey)
	if w.store == "dynamodb" || w.store == onLambda {
		s.wire()
	}
	s.Gateway = s.start()
	return s
}

// become restarts the gateway in another world over the same store.
func (s *scene) become(change func(*world)) {
	s.t.Helper()
	w := s.world
	change(&w)
	s.Stop()
	s.past = s.calls()
	s.config = w.document(s.fleet)
	s.Gateway = s.start("-config-force")
}

// home gives a session a preference and returns its deployment.
func (s *scene) home(endpoint, session string) (string, *accounts.Account) {
	s.t.Helper()
	a := turnOf(s.t, s.URL, endpoint, session, false)
	if a.StatusCode != 200 || a.affinity() != "claimed" {
		s.t.Fatalf("the first turn of %s: %d %s %s", session, a.StatusCode, a.affinity(), a.body)
	}
	return a.deployment(), s.owner(a.deployment())
}

// strike arms a fault at an account for the duration of one turn, and returns
// the answer with the deployments that were called for it, in order.
func (s *scene) strike(at *accounts.Account, f accounts.Fault, turn func() answer) (answer, []string) {
	s.t.Helper()
	id := accounts.InjectT(s.t, at, f)
	defer at.Remove(id)
	return s.trail(turn)
}

// trail sends one turn and returns the deployments that were called for it.
func (s *scene) trail(turn func() answer) (answer, []string) {
	s.t.Helper()
	before := map[string]int64{}
	for _, a := range s.fleet.Accounts() {
		before[a.Name()] = int64(a.Count())
	}
	got := turn()
	type called struct {
		deployment string
		at         time.Time
	}
	var all []called
	for _, a := range s.fleet.Accounts() {
		for _, c := range a.Calls() {
			if c.Seq > before[a.Name()] {
				all = append(all, called{c.Model + "-" + a.Name(), c.Time})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b called) int { return a.at.Compare(b.at) })
	var trail []string
	for _, c := range all {
		trail = append(trail, c.deployment)
	}
	return got, trail
}

// followed reports whether calls went n times to a deployment and once to
// another one, which has answered.
func followed(trail []string, home string, n int, a answer) bool {
	if len(trail) != n+1 || trail[n] == home || trail[n] != a.deployment() {
		return false
	}
	return all(trail[:n], home)
}

// all reports whether every call went to one deployment.
func all(trail []string, deployment string) bool {
	return !slices.ContainsFunc(trail, func(d string) bool { return d != deployment })
}

// served checks an answer: whole, by whom it says, with the word for it.
func served(t *testing.T, row, endpoint string, stream bool, a answer, affinity string) {
	t.Helper()
	if a.StatusCode != 200 || a.err != nil || stream && !whole(endpoint, a) || a.affinity() != affinity {
		t.Errorf("%s: %d %s by %s (%v), want a whole answer, %s\n%.600s", row, a.StatusCode, a.affinity(), a.deployment(), a.err, affinity, a.body)
	}
}

// stays checks that a session's next turn is a hit by its deployment.
func (s *scene) stays(row, endpoint, session, deployment string) {
	s.t.Helper()
	a, trail := s.trail(func() answer { return turnOf(s.t, s.URL, endpoint, session, false) })
	if a.StatusCode != 200 || a.affinity() != "hit" || len(trail) != 1 || trail[0] != deployment {
		s.t.Errorf("%s, next turn of %s: %d %s by %v, want a hit by %s\n%.400s", row, session, a.StatusCode, a.affinity(), trail, deployment, a.body)
	}
}

// relayed checks that an answer is a provider's error in the form of the
// client's protocol, with a time to come back where clients need one.
func relayed(t *testing.T, row, endpoint string, a answer, status int) {
	t.Helper()
	message, _ := a.field("error", "message").(string)
	if a.StatusCode != status || message == "" || endpoint == "messages" && a.field("type") != "error" {
		t.Errorf("%s: %d %s, want the provider's %d", row, a.StatusCode, a.body, status)
	}
	if waits := status == 429 || status == 503; waits && a.Header.Get("Retry-After") == "" {
		t.Errorf("%s: %d without Retry-After", row, status)
	}
}

// quiet waits until the gateway has done what it does after its answers.
func (s *scene) quiet() {
	s.t.Helper()
	for range 7500 {
		if strings.Count(s.Log(), `"outcome":"`) >= s.calls()-s.past {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	s.t.Fatal("an exchange has no line in the log")
}

// mistaken checks that an answer is a provider's refusal of the request itself,
// which is nobody's failure.
func mistaken(t *testing.T, row, endpoint string, a answer) {
	t.Helper()
	relayed(t, row, endpoint, a, 400)
	if a.code() != "" || a.Header.Get("Retry-After") != "" {
		t.Errorf("%s: the client's own mistake is called %s, with Retry-After %q", row, a.code(), a.Header.Get("Retry-After"))
	}
}

// refusing is a fault that is the client's own: a parameter out of range.
func refusing() accounts.Fault {
	return accounts.Fault{Kind: accounts.ContextOverflow, Code: "invalid_value", Message: "temperature: must be at most 2"}
}
