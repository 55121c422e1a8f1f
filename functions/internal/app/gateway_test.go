package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"holdfast/affinity/store"
	"holdfast/localstack/accounts"
	"holdfast/routing/catalog"
)

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// counted is a store that counts its calls, those of the ledger apart.
type counted struct {
	store.Store
	mu           sync.Mutex
	reads, swaps int
	keys         int           // of the last read
	booked       int           // calls of the ledger
	gate         chan struct{} // calls of the ledger wait for it to close; nil: they do not
}

func (c *counted) Read(ctx context.Context, keys ...store.Key) ([]store.Handle, error) {
	if c.book(keys[0].Table) {
		return c.Store.Read(ctx, keys...)
	}
	c.mu.Lock()
	c.reads++
	c.keys = len(keys)
	c.mu.Unlock()
	return c.Store.Read(ctx, keys...)
}

func (c *counted) Swap(ctx context.Context, h store.Handle, next store.Record) (store.Handle, error) {
	if c.book(h.Key().Table) {
		return c.Store.Swap(ctx, h, next)
	}
	c.mu.Lock()
	c.swaps++
	c.mu.Unlock()
	return c.Store.Swap(ctx, h, next)
}

// book counts a call of the ledger, once it may be made.
func (c *counted) book(t store.Table) bool {
	if t != store.Ledger {
		return false
	}
	if c.gate != nil {
		<-c.gate
	}
	c.mu.Lock()
	c.booked++
	c.mu.Unlock()
	return true
}

// take returns the counts since the last take.
func (c *counted) take() (reads, swaps int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reads, swaps = c.reads, c.swaps
	c.reads, c.swaps = 0, 0
	return reads, swaps
}

// rig is the demo's gateway in this process, with a clock and a counted store.
type rig struct {
	*Gateway
	url   string
	clock *clock
	store *counted
	fleet *accounts.Fleet
}

func newRig(t *testing.T, change func(*catalog.Document)) *rig {
	t.Helper()
	r := &rig{clock: newClock(), fleet: accounts.StartT(t, "alpha", "bravo", "charlie")}
	r.store = &counted{Store: store.NewMemory(store.MemoryConfig{Now: r.clock.Now})}
	doc, urls := catalog.Demo(), map[string]string{}
	for _, a := range r.fleet.Accounts() {
		urls[a.Name()] = r.fleet.URL(a.Name()) + "/v1"
	}
	if change != nil {
		change(doc)
	}
	g, err := New(t.Context(), Options{
		Document: doc, Store: r.store, Demo: urls, Now: r.clock.Now, Log: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g.Handler)
	t.Cleanup(func() { server.Close(); g.After.Wait(); g.Close() })
	r.Gateway, r.url = g, server.URL
	r.store.take()
	return r
}

// chat sends one turn and returns its affinity and deployment; what is written
// after the answer has been written when it returns.
func (r *rig) chat(t *testing.T, session string) (affinity, deployment string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "demo-chat", "session_id": session,
		"messages": []any{map[string]any{"role": "user", "content": "Hello"}}})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+catalog.DemoKey)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s %v", answer.StatusCode, text, err)
	}
	r.After.Wait()
	return answer.Header.Get("X-Holdfast-Affinity"), answer.Header.Get("X-Holdfast-Deployment")
}

// TestS11 shows that a preference lives an hour from its last success, and that
// an expired record counts as absent although it is still there.
func TestS11(t *testing.T) {
	r := newRig(t, nil)
	_, home := r.chat(t, "s")
	for range 3 { // each success grants another hour
		r.clock.advance(50 * time.Minute)
		if word, served := r.chat(t, "s"); word != "hit" || served != home {
			t.Fatalf("%s by %s, want a hit by %s", word, served, home)
		}
	}
	r.clock.advance(61 * time.Minute)
	if word, _ := r.chat(t, "s"); word != "claimed" {
		t.Errorf("after an hour of silence: %s, want a new claim over the expired record", word)
	}
}

// TestS11FailuresDoNotRenew shows that only success renews: an exchange that
// read the preference and failed leaves its end where it was.
func TestS11FailuresDoNotRenew(t *testing.T) {
	r := newRig(t, nil)
	r.chat(t, "s")
	r.clock.advance(50 * time.Minute)
	for _, a := range r.fleet.Accounts() {
		accounts.InjectT(t, a, accounts.Fault{Kind: accounts.ContextOverflow, Times: 1})
	}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/chat/completions",
		bytes.NewReader([]byte(`{"model":"demo-chat","session_id":"s","messages":[{"role":"user","content":"Hello"}]}`)))
	request.Header.Set("Authorization", "Bearer "+catalog.DemoKey)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Fatalf("status %d, want the account's 400", answer.StatusCode)
	}
	r.After.Wait()
	r.clock.advance(11 * time.Minute)
	if word, _ := r.chat(t, "s"); word != "claimed" {
		t.Errorf("%s: the failed exchange has renewed the preference", word)
	}
}

// TestP4 counts store round trips: one read before the upstream on a hit, one
// more write on a first turn, and one write after either.
func TestP4(t *testing.T) {
	r := newRig(t, nil)
	r.chat(t, "s")
	if reads, swaps := r.store.take(); reads != 1 || swaps != 2 {
		t.Errorf("first turn: %d reads and %d writes, want 1 read, 1 claim and 1 commit", reads, swaps)
	}
	for range 3 {
		r.chat(t, "s")
		if reads, swaps := r.store.take(); reads != 1 || swaps != 1 {
			t.Errorf("later turn: %d reads and %d writes, want 1 read and 1 renewal", reads, swaps)
		}
	}
	if r.store.keys > 3 {
		t.Errorf("%d keys were read, want the preference and the model's cooldowns", r.store.keys)
	}
}

// TestP4Ledger holds the ledger's calls back until the client has had its whole
// answer: nothing of it stands before.
func TestP4Ledger(t *testing.T) {
	r := newRig(t, nil)
	r.store.gate = make(chan struct{})
	body := []byte(`{"model":"demo-chat","session_id":"s","stream":true,"messages":[{"role":"user","content":"Hello"}]}`)
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/chat/completions", bytes.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+catalog.DemoKey)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || !bytes.Contains(text, []byte("[DONE]")) {
		t.Fatalf("%s %v", text, err)
	}
	if r.store.booked != 0 {
		t.Error("the ledger was written before the answer's end")
	}
	close(r.store.gate)
	r.After.Wait()
	if r.store.booked == 0 {
		t.Error("nothing was booked")
	}
}

// TestTTLOfDeployment shows that a preference lives as long as its deployment's
// cache does.
func TestTTLOfDeployment(t *testing.T) {
	r := newRig(t, func(d *catalog.Document) {
		for i := range d.Deployments {
			d.Deployments[i].CacheTTL = catalog.Duration(5 * time.Minute)
		}
	})
	_, home := r.chat(t, "s")
	r.clock.advance(4 * time.Minute)
	if word, served := r.chat(t, "s"); word != "hit" || served != home {
		t.Errorf("within five minutes: %s by %s", word, served)
	}
	r.clock.advance(6 * time.Minute)
	if word, _ := r.chat(t, "s"); word != "claimed" {
		t.Errorf("after five minutes of silence: %s, want a new claim", word)
	}
}
