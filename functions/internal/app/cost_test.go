package app

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"holdfast/affinity/store"
	"holdfast/functions/internal/telemetry"
	"holdfast/routing/catalog"
)

// canned is a provider that answers every request with the same bytes, and
// allocates nothing for it: what is counted is the gateway's.
func canned(t testing.TB, answer []byte) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for requests := bufio.NewReaderSize(c, 64<<10); swallow(requests) && write(c, answer); {
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// swallow reads one request.
func swallow(r *bufio.Reader) bool {
	size := 0
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case err != nil:
			return false
		case len(line) <= 2:
			n, err := r.Discard(size)
			return err == nil && n == size
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			for _, c := range bytes.TrimSpace(line[len("Content-Length: "):]) {
				size = 10*size + int(c-'0')
			}
		}
	}
}

func write(c net.Conn, p []byte) bool {
	_, err := c.Write(p)
	return err == nil
}

// whole is a JSON answer of the chat protocol.
func whole() []byte {
	body := `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` +
		strings.Repeat("word ", 100) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":100,"total_tokens":110}}`
	return []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// streamed is an answer of so many events, each in a chunk of its own, as
// providers send them.
func streamed(events int) []byte {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	chunk := func(text string) { fmt.Fprintf(&b, "%x\r\n%s\r\n", len(text), text) }
	for range events {
		chunk(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}` + "\n\n")
	}
	chunk(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n")
	chunk("data: [DONE]\n\n")
	b.WriteString("0\r\n\r\n")
	return b.Bytes()
}

// sink is a client that reads everything and keeps nothing but the end.
type sink struct {
	header http.Header
	status int
	tail   [16]byte
}

func (s *sink) Header() http.Header    { return s.header }
func (s *sink) WriteHeader(status int) { s.status = status }
func (s *sink) Flush()                 {}
func (s *sink) Write(p []byte) (int, error) {
	copy(s.tail[:], p[max(0, len(p)-len(s.tail)):])
	return len(p), nil
}

// hit returns what makes one exchange that is a hit and waits for what follows
// its answer.
func hit(t testing.TB, answer []byte, stream bool) (once func()) {
	t.Helper()
	doc, problems := catalog.Load([]byte(`
connections: [{id: c, provider: openai-compatible, base_url: "` + canned(t, answer) + `/v1", auth: {type: none}, allow_private_network: true}]
deployments: [{id: d, model: m, connection: c, protocol: chat}]
keys: [{id: a, key: sk-a}]
`))
	if catalog.HasErrors(problems) {
		t.Fatal(problems)
	}
	g, err := New(t.Context(), Options{Document: doc, Store: store.NewMemory(store.MemoryConfig{}), Log: telemetry.NewLog(io.Discard, slog.LevelInfo)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	body := []byte(`{"model":"m","stream":` + strconv.FormatBool(stream) + `,"messages":[{"role":"user","content":"Hello"}]}`)
	once = func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer sk-a")
		r.Header.Set("X-Session-Id", "s")
		w := &sink{header: http.Header{}}
		g.Handler.ServeHTTP(w, r)
		if w.status != http.StatusOK || stream && !bytes.HasSuffix(w.tail[:], []byte("[DONE]\n\n")) {
			t.Fatalf("status %d, end %q", w.status, w.tail)
		}
		g.After.Wait()
	}
	for range 20 { // connections, pools and the session's preference
		once()
	}
	return once
}

// allocations of one such exchange, and their bytes.
func allocations(t *testing.T, answer []byte, stream bool) (times, bytes float64) {
	const runs = 200
	once := hit(t, answer, stream)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	times = testing.AllocsPerRun(runs, once)
	runtime.ReadMemStats(&after)
	return times, float64(after.TotalAlloc-before.TotalAlloc) / (runs + 1) // one run is not counted
}

// BenchmarkHit is a hit beside a provider that costs next to nothing.
func BenchmarkHit(b *testing.B) {
	for name, answer := range map[string][]byte{"json": whole(), "stream": streamed(200)} {
		b.Run(name, func(b *testing.B) {
			once := hit(b, answer, name == "stream")
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
		})
	}
}

// What an exchange may allocate, transport, ledger and log line included, where
// it is the only one: each has a batch of the ledger of its own. A change that
// needs more has to say why.
const (
	maxJSON   = 310 // times
	maxStream = 328 // times, of 200 events or more
	maxBytes  = 61 << 10
)

// TestP1Allocations bounds the allocations of a chat exchange that is a hit, and
// shows that a streamed one allocates nothing for further events.
func TestP1Allocations(t *testing.T) {
	if raced {
		t.Log("the race detector allocates as well: only further events are counted")
	}
	check := func(name string, answer []byte, most float64) float64 {
		n, bytes := allocations(t, answer, name != "JSON")
		t.Logf("%s: %v allocations, %.0f bytes", name, n, bytes)
		if !raced && (n > most || bytes > maxBytes) {
			t.Errorf("%s: %v allocations and %.0f bytes, want at most %v and %d", name, n, bytes, most, maxBytes)
		}
		return n
	}
	check("JSON", whole(), maxJSON)
	few := check("200 events", streamed(200), maxStream)
	many := check("2200 events", streamed(2200), maxStream+2000*0.02)
	if each := (many - few) / 2000; each > 0.02 {
		t.Errorf("each further event allocates %v times", each)
	}
}

// TestP6StoreCalls shows that what a store holds changes nothing of what an
// exchange asks of it.
func TestP6StoreCalls(t *testing.T) {
	r := newRig(t, nil)
	r.chat(t, "s")
	count := func() string {
		r.store.take()
		r.chat(t, "s")
		reads, swaps := r.store.take()
		return fmt.Sprint(reads, swaps, r.store.keys)
	}
	before := count()
	for n := range 10_000 {
		key := store.Key{Table: store.State, Partition: fmt.Sprint("owner/", n), Sort: "owner"}
		if _, err := r.store.Store.Swap(t.Context(), store.NewHandle(key, "", store.Record{}), store.Record{Value: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if after := count(); after != before {
		t.Errorf("reads, writes, keys: %s over an empty store, %s over 10,000 records", before, after)
	}
}
