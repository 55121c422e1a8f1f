package e2e

import (
	"strings"
	"testing"
)

// TestBypassItems: a stored item is its caller's, at the account that has it. To
// others, and elsewhere, it does not exist, whichever way it is named.
func TestBypassItems(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, store)
			for _, stream := range []bool{false, true} {
				made := post(t, r.URL+"/bypass/alpha/v1/responses", ask("responses", stream, user("Hello")))
				id := itemID(t, made.body)
				refer := func(name, key string, input ...turn) answer {
					return post(t, r.URL+"/bypass/"+name, map[string]any{"model": "responses", "input": append(input, user("More"))}, "Authorization", "Bearer "+key)
				}
				item := turn{"type": "item_reference", "id": id}
				if a := refer("alpha/v1/responses", keyA, item); a.StatusCode != 200 || a.affinity() != "required" {
					t.Errorf("its own: %d %s %s", a.StatusCode, a.affinity(), a.body)
				}
				calls := r.calls()
				for _, path := range []string{"alpha/v1/responses", "alpha/v1/responses/compact", "alpha/v1/responses/input_tokens"} {
					for name, a := range map[string]answer{
						"foreign": refer(path, keyB, item), "without a type": refer(path, keyB, turn{"id": id}),
						"unknown":   refer(path, keyA, turn{"type": "item_reference", "id": "msg_nobody"}),
						"elsewhere": refer(strings.Replace(path, "alpha", "bravo", 1), keyA, item),
					} {
						if a.StatusCode != 409 || a.code() != "continuation_unavailable" {
							t.Errorf("%s, %s: %d %s", path, name, a.StatusCode, a.body)
						}
					}
				}
				parent, _ := made.field("id").(string)
				if stream {
					parent = responseID(t, made)
				}
				for _, key := range []string{keyA, keyB} {
					a := post(t, r.URL+"/bypass/bravo/v1/responses/input_tokens", turn{"model": "responses", "input": "x", "previous_response_id": parent}, "Authorization", "Bearer "+key)
					if a.StatusCode < 400 || a.StatusCode >= 500 {
						t.Errorf("counting what is somebody else's, or elsewhere: %d %s", a.StatusCode, a.body)
					}
				}
				if r.calls() != calls {
					t.Errorf("%d calls", r.calls()-calls)
				}
			}
		})
	}
}

// itemID is the id of an answer's message, as its provider gave it.
func itemID(t *testing.T, body string) string {
	t.Helper()
	at := strings.LastIndex(body, `"msg_`)
	if at < 0 {
		t.Fatalf("no message in %s", body)
	}
	id, _, _ := strings.Cut(body[at+1:], `"`)
	return id
}
