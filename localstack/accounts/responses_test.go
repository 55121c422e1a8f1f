package accounts_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/localstack/accounts"
)

// A continuation stands on everything before it, and reads it from the cache.
func TestContinuation(t *testing.T) {
	fleet := accounts.StartT(t, "alpha", "bravo")
	url := fleet.URL("alpha") + "/v1/responses"
	previous := ok(t, http.MethodPost, url, encode(t, map[string]any{"model": "m", "input": words("long", 1200)}))
	for i := range 3 {
		next := ok(t, http.MethodPost, url, encode(t, map[string]any{"model": "m", "input": fmt.Sprint("turn ", i), "previous_response_id": previous.text("id")}))
		before := previous.number("usage", "input_tokens") + previous.number("usage", "output_tokens")
		if read := next.number("usage", "input_tokens_details", "cached_tokens"); read <= before-256 || read%128 != 0 {
			t.Errorf("turn %d read %d of %d", i, read, before)
		}
		if next.number("usage", "input_tokens") <= before {
			t.Errorf("turn %d: %d tokens after %d", i, next.number("usage", "input_tokens"), before)
		}
		previous = next
	}
	for name, body := range map[string]string{
		"another account's": `{"model":"m","input":"x","previous_response_id":"` + previous.text("id") + `"}`,
		"nobody's":          `{"model":"m","input":"x","previous_response_id":"resp_1"}`,
	} {
		got := must(t, http.MethodPost, fleet.URL("bravo")+"/v1/responses", body)
		if o := got.object(t); got.status != 400 || o.text("error", "code") != "previous_response_not_found" || o.text("error", "param") != "previous_response_id" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

// Two continuations of one response do not see each other.
func TestBranches(t *testing.T) {
	_, base := start(t, accounts.Config{})
	url := base + "/v1/responses"
	trunk := ok(t, http.MethodPost, url, `{"model":"m","input":"trunk"}`).text("id")
	tokens := map[string]int{}
	for _, branch := range []string{"left", "righteous", "left"} {
		o := ok(t, http.MethodPost, url, `{"model":"m","input":"`+branch+`","previous_response_id":"`+trunk+`"}`)
		if n, seen := tokens[branch]; seen && n != o.number("usage", "input_tokens") {
			t.Errorf("%s: %d tokens, then %d", branch, n, o.number("usage", "input_tokens"))
		}
		tokens[branch] = o.number("usage", "input_tokens")
	}
	if tokens["righteous"] != tokens["left"]+1 {
		t.Errorf("%v", tokens)
	}
}

// The id in the last event works as soon as it has been read.
func TestIDWorksAtOnce(t *testing.T) {
	_, base := start(t, accounts.Config{})
	url := base + "/v1/responses"
	for range 20 {
		events := must(t, http.MethodPost, url, `{"model":"m","stream":true,"input":"hello"}`).events()
		last := answer{body: []byte(events[len(events)-1].data)}.object(t)
		ok(t, http.MethodPost, url, `{"model":"m","input":"more","previous_response_id":"`+last.text("response", "id")+`"}`)
	}
}

// A stream that broke leaves nothing to continue.
func TestBrokenStreamIsNotStored(t *testing.T) {
	a, base := start(t, accounts.Config{})
	accounts.InjectT(t, a, accounts.Fault{Kind: accounts.Cut, After: 1000, Times: 1})
	events := must(t, http.MethodPost, base+"/v1/responses", `{"model":"m","stream":true,"input":"hello"}`).events()
	first := answer{body: []byte(events[0].data)}.object(t)
	if got := must(t, http.MethodGet, base+"/v1/responses/"+first.text("response", "id"), ""); got.status != 404 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestBackground(t *testing.T) {
	_, base := start(t, accounts.Config{})
	url := base + "/v1/responses"
	const body = `{"model":"m","input":"hello","background":true}`
	first := ok(t, http.MethodPost, url, body)
	if first.text("status") != "queued" || first.at("output", 0) != nil || first.at("usage") != nil {
		t.Errorf("%v", first)
	}
	if done := ok(t, http.MethodGet, url+"/"+first.text("id"), ""); done.text("status") != "completed" || done.text("output", 0, "content", 0, "text") == "" {
		t.Errorf("%v", done)
	}
	if late := ok(t, http.MethodPost, url+"/"+first.text("id")+"/cancel", ""); late.text("status") != "completed" {
		t.Errorf("cancelled too late: %v", late)
	}
	second := ok(t, http.MethodPost, url, body)
	if stopped := ok(t, http.MethodPost, url+"/"+second.text("id")+"/cancel", ""); stopped.text("status") != "cancelled" {
		t.Errorf("%v", stopped)
	}
	if gone := ok(t, http.MethodGet, url+"/"+second.text("id"), ""); gone.text("status") != "cancelled" {
		t.Errorf("%v", gone)
	}
	sync := ok(t, http.MethodPost, url, `{"model":"m","input":"hello"}`)
	if got := must(t, http.MethodPost, url+"/"+sync.text("id")+"/cancel", ""); got.status != 400 || !strings.Contains(string(got.body), "synchronous") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestConversations(t *testing.T) {
	fleet := accounts.StartT(t, "alpha", "bravo")
	base := fleet.URL("alpha")
	conversation := ok(t, http.MethodPost, base+"/v1/conversations", `{"items":[{"type":"message","role":"user","content":"earlier"}],"metadata":{"a":"b"}}`)
	id := conversation.text("id")
	if conversation.text("object") != "conversation" || conversation.text("metadata", "a") != "b" {
		t.Errorf("%v", conversation)
	}
	plain := ok(t, http.MethodPost, base+"/v1/responses", `{"model":"m","input":"hello"}`).number("usage", "input_tokens")
	first := ok(t, http.MethodPost, base+"/v1/responses", `{"model":"m","input":"hello","conversation":"`+id+`"}`)
	if first.number("usage", "input_tokens") <= plain || first.text("conversation", "id") != id {
		t.Errorf("%v", first)
	}
	ok(t, http.MethodPost, base+"/v1/responses", `{"model":"m","store":false,"input":"more","conversation":{"id":"`+id+`"}}`)
	items := ok(t, http.MethodGet, base+"/v1/conversations/"+id+"/items?order=asc", "")
	var said []string
	for i := range items.at("data").([]any) {
		said = append(said, items.text("data", i, "role"))
	}
	if fmt.Sprint(said) != "[user user assistant user assistant]" || items.text("data", 0, "content", 0, "text") != "earlier" {
		t.Errorf("%v: %v", said, items)
	}
	page := ok(t, http.MethodGet, base+"/v1/conversations/"+id+"/items?limit=2&after="+items.text("data", 4, "id"), "")
	if page.at("has_more") != true || page.text("data", 0, "id") != items.text("data", 3, "id") || page.text("last_id") != items.text("data", 2, "id") {
		t.Errorf("%v", page)
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=x"} {
		if got := must(t, http.MethodGet, base+"/v1/conversations/"+id+"/items?"+query, ""); got.status != 400 {
			t.Errorf("%s: %d", query, got.status)
		}
	}
	ok(t, http.MethodGet, base+"/v1/conversations/"+id, "")
	ok(t, http.MethodDelete, base+"/v1/conversations/"+id, "")
	for name, got := range map[string]answer{
		"deleted": must(t, http.MethodPost, base+"/v1/responses", `{"model":"m","input":"x","conversation":"`+id+`"}`),
		"foreign": must(t, http.MethodPost, fleet.URL("bravo")+"/v1/responses", `{"model":"m","input":"x","conversation":"`+id+`"}`),
		"asked":   must(t, http.MethodGet, base+"/v1/conversations/"+id, ""),
		"listed":  must(t, http.MethodGet, base+"/v1/conversations/"+id+"/items", ""),
		"again":   must(t, http.MethodDelete, base+"/v1/conversations/"+id, ""),
	} {
		if got.status != 404 || got.object(t).text("error", "code") != "conversation_not_found" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

// References work where the item is stored, and nowhere else.
func TestReferences(t *testing.T) {
	fleet := accounts.StartT(t, "alpha", "bravo")
	first := ok(t, http.MethodPost, fleet.URL("alpha")+"/v1/responses", `{"model":"m","input":"hello","reasoning":{"summary":"auto"}}`)
	body := encode(t, map[string]any{"model": "m", "input": []any{
		map[string]any{"role": "user", "content": "hello"},
		map[string]any{"type": "reasoning", "id": first.text("output", 0, "id"), "summary": []any{}},
		map[string]any{"type": "item_reference", "id": first.text("output", 1, "id")},
		map[string]any{"role": "user", "content": "more"},
	}})
	second := ok(t, http.MethodPost, fleet.URL("alpha")+"/v1/responses", body)
	if second.number("usage", "input_tokens") <= first.number("usage", "output_tokens")-16 {
		t.Errorf("the referenced answer is not in the prompt: %v", second.at("usage"))
	}
	if got := must(t, http.MethodPost, fleet.URL("bravo")+"/v1/responses", body); got.status != 404 || !strings.Contains(string(got.body), "Items are not persisted") {
		t.Errorf("%d %s", got.status, got.body)
	}
	readable := `{"model":"m","input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"thought"}]},{"role":"user","content":"more"}]}`
	ok(t, http.MethodPost, fleet.URL("bravo")+"/v1/responses", readable)
}

// A compacted conversation goes on where it was compacted.
func TestCompaction(t *testing.T) {
	fleet := accounts.StartT(t, "alpha", "bravo")
	compacted := ok(t, http.MethodPost, fleet.URL("alpha")+"/v1/responses/compact", `{"model":"m","input":[{"role":"user","content":"hello"},{"role":"assistant","content":"hi"}]}`)
	if compacted.text("object") != "response.compaction" || compacted.text("output", 0, "role") != "user" || compacted.text("output", 1, "type") != "compaction" || compacted.number("usage", "input_tokens") == 0 {
		t.Fatalf("%v", compacted)
	}
	body := encode(t, map[string]any{"model": "m", "input": append(compacted.at("output").([]any), map[string]any{"role": "user", "content": "more"})})
	ok(t, http.MethodPost, fleet.URL("alpha")+"/v1/responses", body)
	if got := must(t, http.MethodPost, fleet.URL("bravo")+"/v1/responses", body); got.status != 400 || got.object(t).text("error", "code") != "invalid_encrypted_content" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestTurnState(t *testing.T) {
	fleet := accounts.StartConfigT(t, accounts.Config{Name: "alpha", TurnState: true}, accounts.Config{Name: "bravo", TurnState: true}, accounts.Config{Name: "charlie"})
	const body = `{"model":"m","input":"hello"}`
	state := must(t, http.MethodPost, fleet.URL("alpha")+"/v1/responses", body).header.Get("X-Codex-Turn-State")
	if state == "" {
		t.Fatal("no turn state")
	}
	if again := must(t, http.MethodPost, fleet.URL("alpha")+"/v1/responses", body, "X-Codex-Turn-State", state).header.Get("X-Codex-Turn-State"); again != state {
		t.Errorf("its own state %q became %q", state, again)
	}
	if other := must(t, http.MethodPost, fleet.URL("bravo")+"/v1/responses", body, "X-Codex-Turn-State", state).header.Get("X-Codex-Turn-State"); other == state || other == "" {
		t.Errorf("another account keeps %q", other)
	}
	if none := must(t, http.MethodPost, fleet.URL("charlie")+"/v1/responses", body).header.Get("X-Codex-Turn-State"); none != "" {
		t.Errorf("%q without being asked", none)
	}
}

// An answer that was cut short is incomplete, in JSON and in the stream.
func TestIncomplete(t *testing.T) {
	_, base := start(t, accounts.Config{})
	o := ok(t, http.MethodPost, base+"/v1/responses", `{"model":"m","input":"hello","max_output_tokens":3}`)
	if o.text("status") != "incomplete" || o.text("incomplete_details", "reason") != "max_output_tokens" || o.number("usage", "output_tokens") != 3 {
		t.Errorf("%v", o)
	}
	events := must(t, http.MethodPost, base+"/v1/responses", `{"model":"m","input":"hello","max_output_tokens":3,"stream":true}`).events()
	if last := events[len(events)-1]; last.name != "response.incomplete" {
		t.Errorf("%+v", last)
	}
}

// A stored answer that is named by its id needs the reasoning before it, whose
// ciphertext will do; without its id it stands for itself.
func TestPairs(t *testing.T) {
	_, base := start(t, accounts.Config{})
	url := base + "/v1/responses"
	first := ok(t, http.MethodPost, url, `{"model":"m","input":"hello","reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"]}`)
	message := func(id string) map[string]any {
		m := map[string]any{"type": "message", "role": "assistant", "content": first.at("output", 1, "content")}
		if id != "" {
			m["id"] = id
		}
		return m
	}
	sealed := map[string]any{"type": "reasoning", "summary": []any{}, "encrypted_content": first.text("output", 0, "encrypted_content")}
	id := first.text("output", 1, "id")
	for name, row := range map[string]struct {
		input  []any
		status int
	}{
		"alone":           {[]any{message(id)}, 400},
		"with ciphertext": {[]any{sealed, message(id)}, 200},
		"without its id":  {[]any{message("")}, 200},
		"nobody's id":     {[]any{message("msg_1")}, 200},
	} {
		if got := must(t, http.MethodPost, url, encode(t, map[string]any{"model": "m", "input": row.input})); got.status != row.status {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

// A response in the background can be streamed again from where one stopped.
func TestBackgroundStream(t *testing.T) {
	_, base := start(t, accounts.Config{})
	url := base + "/v1/responses"
	whole := must(t, http.MethodPost, url, `{"model":"m","input":"hello","background":true,"stream":true}`).events()
	id := answer{body: []byte(whole[0].data)}.object(t).text("response", "id")
	rest := must(t, http.MethodGet, url+"/"+id+"?stream=true&starting_after=2", "").events()
	if len(rest) != len(whole)-3 || rest[0] != whole[3] {
		t.Errorf("%d of %d events, the first %+v", len(rest), len(whole), rest[0])
	}
	for _, query := range []string{"?stream=true&starting_after=x", "?stream=true&starting_after=-1"} {
		if got := must(t, http.MethodGet, url+"/"+id+query, ""); got.status != 400 {
			t.Errorf("%s: %d", query, got.status)
		}
	}
	plain := ok(t, http.MethodPost, url, `{"model":"m","input":"hello"}`).text("id")
	if got := must(t, http.MethodGet, url+"/"+plain+"?stream=true", ""); got.status != 400 {
		t.Errorf("a plain one: %d", got.status)
	}
}
