package host

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAnswer shows what leaves of what a handler writes.
func TestAnswer(t *testing.T) {
	type want struct {
		status  int
		headers map[string]string
		cookies []string
		body    string
	}
	text := map[string]string{"Content-Type": "text/plain; charset=utf-8"}
	rows := []struct {
		name    string
		method  string
		handler http.HandlerFunc
		want    want
	}{
		{"nothing at all", "GET", func(http.ResponseWriter, *http.Request) {}, want{200, map[string]string{}, nil, "\n"}},
		{"a status alone", "GET", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) }, want{201, map[string]string{}, nil, "\n"}},
		{"no content", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(204)
			if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("a body on 204: %v", err)
			}
		}, want{204, map[string]string{}, nil, "\n"}},
		{"HEAD", "HEAD", func(w http.ResponseWriter, _ *http.Request) {
			if n, err := w.Write([]byte("abc")); n != 3 || err != nil {
				t.Errorf("%d %v", n, err)
			}
		}, want{200, text, nil, "\n"}},
		{"sniffed", "GET", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "abc") }, want{200, text, nil, "abc"}},
		{"type withheld", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "abc")
		}, want{200, map[string]string{}, nil, "abc"}},
		{"informational first", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(103)
			w.WriteHeader(101)
			w.WriteHeader(404)
			w.WriteHeader(200)
			_, _ = io.WriteString(w, "abc")
		}, want{404, text, nil, "abc"}},
		{"headers after the first write", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Early", "1")
			_, _ = io.WriteString(w, "a")
			w.Header().Set("X-Late", "1")
			w.Header().Set("X-Early", "2")
		}, want{200, map[string]string{"Content-Type": text["Content-Type"], "X-Early": "1"}, nil, "a"}},
		{"headers after the status", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			w.Header().Set("X-Late", "1")
		}, want{200, map[string]string{}, nil, "\n"}},
		{"headers that describe the transfer", "GET", func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range []string{"Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection", "Keep-Alive", "Trailer", "Trailer:X"} {
				w.Header()[name] = []string{"7"}
			}
			w.Header().Set("Content-Type", "a/b")
			_, _ = io.WriteString(w, "abc")
		}, want{200, map[string]string{"Content-Type": "a/b"}, nil, "abc"}},
		{"several values", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Vary"] = []string{"A", "B"}
			w.Header()["X-Break"] = []string{" a\r\nSet-Cookie: b "}
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
			http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
		}, want{200, map[string]string{"Vary": "A, B", "X-Break": "a  Set-Cookie: b"}, []string{"a=1", "b=2"}, "\n"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := invoke(t, newEvent(row.method, "/", ""), row.handler)
			if got.err != nil {
				t.Fatal(got.err)
			}
			if len(got.Cookies) == 0 {
				got.Cookies = nil
			}
			if diff := cmp.Diff(row.want, want{got.StatusCode, got.Headers, got.Cookies, got.body}, cmp.AllowUnexported(want{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEveryWriteLeaves shows that a write can be read while the handler goes on,
// and that flushing and deadlines are granted to whoever asks.
func TestEveryWriteLeaves(t *testing.T) {
	next := make(chan struct{})
	l := &Lambda{Log: slog.New(slog.DiscardHandler), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		for name, err := range map[string]error{
			"read deadline": control.SetReadDeadline(time.Now()), "write deadline": control.SetWriteDeadline(time.Now()),
			"full duplex": control.EnableFullDuplex(), "flush": control.Flush(),
		} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.(http.Flusher).Flush()
		for _, text := range []string{"one", "two"} {
			<-next
			if n, err := io.WriteString(w, text); n != 3 || err != nil {
				t.Errorf("%d %v", n, err)
			}
			if err := control.Flush(); err != nil {
				t.Error(err)
			}
		}
		<-next
	})}
	a, err := l.Invoke(t.Context(), newEvent("GET", "/", "")) // flushed headers leave without a body
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 16)
	for _, want := range []string{"one", "two"} {
		next <- struct{}{}
		n, err := a.Body.Read(buffer)
		if string(buffer[:n]) != want || err != nil {
			t.Errorf("%q %v", buffer[:n], err)
		}
	}
	next <- struct{}{}
	if n, err := a.Body.Read(buffer); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d %v", n, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestCompressed shows that a handler which compresses by itself is told apart
// from one that passes somebody's headers on.
func TestCompressed(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		l := &Lambda{Log: slog.New(slog.DiscardHandler), Compressed: compressed, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			w.Header().Set("Content-Length", "3")
			_, _ = io.WriteString(w, "abc")
		})}
		got, err := l.Invoke(t.Context(), newEvent("GET", "/", ""))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(got.Body); err != nil {
			t.Error(err)
		}
		_, coded := got.Headers["Content-Encoding"]
		if _, length := got.Headers["Content-Length"]; coded != compressed || length {
			t.Errorf("compressed %v: headers %v", compressed, got.Headers)
		}
	}
}
