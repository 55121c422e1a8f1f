package httpapi

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"holdfast/infra/front"
)

// TestOriginSecret: behind a domain only requests that came through it are
// served, whatever they ask for, and the proof goes no further.
func TestOriginSecret(t *testing.T) {
	a := &api{Config: Config{OriginSecret: "proof", Now: time.Now, Log: slog.New(slog.DiscardHandler)}}
	reached := ""
	handler := a.proven(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached = "with " + r.Header.Get(front.OriginHeader)
	}))
	for given, want := range map[string]int{"": 404, "proof ": 404, "proo": 404, "proof": 200} {
		reached = ""
		r, w := httptest.NewRequest(http.MethodGet, "/healthz", nil), httptest.NewRecorder()
		if given != "" {
			r.Header.Set(front.OriginHeader, given)
		}
		handler.ServeHTTP(w, r)
		if w.Code != want || (reached == "with ") != (want == 200) {
			t.Errorf("%q: status %d, served %q, want %d", given, w.Code, reached, want)
		}
	}
}

// TestNoOriginSecret: without a domain requests come from anywhere, and what
// they call their proof is their own.
func TestNoOriginSecret(t *testing.T) {
	r, w := httptest.NewRequest(http.MethodGet, "/healthz", nil), httptest.NewRecorder()
	edge(t).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
}
