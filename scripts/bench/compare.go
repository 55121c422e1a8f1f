package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// plan is how much is measured.
type plan struct {
	rounds  int
	span    time.Duration
	clients []int
	load    string // in the names of the loads to measure; "": all
	system  string // in the names of the systems to measure; "": all
	json    string // file of the results; "": none
}

// row is what one system did under one load, in medians over the rounds.
type row struct {
	Load      string  `json:"load"`
	Clients   int     `json:"clients"`
	System    string  `json:"system"`
	PerSecond float64 `json:"per_second"`
	Ratio     float64 `json:"ratio"` // to the reverse proxy's
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	AddedP50  float64 `json:"added_p50_us"` // to the reverse proxy's
	CPU       float64 `json:"cpu_us"`       // a request
	Failed    int     `json:"failed"`
}

// result is a whole run.
type result struct {
	Rounds int                `json:"rounds"`
	Span   string             `json:"span"`
	Rows   []row              `json:"rows"`
	PeakMB map[string]float64 `json:"peak_mb"` // memory, by system
}

// compare starts everything, measures in turn, prints tables and writes the
// file.
func compare(p plan) error {
	ctx := context.Background()
	systems, stop, err := start(ctx)
	defer stop()
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	done := result{Rounds: p.rounds, Span: p.span.String(), PeakMB: map[string]float64{}}
	fmt.Printf("medians of %d rounds of %v, the systems in turn\n\n", p.rounds, p.span)
	asked := slices.DeleteFunc(slices.Clone(systems), func(s system) bool { return s.name != yardstick && !strings.Contains(s.name, p.system) })
	for _, l := range loads() {
		if !strings.Contains(l.name, p.load) {
			continue
		}
		bodies := map[string][]byte{}
		for _, s := range asked {
			if bodies[s.name], err = l.body(ctx, client, s.url); err != nil {
				return fmt.Errorf("%s, %s: %w", l.name, s.name, err)
			}
		}
		for _, clients := range p.clients {
			rows := p.measure(ctx, client, asked, l, bodies, clients)
			report(l.name, clients, rows)
			done.Rows = append(done.Rows, rows...)
		}
	}
	for _, s := range asked {
		done.PeakMB[s.name] = peak(s.pid)
		fmt.Printf("%s: at most %.0f MB\n", s.name, done.PeakMB[s.name])
	}
	return p.write(done)
}

// measure takes samples of all systems in turn.
func (p plan) measure(ctx context.Context, client *http.Client, systems []system, l load, bodies map[string][]byte, clients int) []row {
	samples := map[string][]sample{}
	for _, s := range systems { // warm connections and preferences
		measure(ctx, client, s, l, bodies[s.name], clients, p.span/4)
	}
	for range p.rounds {
		for _, s := range systems {
			samples[s.name] = append(samples[s.name], measure(ctx, client, s, l, bodies[s.name], clients, p.span))
		}
	}
	var rows []row
	base := median(samples[yardstick], func(s sample) float64 { return s.perSecond })
	baseP50 := median(samples[yardstick], func(s sample) time.Duration { return s.p50 })
	for _, s := range systems {
		all := samples[s.name]
		one := row{Load: l.name, Clients: clients, System: s.name, PerSecond: median(all, func(s sample) float64 { return s.perSecond })}
		p50 := median(all, func(s sample) time.Duration { return s.p50 })
		one.P50, one.AddedP50 = micros(p50), micros(p50-baseP50)
		one.P99 = micros(median(all, func(s sample) time.Duration { return s.p99 }))
		one.CPU = micros(median(all, func(s sample) time.Duration { return s.cpu }))
		if base > 0 {
			one.Ratio = one.PerSecond / base
		}
		for _, s := range all {
			one.Failed += s.failed
		}
		rows = append(rows, one)
	}
	return rows
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// report prints one load's table.
func report(name string, clients int, rows []row) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "%s, %d clients\trequests/s\t× proxy\tp50 µs\tp99 µs\tadded p50\tCPU µs\tfailed\t\n", name, clients)
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%.0f\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t%d\t\n", r.System, r.PerSecond, r.Ratio, r.P50, r.P99, r.AddedP50, r.CPU, r.Failed)
	}
	table.Flush()
	fmt.Println()
}

func (p plan) write(done result) error {
	if p.json == "" {
		return nil
	}
	text, err := json.MarshalIndent(done, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(p.json, append(text, '\n'), 0o644)
}

func median[T cmp.Ordered](samples []sample, of func(sample) T) T {
	values := make([]T, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	var zero T
	if len(values) == 0 {
		return zero
	}
	return values[len(values)/2]
}
