package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

func TestPublicAddresses(t *testing.T) {
	rows := map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false,
		"224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fd00::1": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:8.8.8.8": true,
		"64:ff9b::7f00:1": false, "64:ff9b::808:808": true, "2002:7f00:1::": false, "2001:db8::1": false,
	}
	for text, want := range rows {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("public(%s) = %v, want %v", text, got, want)
		}
	}
	if public(netip.Addr{}) {
		t.Error("the zero address is public")
	}
}

func request(t *testing.T, base string) Request {
	t.Helper()
	to, err := url.Parse(base + "/v1/chat/completions")
	if err != nil {
		t.Fatal(err)
	}
	return Request{Method: http.MethodPost, URL: to, Header: http.Header{}, Body: []byte(`{}`), AllowPrivate: true}
}

func kind(t *testing.T, err error) Kind {
	t.Helper()
	var f *Failure
	if !errors.As(err, &f) {
		t.Fatalf("error %v is no Failure", err)
	}
	return f.Kind
}

// TestPrivateAddressIsRefused holds X1: refused at dial unless allowed.
func TestPrivateAddressIsRefused(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer server.Close()
	r := request(t, server.URL)
	r.AllowPrivate = false
	client := New()
	defer client.Close()
	if _, err := client.Do(t.Context(), r); kind(t, err) != Refused {
		t.Errorf("error = %v, want a refused address", err)
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls reached the private address", n)
	}
	r.AllowPrivate = true
	answer, err := client.Do(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}

// TestRedirectIsAnAnswer holds X1: redirects are not followed.
func TestRedirectIsAnAnswer(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	client := New()
	defer client.Close()
	answer, err := client.Do(t.Context(), request(t, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.Status != http.StatusTemporaryRedirect || calls.Load() != 1 {
		t.Errorf("status %d after %d calls, want 307 after 1", answer.Status, calls.Load())
	}
}

// TestStaleSocketIsToldApart: the second request meets a connection that the
// server has closed without a word, as after a frozen process thaws.
func TestStaleSocketIsToldApart(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var connections atomic.Int32
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				defer c.Close()
				buffer := make([]byte, 4096)
				if _, err := c.Read(buffer); err != nil {
					return
				}
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				c.Read(buffer) // the second request on this socket gets no answer
			}()
		}
	}()
	client := New()
	defer client.Close()
	r := request(t, "http://"+listener.Addr().String())
	if err := exhaust(t.Context(), client, r); err != nil {
		t.Fatal(err)
	}
	if err := exhaust(t.Context(), client, r); kind(t, err) != Stale {
		t.Fatalf("error = %v, want a stale connection", err)
	}
	r.Fresh = true
	if err := exhaust(t.Context(), client, r); err != nil {
		t.Fatalf("over a fresh connection: %v", err)
	}
	if n := connections.Load(); n != 2 {
		t.Errorf("%d connections, want 2: the first and the fresh one", n)
	}
}

// TestWorkedBeforeItDied: a provider that had the request for a while, or that
// began to answer, may have acted; its connection was no stale socket.
func TestWorkedBeforeItDied(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch r.Header.Get("Do") {
		case "work":
			<-release
			panic(http.ErrAbortHandler)
		case "garbage":
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			io.WriteString(c, "xx\r\n\r\n")
			c.Close()
		}
	}))
	defer server.Close()
	client := New()
	defer client.Close()
	for _, do := range []string{"garbage", "work"} {
		r := request(t, server.URL)
		if err := exhaust(t.Context(), client, r); err != nil { // leaves a connection to be reused
			t.Fatal(err)
		}
		r.Header.Set("Do", do)
		if do == "work" {
			time.AfterFunc(staleWithin+50*time.Millisecond, func() { close(release) })
		}
		if got := kind(t, exhaust(t.Context(), client, r)); got != Broken {
			t.Errorf("%s: %v, want broken", do, got)
		}
	}
}

func TestHowAttemptsEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // the server sees a client leave only once its body is read
		switch r.Header.Get("Do") {
		case "hang":
			<-r.Context().Done()
		case "headers":
			w.WriteHeader(http.StatusOK)
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "byte":
			io.WriteString(w, "a")
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "reset":
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	client := New()
	defer client.Close()
	rows := []struct {
		name, do    string
		first, idle time.Duration
		want        Kind
	}{
		{"no headers in time", "hang", 20 * time.Millisecond, 0, Silent},
		{"headers but no byte in time", "headers", 20 * time.Millisecond, 0, Silent},
		{"a byte, then silence", "byte", 0, 20 * time.Millisecond, Silent},
		{"connection lost", "reset", 0, 0, Broken},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := request(t, server.URL)
			r.Header.Set("Do", row.do)
			r.FirstByte, r.Idle = row.first, row.idle
			if got := kind(t, exhaust(t.Context(), client, r)); got != row.want {
				t.Errorf("kind = %v, want %v", got, row.want)
			}
		})
	}
	t.Run("the client leaves", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := kind(t, exhaust(ctx, client, request(t, server.URL))); got != Cancelled {
			t.Errorf("kind = %v", got)
		}
	})
	t.Run("the deadline comes", func(t *testing.T) {
		ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
		defer cancel()
		if got := kind(t, exhaust(ctx, client, request(t, server.URL))); got != Expired {
			t.Errorf("kind = %v", got)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		gone := httptest.NewServer(nil)
		gone.Close()
		if got := kind(t, exhaust(t.Context(), client, request(t, gone.URL))); got != Connect {
			t.Errorf("kind = %v", got)
		}
	})
}

// exhaust sends r and reads its answer to the end.
func exhaust(ctx context.Context, client *Client, r Request) error {
	answer, err := client.Do(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
