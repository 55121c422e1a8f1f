package e2e

import (
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// situation is one row of the table of what a session with a preference may
// meet. The calls are written as letters: H home, o another deployment of the
// model, F C P one that the chain of failures, of the context window, of the
// content policy leads to.
type situation struct {
	name     string
	change   func(w *world, home string) // of the configuration
	fault    accounts.Fault              // at home; all accounts when everywhere
	all      bool
	model    bool // the fault concerns the model that was asked for only
	stream   bool
	body     func(body map[string]any) // what is asked otherwise
	header   []string
	calls    string
	status   int
	affinity string // of an answer
	code     string // of a refusal of our own
}

// situations is the table.
func situations() []situation {
	only := func(fields string) func(*world, string) {
		return func(w *world, home string) { w.only = map[string]string{home: fields} }
	}
	template := func(more string) func(*world, string) {
		return func(w *world, home string) { w.template += strings.ReplaceAll(more, "HOME", home) }
	}
	fault := func(kind accounts.Kind) accounts.Fault { return accounts.Fault{Kind: kind} }
	return []situation{
		// Price, latency, load or positive weights change: it stays.
		{name: "nothing", calls: "H", status: 200, affinity: "hit"},
		{name: "the price", change: func(w *world, home string) {
			template(", strategy: cost")(w, home)
			w.each, w.only = "price: {input: 1}", map[string]string{home: "price: {input: 99}"}
		}, calls: "H", status: 200, affinity: "hit"},
		{name: "latency", change: template(", strategy: latency"), fault: accounts.Fault{Kind: accounts.SlowFirstByte, Delay: 1e8},
			calls: "H", status: 200, affinity: "hit"},
		{name: "load", change: template(", strategy: usage"), calls: "H", status: 200, affinity: "hit"},
		{name: "a positive weight", change: only("weight: 0.000001"), calls: "H", status: 200, affinity: "hit"},

		// Disabled, deleted, weight 0, capability missing: another one. (Rests: TestS4Cooled.)
		{name: "disabled", change: only("enabled: false"), calls: "o", status: 200, affinity: "moved"},
		{name: "deleted", change: only("-"), calls: "o", status: 200, affinity: "moved"},
		{name: "weight 0", change: only("weight: 0"), calls: "o", status: 200, affinity: "moved"},
		{name: "weight 0 by rule", change: template(", model_rules: {chat: {weights: {HOME: 0}}, responses: {weights: {}}}"), calls: "o", status: 200, affinity: "moved"},
		{name: "no tools", change: only("capabilities: {tools: false}"), body: func(b map[string]any) {
			b["tools"] = []any{map[string]any{"type": "function", "function": map[string]any{"name": "f"}}}
		}, calls: "o", status: 200, affinity: "moved"},

		// 429, 5xx, network: home first, then the pool, then the chain.
		{name: "429", fault: fault(accounts.RateLimit), calls: "HHo", status: 200, affinity: "moved"},
		{name: "5xx", fault: fault(accounts.ServerError), stream: true, calls: "HHo", status: 200, affinity: "moved"},
		{name: "the network", fault: accounts.Fault{Kind: accounts.ResetAfter, After: -1}, calls: "HHo", status: 200, affinity: "moved"},
		{name: "once only", fault: accounts.Fault{Kind: accounts.ServerError, Times: 1}, calls: "HH", status: 200, affinity: "hit"},
		{name: "the whole pool", fault: fault(accounts.ServerError), all: true, model: true, stream: true, calls: "HHooooF", status: 200, affinity: "moved"},
		{name: "everybody", fault: fault(accounts.ServerError), all: true, calls: "HHooooFFFFFF", status: 500},
		{name: "no chains", change: template(", disable_fallbacks: true"), fault: fault(accounts.ServerError), all: true, model: true, calls: "HHoooo", status: 500},
		{name: "more attempts", change: template(", retry_policy: {max_attempts: 4}"), fault: fault(accounts.Overloaded), calls: "HHHHo", status: 200, affinity: "moved"},

		// Each class of refusal has its chain.
		{name: "context", fault: fault(accounts.ContextOverflow), calls: "HC", status: 200, affinity: "moved"},
		{name: "policy", fault: fault(accounts.ContentPolicy), stream: true, calls: "HP", status: 200, affinity: "moved"},

		// What is refused here, or is the client's own mistake, is no reason to switch.
		{name: "a parameter", fault: refusing(), calls: "H", status: 400},
		{name: "no key", header: []string{"Authorization", "Bearer nobody"}, status: 401, code: "invalid_api_key"},
		{name: "another model", change: func(w *world, _ string) { w.key = "models: [messages]" }, status: 403, code: "model_forbidden"},
		{name: "an address", body: func(b map[string]any) { b["api_base"] = "http://127.0.0.1" }, status: 400, code: "invalid_request"},

		// After output there is no other target.
		{name: "after output", fault: accounts.Fault{Kind: accounts.ErrorEvent, After: 3}, stream: true, calls: "H", status: 200},
		{name: "cut after output", fault: accounts.Fault{Kind: accounts.Cut, After: 3}, stream: true, calls: "H", status: 200},
	}
}

// TestSituations holds the table, row by row: who is called, in which order, how
// it ends, and that whoever has served is the next turn's preference.
func TestSituations(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "bolt", further: []string{"spare", "big", "mild"}, template: chains()})
	for _, row := range situations() {
		home, account := s.home("chat", row.name)
		if row.change != nil {
			s.become(func(w *world) { row.change(w, home) })
		}
		a, calls := s.meet(row, home, account)
		if calls != row.calls || a.StatusCode != row.status || row.affinity != "" && a.affinity() != row.affinity {
			t.Errorf("%s: %d %s after %q, want %d %s after %q\n%.300s", row.name, a.StatusCode, a.affinity(), calls, row.status, row.affinity, row.calls, a.body)
		}
		switch {
		case row.affinity != "":
			served(t, row.name, "chat", row.stream, a, row.affinity)
			s.stays(row.name, "chat", row.name, a.deployment())
		case row.code != "":
			refusalOf(t, "chat", a)
			if a.code() != row.code {
				t.Errorf("%s: %s, want %s", row.name, a.code(), row.code)
			}
		case row.status == 200:
			if errorEvents("chat", a.body) != 1 || a.err == nil {
				t.Errorf("%s: ended by %v\n%s", row.name, a.err, a.body)
			}
		default:
			relayed(t, row.name, "chat", a, row.status)
		}
		if row.change != nil {
			s.become(func(*world) {})
		}
		if row.affinity == "" {
			s.stays(row.name, "chat", row.name, home)
		}
	}
}

// chains is a template with a chain for every class of failure.
func chains() string {
	return patient + chain("fallbacks", "spare") + chain("context_window_fallbacks", "big") + chain("content_policy_fallbacks", "mild")
}

// meet sends the turn of a row and returns the calls as letters.
func (s *scene) meet(row situation, home string, account *accounts.Account) (answer, string) {
	at := []*accounts.Account{account}
	if row.all {
		at = s.fleet.Accounts()
	}
	for _, a := range at {
		if f := row.fault; f.Kind != "" {
			if row.model {
				f.Model = "chat"
			}
			defer a.Remove(accounts.InjectT(s.t, a, f))
		}
	}
	body := ask("chat", row.stream, user("Hello"))
	if row.body != nil {
		row.body(body)
	}
	a, trail := s.trail(func() answer {
		return post(s.t, s.URL+route("chat"), body, append([]string{"X-Session-Id", row.name}, row.header...)...)
	})
	letters := ""
	for _, d := range trail {
		switch {
		case d == home:
			letters += "H"
		case strings.HasPrefix(d, "chat-"):
			letters += "o"
		default:
			letters += map[byte]string{'s': "F", 'b': "C", 'm': "P"}[d[0]]
		}
	}
	return a, letters
}

// TestSituationsContinued is the last row: a continuation has one target, and a
// call whose outcome nobody knows is not made again.
func TestSituationsContinued(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "bolt", further: []string{"spare", "big", "mild"}, template: chains()})
	rows := []struct {
		name   string
		fault  accounts.Fault
		calls  int
		status int
		code   string
	}{
		{"429", accounts.Fault{Kind: accounts.RateLimit}, 2, 429, ""},
		{"a short 429", accounts.Fault{Kind: accounts.RateLimit, Times: 1}, 2, 200, ""},
		{"5xx", accounts.Fault{Kind: accounts.ServerError}, 1, 500, ""},
		{"a lost answer", accounts.Fault{Kind: accounts.ResetAfter, After: -1}, 1, 502, "upstream_unknown_outcome"},
		{"context", accounts.Fault{Kind: accounts.ContextOverflow}, 1, 400, ""},
		{"policy", accounts.Fault{Kind: accounts.ContentPolicy}, 1, 400, ""},
		{"no credit", accounts.Fault{Kind: accounts.Quota}, 1, 429, ""},
	}
	for _, row := range rows {
		for _, stream := range []bool{false, true} {
			first := turnOf(t, s.URL, "responses", row.name, false)
			next := map[string]any{"model": "responses", "previous_response_id": responseID(t, first), "input": "And then?", "stream": stream}
			a, trail := s.strike(s.owner(first.deployment()), row.fault, func() answer { return post(t, s.URL+route("responses"), next) })
			if len(trail) != row.calls || !all(trail, first.deployment()) || a.StatusCode != row.status {
				t.Errorf("%s: %d after %v, want %d after %d calls at %s\n%.300s", row.name, a.StatusCode, trail, row.status, row.calls, first.deployment(), a.body)
			}
			switch {
			case row.status == 200:
				served(t, row.name, "responses", stream, a, "required")
			case row.code != "":
				if refusalOf(t, "responses", a); a.code() != row.code {
					t.Errorf("%s: %s, want %s", row.name, a.code(), row.code)
				}
			default:
				relayed(t, row.name, "responses", a, row.status)
			}
			s.quiet() // an account without credit rests from here on
			if row.fault.Kind != accounts.Quota {
				s.stays(row.name, "responses", row.name, first.deployment())
			}
		}
	}
	first := turnOf(t, s.URL, "responses", "gone", false)
	s.become(func(w *world) { w.only = map[string]string{first.deployment(): "enabled: false"} })
	next := map[string]any{"model": "responses", "previous_response_id": responseID(t, first), "input": "And then?"}
	a, trail := s.trail(func() answer { return post(t, s.URL+route("responses"), next) })
	if refusalOf(t, "responses", a); a.code() != "continuation_unavailable" || len(trail) > 0 {
		t.Errorf("the creator gone: %d %s after %v", a.StatusCode, a.code(), trail)
	}
	if b := turnOf(t, s.URL, "responses", "gone", false); b.StatusCode != 200 || b.affinity() != "moved" {
		t.Errorf("the session itself goes on: %d %s", b.StatusCode, b.affinity())
	}
}
