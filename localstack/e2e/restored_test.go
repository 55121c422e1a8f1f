package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
	"holdfast/localstack/wirefault"
)

// callOf is the first tool call in a Responses answer, whichever form it has.
func (r *rig) callOf(a answer) (id, arguments string) {
	r.t.Helper()
	kept := send(r.t, http.MethodGet, r.URL+"/v1/responses/"+responseID(r.t, a), keyA)
	for _, item := range kept.field("output").([]any) {
		if call, _ := item.(map[string]any); call["type"] == "function_call" {
			return fmt.Sprint(call["call_id"]), fmt.Sprint(call["arguments"])
		}
	}
	r.t.Fatalf("no tool call in %s", kept.body)
	return "", ""
}

// chatMessages names the messages of a Chat or Messages request in short, the
// system's aside.
func chatMessages(body map[string]any) []string {
	var list []string
	messages, _ := body["messages"].([]any)
	for _, one := range messages {
		m := one.(map[string]any)
		word := fmt.Sprint(m["role"])
		text := fmt.Sprint(m["content"])
		calls, _ := m["tool_calls"].([]any)
		switch {
		case m["role"] != "assistant": // whose words the accounts choose
			for _, said := range []string{"Look it up.", "And now?", "Thanks.", "nothing there"} {
				if strings.Contains(text, said) {
					word += ": " + said
				}
			}
		case len(calls) > 0 || strings.Contains(text, "tool_use"):
			word += " calls"
		}
		list = append(list, word)
	}
	return list
}

// TestC5 shows a chain over deployments that keep no responses: what was said,
// the tool's call and its result are restored exactly, from another process, in
// JSON and in streams, for one read more; instructions are not inherited.
func TestC5(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		for _, model := range []string{"chat", "messages"} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprint(store, "/", model, "/", stream), func(t *testing.T) {
					t.Parallel()
					r := newRig(t, store)
					r.chain(r.second(), model, stream)
				})
			}
		}
	}
}

func (r *rig) chain(other, model string, stream bool) {
	t := r.t
	tools := []turn{{"type": "function", "name": "look", "parameters": turn{"type": "object", "properties": turn{"where": turn{"type": "string"}}}}}
	first := post(t, r.URL+"/v1/responses", turn{"model": model, "stream": stream, "input": "Look it up.", "tools": tools, "tool_choice": "required", "instructions": "Be " + secretWord + "."})
	if first.StatusCode != 200 {
		t.Fatalf("%d %s", first.StatusCode, first.body)
	}
	call, arguments := r.callOf(first)
	second := post(t, other+"/v1/responses", plus(after(model, responseID(t, first), stream, []turn{{"type": "function_call_output", "call_id": call, "output": "nothing there"}}), "tools", tools, "tool_choice", "none"))
	third := post(t, r.URL+"/v1/responses", plus(after(model, responseID(t, second), stream, "And now?"), "tools", tools, "tool_choice", "none"))
	last := post(t, other+"/v1/responses", plus(after(model, responseID(t, third), stream, "Thanks."), "tools", tools, "tool_choice", "none"))
	for i, a := range []answer{second, third, last} {
		if a.StatusCode != 200 || a.deployment() != first.deployment() || a.affinity() != "required" {
			t.Fatalf("turn %d: %d %s by %s, want %s: %s", i+2, a.StatusCode, a.affinity(), a.deployment(), first.deployment(), a.body)
		}
	}
	home := r.owner(first.deployment())
	sent := lastCall(t, home)
	want := "[user: Look it up. assistant calls tool: nothing there assistant user: And now? assistant user: Thanks.]"
	if model == "messages" {
		want = strings.Replace(want, "tool: nothing", "user: nothing", 1)
	}
	if got := fmt.Sprint(chatMessages(sent)); got != want {
		t.Errorf("restored: %s\nwant %s", got, want)
	}
	calls := home.Calls()
	text := string(calls[len(calls)-1].Body)
	if strings.Contains(text, secretWord) || strings.Contains(text, "previous_response_id") {
		t.Errorf("the last request is %s", text)
	}
	for _, part := range append([]string{call}, answersIn(r, second, third)...) {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in the restored conversation %s", part, text)
		}
	}
	if n := strings.Count(text, call); n != 2 { // the call and its result
		t.Errorf("the call is named %d times with arguments %s: %s", n, arguments, text)
	}
	// Another branch of the same conversation does not see this one.
	branch := post(t, r.URL+"/v1/responses", plus(after(model, responseID(t, second), stream, "Thanks."), "tools", tools, "tool_choice", "none"))
	if got := fmt.Sprint(chatMessages(lastCall(t, home))); branch.StatusCode != 200 || strings.Contains(got, "And now?") {
		t.Errorf("a branch: %d %s", branch.StatusCode, got)
	}
}

// answersIn are the texts of answers, as the gateway keeps them.
func answersIn(r *rig, answers ...answer) []string {
	var texts []string
	for _, a := range answers {
		kept := send(r.t, http.MethodGet, r.URL+"/v1/responses/"+responseID(r.t, a), keyA)
		texts = append(texts, between(r.t, kept.body, `"text":"`, `"`))
	}
	return texts
}

// TestC5Gone shows a chain of which a part was deleted: it is refused, never
// shortened, and nobody is asked.
func TestC5Gone(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	first := post(t, r.URL+"/v1/responses", turn{"model": "chat", "input": "One."})
	second := post(t, r.URL+"/v1/responses", after("chat", responseID(t, first), false, "Two."))
	if a := send(t, http.MethodDelete, r.URL+"/v1/responses/"+responseID(t, first), keyA); a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	calls := r.calls()
	notFound(t, "torn", post(t, r.URL+"/v1/responses", after("chat", responseID(t, second), false, "Three.")))
	notFound(t, "foreign", post(t, r.URL+"/v1/responses", after("chat", responseID(t, second), false, "Three."), "Authorization", "Bearer "+keyB))
	if r.calls() != calls {
		t.Errorf("%d calls", r.calls()-calls)
	}
}

// TestC5Reads shows that a bridged continuation costs one Query more than any
// other, however long the chain is, and a native one none; without the Query's
// answer it is 503.
func TestC5Reads(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb")
	for model, queries := range map[string]int{"chat": 1, "responses": 0} {
		a := post(t, r.URL+"/v1/responses", turn{"model": model, "input": "One."})
		for range 4 {
			a = post(t, r.URL+"/v1/responses", after(model, responseID(t, a), false, "More."))
		}
		r.settled()
		r.front.ResetCounts()
		if a = post(t, r.URL+"/v1/responses", after(model, responseID(t, a), false, "Last.")); a.StatusCode != 200 {
			t.Fatalf("%s: %d %s", model, a.StatusCode, a.body)
		}
		if n := r.front.Counts(); n["BatchGetItem"] != 1 || n["Query"] != queries {
			t.Errorf("%s: reads are %v, want 1 BatchGetItem and %d Query", model, n, queries)
		}
		if queries == 0 {
			continue
		}
		for _, kind := range []wirefault.Kind{wirefault.Error, wirefault.Drop} {
			r.front.Inject(wirefault.Rule{Operation: "Query", Times: -1, Fault: wirefault.Fault{Kind: kind}})
			calls := r.calls()
			b := post(t, r.URL+"/v1/responses", after(model, responseID(t, a), false, "Last."))
			r.front.Clear()
			if b.StatusCode != 503 || b.code() != "ownership_unavailable" || r.calls() != calls {
				t.Errorf("without history: %d %s after %d calls", b.StatusCode, b.body, r.calls()-calls)
			}
		}
	}
}

// TestC4Peer shows that another deployment of the creator's account serves a
// continuation of the provider's own id while the creator cannot, and nobody
// else does; what only the gateway can restore stays with its creator.
func TestC4Peer(t *testing.T) {
	t.Parallel()
	fleet := accounts.StartT(t, "alpha", "bravo")
	config := func(enabled bool) string {
		text := "connections:\n"
		for id, row := range map[string][2]string{"one": {"alpha", "org"}, "two": {"alpha", "org"}, "three": {"bravo", "elsewhere"}} {
			text += "  - {id: " + id + ", provider: openai-compatible, base_url: \"" + fleet.URL(row[0]) + "/v1\", boundary: " + row[1] +
				", auth: {type: bearer, key: \"env:UPSTREAM_KEY\"}, allow_private_network: true}\n"
		}
		text += "deployments:\n"
		for _, protocol := range []string{"responses", "chat"} {
			for _, c := range []string{"one", "two", "three"} {
				weight := "1"
				if c == "one" {
					weight = "1000000"
				}
				text += fmt.Sprintf("  - {id: %s-%s, model: %s, connection: %s, protocol: %s, weight: %s, enabled: %v}\n", protocol, c, protocol, c, protocol, weight, enabled || c != "one")
			}
		}
		return text + "keys: [{id: a, key: \"" + keyA + "\"}]\n"
	}
	r := rigOf(t, fleet, config(true), "bolt")
	first := post(t, r.URL+"/v1/responses", reasoned(false, "Hello"))
	bridged := post(t, r.URL+"/v1/responses", turn{"model": "chat", "input": "Hello"})
	if first.deployment() != "responses-one" || bridged.deployment() != "chat-one" {
		t.Fatalf("%s and %s have served", first.deployment(), bridged.deployment())
	}
	r.Stop()
	r.config = config(false)
	r.Gateway = r.start("-config-force")
	for _, stream := range []bool{false, true} {
		a := post(t, r.URL+"/v1/responses", after("responses", responseID(t, first), stream, "More"))
		if a.StatusCode != 200 || a.deployment() != "responses-two" || a.affinity() != "required" {
			t.Errorf("%d %s by %s %s", a.StatusCode, a.affinity(), a.deployment(), a.body)
		}
	}
	calls := r.calls()
	if a := post(t, r.URL+"/v1/responses", after("chat", responseID(t, bridged), false, "More")); a.StatusCode != 409 || a.code() != "continuation_unavailable" || r.calls() != calls {
		t.Errorf("restored elsewhere: %d %s", a.StatusCode, a.body)
	}
}
