package responses

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/refusal"
)

// Page is one page of a list of items.
type Page struct {
	Ascending bool
	After     string // the last id of the page before
	Limit     int    // 1 to 100; 0 is 20
}

// list makes the page of some items.
func (g Page) list(items []*item) ([]byte, *refusal.Refusal) {
	if g.Limit == 0 {
		g.Limit = 20
	}
	if g.Limit < 1 || g.Limit > 100 {
		return nil, refusal.Invalid("limit", "integer_above_max_value", "Invalid 'limit': expected a value between 1 and 100.")
	}
	var shown []*item
	seen := g.After == ""
	more := false
	for i := range items {
		it := items[i]
		if !g.Ascending {
			it = items[len(items)-1-i]
		}
		switch {
		case !seen:
			seen = it.ID == g.After
		case len(shown) == g.Limit:
			more = true
		default:
			shown = append(shown, it)
		}
	}
	return page(shown, more), nil
}

func page(shown []*item, more bool) []byte {
	b := []byte(`{"object":"list","data":[`)
	for i, raw := range raws(shown) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, raw...)
	}
	first, last := "", ""
	if len(shown) > 0 {
		first, last = shown[0].ID, shown[len(shown)-1].ID
	}
	b = emit.OrNull(append(b, `],"first_id":`...), first)
	b = emit.OrNull(append(b, `,"last_id":`...), last)
	if more {
		return append(b, `,"has_more":true}`...)
	}
	return append(b, `,"has_more":false}`...)
}

// conversation is every item of a conversation so far.
func (m *Memory) conversation(id string) ([]*item, *refusal.Refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.conversations[id]
	if !ok {
		return nil, strangeConversation(id)
	}
	return t.items, nil
}

// grow adds a finished turn to its conversation, which may be gone by now.
func (m *Memory) grow(id string, items []*item) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.conversations[id]; ok {
		t.items = append(t.items[:len(t.items):len(t.items)], items...)
	}
}

// Converse makes a conversation.
func (m *Memory) Converse(body []byte, now time.Time, mint func(string) string) ([]byte, *refusal.Refusal) {
	var wire struct {
		Items    []jsontext.Value `json:"items"`
		Metadata jsontext.Value   `json:"metadata"`
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &wire); err != nil {
			return nil, refusal.Body(err)
		}
	}
	t := &thread{}
	for i, raw := range wire.Items {
		it, r := m.item(raw, i)
		if r != nil {
			return nil, r
		}
		t.items = append(t.items, it.named(mint))
	}
	id := mint("conv_")
	t.object = emit.String(nil, `{"id":`, id)
	t.object = emit.Int(t.object, `,"object":"conversation","created_at":`, int(now.Unix()))
	t.object = append(emit.Raw(t.object, `,"metadata":`, wire.Metadata, "{}"), '}')
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conversations[id] = t
	m.threads = append(m.threads, id)
	if len(m.threads) > maxConversations {
		delete(m.conversations, m.threads[0])
		m.threads = m.threads[1:]
	}
	return t.object, nil
}

// Conversation is a conversation's object.
func (m *Memory) Conversation(id string) ([]byte, *refusal.Refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.conversations[id]; ok {
		return t.object, nil
	}
	return nil, strangeConversation(id)
}

// Items lists a conversation's items.
func (m *Memory) Items(id string, g Page) ([]byte, *refusal.Refusal) {
	items, r := m.conversation(id)
	if r != nil {
		return nil, r
	}
	return g.list(items)
}

// Part forgets a conversation.
func (m *Memory) Part(id string) ([]byte, *refusal.Refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.conversations[id]; !ok {
		return nil, strangeConversation(id)
	}
	delete(m.conversations, id)
	return append(emit.String(nil, `{"id":`, id), `,"object":"conversation.deleted","deleted":true}`...), nil
}

func strangeConversation(id string) *refusal.Refusal {
	return refusal.Missing("conversation", "conversation_not_found", "Conversation with id '%s' not found.", id)
}

// named gives an input item an id and, as a message, content in parts: the
// form in which stored items are shown.
func (it *item) named(mint func(string) string) *item {
	named := *it
	it = &named
	if it.ID == "" {
		it.ID = mint("msg_")
	}
	if it.Type != "message" {
		it.raw = withID(it.raw, it.ID)
		return it
	}
	b := emit.String(nil, `{"id":`, it.ID)
	b = emit.String(b, `,"type":"message","status":"completed","role":`, it.Role)
	if it.Content.Kind() == '"' {
		kind := "input_text"
		if it.Role == "assistant" {
			kind = "output_text"
		}
		b = emit.String(b, `,"content":[{"type":`, kind)
		b = append(append(append(b, `,"text":`...), it.Content...), "}]}"...)
	} else {
		b = append(emit.Raw(b, `,"content":`, it.Content, "[]"), '}')
	}
	it.raw = b
	return it
}

// withID puts an id in front of an object that may have none.
func withID(raw jsontext.Value, id string) jsontext.Value {
	var members map[string]jsontext.Value
	if json.Unmarshal(raw, &members) != nil || members["id"] != nil {
		return raw
	}
	b := emit.String(nil, `{"id":`, id)
	if len(members) > 0 {
		b = append(b, ',')
	}
	return append(b, raw[1:]...)
}
