package exchange

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestHeartbeats shows that a silent stream is kept alive every 15 seconds, that
// the first heartbeat sends the headers, and that output postpones the next.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		r := newReply(w, func() []byte { return []byte(": keep-alive\n\n") }, func(h http.Header) { h.Set("X-Holdfast-Deployment", "one") })
		r.watch()
		beats := func() int {
			r.mu.Lock() // the timer's goroutine writes
			defer r.mu.Unlock()
			return strings.Count(w.Body.String(), "keep-alive")
		}
		at := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := beats(); got != want {
				t.Errorf("%d heartbeats, want %d", got, want)
			}
		}
		at(heartbeat-time.Second, 0)
		if r.started() {
			t.Error("headers left without a heartbeat")
		}
		at(2*time.Second, 1)
		if !r.started() || w.Header().Get("Content-Type") != eventStream || w.Header().Get("X-Holdfast-Deployment") != "one" {
			t.Errorf("headers with the first heartbeat: %v", w.Header())
		}
		at(heartbeat, 2)
		time.Sleep(heartbeat / 2)
		if err := r.send([]byte("data: x\n\n"), http.StatusOK, nil); err != nil {
			t.Fatal(err)
		}
		at(heartbeat-time.Second, 2)
		at(2*time.Second, 3)
		r.end()
		at(10*heartbeat, 3)
	})
}

// TestHeadersLeaveOnce shows that whoever comes second cannot change them.
func TestHeadersLeaveOnce(t *testing.T) {
	w := httptest.NewRecorder()
	r := newReply(w, nil, func(http.Header) {})
	if err := r.send([]byte("a"), http.StatusOK, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.body([]byte("b"), http.StatusBadGateway, func(h http.Header) { h.Set("Content-Type", "text/plain") }); err != nil {
		t.Fatal(err)
	}
	if w.Code != http.StatusOK || w.Body.String() != "ab" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

// TestHeadersAreOfOneAttempt shows that no heartbeat sends headers while what they
// are made of changes, and that none comes behind the end.
func TestHeadersAreOfOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, serving := httptest.NewRecorder(), "one"
		r := newReply(w, func() []byte { return []byte(": keep-alive\n\n") }, func(h http.Header) { h.Set("X-Holdfast-Deployment", serving) })
		r.watch()
		r.still(func() {
			if serving = "two"; r.mu.TryLock() {
				t.Error("a heartbeat could write meanwhile")
			}
		})
		time.Sleep(heartbeat + time.Second)
		if synctest.Wait(); w.Header().Get("X-Holdfast-Deployment") != "two" {
			t.Errorf("headers %v", w.Header())
		}
		r.end()
		sent := w.Body.Len()
		time.Sleep(2 * heartbeat)
		if synctest.Wait(); w.Body.Len() != sent {
			t.Error("a heartbeat behind the end")
		}
	})
}
