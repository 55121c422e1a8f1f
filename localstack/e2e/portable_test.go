package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// foreignReasoning is what an account has said of reasoning that no client may
// see: ids and ciphertext, taken from the response that it keeps.
func (r *rig) foreignReasoning(a *accounts.Account, id string) []string {
	r.t.Helper()
	kept := send(r.t, http.MethodGet, r.fleet.URL(a.Name())+"/v1/responses/"+id, upstreamKey)
	var response struct {
		Output []struct {
			Type      string
			ID        string
			Encrypted string `json:"encrypted_content"`
		}
	}
	if err := json.Unmarshal([]byte(kept.body), &response); err != nil {
		r.t.Fatalf("%s: %v", kept.body, err)
	}
	var secrets []string
	for _, item := range response.Output {
		if item.Type == "reasoning" {
			secrets = append(secrets, item.ID, item.Encrypted)
		}
	}
	if len(secrets) == 0 || secrets[0] == "" || secrets[1] == "" {
		r.t.Fatalf("the account has no reasoning to hide: %s", kept.body)
	}
	return secrets
}

// hides checks that a body has nothing in it that only one account can use.
func hides(t *testing.T, row, body string, secrets []string) {
	t.Helper()
	for _, secret := range append(secrets, "encrypted_content") {
		if strings.Contains(body, secret) {
			t.Errorf("%s: the client sees %s in %s", row, secret, body)
		}
	}
}

// TestC6 shows that no shape of an answer has ciphertext or an account's own
// reasoning id in it, that all shapes tell one story with one id of ours, and
// that the summary and everything else is there.
func TestC6(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	tools := []turn{{"type": "function", "name": "look", "parameters": turn{"type": "object", "properties": turn{"where": turn{"type": "string"}}}}}
	for _, called := range []bool{false, true} {
		for _, stream := range []bool{false, true} {
			row := fmt.Sprintf("tools %v, stream %v", called, stream)
			body := reasoned(stream, "Hello")
			if called {
				plus(body, "tools", tools, "tool_choice", "required")
			}
			a := post(t, r.URL+"/v1/responses", body)
			if a.StatusCode != 200 || a.Header.Get("X-Holdfast-History-Mode") != "portable" {
				t.Fatalf("%s: %d %q %s", row, a.StatusCode, a.Header.Get("X-Holdfast-History-Mode"), a.body)
			}
			id := responseID(t, a)
			secrets := r.foreignReasoning(r.owner(a.deployment()), id)
			again := send(t, http.MethodGet, r.URL+"/v1/responses/"+id, keyA)
			ours := "rs_hf_" + between(t, a.body, `"rs_hf_`, `"`)
			for shape, text := range map[string]string{"answer": a.body, "asked again": again.body} {
				hides(t, row+" "+shape, text, secrets)
				if n := strings.Count(text, "rs_hf_"); n == 0 || n != strings.Count(text, ours) {
					t.Errorf("%s %s: ids of ours are not one: %s", row, shape, text)
				}
				if !strings.Contains(text, `"type":"summary_text"`) {
					t.Errorf("%s %s: the summary is gone: %s", row, shape, text)
				}
				if called && !strings.Contains(text, `"call_id":"call_`) {
					t.Errorf("%s %s: the call's id is gone: %s", row, shape, text)
				}
			}
			if stream && strings.Count(a.body, ours) < 5 { // added, deltas, done, snapshot
				t.Errorf("%s: the id is missing in events: %s", row, a.body)
			}
		}
	}
}

// TestC6Stream shows that of a stream nothing is changed but reasoning: event by
// event it is what the account sends to whoever asks it directly.
func TestC6Stream(t *testing.T) {
	t.Parallel()
	fleet := accounts.StartT(t, "alpha")
	r := rigOf(t, fleet, document{fleet: fleet}.String(), "memory")
	body := plus(reasoned(true, "Hello"), "background", true)
	a := post(t, r.URL+"/v1/responses", body)
	id := responseID(t, a)
	direct := send(t, http.MethodGet, fleet.URL("alpha")+"/v1/responses/"+id+"?stream=true", upstreamKey)
	theirs, ours := strings.SplitAfter(direct.body, "\n\n"), strings.SplitAfter(a.body, "\n\n")
	if len(theirs) != len(ours) {
		t.Fatalf("%d events, the account has sent %d", len(ours), len(theirs))
	}
	changed := 0
	for i := range theirs {
		if theirs[i] == ours[i] {
			continue
		}
		changed++
		if !strings.Contains(theirs[i], "rs_") {
			t.Errorf("an event without reasoning has changed:\n%s%s", theirs[i], ours[i])
		}
	}
	if changed < 5 {
		t.Errorf("%d events were changed", changed)
	}
	// What is streamed again, from the middle, tells the same.
	rest := send(t, http.MethodGet, r.URL+"/v1/responses/"+id+"?stream=true&starting_after=2", keyA)
	if want := strings.Join(ours[3:], ""); rest.StatusCode != 200 || rest.body != want {
		t.Errorf("streamed again: %d %s\nwant %s", rest.StatusCode, rest.body, want)
	}
}

// TestC6WayIn shows what an account gets of a conversation that a client sends
// back whole: no ciphertext, no id of reasoning and no status, the summary, the
// call and its result; nothing readable, no item. Any account takes it.
func TestC6WayIn(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	first := post(t, s.URL+"/v1/responses", reasoned(false, "Hello"), "X-Session-Id", "mine")
	output := first.field("output").([]any)
	input := append([]any{user("Hello")}, output...)
	input = append(input,
		turn{"type": "reasoning", "id": "rs_theirs", "status": "completed", "summary": []any{}, "encrypted_content": "gAAAciphertext"},
		turn{"type": "item_reference", "id": output[0].(map[string]any)["id"]},
		turn{"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}", "status": "completed"},
		turn{"type": "function_call_output", "call_id": "call_1", "output": "nothing"},
		user("And now?"))
	a, trail := s.strike(s.owner(first.deployment()), accounts.Fault{Kind: accounts.Overloaded}, func() answer {
		return post(t, s.URL+"/v1/responses", reasoned(true, input), "X-Session-Id", "mine")
	})
	if a.StatusCode != 200 || a.affinity() != "moved" || len(trail) < 2 {
		t.Fatalf("%d %s after %v: %s", a.StatusCode, a.affinity(), trail, a.body)
	}
	for _, deployment := range []string{trail[0], a.deployment()} {
		sent := lastCall(t, s.owner(deployment))
		want := "[user: Hello reasoning assistant function_call function_call_output user: And now?]"
		if got := fmt.Sprint(itemsOf(sent["input"])); got != want {
			t.Errorf("%s gets %s, want %s", deployment, got, want)
		}
		reasoning, _ := sent["input"].([]any)[1].(map[string]any)
		if reasoning["status"] != nil || !strings.Contains(fmt.Sprint(reasoning["summary"]), "summary_text") {
			t.Errorf("%s gets the reasoning %v", deployment, reasoning)
		}
		if call, _ := sent["input"].([]any)[3].(map[string]any); call["call_id"] != "call_1" || call["status"] != "completed" {
			t.Errorf("%s gets the call %v", deployment, call)
		}
	}
}
