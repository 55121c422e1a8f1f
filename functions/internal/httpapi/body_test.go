package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"holdfast/affinity/identity"
	"holdfast/affinity/store"
	"holdfast/functions/internal/auth"
	"holdfast/functions/internal/exchange"
	"holdfast/routing/catalog"
)

// fixed is a configuration that stays.
type fixed struct{ snapshot *exchange.Snapshot }

func (f fixed) Current() *exchange.Snapshot { return f.snapshot }

func (f fixed) Refresh(context.Context) (*exchange.Snapshot, error) { return f.snapshot, nil }
func (f fixed) Keys() []store.Key                                   { return nil }
func (f fixed) Follow(context.Context, []store.Handle) (*exchange.Snapshot, error) {
	return f.snapshot, nil
}

// edge is the handler over the demo's document.
func edge(t *testing.T) http.Handler {
	t.Helper()
	compiled, problems := catalog.Compile(catalog.Demo(), "", func(string) (string, error) { return "", nil })
	if catalog.HasErrors(problems) {
		t.Fatal(problems)
	}
	sessions, err := identity.Compile(identity.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{
		Configuration: fixed{&exchange.Snapshot{Catalog: compiled, Sessions: sessions}},
		Callers:       &auth.Directory{Now: time.Now},
		Now:           time.Now, Log: slog.New(slog.DiscardHandler),
	})
}

// connection is a client that sends without an end, and what is known of how
// it is read.
type connection struct {
	*httptest.ResponseRecorder
	bounded   bool // a deadline stands
	unbounded bool // there was a read without one
	read      int
}

func (c *connection) SetReadDeadline(at time.Time) error {
	c.bounded = !at.IsZero()
	return nil
}

func (c *connection) Read(p []byte) (int, error) {
	c.unbounded = c.unbounded || !c.bounded
	c.read += len(p)
	return len(p), nil
}

// TestRefusedBodies shows that whoever is refused while it is sending is read
// on for a while, so that it can read the answer, within bounds of size and
// time; and not at all where it waits to be told to send.
func TestRefusedBodies(t *testing.T) {
	handler := edge(t)
	rows := []struct {
		name, method, path, key string
		size                    int64
		status                  int
	}{
		{"no such route", "POST", "/v1/nothing", "", -1, http.StatusNotFound},
		{"another method", "PUT", "/v1/messages", "", -1, http.StatusMethodNotAllowed},
		{"no key", "POST", "/v1/messages", "", -1, http.StatusUnauthorized},
		{"too large, as announced", "POST", "/v1/messages", catalog.DemoKey, maxBody + 1, http.StatusRequestEntityTooLarge},
		{"too large", "POST", "/v1/messages", catalog.DemoKey, -1, http.StatusRequestEntityTooLarge},
	}
	for _, row := range rows {
		for _, asks := range []bool{false, true} {
			c := &connection{ResponseRecorder: httptest.NewRecorder()}
			r := httptest.NewRequestWithContext(t.Context(), row.method, row.path, io.NopCloser(c))
			r.ContentLength = row.size
			r.Header.Set("X-Api-Key", row.key)
			if asks {
				r.Header.Set("Expect", "100-continue")
			}
			handler.ServeHTTP(c, r)
			if c.Code != row.status || c.unbounded || c.bounded {
				t.Errorf("%s: status %d, want %d; read without a deadline: %v; deadline left: %v", row.name, c.Code, row.status, c.unbounded, c.bounded)
			}
			wanted := row.name == "too large" // only reading shows it
			if read := c.read > 0; read != (!asks || wanted) || c.read > maxBody+maxDrain+(1<<20) {
				t.Errorf("%s, asking first %v: %d bytes were read", row.name, asks, c.read)
			}
		}
	}
}
