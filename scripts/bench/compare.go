package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"holdfast/localstack/e2e/process"
)

// callerKey is the key of the measured gateways.
const callerKey = "sk-bench"

// system is one thing that is measured.
type system struct {
	name string
	url  string
	stop func()
}

// yardstick is the system that ratios are taken against.
const yardstick = "reverse proxy"

// compare starts everything, measures in turn and prints the table.
func compare(rounds, clients int, span time.Duration) error {
	systems, err := start()
	for _, s := range systems {
		defer s.stop()
	}
	if err != nil {
		return err
	}
	systems = slices.DeleteFunc(systems, func(s system) bool { return s.url == "" })
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	ctx := context.Background()
	fmt.Printf("%d clients, medians of %d rounds of %v, the systems in turn\n\n", clients, rounds, span)
	for _, l := range loads() {
		samples := map[string][]sample{}
		for _, s := range systems { // warm connections and preferences
			measure(ctx, client, s.url, l, clients, span/4)
		}
		for range rounds {
			for _, s := range systems {
				samples[s.name] = append(samples[s.name], measure(ctx, client, s.url, l, clients, span))
			}
		}
		report(l, systems, samples)
	}
	return nil
}

// start runs the upstream, the proxy, and gateways on two stores.
func start() ([]system, error) {
	upstream, err := child("-role", "upstream")
	if err != nil {
		return nil, err
	}
	systems := []system{upstream}
	systems[0].name = "direct"
	proxy, err := child("-role", "proxy", "-target", upstream.url)
	if err != nil {
		return systems, err
	}
	proxy.name = yardstick
	systems = append(systems, proxy)
	folder, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return systems, err
	}
	binary, err := process.Build(folder)
	if err != nil {
		return systems, err
	}
	for _, store := range []string{"memory", "bolt"} {
		g, err := gateway(binary, store, upstream.url)
		if err != nil {
			return systems, err
		}
		systems = append(systems, g)
	}
	remove := func() { _ = os.RemoveAll(folder) }
	return append(systems, system{stop: remove}), nil
}

// gateway starts Holdfast before the upstream.
func gateway(binary, store, upstream string) (system, error) {
	data, err := os.MkdirTemp("", "holdfast-bench-data-")
	if err != nil {
		return system{}, err
	}
	config := fmt.Sprintf(`connections: [{id: bench, provider: openai-compatible, base_url: %s/v1, auth: {type: none}, allow_private_network: true}]
deployments: [{id: chat-bench, model: chat, connection: bench, protocol: chat}]
keys: [{id: bench, key: %s}]
`, upstream, callerKey)
	g, err := process.Start(process.Options{Binary: binary, Config: config, Store: store, Data: data, Unread: true})
	if err != nil {
		return system{}, err
	}
	return system{"holdfast, " + store, g.URL, func() { g.Kill(); _ = os.RemoveAll(data) }}, nil
}

// child runs this program in another role and returns once it listens.
func child(args ...string) (system, error) {
	self, err := os.Executable()
	if err != nil {
		return system{}, err
	}
	command := exec.Command(self, args...)
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := command.StdoutPipe()
	if err != nil {
		return system{}, err
	}
	if err := command.Start(); err != nil {
		return system{}, err
	}
	stop := func() { _ = command.Process.Kill(); _ = command.Wait() }
	line, err := bufio.NewReader(out).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		stop()
		return system{}, errors.Join(errors.New("a child did not start"), err)
	}
	return system{url: url, stop: stop}, nil
}

// report prints one load's table.
func report(l load, systems []system, samples map[string][]sample) {
	base := median(samples[yardstick], func(s sample) float64 { return s.perSecond })
	baseP50 := median(samples[yardstick], func(s sample) time.Duration { return s.p50 })
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "%s\trequests/s\t× proxy\tp50\tp99\tadded p50\tfailed\t\n", l.name)
	for _, s := range systems {
		perSecond := median(samples[s.name], func(s sample) float64 { return s.perSecond })
		p50 := median(samples[s.name], func(s sample) time.Duration { return s.p50 })
		p99 := median(samples[s.name], func(s sample) time.Duration { return s.p99 })
		failed := 0
		for _, one := range samples[s.name] {
			failed += one.failed
		}
		fmt.Fprintf(table, "%s\t%.0f\t%.2f\t%v\t%v\t%v\t%d\t\n", s.name, perSecond, perSecond/base,
			p50.Round(time.Microsecond), p99.Round(time.Microsecond), (p50 - baseP50).Round(time.Microsecond), failed)
	}
	table.Flush()
	fmt.Println()
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
