package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
	"holdfast/localstack/wirefault"
)

// conversation makes a conversation at an account, as an operator or a bypass
// would.
func (r *rig) conversation(a *accounts.Account) string {
	r.t.Helper()
	c := post(r.t, r.fleet.URL(a.Name())+"/v1/conversations", turn{"items": []turn{{"type": "message", "role": "user", "content": "earlier"}}})
	id, _ := c.field("id").(string)
	if id == "" {
		r.t.Fatalf("no conversation: %s", c.body)
	}
	return id
}

// TestConversation shows that a conversation is bound to the deployment that has
// first gone on with it, for its caller, in both of its forms.
func TestConversation(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store)
			other := r.second()
			home := r.fleet.Account("bravo")
			id := r.conversation(home)
			session := r.sessionAt("responses-bravo")
			first := post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": "One.", "conversation": id}, "X-Session-Id", session)
			if first.StatusCode != 200 || first.deployment() != "responses-bravo" {
				t.Fatalf("%d by %s %s", first.StatusCode, first.deployment(), first.body)
			}
			for i, form := range []any{id, turn{"id": id}} {
				for _, stream := range []bool{false, true} {
					a := post(t, other+"/v1/responses", turn{"model": "responses", "input": "More.", "conversation": form, "stream": stream}, "X-Session-Id", fmt.Sprint("another", i, stream))
					if a.StatusCode != 200 || a.deployment() != "responses-bravo" || a.affinity() != "required" {
						t.Errorf("%v: %d %s by %s %s", form, a.StatusCode, a.affinity(), a.deployment(), a.body)
					}
				}
			}
			calls := r.calls()
			if a := post(t, other+"/v1/responses", turn{"model": "responses", "input": "Mine?", "conversation": id}, "Authorization", "Bearer "+keyB); a.StatusCode != 409 || a.code() != "continuation_unavailable" || r.calls() != calls {
				t.Errorf("another caller's conversation: %d %s after %d calls", a.StatusCode, a.body, r.calls()-calls)
			}
			items := send(t, http.MethodGet, r.fleet.URL("bravo")+"/v1/conversations/"+id+"/items?limit=100", upstreamKey)
			if data, _ := items.field("data").([]any); len(data) != 11 { // one before, and five turns
				t.Errorf("the conversation has %d items", len(data))
			}
		})
	}
}

// sessionAt is a session that is served by a deployment.
func (r *rig) sessionAt(deployment string) string {
	r.t.Helper()
	for i := range 100 {
		session := fmt.Sprint("probe", i)
		if a := post(r.t, r.URL+"/v1/responses", ask("responses", false, user("Hi")), "X-Session-Id", session); a.deployment() == deployment {
			return session
		}
	}
	r.t.Fatalf("no session is served by %s", deployment)
	return ""
}

// TestConversationGone shows that a conversation whose deployment is disabled is
// refused without a call.
func TestConversationGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt")
	id := r.conversation(r.fleet.Account("bravo"))
	body := turn{"model": "responses", "input": "One.", "conversation": id}
	if a := post(t, r.URL+"/v1/responses", body, "X-Session-Id", r.sessionAt("responses-bravo")); a.StatusCode != 200 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	r.Stop()
	r.config = strings.Replace(r.config, "  - id: responses-bravo\n", "  - id: responses-bravo\n    enabled: false\n", 1)
	r.Gateway = r.start("-config-force")
	calls := r.calls()
	if a := post(t, r.URL+"/v1/responses", body); a.StatusCode != 409 || a.code() != "continuation_unavailable" || r.calls() != calls {
		t.Errorf("%d %s after %d calls", a.StatusCode, a.body, r.calls()-calls)
	}
}

// TestItemReference shows that references to stored items are filled in from our
// history: any account can then serve them, and no reasoning's id is among them.
func TestItemReference(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, world{store: store})
			other := s.second()
			var input []any
			for i := range 12 { // more than one read has room for
				a := post(t, s.URL+"/v1/responses", reasoned(i%2 == 0, fmt.Sprintf("Say %d.", i)), "X-Session-Id", fmt.Sprint("s", i))
				kept := send(t, http.MethodGet, s.URL+"/v1/responses/"+responseID(t, a), keyA)
				input = append(input, user(fmt.Sprintf("Say %d.", i)))
				for _, item := range kept.field("output").([]any) {
					input = append(input, turn{"type": "item_reference", "id": item.(map[string]any)["id"]})
				}
			}
			body := turn{"model": "responses", "input": append(input, user("And all of it?"))}
			a := post(t, other+"/v1/responses", body, "X-Session-Id", "all")
			if a.StatusCode != 200 || a.affinity() != "claimed" {
				t.Fatalf("%d %s %s", a.StatusCode, a.affinity(), a.body)
			}
			sent := itemsOf(lastCall(t, s.owner(a.deployment()))["input"])
			if len(sent) != 25 || sent[1] != "assistant" || strings.Contains(fmt.Sprint(sent), "reference") || strings.Contains(fmt.Sprint(sent), "id") {
				t.Errorf("the account gets %q", sent)
			}
			calls := s.calls()
			for name, a := range map[string]answer{
				"unknown": post(t, s.URL+"/v1/responses", turn{"model": "responses", "input": []turn{{"type": "item_reference", "id": "msg_nobody"}, user("x")}}),
				"foreign": post(t, s.URL+"/v1/responses", body, "Authorization", "Bearer "+keyB),
				"no type": post(t, s.URL+"/v1/responses", turn{"model": "responses", "input": []turn{{"id": "msg_nobody"}, user("x")}}),
			} {
				if a.StatusCode != 409 || a.code() != "continuation_unavailable" {
					t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
				}
			}
			if s.calls() != calls {
				t.Errorf("%d calls for unknown items", s.calls()-calls)
			}
		})
	}
}

// TestCompaction shows a conversation that is shortened where it is served; what
// comes of it goes back to that account, in any session, or nowhere.
func TestCompaction(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store)
			other := r.second()
			turns := []turn{user("Hello"), assistant("Hi"), user("More")}
			first := post(t, r.URL+"/v1/responses", ask("responses", false, turns...), "X-Session-Id", "mine")
			compacted := post(t, r.URL+"/responses/compact", ask("responses", false, turns...), "X-Session-Id", "mine")
			if compacted.StatusCode != 200 || compacted.affinity() != "hit" || compacted.deployment() != first.deployment() || compacted.field("object") != "response.compaction" {
				t.Fatalf("%d %s by %s, the session's is %s: %s", compacted.StatusCode, compacted.affinity(), compacted.deployment(), first.deployment(), compacted.body)
			}
			output := compacted.field("output").([]any)
			for i := range 8 {
				a := post(t, other+"/v1/responses", turn{"model": "responses", "stream": i%2 == 0, "input": append(output[:len(output):len(output)], user(fmt.Sprint("Now ", i)))}, "X-Session-Id", fmt.Sprint("another", i))
				if a.StatusCode != 200 || a.affinity() != "required" || a.deployment() != first.deployment() {
					t.Errorf("%d %s by %s, want by %s: %s", a.StatusCode, a.affinity(), a.deployment(), first.deployment(), a.body)
				}
			}
			calls := r.calls()
			sealed := turn{"type": "compaction", "encrypted_content": "gAAAnobody"}
			for name, a := range map[string]answer{
				"unknown": post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": []turn{sealed, user("x")}}, "X-Session-Id", "mine"),
				"foreign": post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": output}, "Authorization", "Bearer "+keyB),
			} {
				if a.StatusCode != 409 || a.code() != "start_new_conversation" {
					t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
				}
			}
			if a := post(t, r.URL+"/v1/responses/compact", ask("chat", false, turns...)); a.StatusCode != 400 || a.code() != "endpoint_unsupported" {
				t.Errorf("a model without the protocol: %d %s", a.StatusCode, a.body)
			}
			if r.calls() != calls {
				t.Errorf("%d calls for what nobody owns", r.calls()-calls)
			}
		})
	}
}

// TestCompactionGone shows ciphertext whose account cannot be used: a new
// conversation is the only way on.
func TestCompactionGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, "bolt")
	compacted := post(t, r.URL+"/v1/responses/compact", ask("responses", false, user("Hello"), assistant("Hi"), user("More")))
	home := compacted.deployment()
	r.Stop()
	r.config = strings.Replace(r.config, "  - id: "+home+"\n", "  - id: "+home+"\n    enabled: false\n", 1)
	r.Gateway = r.start("-config-force")
	calls := r.calls()
	if a := post(t, r.URL+"/v1/responses", turn{"model": "responses", "input": compacted.field("output")}); a.StatusCode != 409 || a.code() != "start_new_conversation" || r.calls() != calls {
		t.Errorf("%d %s after %d calls", a.StatusCode, a.body, r.calls()-calls)
	}
}

// TestPublishingFails holds the two ends of every write that makes a response
// usable: where it did not happen the answer is whole and says so, where it did
// in spite of its error the id works, and never does the answer fail.
func TestPublishingFails(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		for _, applied := range []bool{false, true} {
			for write, skip := range map[string]int{"history": 0, "items": 1, "ownership": 3} {
				row := fmt.Sprintf("%s, stream %v, applied %v", write, stream, applied)
				t.Run(row, func(t *testing.T) {
					t.Parallel()
					r := newRig(t, "dynamodb")
					r.front.Inject(wirefault.Rule{Operation: "PutItem", Table: "state", Skip: skip, Times: -1, Fault: wirefault.Fault{Kind: wirefault.Drop, Applied: applied}})
					a := post(t, r.URL+"/v1/responses", reasoned(stream, "Hello"))
					r.front.Clear()
					if a.StatusCode != 200 || a.err != nil || stream && !strings.Contains(a.body, "event: response.completed") {
						t.Fatalf("the answer has failed: %d %v %s", a.StatusCode, a.err, a.body)
					}
					told := a.Header.Get("X-Holdfast-Continuation") == "unavailable"
					if stream {
						before, _, _ := strings.Cut(a.body, "event: response.completed")
						told = strings.Contains(before, ": x-holdfast-continuation: unavailable\n")
					}
					next := post(t, r.URL+"/v1/responses", after("responses", responseID(t, a), false, "More"))
					switch {
					case !told && next.StatusCode != 200:
						t.Errorf("an id without a warning does not work: %d %s", next.StatusCode, next.body)
					case !applied && !told:
						t.Error("nothing was written, and nobody is told")
					case told && !applied:
						notFound(t, row, next)
					}
				})
			}
		}
	}
}
