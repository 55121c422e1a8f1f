package telemetry

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Meter counts what exchanges came to since its making, by few words: never by
// session, key, model or deployment.
type Meter struct {
	now   func() time.Time
	begun time.Time

	mu        sync.Mutex
	exchanges map[[2]string]uint64 // by endpoint and outcome
	affinity  map[string]uint64
	input     int64 // tokens, fresh
	read      int64
	written   int64
	output    int64
	usd       float64
	unpriced  uint64
	waits     [len(bounds) + 1]uint64
	waited    time.Duration
}

// bounds are the upper ends of the histogram of first bytes, in seconds.
var bounds = [...]float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120}

// NewMeter returns a Meter.
func NewMeter(now func() time.Time) *Meter {
	return &Meter{now: now, begun: now(), exchanges: map[[2]string]uint64{}, affinity: map[string]uint64{}}
}

// Outcome is the word for how an exchange ended.
func (e *Exchange) Outcome() string {
	switch {
	case e.Cancelled:
		return "client_left"
	case e.Status >= 500:
		return "server_error"
	case e.Status == 429:
		return "rate_limited"
	case e.Status >= 400:
		return "client_error"
	case e.ErrorCode != "": // a stream that broke off
		return "cut"
	case e.Cache != "":
		return "cached"
	}
	return "success"
}

// Observe counts an exchange that has ended.
func (m *Meter) Observe(e *Exchange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.exchanges[[2]string{e.Endpoint, e.Outcome()}]++
	if e.Affinity != "" {
		m.affinity[e.Affinity]++
	}
	if u := e.Usage; u != nil && e.Cache == "" {
		m.input += u.Input
		m.read += u.CacheRead
		m.written += u.CacheWrite5m + u.CacheWrite1h
		m.output += u.Output
		if e.Cost == nil {
			m.unpriced++
		}
	}
	if e.Cost != nil {
		m.usd += *e.Cost
	}
	if e.FirstByte > 0 {
		at, _ := slices.BinarySearch(bounds[:], e.FirstByte.Seconds())
		m.waits[at]++
		m.waited += e.FirstByte
	}
}

// Number is one more value of a metrics page.
type Number struct {
	Name, Kind, Help string // Kind: counter or gauge
	Value            float64
}

// Write writes everything in Prometheus's text form, with further numbers behind.
func (m *Meter) Write(w io.Writer, more ...Number) error {
	m.mu.Lock()
	var page strings.Builder
	m.render(&page)
	m.mu.Unlock()
	for _, n := range append(more, m.process()...) {
		head(&page, n.Name, n.Kind, n.Help)
		fmt.Fprintf(&page, "%s %g\n", n.Name, n.Value)
	}
	_, err := io.WriteString(w, page.String())
	return err
}

func head(page *strings.Builder, name, kind, help string) {
	fmt.Fprintf(page, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// render writes what was counted.
func (m *Meter) render(page *strings.Builder) {
	head(page, "holdfast_exchanges_total", "counter", "Exchanges that have ended, by endpoint and outcome.")
	for _, by := range slices.SortedFunc(maps.Keys(m.exchanges), func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) }) {
		fmt.Fprintf(page, "holdfast_exchanges_total{endpoint=%q,outcome=%q} %d\n", by[0], by[1], m.exchanges[by])
	}
	head(page, "holdfast_affinity_total", "counter", "Exchanges by what became of their session's preference.")
	for _, word := range slices.Sorted(maps.Keys(m.affinity)) {
		fmt.Fprintf(page, "holdfast_affinity_total{outcome=%q} %d\n", word, m.affinity[word])
	}
	head(page, "holdfast_tokens_total", "counter", "Tokens, input as fresh, read from a provider's cache, or written to one.")
	for _, kind := range []struct {
		name  string
		count int64
	}{{"input", m.input}, {"cache_read", m.read}, {"cache_write", m.written}, {"output", m.output}} {
		fmt.Fprintf(page, "holdfast_tokens_total{kind=%q} %d\n", kind.name, kind.count)
	}
	share := 0.0
	if all := m.input + m.read + m.written; all > 0 {
		share = float64(m.read) / float64(all)
	}
	for _, n := range []Number{
		{"holdfast_cached_token_share", "gauge", "Part of all input tokens that was read from a provider's cache.", share},
		{"holdfast_cost_usd_total", "counter", "Cost at the prices that are known.", m.usd},
		{"holdfast_unpriced_exchanges_total", "counter", "Exchanges with tokens whose price is not known.", float64(m.unpriced)},
	} {
		head(page, n.Name, n.Kind, n.Help)
		fmt.Fprintf(page, "%s %g\n", n.Name, n.Value)
	}
	m.histogram(page)
}

// histogram writes the times to first bytes.
func (m *Meter) histogram(page *strings.Builder) {
	const name = "holdfast_first_byte_seconds"
	head(page, name, "histogram", "Time from a request's arrival to the first output of a provider.")
	var sum uint64
	for i, n := range m.waits {
		sum += n
		end := "+Inf"
		if i < len(bounds) {
			end = fmt.Sprintf("%g", bounds[i])
		}
		fmt.Fprintf(page, "%s_bucket{le=%q} %d\n", name, end, sum)
	}
	fmt.Fprintf(page, "%s_sum %g\n%s_count %d\n", name, m.waited.Seconds(), name, sum)
}

// process are numbers of the process itself.
func (m *Meter) process() []Number {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return []Number{
		{"holdfast_process_start_time_seconds", "gauge", "When this process began to count, Unix time.", float64(m.begun.Unix())},
		{"holdfast_process_uptime_seconds", "gauge", "For how long it has counted.", m.now().Sub(m.begun).Seconds()},
		{"holdfast_process_goroutines", "gauge", "Goroutines of this process.", float64(runtime.NumGoroutine())},
		{"holdfast_process_heap_bytes", "gauge", "Bytes of live and unswept objects.", float64(memory.HeapAlloc)},
		{"holdfast_process_gc_total", "counter", "Garbage collections.", float64(memory.NumGC)},
	}
}
