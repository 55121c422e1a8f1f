package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// reasoned is a Responses request whose answer begins with reasoning, with
// ciphertext and a summary.
func reasoned(stream bool, input any) map[string]any {
	return map[string]any{
		"model": "responses", "input": input, "stream": stream,
		"reasoning": turn{"effort": "low", "summary": "auto"}, "include": []string{"reasoning.encrypted_content"},
	}
}

// plus returns a body with more fields, given as NAME, VALUE pairs.
func plus(body map[string]any, fields ...any) map[string]any {
	for i := 0; i+1 < len(fields); i += 2 {
		body[fields[i].(string)] = fields[i+1]
	}
	return body
}

// after is a request that goes on from a response.
func after(model, id string, stream bool, input any) map[string]any {
	return map[string]any{"model": model, "previous_response_id": id, "input": input, "stream": stream}
}

// send asks a route with a method and a key, without a body.
func send(t *testing.T, method, url, key string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	return do(t, request)
}

// lastCall is what an account was last asked.
func lastCall(t *testing.T, a *accounts.Account) map[string]any {
	t.Helper()
	calls := a.Calls()
	var body map[string]any
	if err := json.Unmarshal(calls[len(calls)-1].Body, &body); err != nil {
		t.Fatalf("%s: %v", calls[len(calls)-1].Body, err)
	}
	return body
}

// lose makes an account forget a response, as if its time were over.
func (r *rig) lose(a *accounts.Account, id string) {
	r.t.Helper()
	if got := send(r.t, http.MethodDelete, r.fleet.URL(a.Name())+"/v1/responses/"+id, upstreamKey); got.StatusCode != 200 {
		r.t.Fatalf("the account keeps %s: %d %s", id, got.StatusCode, got.body)
	}
}

// notFound checks the one refusal of what a caller does not own.
func notFound(t *testing.T, row string, a answer) {
	t.Helper()
	const body = `{"error":{"message":"The previous response was not found. Send the whole conversation as input, without previous_response_id.","type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}`
	if a.StatusCode != 400 || a.code() != "previous_response_not_found" || a.body != body {
		t.Errorf("%s: %d %s", row, a.StatusCode, a.body)
	}
}

// stores are those that every promise about continuation is shown on.
func stores() []string { return rigs("memory", "dynamodb") }

// second is another process over the same store, or the same one where the store
// is its own memory.
func (r *rig) second() string {
	if r.forgetful {
		return r.URL
	}
	return r.start().URL
}

// TestC1 shows that the id in a response's terminal event, and in a JSON answer,
// works at once and from another process, for everything that takes it.
func TestC1(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store)
			other := r.second()
			for _, stream := range []bool{false, true} {
				first := post(t, r.URL+"/v1/responses", reasoned(stream, "Hello"), "X-Session-Id", fmt.Sprint("s", stream))
				id := responseID(t, first)
				for _, next := range []answer{
					post(t, other+"/v1/responses", after("responses", id, stream, "More")),
					send(t, "GET", other+"/v1/responses/"+id, keyA),
					send(t, "GET", other+"/responses/"+id+"/input_items", keyA),
				} {
					if next.StatusCode != 200 || next.affinity() != "required" || next.deployment() != first.deployment() ||
						sessionOf(next) != "parent s"+fmt.Sprint(stream) || next.Header.Get("X-Holdfast-History-Mode") != "portable" {
						t.Errorf("%s: %d %s by %s, %s\n%s", next.Request.URL.Path, next.StatusCode, next.affinity(), next.deployment(), sessionOf(next), next.body)
					}
				}
			}
		})
	}
}

// TestC1EarlyReader shows the same to a client that goes on as soon as it has
// read the terminal event, without waiting for the stream's end.
func TestC1EarlyReader(t *testing.T) {
	t.Parallel()
	r := newRig(t, "dynamodb")
	other := r.start()
	response, err := http.DefaultClient.Do(newRequest(t, t.Context(), r.URL+"/v1/responses", reasoned(true, "Hello")))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var seen []byte
	for piece := make([]byte, 512); !strings.Contains(string(seen), "event: response.completed"); {
		n, err := response.Body.Read(piece)
		seen = append(seen, piece[:n]...)
		if err == io.EOF {
			break
		}
	}
	id := responseID(t, answer{body: string(seen)})
	if a := post(t, other.URL+"/v1/responses", after("responses", id, false, "More")); a.StatusCode != 200 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// TestC3 shows one and the same answer to whoever does not own a response,
// whatever the reason and whatever is asked, and no call for it.
func TestC3(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store)
			id := responseID(t, post(t, r.URL+"/v1/responses", reasoned(false, "Hello")))
			gone := responseID(t, post(t, r.URL+"/v1/responses", reasoned(false, "Hello")))
			if a := send(t, "DELETE", r.URL+"/v1/responses/"+gone, keyA); a.StatusCode != 200 || a.field("deleted") != true {
				t.Fatalf("delete: %d %s", a.StatusCode, a.body)
			}
			calls := r.fleet.Count()
			for name, who := range map[string]struct{ id, key string }{
				"unknown": {"resp_nobody", keyA}, "foreign": {id, keyB}, "deleted": {gone, keyA}, "odd": {"resp%20x", keyA}, "huge": {strings.Repeat("r", 300), keyA},
			} {
				at := r.URL + "/v1/responses/" + who.id
				notFound(t, name+" GET", send(t, "GET", at, who.key))
				notFound(t, name+" DELETE", send(t, "DELETE", at, who.key))
				notFound(t, name+" cancel", send(t, "POST", at+"/cancel", who.key))
				notFound(t, name+" input_items", send(t, "GET", at+"/input_items?limit=2", who.key))
				if len(who.id) <= 256 && !strings.Contains(who.id, "%") {
					notFound(t, name+" POST", post(t, r.URL+"/v1/responses", after("responses", who.id, false, "More"), "Authorization", "Bearer "+who.key))
				}
			}
			notFound(t, "another model", post(t, r.URL+"/v1/responses", after("chat", id, false, "More")))
			if r.fleet.Count() != calls {
				t.Errorf("%d calls for what nobody owns", r.fleet.Count()-calls)
			}
			if a := send(t, "GET", r.URL+"/v1/responses/"+id, keyA); a.StatusCode != 200 {
				t.Errorf("its owner: %d %s", a.StatusCode, a.body)
			}
		})
	}
}

// TestC3Lost shows a response that its own account no longer knows: where our
// history has the whole conversation it is rebuilt, once, at the same deployment
// and before any output, and the client sees nothing of it; where not, it is told
// what all are told.
func TestC3Lost(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, world{store: store, template: "allowed_fails: 1, cooldown: 1h, retry_policy: {max_attempts: 1}"})
			for _, stream := range []bool{false, true} {
				first := post(t, s.URL+"/v1/responses", reasoned(stream, "Say one."))
				home := s.owner(first.deployment())
				second := post(t, s.URL+"/v1/responses", plus(after("responses", responseID(t, first), stream, "Say two."), "instructions", "Be kind."))
				s.lose(home, responseID(t, first))
				s.lose(home, responseID(t, second))
				third, trail := s.trail(func() answer {
					return post(t, s.URL+"/v1/responses", plus(after("responses", responseID(t, second), stream, "Say three."), "instructions", "Be brief."))
				})
				served(t, "rebuilt", "responses", stream, third, "required")
				if len(trail) != 2 || !all(trail, first.deployment()) {
					t.Errorf("calls %v, want two at %s", trail, first.deployment())
				}
				sent := lastCall(t, home)
				if sent["previous_response_id"] != nil || sent["instructions"] != "Be brief." {
					t.Errorf("the rebuilt request has previous_response_id %v, instructions %v", sent["previous_response_id"], sent["instructions"])
				}
				if got := itemsOf(sent["input"]); !slices.Equal(got, []string{"user: Say one.", "reasoning sealed", "assistant", "user: Say two.", "assistant", "user: Say three."}) {
					t.Errorf("the rebuilt conversation is %q", got)
				}
				next := post(t, s.URL+"/v1/responses", after("responses", responseID(t, third), stream, "Say four."))
				if next.StatusCode != 200 || next.deployment() != first.deployment() {
					t.Errorf("after it: %d by %s %s", next.StatusCode, next.deployment(), next.body)
				}
			}
		})
	}
}

// itemsOf names the items of an input in short.
func itemsOf(input any) []string {
	var list []string
	items, _ := input.([]any)
	for _, one := range items {
		item, _ := one.(map[string]any)
		word := fmt.Sprint(item["type"])
		if item["role"] != nil {
			word = fmt.Sprint(item["role"])
		}
		if word == "user" {
			word += ": " + fmt.Sprint(item["content"])
		}
		if item["encrypted_content"] != nil {
			word += " sealed"
		}
		if item["id"] != nil {
			word += " with an id"
		}
		list = append(list, word)
	}
	return list
}

// TestC8 shows that of what the client did not want stored nothing can be
// rebuilt: the provider's answer becomes the one refusal, after one call.
func TestC8(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, world{store: store, template: "allowed_fails: 1, cooldown: 1h"})
			for _, stream := range []bool{false, true} {
				first := post(t, s.URL+"/v1/responses", plus(reasoned(stream, "Hello"), "store", false), "X-Session-Id", fmt.Sprint("n", stream))
				served(t, "unstored", "responses", stream, first, "claimed")
				a, trail := s.trail(func() answer {
					return post(t, s.URL+"/v1/responses", after("responses", responseID(t, first), stream, "More"))
				})
				notFound(t, "unstored", a)
				if len(trail) != 1 || trail[0] != first.deployment() { // ownership is kept, for routing
					t.Errorf("calls %v, want one at %s", trail, first.deployment())
				}
				// What only the gateway could restore is refused without a call.
				bridged := post(t, s.URL+"/v1/responses", turn{"model": "chat", "input": "Hello", "store": false, "stream": stream}, "X-Session-Id", fmt.Sprint("b", stream))
				served(t, "bridged", "responses", stream, bridged, "claimed")
				calls := s.calls()
				notFound(t, "bridged", post(t, s.URL+"/v1/responses", after("chat", responseID(t, bridged), stream, "More")))
				notFound(t, "bridged GET", send(t, "GET", s.URL+"/v1/responses/"+responseID(t, bridged), keyA))
				if s.calls() != calls {
					t.Errorf("%d calls for what nobody can restore", s.calls()-calls)
				}
			}
		})
	}
}
