package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// awsKey is what the guardrails of these tests are about.
const awsKey = "AKIA0123456789ABCDEF"

// shownText is the text that a client reads of an answer, in pieces or whole.
func shownText(a answer) string {
	var b strings.Builder
	for _, m := range regexp.MustCompile(`"(?:content|delta|text)":"((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(a.body, -1) {
		b.WriteString(m[1])
	}
	return b.String()
}

// TestInputGuardrails: what a rule blocks calls nobody; what it redacts reaches
// no account, whichever attempt it is, and no cache; the log names the rule.
func TestInputGuardrails(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) {
		d.extra = "guardrails:\n" +
			"  - {name: aws keys, match: \"AKIA[0-9A-Z]{16}\", action: redact}\n" +
			"  - {name: code words, match: \"(?i)" + secretWord + "\", action: block}\n" +
			"  - {name: greetings, match: \"^Hello\", action: log}\n" +
			"  - {name: too long, max_bytes: 20000, action: block}\n"
	})
	for _, endpoint := range []string{"chat", "responses", "messages"} {
		for _, stream := range []bool{false, true} {
			for name, text := range map[string]string{"code words": "the Xylographer's", "too long": long(6000)} {
				calls := r.calls()
				a := post(t, r.URL+route(endpoint), ask(endpoint, stream, user(text)))
				if a.StatusCode != 400 || a.code() != "guardrail_blocked" || !strings.Contains(a.body, name) || r.calls() != calls {
					t.Errorf("%s: %d %.300s", endpoint, a.StatusCode, a.body)
				}
			}
			session := fmt.Sprint(endpoint, stream)
			first := turnOf(t, r.URL, endpoint, session, stream)
			accounts.InjectT(t, r.owner(first.deployment()), accounts.Fault{Kind: accounts.ServerError, Times: 2})
			a := post(t, r.URL+route(endpoint), ask(endpoint, stream, user("Hello, my key is "+awsKey+".")), "X-Session-Id", session)
			if a.StatusCode != 200 || a.affinity() != "moved" {
				t.Errorf("%s: %d %s %s", endpoint, a.StatusCode, a.affinity(), a.body)
			}
			for _, one := range r.fleet.Accounts() {
				one.ClearFaults()
			}
		}
	}
	redacted := 0
	for _, account := range r.fleet.Accounts() {
		for _, c := range account.Calls() {
			if strings.Contains(string(c.Body), "AKIA") {
				t.Errorf("%s got %s", account.Name(), c.Body)
			}
			redacted += strings.Count(string(c.Body), "my key is [redacted].")
		}
	}
	if redacted != 6*3 { // three attempts each
		t.Errorf("%d calls were redacted", redacted)
	}
	r.settled()
	log := r.Log()
	if strings.Contains(log, "AKIA") || strings.Count(log, `"guardrails":["aws keys","greetings"]`) != 6 || strings.Count(log, `"guardrails":["code words"]`) != 6 {
		t.Errorf("the log:\n%s", log)
	}
}

// TestOutputGuardrails: text that a rule takes out of an answer is in none of its
// events, snapshots and bodies, though no event holds all of it.
func TestOutputGuardrails(t *testing.T) {
	for _, store := range rigs("memory") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			plain := newRig(t, "memory")
			r := newRig(t, store, func(d *document) {
				d.extra = "guardrails: [{name: woods, match: \"jetty cedar mortar\", on: output, action: redact}]\n"
			})
			for _, endpoint := range []string{"chat", "responses", "messages"} {
				for _, stream := range []bool{false, true} {
					before := shownText(turnOf(t, plain.URL, endpoint, "s", stream))
					if !strings.Contains(before, "jetty cedar mortar") {
						t.Fatalf("%s: the account says something else: %s", endpoint, before)
					}
					for range 2 {
						a := turnOf(t, r.URL, endpoint, "s", stream)
						want := strings.ReplaceAll(before, "jetty cedar mortar", "[redacted]")
						if a.StatusCode != 200 || stream && !whole(endpoint, a) || shownText(a) != want || strings.Contains(a.body, "cedar") {
							t.Errorf("%s, stream %v: %d\n%s\nwant\n%s", endpoint, stream, a.StatusCode, shownText(a), want)
						}
					}
				}
			}
		})
	}
}

// TestGuardrailsOfBridges: rules hold where the deployment speaks another
// protocol than the client.
func TestGuardrailsOfBridges(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) {
		d.extra = "guardrails:\n  - {name: woods, match: \"jetty cedar mortar\", on: output, action: redact}\n" +
			"  - {name: aws keys, match: \"AKIA[0-9A-Z]{16}\", action: redact}\n"
	})
	for _, endpoint := range []string{"chat", "responses", "messages"} {
		for _, model := range []string{"chat", "responses", "messages"} {
			for _, stream := range []bool{false, true} {
				body := ask(endpoint, stream, user("Hello"))
				body["model"] = model
				a := post(t, r.URL+route(endpoint), body)
				if a.StatusCode != 200 || !strings.Contains(shownText(a), "Hazel [redacted] harbour") || strings.Contains(a.body, "cedar") {
					t.Errorf("%s on %s, stream %v: %d %s", endpoint, model, stream, a.StatusCode, a.body)
				}
				body = ask(endpoint, stream, user("Hello, "+awsKey))
				body["model"] = model
				if a := post(t, r.URL+route(endpoint), body); a.StatusCode != 200 {
					t.Errorf("%s on %s: %d %s", endpoint, model, a.StatusCode, a.body)
				}
			}
		}
	}
	redacted := 0
	for _, account := range r.fleet.Accounts() {
		for _, c := range account.Calls() {
			if strings.Contains(string(c.Body), "AKIA") {
				t.Errorf("%s got %s", account.Name(), c.Body)
			}
			redacted += strings.Count(string(c.Body), "Hello, [redacted]")
		}
	}
	if redacted != 18 {
		t.Errorf("%d calls were redacted, want 18", redacted)
	}
}

// TestBlockedAnswers: a rule that blocks an answer refuses it before any of it is
// shown, and breaks a stream off with the protocol's error event after that. It
// is paid for, and commits nothing.
func TestBlockedAnswers(t *testing.T) {
	for _, endpoint := range []string{"chat", "responses", "messages"} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/late=%v", endpoint, late), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, "memory", func(d *document) {
					match := "On .Hello"
					if late {
						match = "harbour cinder jetty"
					}
					d.extra = "guardrails: [{name: woods, match: \"" + match + "\", on: output, action: block}]\n"
				})
				a := turnOf(t, r.URL, endpoint, "s", false)
				if a.StatusCode != 400 || a.code() != "guardrail_blocked" || !strings.Contains(a.body, "woods") || r.calls() != 1 {
					t.Errorf("%d %s after %d calls", a.StatusCode, a.body, r.calls())
				}
				for _, account := range r.fleet.Accounts() {
					accounts.InjectT(t, account, accounts.Fault{Kind: accounts.SlowTokens, Delay: 10 * time.Millisecond})
				}
				a = turnOf(t, r.URL, endpoint, "s", true)
				switch {
				case !late && (a.StatusCode != 400 || a.code() != "guardrail_blocked"):
					t.Errorf("before output: %d %s", a.StatusCode, a.body)
				case late && (a.StatusCode != 200 || a.err == nil || whole(endpoint, a) || !strings.Contains(a.body, "guardrail_blocked")):
					t.Errorf("after output: %d %v %s", a.StatusCode, a.err, a.body)
				case late && (!strings.Contains(shownText(a), "Hello") || strings.Contains(shownText(a), "cinder jetty")):
					t.Errorf("after output: %s", shownText(a))
				}
				if r.calls() != 2 {
					t.Errorf("%d calls: a refusal of our own was tried elsewhere", r.calls())
				}
				r.settled()
				if log := r.Log(); strings.Count(log, `"guardrails":["woods"]`) != 2 || !strings.Contains(log, `"cost_usd"`) || strings.Contains(log, "harbour") {
					t.Errorf("the log: %s", log)
				}
			})
		}
	}
}

// TestGuardrailsSeeHistory: what the gateway restores of a conversation is looked
// at as the request is, and what is read again of an answer as the answer was.
func TestGuardrailsSeeHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt")
	body := ask("responses", false, user("Hello"))
	body["model"] = "chat" // keeps nothing itself
	first := post(t, r.URL+route("responses"), body)
	id := responseID(t, first)
	if !strings.Contains(first.body, "cedar") {
		t.Fatal(first.body)
	}
	next := map[string]any{"model": "chat", "previous_response_id": id, "input": "And then?"}
	r.Stop()
	document := r.config
	r.config += "guardrails:\n  - {name: trees, match: cedar, action: redact}\n  - {name: harbours, match: harbour, on: output, action: redact}\n"
	r.Gateway = r.start("-config-force")
	if a := post(t, r.URL+route("responses"), next); a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	calls := r.owner(first.deployment()).Calls()
	if sent := string(calls[len(calls)-1].Body); strings.Contains(sent, "cedar") || !strings.Contains(sent, "jetty [redacted] mortar") {
		t.Errorf("restored and sent: %s", sent)
	}
	if a := get(t, r.URL+"/v1/responses/"+id, keyA); a.StatusCode != 200 || strings.Contains(a.body, "harbour") || !strings.Contains(a.body, "[redacted]") {
		t.Errorf("read again: %d %s", a.StatusCode, a.body)
	}
	for match, rule := range map[string]string{"cedar": "{name: trees, match: cedar, action: block}", "size": "{name: trees, max_bytes: 60, action: block}"} {
		r.Stop()
		r.config = document + "guardrails: [" + rule + "]\n"
		r.Gateway = r.start("-config-force")
		calls := r.calls()
		if a := post(t, r.URL+route("responses"), next); a.StatusCode != 400 || a.code() != "guardrail_blocked" || r.calls() != calls {
			t.Errorf("%s in the history: %d %s", match, a.StatusCode, a.body)
		}
	}
}

// TestGuardrailsSeeRebuilt: a conversation that a provider has lost is looked at
// before it is sent once more, and refused for what it is: by the rule.
func TestGuardrailsSeeRebuilt(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{store: "bolt"})
	first := post(t, s.URL+route("responses"), ask("responses", false, user("Hello")))
	id, home := responseID(t, first), s.owner(first.deployment())
	if !strings.Contains(first.body, "cedar") {
		t.Fatal(first.body)
	}
	s.lose(home, id)
	s.Stop()
	s.config += "guardrails:\n  - {name: trees, match: cedar, action: block}\n"
	s.Gateway = s.start("-config-force")
	for _, stream := range []bool{false, true} {
		calls := s.calls()
		a := post(t, s.URL+route("responses"), after("responses", id, stream, "And then?"))
		if a.StatusCode != 400 || a.code() != "guardrail_blocked" || !strings.Contains(a.body, "trees") || s.calls() != calls+1 {
			t.Errorf("stream %v: %d %s after %d calls\n%s", stream, a.StatusCode, a.code(), s.calls()-calls, a.body)
		}
	}
}

// TestGuardrailsOverBlocks: a forbidden text that the borders of content blocks cut
// is one text, in every protocol.
func TestGuardrailsOverBlocks(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", func(d *document) {
		d.extra = "guardrails:\n" +
			"  - {name: aws keys, match: \"AKIA[0-9A-Z]{16}\", action: redact}\n" +
			"  - {name: code words, match: \"(?i)" + secretWord + "\", action: block}\n"
	})
	for _, endpoint := range []string{"chat", "responses", "messages"} {
		kind := map[string]string{"chat": "text", "responses": "input_text", "messages": "text"}[endpoint]
		blocks := func(texts ...string) map[string]any {
			var all []any
			for _, text := range texts {
				all = append(all, turn{"type": kind, "text": text})
			}
			return ask(endpoint, false, turn{"role": "user", "content": all})
		}
		calls := r.calls()
		a := post(t, r.URL+route(endpoint), blocks("the Xylo", "grapher's"))
		if a.StatusCode != 400 || a.code() != "guardrail_blocked" || r.calls() != calls {
			t.Errorf("%s: %d %s", endpoint, a.StatusCode, a.body)
		}
		if a = post(t, r.URL+route(endpoint), blocks("Hello, "+awsKey[:9], awsKey[9:]+" it is")); a.StatusCode != 200 {
			t.Fatalf("%s: %d %s", endpoint, a.StatusCode, a.body)
		}
		last := r.owner(a.deployment()).Calls()
		if body := string(last[len(last)-1].Body); strings.Contains(body, awsKey[:9]) || strings.Contains(body, awsKey[9:]) || !strings.Contains(body, "Hello, [redacted]") {
			t.Errorf("%s: the account got %s", endpoint, body)
		}
	}
}
