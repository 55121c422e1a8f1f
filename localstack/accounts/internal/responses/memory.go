package responses

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/refusal"
	"holdfast/localstack/accounts/internal/seal"
)

// Bounds of what an account remembers. The oldest go first.
const (
	maxResponses     = 10_000
	maxConversations = 1_000
	maxBytes         = 64 << 20
)

// Memory is what one account keeps: responses, their items, conversations.
type Memory struct {
	box *seal.Box

	mu            sync.Mutex
	responses     map[string]*stored
	items         map[string]*item
	before        map[string]string // the reasoning item that an output item came after, by their ids
	order         []string          // response ids, oldest first
	bytes         int
	conversations map[string]*thread
	threads       []string // conversation ids, oldest first
}

// stored is one kept response.
type stored struct {
	body    []byte       // the response object as GET shows it
	queued  []byte       // a background response as it was answered; nil otherwise
	dropped []byte       // the same once it was cancelled
	waiting bool         // a background response that nobody has asked for yet
	events  *emit.Events // of a background response, to be streamed again; nil otherwise
	input   []*item      // what the request brought itself
	output  []*item
	whole   []*item // history, input, output: what a continuation stands on
	size    int
}

// thread is one conversation.
type thread struct {
	object []byte
	items  []*item
}

// NewMemory makes an empty memory for the account that box belongs to.
func NewMemory(box *seal.Box) *Memory {
	return &Memory{box: box, responses: map[string]*stored{}, items: map[string]*item{}, before: map[string]string{}, conversations: map[string]*thread{}}
}

// previous is everything that a response stands for.
func (m *Memory) previous(id string) ([]*item, *refusal.Refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.responses[id]
	if !ok {
		return nil, refusal.Invalid("previous_response_id", "previous_response_not_found", "Previous response with id '%s' not found.", id)
	}
	return s.whole, nil
}

// referenced is a stored item.
func (m *Memory) referenced(id string) (*item, *refusal.Refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it, ok := m.items[id]
	if !ok {
		return nil, refusal.Missing("input", "", "Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", id)
	}
	return it, nil
}

// keep stores a response and forgets the oldest ones beyond the bounds.
func (m *Memory) keep(id string, s *stored) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, it := range s.input {
		s.size += len(it.raw)
	}
	reasoning := ""
	for _, it := range s.output {
		m.items[it.ID] = it
		s.size += len(it.raw)
		if it.Type == "reasoning" {
			reasoning = it.ID
		} else if reasoning != "" {
			m.before[it.ID] = reasoning
		}
	}
	s.size += 8*len(s.whole) + len(s.body) + len(s.queued) + len(s.dropped)
	m.responses[id] = s
	m.order = append(m.order, id)
	m.bytes += s.size
	for len(m.order) > 1 && (len(m.order) > maxResponses || m.bytes > maxBytes) {
		m.forget(m.order[0])
		m.order = m.order[1:]
	}
}

// forget drops a response with the items it made.
func (m *Memory) forget(id string) {
	s, ok := m.responses[id]
	if !ok {
		return // deleted by its owner before its turn came
	}
	for _, it := range s.output {
		delete(m.items, it.ID)
		delete(m.before, it.ID)
	}
	m.bytes -= s.size
	delete(m.responses, id)
}

// Get is a stored response object. Asking for a background response is what
// finishes it.
func (m *Memory) Get(id string) ([]byte, *refusal.Refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.responses[id]
	if !ok {
		return nil, unknown(id)
	}
	s.waiting = false
	return s.body, nil
}

// Stream is a background response as events. Asking for it finishes it, too.
func (m *Memory) Stream(id string) (*emit.Events, *refusal.Refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.responses[id]
	switch {
	case !ok:
		return nil, unknown(id)
	case s.events == nil:
		return nil, refusal.Invalid("stream", "", "Cannot stream a response that was not created with background and stream set to true.")
	}
	s.waiting = false
	return s.events, nil
}

// Cancel ends a background response that has not been asked for yet.
func (m *Memory) Cancel(id string) ([]byte, *refusal.Refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.responses[id]
	switch {
	case !ok:
		return nil, unknown(id)
	case s.queued == nil:
		return nil, refusal.Invalid("", "", "Cannot cancel a synchronous response.")
	case s.waiting:
		s.waiting, s.body = false, s.dropped
	}
	return s.body, nil
}

// Delete forgets a response.
func (m *Memory) Delete(id string) ([]byte, *refusal.Refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.responses[id]; !ok {
		return nil, unknown(id)
	}
	m.forget(id)
	return []byte(`{"id":"` + id + `","object":"response","deleted":true}`), nil
}

// Inputs lists what a response's request brought itself.
func (m *Memory) Inputs(id string, page Page) ([]byte, *refusal.Refusal) {
	m.mu.Lock()
	s, ok := m.responses[id]
	m.mu.Unlock()
	if !ok {
		return nil, unknown(id)
	}
	return page.list(s.input)
}

func unknown(id string) *refusal.Refusal {
	return refusal.Missing("", "", "Response with id '%s' not found.", id)
}

// raws are the JSON forms of items.
func raws(items []*item) []jsontext.Value {
	out := make([]jsontext.Value, len(items))
	for i, it := range items {
		out[i] = it.raw
	}
	return out
}
